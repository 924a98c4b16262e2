//! The table as CSV (RFC 4180). What nobody measured is empty.

use super::table::{COLUMNS, PLACE, place, values};
use crate::store::StoredSample;
use serde_json::Value;

/// The table.
pub(super) fn write(samples: &[StoredSample]) -> String {
    let names = COLUMNS.iter().map(|(name, _, _)| *name);
    let mut text = PLACE.into_iter().chain(names).collect::<Vec<_>>().join(",") + "\r\n";
    for stored in samples {
        let figures = values(stored).map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => quoted(&text),
            other => quoted(&other.to_string()),
        });
        text += &place(stored).iter().map(i64::to_string).chain(figures).collect::<Vec<_>>().join(",");
        text += "\r\n";
    }
    text
}

/// In quotes where it needs them. A spreadsheet would compute a text that begins like a formula: a blank goes before it.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']);
    let text = if formula { format!(" {text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
