//! Samples that another program measured: unknown until it is told, and null in the record where it is not.

use super::record::Sample;
use crate::environment::Environment;
use crate::origin::{Origin, Unknown, with_unknown};
use crate::shared::Shared;
use crate::workload::Workload;

/// What nobody knows of an imported sample before its source was read.
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
    /// A sample of another program, of which nothing is known yet but where it is from; see [`tell`](Self::tell).
    pub fn imported(workload: Workload, environment: impl Into<Shared<Environment>>, origin: Origin) -> Self {
        let origin = Origin { unknown: unknown_at_first(), ..origin };
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
