//! The table as CSV (RFC 4180). Unmeasured values are empty.

use super::exported::Exported;
use super::table::{COLUMNS, PLACE, place, values};
use crate::store::StoredSample;
use serde_json::Value;

/// The table.
pub(super) fn write(samples: &[StoredSample]) -> Exported {
    let names: Vec<&str> = PLACE.into_iter().chain(COLUMNS.iter().map(|(name, _, _)| *name)).collect();
    Exported::of(&(names.join(",") + "\r\n"), samples, |stored| {
        let figures = values(stored).map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => quoted(&text),
            other => quoted(&other.to_string()),
        });
        let fields: Vec<String> = place(stored).iter().map(i64::to_string).chain(figures).collect();
        Ok(fields.join(",") + "\r\n")
    })
}

/// Quotes a text if necessary. A blank goes before a text that a spreadsheet would compute as a formula.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']);
    let text = if formula { format!(" {text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
