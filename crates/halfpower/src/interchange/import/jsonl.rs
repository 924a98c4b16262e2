//! Our own records: what `halfpower export --format jsonl` and `halfpower io --json` print. They are taken as they are.

use super::absurd::absurd_record;
use super::error::What;
use super::json::each;
use super::{Harvest, Source};
use halfpower_model::Sample;
use halfpower_model::sample::SCHEMA;

/// Whether it has records of ours.
pub(super) fn is_one(text: &str) -> bool {
    text.contains("\"schema\"") && text.contains(SCHEMA)
}

/// Every record.
///
/// # Errors
/// At the first that is none.
pub(super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    let mut harvest = Harvest::default();
    each(source.text, |document| {
        let wrong = |what: String| What::at(document.line, what);
        let schema = document.value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            return Err(wrong(format!("the document is not a sample: its `schema` is not `{SCHEMA}`")));
        }
        if let Some(absurd) = absurd_record(&document.value) {
            return Err(wrong(absurd));
        }
        let sample: Sample = serde_json::from_value(document.value).map_err(|error| wrong(error.to_string()))?;
        harvest.take(sample)
    })?;
    Ok(harvest)
}
