//! The table that `halfpower export --format csv` writes, back again: what it has no column for stays unknown.
//!
//! Columns are found by their names; those that are not known are passed over, so that tables of later versions are
//! read. RFC 4180: quotes around a field, doubled within. A blank that the export put before a text which a spreadsheet
//! would compute is taken away.

use super::error::What;
use super::record::{Told, began, fill, lasted, origin, used};
use super::text::number;
use super::{Format, Harvest, Source};
use halfpower_model::sample::{DepthMean, Failure, Latency, Parallel};
use halfpower_model::{BytesPerSecond, Environment, RequestKind, Sample, WorkloadSpec};
use std::borrow::Cow;
use std::str::FromStr;

/// Most columns a table may have.
const MAX_COLUMNS: usize = 1000;

/// Whether it is such a table.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with("sample,cell,block,")
}

/// Every row.
///
/// # Errors
/// At the first row that is none.
pub(super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    let mut harvest = Harvest::default();
    let mut rest = source.text;
    let mut line = 1;
    let names = next_row(&mut rest, &mut line)?;
    if !is_one(source.text) {
        return Err(What::at(1, "no line of names stands above the rows, beginning with sample,cell,block"));
    }
    while !rest.is_empty() {
        let first_line = line;
        let fields = next_row(&mut rest, &mut line)?;
        if let [only] = &fields[..]
            && only.is_empty()
        {
            continue;
        }
        if fields.len() != names.len() {
            let message = format!("the row has {} columns and not {}", fields.len(), names.len());
            return Err(What::at(first_line, message));
        }
        let row = Row { line: first_line, names: &names, fields: &fields };
        harvest.take(row.sample(source)?)?;
    }
    Ok(harvest)
}

/// The fields up to the end of a row that stands outside quotes.
fn next_row<'a>(rest: &mut &'a str, line: &mut u64) -> Result<Vec<Cow<'a, str>>, What> {
    let mut fields = Vec::new();
    let first_line = *line;
    loop {
        if fields.len() == MAX_COLUMNS {
            return Err(What::at(first_line, format!("the row has more than {MAX_COLUMNS} columns")));
        }
        let field = if let Some(inner) = rest.strip_prefix('"') {
            let end = closing_quote(inner).ok_or_else(|| What::at(first_line, "a quote is not closed"))?;
            *rest = &inner[end + 1..];
            *line += inner[..end].matches('\n').count() as u64;
            Cow::Owned(inner[..end].replace("\"\"", "\""))
        } else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            let field = rest[..end].trim_end_matches('\r');
            *rest = &rest[end..];
            Cow::Borrowed(field)
        };
        fields.push(field);
        *rest = rest.strip_prefix('\r').unwrap_or(rest);
        if let Some(behind) = rest.strip_prefix(',') {
            *rest = behind;
        } else if let Some(behind) = rest.strip_prefix('\n') {
            *rest = behind;
            *line += 1;
            return Ok(fields);
        } else if rest.is_empty() {
            return Ok(fields);
        } else {
            return Err(What::at(*line, "something stands behind a quote that closes a field"));
        }
    }
}

/// The first quote that is not doubled.
fn closing_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('"')?;
        if !text[at + 1..].starts_with('"') {
            return Some(at);
        }
        at += 2;
    }
}

struct Row<'a> {
    line: u64,
    names: &'a [Cow<'a, str>],
    fields: &'a [Cow<'a, str>],
}

