//! Samples of other programs: their origin, and the fields of the record that their source lacks.
//!
//! Unknown fields are null in records. In memory they hold their type's default, which means nothing. Check
//! [`Workload::is_known`](crate::Workload::is_known) or [`Sample::is_known`](crate::Sample::is_known) before use.

use crate::shared::Shared;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where an imported sample is from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The format of the file: `sqlio`, `iozone`, `fio`.
    pub format: String,
    /// The program that measured it, as the file names it.
    pub tool: Option<String>,
    /// That program's version.
    pub version: Option<String>,
    /// The file it was read from.
    pub file: String,
    /// The line on which the record begins, from 1; none in formats without lines.
    pub line: Option<u64>,
    /// The record's name in the file: a job's name, a thread's number.
    pub record: Option<String>,
    /// What the file says besides, which the record has no field for, in words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, String>,
    /// Fields of the sample, outside its workload, that the source lacks.
    pub unknown: Unknown,
}

/// Names of unknown fields, the inner ones with their path: `total.requests`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unknown(Shared<BTreeSet<String>>);

impl Unknown {
    /// True when every field is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a field is unknown.
    pub fn has(&self, field: &str) -> bool {
        self.0.contains(field)
    }

    /// The fields, by name.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Marks a field as known.
    pub fn remove(&mut self, field: &str) {
        if self.has(field) {
            self.0.remove(field);
        }
    }

    /// Whether both share their fields.
    pub fn is(&self, other: &Unknown) -> bool {
        self.0.is(&other.0)
    }

    /// Shares equal fields with another set.
    pub fn share(&mut self, other: &Unknown) {
        self.0.share(&other.0);
    }

    /// A record with null in the place of every unknown field.
    pub(crate) fn blank(&self, mut record: Value) -> Value {
        for field in self.0.iter() {
            blank_in(&mut record, field);
        }
        record
    }
}

/// Serde of a record that is derived with `remote = "Self"`: null for every unknown field. The function returns these, if there
/// are any.
macro_rules! with_unknown {
    ($type:ty, $unknown:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let unknown: fn(&$type) -> Option<$crate::origin::Unknown> = $unknown;
                let Some(unknown) = unknown(self) else { return <$type>::serialize(self, serializer) };
                let record = <$type>::serialize(self, serde_json::value::Serializer);
                unknown.blank(record.map_err(serde::ser::Error::custom)?).serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$type>::deserialize(deserializer)
            }
        }
    };
}

pub(crate) use with_unknown;

/// In a list, in each of its values.
fn blank_in(record: &mut Value, field: &str) {
    let (key, inner) = field.split_once('.').map_or((field, None), |(key, inner)| (key, Some(inner)));
    match (record, inner) {
        (Value::Array(values), _) => values.iter_mut().for_each(|value| blank_in(value, field)),
        (Value::Object(values), inner) => match (values.get_mut(key), inner) {
            (Some(value), Some(inner)) => blank_in(value, inner),
            (Some(value), None) => *value = Value::Null,
            (None, _) => {}
        },
        _ => {}
    }
}

impl<'a> FromIterator<&'a str> for Unknown {
    fn from_iter<I: IntoIterator<Item = &'a str>>(fields: I) -> Self {
        Unknown(fields.into_iter().map(str::to_owned).collect::<BTreeSet<_>>().into())
    }
}

/// `#[serde(serialize_with = "default_as_null")]`: for fields whose default is impossible as a value.
pub(crate) fn default_as_null<S, T>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize + Default + PartialEq,
{
    if *value == T::default() { serializer.serialize_none() } else { value.serialize(serializer) }
}

/// `#[serde(deserialize_with = "null_as_default")]`: unknown fields are null in records and a default in memory.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Environment, Operation, Sample, Workload, WorkloadSpec};
    use serde_json::json;

    fn read() -> Workload {
        let (operation, request_size) = (Some(Operation::Read), Some(Bytes(8192)));
        WorkloadSpec { operation, request_size, ..WorkloadSpec::default() }.imported(None)
    }

    #[test]
    fn unknown_fields_are_null_and_read_back() {
        let workload = read();
        let record = serde_json::to_value(&workload).unwrap();
        assert_eq!((&record["operation"], &record["request_size"]), (&json!("read"), &json!(8192)));
        for key in ["pattern", "depth", "workers", "personality", "buffering", "size", "seed", "warmup_s", "limits"] {
            assert_eq!(record[key], Value::Null, "{key}");
            assert!(!workload.is_known(key), "{key}");
        }
        assert_eq!(serde_json::from_value::<Workload>(record).unwrap(), workload);
        assert_eq!(workload.to_string(), "read, 8 KiB");
    }

    #[test]
    fn a_sample_has_null_for_fields_that_its_source_lacks() {
        let mut sample = Sample::imported(read(), Environment::unknown("a", None), Origin::default());
        sample.total.requests = 5;
        sample.mark_known("total.requests");
        let record = serde_json::to_value(&sample).unwrap();
        let unknown =
            "/elapsed_s /total/bytes /generator_bound /cpu/lower /environment/cpus /environment/target/size_bytes";
        for path in unknown.split(' ') {
            assert_eq!(record.pointer(path), Some(&Value::Null), "{path}");
        }
        assert_eq!(record.pointer("/total/requests"), Some(&json!(5)));
        assert_eq!(serde_json::from_value::<Sample>(record).unwrap(), sample);
        assert!(sample.is_known("total.requests") && !sample.is_known("total.bytes"));
    }
}
