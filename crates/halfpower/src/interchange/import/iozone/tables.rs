//! `iozone -R`: after "Excel output is below:" a table per test, a row per file size in KB, a column per record size.

use super::super::Collected;
use super::super::error::Fault;
use super::super::record::{Figures, fill_only};
use super::super::text::{number, whole};
use super::{Line, bytes, tests_named};

/// Maximum number of columns of a table.
const MAX_COLUMNS: usize = 256;

/// The current table.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Whether the tables have begun.
    begun: bool,
    /// The test in lower case.
    name: Option<String>,
    record_kib: Vec<u64>,
}

impl Reader {
    /// Reads a line.
    pub(super) fn read(&mut self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let text = line.text;
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

    fn read_row(&self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let Line { number: line, text, head, source } = line;
        let name = self.name.as_deref().unwrap_or_default();
        let mut words = text.split_whitespace();
        let size = words.next().and_then(quoted).ok_or_else(|| Fault::at(line, "a row begins with no file size"))?;
        for (index, figure) in words.enumerate() {
            let wrong = |what: &str| Fault::at(line, format!("column {}: {what}", index + 2));
            let figure = number(figure).ok_or_else(|| wrong("no figure"))?;
            let record_kib = *self.record_kib.get(index).ok_or_else(|| wrong("no record size stands above it"))?;
            // iozone prints 0 for sizes that it did not run.
            if figure == 0.0 {
                continue;
            }
            let Some(mut spec) = tests_named::workload_of(name, head, bytes(Some(record_kib))) else {
                let message = format!("the table `{name} report` is left out");
                if collected.notes.iter().all(|note| note.message != message) {
                    collected.note("test_left_out", message, "nothing to do: no workload here is the same");
                }
                return Ok(());
            };
            spec.workers = Some(1);
            spec.size = bytes(Some(size));
            spec.bytes = spec.size;
            let mut sample = head.sample(source, line, name, &spec, Some(1), collected);
            let per_request = if head.counts_operations { figure } else { figure / record_kib as f64 };
            let bytes_per_s = per_request * (record_kib << 10) as f64;
            let figures =
                Figures { requests_per_s: Some(per_request), bytes_per_s: Some(bytes_per_s), ..Figures::default() };
            fill_only(&mut sample, figures);
            collected.take(sample)?;
        }
        Ok(())
    }
}

/// `"1024"`, up to 2^50 KB.
fn quoted(word: &str) -> Option<u64> {
    whole(word.strip_prefix('"')?.strip_suffix('"')?).filter(|kib| (1..=1 << 50).contains(kib))
}
