//! Samples that another program measured: unknown until it is told, and null in the record where it is not.

use super::Sample;
use crate::environment::Environment;
use crate::origin::Origin;
use crate::shared::Shared;
use crate::workload::Workload;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What nobody knows of an imported sample before its source was read.
const UNKNOWN_AT_FIRST: [&str; 43] = [
    "started_at",
    "elapsed_s",
    "depth_mean",
    "generator_bound",
    "cpu.lower",
    "total.requests",
    "total.bytes",
    "total.requests_per_s",
    "total.bytes_per_s",
    "total.short_transfers",
    "total.errors",
    "read.requests",
    "read.bytes",
    "read.requests_per_s",
    "read.bytes_per_s",
    "read.short_transfers",
    "read.errors",
    "write.requests",
    "write.bytes",
    "write.requests_per_s",
    "write.bytes_per_s",
    "write.short_transfers",
    "write.errors",
    "trim.requests",
    "trim.bytes",
    "trim.requests_per_s",
    "trim.bytes_per_s",
    "trim.short_transfers",
    "trim.errors",
    "flush.requests",
    "flush.bytes",
    "flush.requests_per_s",
    "flush.bytes_per_s",
    "flush.short_transfers",
    "flush.errors",
    "parallel.sum_bytes_per_s",
    "parallel.parent_bytes_per_s",
    "parallel.min_bytes_per_s",
    "parallel.max_bytes_per_s",
    "parallel.mean_bytes_per_s",
    "parallel.bytes_at_first_finish",
    "intervals.requests",
    "intervals.bytes",
];

impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(origin) = &self.origin else { return Sample::serialize(self, serializer) };
        let record = Sample::serialize(self, serde_json::value::Serializer).map_err(serde::ser::Error::custom)?;
        origin.unknown.blank(record).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Sample::deserialize(deserializer)
    }
}

impl Sample {
    /// A sample of another program, of which nothing is known yet but where it is from; see [`tell`](Self::tell).
    pub fn imported(workload: Workload, environment: impl Into<Shared<Environment>>, origin: Origin) -> Self {
        let origin = Origin { unknown: UNKNOWN_AT_FIRST.into_iter().collect(), ..origin };
        Sample { origin: Some(origin.into()), ..Sample::empty(workload, environment) }
    }

    /// Notes that a field of an imported sample holds what its source says.
    pub fn tell(&mut self, field: &str) {
        if let Some(origin) = &mut self.origin {
            origin.unknown.tell(field);
        }
    }

    /// Whether a field outside the workload is known: false for what the source of an imported sample does not tell.
    pub fn tells(&self, field: &str) -> bool {
        self.origin.as_ref().is_none_or(|origin| !origin.unknown.has(field))
    }
}
