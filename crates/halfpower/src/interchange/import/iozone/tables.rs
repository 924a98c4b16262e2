//! iozone's tables. With `-R`: after "Excel output is below:" a table per test, a row per file size in KB, a column per record
//! size. Without: a row per file and record size, a column per test; tests that were not run leave their column empty.

use super::super::Collected;
use super::super::error::Fault;
use super::super::record::{Figures, fill_only};
use super::super::text::{number, whole};
use super::{Line, bytes, tests_named};

/// Maximum number of columns of a table.
const MAX_COLUMNS: usize = 256;

/// Tests of the ordinary table, in the order of its columns after the two sizes.
const ORDINARY: [&str; 13] = [
    "writer",
    "re-writer",
    "reader",
    "re-reader",
    "random read",
    "random write",
    "backward read",
    "record rewrite",
    "stride read",
    "fwrite",
    "re-fwrite",
    "fread",
    "re-fread",
];

/// The current table.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Where the columns of the ordinary table end; empty outside it.
    ends: Vec<usize>,
    /// Whether the output has the ordinary table alone; else the reports after it have the same figures.
    is_alone: bool,
    /// Whether the tables have begun.
    begun: bool,
    /// The test in lower case.
    name: Option<String>,
    record_kib: Vec<u64>,
}

impl Reader {
    pub(super) fn new(is_alone: bool) -> Reader {
        Reader { is_alone, ..Reader::default() }
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let text = line.text;
        if !self.begun && !self.ends.is_empty() {
            return self.read_ordinary(line, collected);
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [first, "reclen", rest @ ..] = &words[..]
            && first.eq_ignore_ascii_case("kb")
            && rest.len() <= ORDINARY.len()
            && self.is_alone
        {
            self.ends = ends_of_words(line.whole);
        }
        self.begun |= text == "Excel output is below:";
        if !self.begun || !text.starts_with('"') {
            return Ok(());
        }
        let title = text[1..].strip_suffix('"').filter(|title| title.ends_with(char::is_alphabetic));
        if let Some(title) = title {
            self.name = title.to_ascii_lowercase().strip_suffix(" report").map(str::to_owned);
            self.record_kib.clear();
        }
        if title.is_some() || self.name.is_none() {
            return Ok(());
        }
        if self.record_kib.is_empty() {
            let sizes: Option<Vec<u64>> = text.split_whitespace().take(MAX_COLUMNS).map(quoted).collect();
            let wrong = || Fault::at(line.number, "the record sizes above a table are not numbers");
            self.record_kib = sizes.ok_or_else(wrong)?;
            return Ok(());
        }
        self.read_row(line, collected)
    }

    /// Reads a row of the ordinary table; anything else ends it.
    fn read_ordinary(&mut self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let numbers: Option<Vec<f64>> = line.text.split_whitespace().map(number).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() > 2) else {
            self.ends.clear();
            return Ok(());
        };
        let (size, record_kib) = (whole_kib(numbers[0]), whole_kib(numbers[1]));
        let wrong = || Fault::at(line.number, "a row begins with no file and record size in KB");
        let (size, record_kib) = size.zip(record_kib).ok_or_else(wrong)?;
        for (end, figure) in ends_of_words(line.whole).into_iter().zip(numbers).skip(2) {
            let nearest = (2..self.ends.len()).min_by_key(|column| self.ends[*column].abs_diff(end));
            let name = nearest.and_then(|column| ORDINARY.get(column - 2)).copied();
            name.map_or(Ok(()), |name| take(line, name, size, record_kib, figure, collected))?;
        }
        Ok(())
    }

    fn read_row(&self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let name = self.name.as_deref().unwrap_or_default();
        let mut words = line.text.split_whitespace();
        let size = words.next().and_then(quoted);
        let size = size.ok_or_else(|| Fault::at(line.number, "a row begins with no file size"))?;
        for (index, figure) in words.enumerate() {
            let wrong = |what: &str| Fault::at(line.number, format!("column {}: {what}", index + 2));
            let figure = number(figure).ok_or_else(|| wrong("no figure"))?;
            let record_kib = *self.record_kib.get(index).ok_or_else(|| wrong("no record size stands above it"))?;
            take(line, name, size, record_kib, figure, collected)?;
        }
        Ok(())
    }
}

/// Takes the figure of a test.
fn take(
    line: Line<'_>,
    name: &str,
    size: u64,
    record_kib: u64,
    figure: f64,
    collected: &mut Collected,
) -> Result<(), Fault> {
    // iozone prints 0 for sizes that it left out, and for the tests that -+n leaves out.
    if figure == 0.0 {
        return Ok(());
    }
    let Line { number: line, head, source, .. } = line;
    let Some(mut spec) = tests_named::workload_of(name, head, bytes(Some(record_kib))) else {
        let message = format!("the test `{name}` is left out");
        collected.note("test_left_out", message, "nothing to do: no workload here is the same");
        return Ok(());
    };
    spec.workers = Some(1);
    spec.size = bytes(Some(size));
    spec.bytes = spec.size;
    let mut sample = head.sample(source, line, name, &spec, Some(1), collected);
    let requests_per_s = match (head.counts_operations, head.in_microseconds) {
        (true, _) => figure,
        (_, true) => 1e6 / figure,
        _ => figure / record_kib as f64,
    };
    let requests_per_s = Some(requests_per_s).filter(|rate| rate.is_finite());
    let bytes_per_s = requests_per_s.map(|rate| rate * (record_kib << 10) as f64);
    fill_only(&mut sample, Figures { requests_per_s, bytes_per_s, ..Figures::default() });
    collected.take(sample)
}

/// Where each word of a line ends.
fn ends_of_words(line: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    for (place, letter) in line.char_indices().take(1000) {
        let begins = !letter.is_whitespace() && ends.last().is_none_or(|end| *end < place);
        if begins {
            ends.push(place + 1);
        } else if let Some(end) = ends.last_mut().filter(|_| !letter.is_whitespace()) {
            *end = place + letter.len_utf8();
        }
    }
    ends
}

/// KB up to 2^50.
fn whole_kib(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (1.0..=(1_u64 << 50) as f64).contains(&number)).then_some(number as u64)
}

/// `"1024"`, up to 2^50 KB.
fn quoted(word: &str) -> Option<u64> {
    whole(word.strip_prefix('"')?.strip_suffix('"')?).filter(|kib| (1..=1 << 50).contains(kib))
}

#[cfg(test)]
mod tests {
    use super::super::super::import_bytes;

    #[test]
    fn microseconds_per_operation_become_rates() {
        let head = "Output is in kBytes/sec";
        let text = include_str!("../seeds/iozone/ordinary.txt").replace("101000", "   500");
        let text = text.replace(head, "Microseconds/op Mode. Output is in microseconds per operation.");
        let samples = import_bytes("a", text.as_bytes(), None).unwrap().samples;
        let total = &samples[0].total;
        assert_eq!((total.requests_per_s, total.bytes_per_s.0), (2000.0, 8_192_000.0));
    }
}
