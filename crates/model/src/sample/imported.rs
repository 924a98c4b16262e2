//! Samples of other programs: every field is unknown, and null in the record, until it is marked as known.

use super::record::Sample;
use crate::environment::Environment;
use crate::origin::{Origin, Unknown, with_unknown};
use crate::shared::Shared;
use crate::workload::Workload;

/// The unknown fields of an imported sample before its source is read.
fn unknown_at_first() -> Unknown {
    const TOTALS: &str = "requests bytes requests_per_s bytes_per_s short_transfers errors";
    const PARALLEL: &str = "sum parent min max mean";
    let of_itself = "started_at elapsed_s depth_mean generator_bound cpu.lower intervals.requests intervals.bytes";
    let mut fields: Vec<String> = of_itself.split(' ').map(str::to_owned).collect();
    for kind in ["total", "read", "write", "trim", "flush"] {
        fields.extend(TOTALS.split(' ').map(|field| format!("{kind}.{field}")));
    }
    fields.extend(PARALLEL.split(' ').map(|rate| format!("parallel.{rate}_bytes_per_s")));
    fields.push("parallel.bytes_at_first_finish".to_owned());
    fields.iter().map(String::as_str).collect()
}

with_unknown!(Sample, |sample| sample.origin.as_ref().map(|origin| origin.unknown.clone()));

impl Sample {
    /// A sample of another program with its origin. All other fields are unknown until [`mark_known`](Self::mark_known).
    pub fn imported(workload: Workload, environment: impl Into<Shared<Environment>>, origin: Origin) -> Self {
        let origin = Origin { unknown: unknown_at_first(), ..origin };
        Sample { origin: Some(origin.into()), ..Sample::empty(workload, environment) }
    }

    /// Marks a field of an imported sample as filled from its source.
    pub fn mark_known(&mut self, field: &str) {
        if let Some(origin) = &mut self.origin {
            origin.unknown.remove(field);
        }
    }

    /// Whether a field outside the workload is known; false for fields that the source of an imported sample lacks.
    pub fn is_known(&self, field: &str) -> bool {
        self.origin.as_ref().is_none_or(|origin| !origin.unknown.has(field))
    }
}