impl Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let field = &self.fields[self.names.iter().position(|known| known == name)?];
        let computed = field.trim_start_matches(' ').starts_with(['=', '+', '-', '@']);
        let text = if computed { field.strip_prefix(' ').unwrap_or(field) } else { field };
        Some(text).filter(|text| !text.is_empty())
    }

    fn wrong(&self, name: &str) -> What {
        let shown: String = self.text(name).unwrap_or_default().chars().take(40).collect();
        What::at(self.line, format!("the column `{name}` is `{shown}`, which it cannot be"))
    }

    /// A word or a count; none where the field is empty.
    fn said<T: FromStr>(&self, name: &str) -> Result<Option<T>, What> {
        self.text(name).map(|text| text.parse().map_err(|_| self.wrong(name))).transpose()
    }

    /// A number of bytes as such.
    fn bytes(&self, name: &str) -> Result<Option<halfpower_model::Bytes>, What> {
        Ok(self.said::<u64>(name)?.map(halfpower_model::Bytes))
    }

    fn figure(&self, name: &str) -> Result<Option<f64>, What> {
        self.text(name).map(|text| number(text).ok_or_else(|| self.wrong(name))).transpose()
    }

    fn workload(&self) -> Result<WorkloadSpec, What> {
        Ok(WorkloadSpec {
            operation: self.said("operation")?,
            pattern: self.said("pattern")?,
            request_size: self.bytes("request_size_bytes")?,
            sizes: self.said("sizes")?,
            depth: self.said("depth")?,
            workers: self.said("workers")?,
            buffering: self.said("buffering")?,
            personality: self.said("personality")?,
            durability: self.said("durability")?,
            cache: self.said("cache")?,
            file_state: self.said("file_state")?,
            span: self.bytes("span_bytes")?,
            seed: self.said("seed")?,
            ..WorkloadSpec::default()
        })
    }

    fn sample(&self, source: Source<'_>) -> Result<Sample, What> {
        let mut environment = Environment::unknown(self.text("target").unwrap_or_default(), None);
        self.text("host").unwrap_or_default().clone_into(&mut environment.host);
        self.text("kernel").unwrap_or_default().clone_into(&mut environment.kernel);
        let from = origin(Format::Csv, source, Some(self.line), self.text("sample"));
        let mut sample = Sample::imported(self.workload()?.told(None), environment, from);
        let total = Told {
            requests: self.said("requests")?,
            bytes: self.said("bytes")?,
            latency: self.latency()?,
            ..self.rates("")?.unwrap_or_default()
        };
        fill(&mut sample, None, total);
        for (prefix, kind) in [("read_", RequestKind::Read), ("write_", RequestKind::Write)] {
            if let Some(told) = self.rates(prefix)? {
                fill(&mut sample, Some(kind), told);
            }
        }
        if let Some(at) = self.said("started_at")? {
            began(&mut sample, at);
        }
        if let Some(elapsed_s) = self.figure("elapsed_s")? {
            lasted(&mut sample, elapsed_s);
        }
        if let (Some(user_s), Some(system_s)) = (self.figure("cpu_user_s")?, self.figure("cpu_system_s")?) {
            used(&mut sample, user_s, system_s);
        }
        sample.cpu.upper_s = self.figure("cpu_upper_s")?;
        if let (Some(counted), Some(little)) = (self.figure("depth_mean")?, self.figure("depth_mean_little")?) {
            sample.depth_mean = DepthMean { little, counted };
            sample.tell("depth_mean");
        }
        if let Some(parent) = self.figure("parent_bytes_per_s")? {
            sample.parallel = Some(Parallel { parent_bytes_per_s: BytesPerSecond(parent), ..Parallel::default() });
            sample.tell("parallel.parent_bytes_per_s");
        }
        if let Some(bound) = self.said("generator_bound")? {
            sample.generator_bound = bound;
            sample.tell("generator_bound");
        }
        sample.failure = self
            .text("failure")
            .map(|code| Failure { code: code.to_owned(), message: "the table has no more words for it".to_owned() });
        sample.note = self.text("note").map(str::to_owned);
        Ok(sample)
    }

    /// Rates of a kind; none where it has none.
    fn rates(&self, prefix: &str) -> Result<Option<Told>, What> {
        let requests_per_s = self.figure(&format!("{prefix}requests_per_s"))?;
        let bytes_per_s = self.figure(&format!("{prefix}bytes_per_s"))?;
        let some = requests_per_s.is_some() || bytes_per_s.is_some();
        Ok(some.then(|| Told { requests_per_s, bytes_per_s, ..Told::default() }))
    }

    fn latency(&self) -> Result<Latency, What> {
        let figure = |name: &str| self.figure(&format!("latency_{name}_ns"));
        let count = |name: &str| self.said(&format!("latency_{name}_ns"));
        Ok(Latency {
            min: count("min")?,
            mean: figure("mean")?,
            stddev: figure("stddev")?,
            p50: count("p50")?,
            p90: count("p90")?,
            p95: count("p95")?,
            p99: count("p99")?,
            p99_9: count("p99_9")?,
            p99_99: count("p99_99")?,
            max: count("max")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::interchange::import::import_bytes;

    const NAMES: &str = "sample,cell,block,operation,depth,requests_per_s,note";

    #[test]
    fn a_row_is_a_sample_whatever_its_columns_are() {
        let text = format!(
            "{NAMES},of_later\r\n7,0,0,read,4,66.97,\"two\r\nlines, \"\"quoted\"\"\",x\r\n8,0,1,write,,, =1\r\n"
        );
        let text = text.replace(" =1\r\n", " =1,\r\n");
        let imported = import_bytes("t.csv", text.as_bytes(), None).unwrap();
        let [first, second] = &imported.samples[..] else { panic!("{imported:?}") };
        assert_eq!((first.total.requests_per_s, first.workload.depth), (66.97, 4));
        assert_eq!(first.note.as_deref(), Some("two\r\nlines, \"quoted\""));
        assert!(!first.workload.tells("pattern") && !first.tells("elapsed_s") && !second.workload.tells("depth"));
        assert_eq!((second.note.as_deref(), second.origin.as_ref().unwrap().line), (Some("=1"), Some(4)));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (rows, message) in [
            ("1,0,0,read,4,-1,", "t.csv:2: the column `requests_per_s` is `-1`"),
            ("1,0,0,read,4,1,\"a\nb\"\n2,0,0,swim,4,1,", "t.csv:4: the column `operation` is `swim`"),
            ("1,0,0", "t.csv:2: the row has 3 columns and not 7"),
            ("1,0,0,read,4,1,\"a", "t.csv:2: a quote is not closed"),
            ("1,0,0,read,4,1,\"a\"b", "t.csv:2: something stands behind a quote"),
        ] {
            let error = import_bytes("t.csv", format!("{NAMES}\n{rows}").as_bytes(), None).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
