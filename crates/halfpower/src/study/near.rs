//! "Did you mean": the known word nearest to a mistyped one.
//!
//! The distance is that of Damerau in its restricted form (optimal string alignment): insertions, deletions,
//! substitutions and swaps of neighbours. Words longer than any key are not compared.

use halfpower_model::{KEYS, Key};

/// The candidate that was probably meant: another program's word for it, or within a third of its letters.
pub(super) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let is_fio = |key: &&Key| key.about.aliases.contains(&word) || key.about.fio.split(", ").any(|fio| fio == word);
    let fio = KEYS.iter().find(is_fio).map(|key| key.name);
    if let Some(known) = candidates.iter().find(|candidate| Some(**candidate) == fio) {
        return Some(known);
    }
    let letters: Vec<char> =
        word.chars().take(41).flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect();
    if letters.len() > 40 {
        return None;
    }
    candidates
        .iter()
        .map(|candidate| (distance(&letters, &candidate.chars().collect::<Vec<_>>()), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).min(3))
        .min()
        .map(|(_, candidate)| candidate)
}

fn distance(left: &[char], right: &[char]) -> usize {
    let mut before = vec![0; right.len() + 1];
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let change = usize::from(left[i - 1] != right[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + change);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_words_find_the_one_that_was_meant() {
        let keys = ["operation", "pattern", "request_size", "depth", "duration"];
        for (word, meant) in [
            ("reqest_size", Some("request_size")),
            ("request-size", Some("request_size")),
            ("dpeth", Some("depth")),
            ("Duration", Some("duration")),
            ("bs", Some("request_size")),
            ("iodepth", Some("depth")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &keys), meant, "{word}");
        }
    }

    #[test]
    fn distances_are_those_counted_by_hand() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        for (left, right, expected) in [("kitten", "sitting", 3), ("ab", "ba", 1), ("", "abc", 3), ("same", "same", 0)]
        {
            assert_eq!(distance(&letters(left), &letters(right)), expected, "{left} {right}");
        }
    }
}
