//! Impossible figures: a wrong unit, a shifted column, an invented file.

use serde_json::Value;

const MAX_BYTES_PER_S: f64 = 1e15;
const MAX_REQUESTS_PER_S: f64 = 1e12;
/// About thirty years.
const MAX_SECONDS: f64 = 1e9;
/// A tebibyte.
const MAX_REQUEST_BYTES: f64 = (1_u64 << 40) as f64;

/// Whether a throughput in bytes per second is possible.
pub(super) fn is_throughput(bytes_per_s: f64) -> bool {
    bytes_per_s <= MAX_BYTES_PER_S
}

/// The first impossible figure of a record, in a sentence; none if all are possible. Units are taken from the ends of
/// keys.
pub(super) fn absurd(record: &Value) -> Option<String> {
    within(record, "", f64::INFINITY)
}

/// The maximum of a figure by its key; `outer` if the key has no unit.
fn most(key: &str, outer: f64) -> f64 {
    match key {
        "request_size" => MAX_REQUEST_BYTES,
        _ if key.ends_with("requests_per_s") => MAX_REQUESTS_PER_S,
        _ if key.ends_with("bytes_per_s") => MAX_BYTES_PER_S,
        _ if key.ends_with("_ns") => MAX_SECONDS * 1e9,
        _ if key.ends_with("_s") => MAX_SECONDS,
        _ => outer,
    }
}

fn within(value: &Value, key: &str, most_here: f64) -> Option<String> {
    match value {
        Value::Number(number) => {
            let figure = number.as_f64()?;
            // Figures without a unit are counts and the like.
            let has_unit = most_here.is_finite();
            if has_unit && figure < 0.0 {
                Some(format!("`{key}` is {figure:e}, and cannot be below zero"))
            } else if figure > most_here {
                Some(format!("`{key}` is {figure:e}; the maximum is {most_here:e}"))
            } else {
                None
            }
        }
        Value::Array(values) => values.iter().find_map(|value| within(value, key, most_here)),
        Value::Object(fields) => fields.iter().find_map(|(field, value)| {
            let own = most(field, most_here);
            let named = if own == most_here && !key.is_empty() { format!("{key}.{field}") } else { field.clone() };
            within(value, &named, own)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Environment, Sample, Workload};
    use serde_json::json;

    #[test]
    fn whatever_in_a_record_is_absurd_is_named() {
        let sample = Sample::empty(Workload::default(), Environment::unknown("a", None));
        let record = serde_json::to_value(sample).unwrap();
        assert_eq!(absurd(&record), None);
        for (path, value, wanted) in [
            ("/elapsed_s", json!(-1), "`elapsed_s` is -1e0, and cannot be below zero"),
            ("/elapsed_s", json!(1e12), "`elapsed_s` is 1e12; the maximum is 1e9"),
            ("/total/requests_per_s", json!(-1e300), "`requests_per_s` is -1e300, and cannot be below zero"),
            ("/total/latency_ns/mean", json!(1e308), "`latency_ns.mean` is 1e308; the maximum is 1e18"),
            ("/workload/request_size", json!(u64::MAX), "`request_size` is 1.8446744073709552e19; the maximum is"),
            ("/cpu/lower/user_s", json!(-5), "`user_s` is -5e0, and cannot be below zero"),
        ] {
            let mut record = record.clone();
            *record.pointer_mut(path).unwrap() = value;
            let found = absurd(&record).unwrap_or_default();
            assert!(found.starts_with(wanted), "{path}: {found}");
        }
        let listed = json!({"workers": [{"bytes_per_s": 1}, {"bytes_per_s": 1e18}]});
        assert_eq!(absurd(&listed).unwrap(), "`bytes_per_s` is 1e18; the maximum is 1e15");
    }
}
