//! The table that `halfpower export --format csv` writes, back again. RFC 4180: quotes around a field, doubled within. A
//! blank that the export put before a text which a spreadsheet would compute is taken away.

use super::error::{Place, What};
use super::table::{MAX_COLUMNS, Row};
use super::{Format, Harvest, Source};
use std::borrow::Cow;

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
        let fields: Vec<Option<Cow<'_, str>>> = fields.into_iter().map(|field| Some(as_written(field))).collect();
        let row = Row { format: Format::Csv, place: Place::Line(first_line), names: &names, fields: &fields };
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

/// Without the blank before what a spreadsheet would compute.
fn as_written(field: Cow<'_, str>) -> Cow<'_, str> {
    let is_computed = field.trim_start_matches(' ').starts_with(['=', '+', '-', '@']);
    match field {
        Cow::Borrowed(text) if is_computed => Cow::Borrowed(text.strip_prefix(' ').unwrap_or(text)),
        Cow::Owned(text) if is_computed => Cow::Owned(text.strip_prefix(' ').unwrap_or(&text).to_owned()),
        other => other,
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
