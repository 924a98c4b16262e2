//! Our own records, as printed by `halfpower export --format jsonl` and `halfpower io --json`. They are stored
//! unchanged.

use super::absurd::absurd;
use super::error::Fault;
use super::json::each;
use super::{Collected, Source};
use halfpower_model::Sample;
use halfpower_model::sample::SCHEMA;

/// Whether it has our own records.
pub(super) fn is_one(source: Source<'_>) -> bool {
    source.text.contains("\"schema\"") && source.text.contains(SCHEMA)
}

/// Every record.
///
/// # Errors
/// At the first invalid record.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    each(source.text, |document| {
        let wrong = |what: String| Fault::at(document.line, what);
        let schema = document.value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            return Err(wrong(format!("the document is not a sample: its `schema` is not `{SCHEMA}`")));
        }
        if let Some(absurd) = absurd(&document.value) {
            return Err(wrong(absurd));
        }
        let sample: Sample = serde_json::from_value(document.value).map_err(|error| wrong(error.to_string()))?;
        collected.take_checked(sample)
    })?;
    Ok(collected)
}
