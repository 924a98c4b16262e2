//! The workload of a record that another program made: no default is filled in.

use super::WorkloadSpec;
use crate::workload::{Limits, Workload};

impl WorkloadSpec {
    /// The workload of a record that another program made: what is said here is known, and so is how many targets
    /// there are if that is given; all else is noted as unknown.
    pub fn told(&self, targets: Option<u32>) -> Workload {
        let limits = Limits { duration: self.duration, requests: self.requests, bytes: self.bytes };
        let unlimited = limits == Limits::default();
        let unsaid = self.unsaid().filter_map(|setting| match setting {
            "warmup" => Some("warmup_s"),
            "interval" => Some("interval_s"),
            "duration" | "requests" | "bytes" => unlimited.then_some("limits"),
            // Nobody else has simulated machines.
            "set" => None,
            other => Some(other),
        });
        Workload {
            operation: self.operation.unwrap_or_default(),
            pattern: self.pattern.unwrap_or_default(),
            sharing: self.sharing.unwrap_or_default(),
            request_size: self.request_size.unwrap_or_default(),
            sizes: self.sizes.clone().unwrap_or_default(),
            align: self.align,
            offset: self.offset.unwrap_or_default(),
            depth: self.depth.unwrap_or_default(),
            submit_batch: self.submit_batch.unwrap_or_default(),
            wait_batch: self.wait_batch.unwrap_or_default(),
            workers: self.workers.unwrap_or_default(),
            worker_kind: self.worker_kind.unwrap_or_default(),
            buffering: self.buffering.unwrap_or_default(),
            personality: self.personality.unwrap_or_default(),
            plugin: self.plugin.clone(),
            ring: self.ring.unwrap_or_default(),
            rw_flags: self.rw_flags.unwrap_or_default(),
            layout: self.layout.unwrap_or_default(),
            among: self.among.unwrap_or_default(),
            targets: targets.unwrap_or_default(),
            span: self.span.unwrap_or_default(),
            limits,
            arrivals: self.arrivals.unwrap_or_default(),
            rate: self.rate,
            warmup: self.warmup.unwrap_or_default(),
            interval: self.interval.unwrap_or_default(),
            cache: self.cache.unwrap_or_default(),
            file_state: self.file_state.unwrap_or_default(),
            durability: self.durability.unwrap_or_default(),
            closing: self.closing.unwrap_or_default(),
            data: self.data.clone().unwrap_or_default(),
            verify: self.verify.unwrap_or_default(),
            seed: self.seed.unwrap_or_default(),
            block_phases: self.block_phases.unwrap_or_default(),
            cpus: self.cpus.clone().unwrap_or_default(),
            processors: self.processors,
            cpu_accounting: self.cpu_accounting.unwrap_or_default(),
            set: self.set.clone().unwrap_or_default(),
            unknown: unsaid.chain(targets.is_none().then_some("targets")).collect(),
        }
    }
}
