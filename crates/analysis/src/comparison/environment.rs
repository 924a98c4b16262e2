//! Differences between the environments of two groups.

use halfpower_model::{Quantity, Sample};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Facts that vary between runs on one machine without meaning.
const VOLATILE: &[&str] = &["clock.resolution_ns", "clock.cost_ns"];
/// Stands for unknown facts.
const UNKNOWN: &str = "unknown";

/// A fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Name in the record, such as `target.scheduler`.
    pub fact: String,
    /// Values before, in the order seen.
    pub before: Vec<String>,
    /// Values after.
    pub after: Vec<String>,
}

impl Difference {
    /// Whether only one side has it, as with another program's results.
    pub fn is_one_sided(&self) -> bool {
        [&self.before, &self.after].into_iter().any(|values| values == &[UNKNOWN])
    }
}

/// Every fact of environments and programs that differs.
pub(super) fn differences(before: &[&Sample], after: &[&Sample]) -> Vec<Difference> {
    let (mut before, mut after) = (facts(before), facts(after));
    let names: std::collections::BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
    let unknown = || vec![UNKNOWN.to_owned()];
    names
        .into_iter()
        .filter_map(|fact| {
            let (before, after) = (before.remove(&fact), after.remove(&fact));
            let sorted = |values: &Option<Vec<String>>| {
                let mut values = values.clone().unwrap_or_default();
                values.sort_unstable();
                values
            };
            (sorted(&before) != sorted(&after)).then(|| Difference {
                fact,
                before: before.unwrap_or_else(unknown),
                after: after.unwrap_or_else(unknown),
            })
        })
        .collect()
}

/// That control groups throttle the target otherwise on one side, with the first limit that differs.
pub(super) fn throttled(differences: &[Difference], [one, other]: [&str; 2]) -> Option<String> {
    let is_rate = |one: &&Difference| one.fact.contains("limits.") && one.fact.ends_with("_per_s");
    let Difference { fact, before, after } = differences.iter().find(is_rate)?;
    let quantity = if fact.contains("bytes") { Quantity::BytesPerSecond } else { Quantity::RequestsPerSecond };
    let what = if fact.contains("read_") { "reads" } else { "writes" };
    let rate = |value: &String| value.parse().map_or_else(|_| "none".to_owned(), |rate| quantity.format(rate));
    let of = |values: &[String]| values.iter().map(rate).collect::<Vec<_>>().join(", ");
    Some(format!(" The control group's limit of {what} differs: {} {one}, {} {other}.", of(before), of(after)))
}

/// The values of each fact.
fn facts(samples: &[&Sample]) -> BTreeMap<String, Vec<String>> {
    let mut facts = BTreeMap::new();
    let mut seen = Vec::new();
    for sample in samples {
        // Most samples of a run share one environment.
        if seen.contains(&(&sample.environment, &sample.program)) {
            continue;
        }
        seen.push((&sample.environment, &sample.program));
        for (name, part) in
            [("", serde_json::to_value(&sample.environment)), ("program", serde_json::to_value(&sample.program))]
        {
            flatten(&mut facts, name, &part.unwrap_or_default());
        }
    }
    facts
}

/// A test file's path without its random part: `/srv/halfpower-….test`.
fn without_drawn_name(path: String) -> String {
    let is_drawn = |drawn: &str| drawn.len() == 16 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit());
    let drawn = path.strip_suffix(".test").and_then(|path| path.rsplit_once("halfpower-"));
    match drawn {
        Some((place, drawn)) if is_drawn(drawn) && (place.is_empty() || place.ends_with('/')) => {
            format!("{place}halfpower-….test")
        }
        _ => path,
    }
}

fn flatten(facts: &mut BTreeMap<String, Vec<String>>, name: &str, value: &Value) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(facts, &below(key), value)),
        Value::Array(values) => {
            let named = |value: &Value| {
                value.get("personality").or_else(|| value.get("name")).and_then(Value::as_str).map(str::to_owned)
            };
            for (index, value) in values.iter().enumerate() {
                flatten(facts, &below(&named(value).unwrap_or_else(|| (index + 1).to_string())), value);
            }
        }
        Value::Null => {}
        value if !VOLATILE.contains(&name) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text = if name == "target.path" { without_drawn_name(text) } else { text };
            let values = facts.entry(name.to_owned()).or_default();
            if !values.contains(&text) {
                values.push(text);
            }
        }
        _ => {}
    }
}
