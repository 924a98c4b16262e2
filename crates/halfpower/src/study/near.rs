//! "Did you mean": the known word nearest to a misspelled one.

use strsim::osa_distance;

use halfpower_model::{KEYS, Key};

/// The most likely candidate: the equivalent of fio's word, or one within three typing errors and a third of its
/// letters. Words longer than any key are skipped, because the cost grows with the length.
pub(super) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let is_fio = |key: &&Key| key.about.aliases.contains(&word) || key.about.fio.split(", ").any(|fio| fio == word);
    let fio = KEYS.iter().find(is_fio).map(|key| key.name);
    if let Some(known) = candidates.iter().find(|candidate| Some(**candidate) == fio) {
        return Some(known);
    }
    if word.len() > 160 {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    candidates
        .iter()
        .map(|candidate| (osa_distance(&word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).min(3))
        .min()
        .map(|(_, candidate)| candidate)
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
}
