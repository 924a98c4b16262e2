//! Values of a workload's keys in a study.

use super::diagnostic::Problem;
use super::value;
use halfpower_model::key::{Given, Kind};
use halfpower_model::{KEYS, Key, WorkloadSpec};
use toml::de::DeValue;

/// The keys that a study can set, in the order in which cells are listed: the first varies slowest.
pub(super) fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.about.given != Given::CommandLine)
}

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    keys().map(|key| key.name)
}

/// The spec with one value of a key.
///
/// # Errors
/// The mistake in the value.
pub(super) fn read(key: &Key, value: &DeValue<'_>) -> Result<WorkloadSpec, Problem> {
    let range = || key.about.kind.range();
    let text = match (key.about.kind, value) {
        (Kind::Size(low, high), _) => value::size(value, low, high)?.to_string(),
        (Kind::Count(low, high), _) => value::count(value, low, high)?.to_string(),
        (Kind::AutoCount(low, high), DeValue::Integer(_)) => value::count(value, low, high)?.to_string(),
        (Kind::Time(low, _), _) => value::duration(value, low)?.exactly(),
        (Kind::Switch, DeValue::Boolean(is_on)) => is_on.to_string(),
        (Kind::Cpus, DeValue::Array(list)) => {
            let numbers = list.iter().map(|item| value::count(item.get_ref(), 0, 4095));
            numbers.map(|number| Ok(number?.to_string())).collect::<Result<Vec<_>, Problem>>()?.join(",")
        }
        (_, DeValue::String(text)) => text.to_string(),
        _ => return Err(value::is_not(value, &range())),
    };
    key.read(&text).map_err(|message| match key.about.kind {
        Kind::Word(choices) => value::no_choice(&text, choices),
        _ => Problem::new(value::safe(&message), format!("expected {}", range())),
    })
}

/// An end of a range of this key; none if its values cannot be multiplied.
pub(super) fn number(key: &Key, value: &DeValue<'_>) -> Option<Result<u64, Problem>> {
    match key.about.kind {
        Kind::Size(1.., high) => Some(value::size(value, 1, high)),
        Kind::Count(low, high) | Kind::AutoCount(low, high) => Some(value::count(value, low, high)),
        _ => None,
    }
}
