//! Single values of a study: sizes, durations, counts, words. Each function parses a TOML value or returns the mistake.

use super::diagnostic::{Problem, shown};
use super::near::nearest;
use crate::sanitize::is_unprintable;
pub(super) use halfpower_model::key::LARGEST;
use halfpower_model::key::LONGEST;
use halfpower_model::{Bytes, Nanoseconds};
use serde::de::DeserializeOwned;
use toml::de::DeValue;

/// The type of a value, with its article, for messages.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn is_not(value: &DeValue<'_>, expected: &str) -> Problem {
    Problem::new(format!("{} is not what belongs here", kind(value)), format!("expected {expected}"))
}

/// A whole number in its base; none if it is out of range.
fn integer(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A whole number from `low` to `high`.
pub(super) fn count(value: &DeValue<'_>, low: u64, high: u64) -> Result<u64, Problem> {
    let expected = match high {
        LARGEST => format!("a whole number of {low} or more"),
        _ => format!("a whole number from {low} to {high}"),
    };
    if !value.is_integer() {
        return Err(is_not(value, &expected));
    }
    let number = integer(value).and_then(|number| u64::try_from(number).ok());
    let number = number.filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| Problem::new("this number is out of range", format!("expected {expected}")))
}

/// A size in bytes from `low` to `high`: text, or a number of bytes.
pub(super) fn size(value: &DeValue<'_>, low: u64, high: u64) -> Result<u64, Problem> {
    const EXPECTED: &str = "a size such as \"64KiB\", or a number of bytes";
    let bytes = match value {
        DeValue::String(text) => {
            text.parse::<Bytes>().map_err(|error| Problem::new(safe(&error), format!("expected {EXPECTED}")))?.0
        }
        DeValue::Integer(_) if integer(value).is_some_and(|number| number < 0) => {
            return Err(Problem::new("this size is below zero", format!("expected {EXPECTED}")));
        }
        DeValue::Integer(_) => integer(value).and_then(|number| u64::try_from(number).ok()).unwrap_or(u64::MAX),
        other => return Err(is_not(other, EXPECTED)),
    };
    if (low..=high).contains(&bytes) {
        return Ok(bytes);
    }
    if bytes > LARGEST {
        return Err(Problem::new("this size is larger than any file can be", format!("expected {EXPECTED}")));
    }
    let expected = match high {
        LARGEST => format!("expected a size of {} or more", Bytes(low)),
        _ => format!("expected a size from {} to {}", Bytes(low), Bytes(high)),
    };
    Err(Problem::new("this size is out of range", expected))
}

/// A duration from `low` to [`LONGEST`]: text, or a number of seconds.
pub(super) fn duration(value: &DeValue<'_>, low: Nanoseconds) -> Result<Nanoseconds, Problem> {
    const EXPECTED: &str = "a duration such as \"250ms\", or a number of seconds";
    let text = match value {
        DeValue::String(text) => text.as_ref(),
        DeValue::Integer(seconds) if seconds.radix() == 10 => seconds.as_str(),
        DeValue::Float(seconds) => seconds.as_str(),
        other => return Err(is_not(other, EXPECTED)),
    };
    let span: Nanoseconds = text.parse().map_err(|error| Problem::new(safe(&error), format!("expected {EXPECTED}")))?;
    if (low..=LONGEST).contains(&span) {
        return Ok(span);
    }
    Err(Problem::new("this duration is out of range", format!("expected from {low} to 7 days")))
}

/// A number between 0 and 1, exclusive.
pub(super) fn fraction(value: &DeValue<'_>) -> Result<f64, Problem> {
    const EXPECTED: &str = "a number between 0 and 1, such as 0.03 for 3 %";
    let number = match value {
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        DeValue::Integer(_) => integer(value).map(|number| number as f64),
        other => return Err(is_not(other, EXPECTED)),
    };
    number
        .filter(|number| *number > 0.0 && *number < 1.0)
        .ok_or_else(|| Problem::new("this share is out of range", format!("expected {EXPECTED}")))
}

pub(super) fn truth(value: &DeValue<'_>) -> Result<bool, Problem> {
    value.as_bool().ok_or_else(|| is_not(value, "true or false"))
}

/// Text that is not blank.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, Problem> {
    let text = value.as_str().ok_or_else(|| is_not(value, "text in quotes"))?;
    if text.trim().is_empty() {
        return Err(Problem::new("this text is empty", "write something, or leave the key out"));
    }
    Ok(text.to_owned())
}

/// One of the choices.
pub(super) fn word<T: DeserializeOwned>(value: &DeValue<'_>, choices: &[&str]) -> Result<T, Problem> {
    let word = value.as_str().ok_or_else(|| is_not(value, &format!("one of {}", choices.join(", "))))?;
    serde_json::from_value(word.into()).map_err(|_| no_choice(word, choices))
}

/// A word that is none of the choices.
pub(super) fn no_choice(word: &str, choices: &[&str]) -> Problem {
    let list = choices.join(", ");
    let help = match nearest(word, choices) {
        Some(meant) => format!("did you mean `{meant}`? The choices are {list}"),
        None => format!("expected one of {list}"),
    };
    Problem::new(format!("`{}` is not one of the choices", shown(word)), help)
}

pub(super) fn safe(error: &dyn std::fmt::Display) -> String {
    error.to_string().chars().filter(|character| !is_unprintable(*character)).take(200).collect()
}
