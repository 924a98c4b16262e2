//! The workload of a record that another program made: no default is filled in.

use crate::key::{KEYS, WorkloadSpec};
use crate::workload::{Limits, Workload};
use std::collections::BTreeSet;

impl WorkloadSpec {
    /// The workload of a record that another program made: what is said here is known, and so is how many targets
    /// there are if that is given; all else is noted as unknown.
    pub fn told(&self, targets: Option<u32>) -> Workload {
        let mut workload = Workload { targets: targets.unwrap_or_default(), ..Workload::default() };
        let mut unknown: BTreeSet<&str> = targets.is_none().then_some("targets").into_iter().collect();
        for key in KEYS {
            if key.is_said(self) {
                key.fill(self, &mut workload);
            } else {
                key.clear(&mut workload);
                // Nobody else has simulated machines.
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
