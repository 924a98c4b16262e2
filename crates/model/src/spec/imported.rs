//! Workloads of imported records: no defaults are filled in.

use crate::key::{KEYS, WorkloadSpec};
use crate::workload::{Limits, Workload};
use std::collections::BTreeSet;

impl WorkloadSpec {
    /// The workload of an imported record: set keys are known, and the number of targets if given; all else is marked as
    /// unknown.
    pub fn imported(&self, targets: Option<u32>) -> Workload {
        let mut workload = Workload { targets: targets.unwrap_or_default(), ..Workload::default() };
        let mut unknown: BTreeSet<&str> = targets.is_none().then_some("targets").into_iter().collect();
        for key in KEYS {
            if key.is_said(self) {
                key.fill(self, &mut workload);
            } else {
                key.clear(&mut workload);
                // Other programs have no simulated machines.
                unknown.extend((key.name != "set").then(|| key.field()));
            }
        }
        if workload.limits != Limits::default() {
            unknown.remove("limits");
        }
        unknown.extend(self.plugin.is_none().then_some("plugin"));
        workload.plugin.clone_from(&self.plugin);
        workload.unknown = unknown.into_iter().collect();
        workload
    }
}
