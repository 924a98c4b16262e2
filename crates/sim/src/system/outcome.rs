//! What a run came to: what was counted from the end of the warm-up on.

use super::System;
use crate::bus::Tally;
use crate::machine;
use halfpower_model::Histogram;
use halfpower_model::sample::{Part, PartKind};
use std::collections::BTreeMap;

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Measured time.
    pub elapsed_ns: u64,
    /// Service times of reads and of writes.
    pub latency: [Histogram; 2],
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// The course: requests and bytes done in each interval.
    pub intervals: Vec<(u64, u64)>,
    /// How long flushes between writes took.
    pub flush: Histogram,
    /// How long the flush at the end took, as part of the measured time.
    pub flush_ns: Option<u64>,
    /// Time that requests were outstanding, all together.
    pub outstanding_ns: u128,
    /// Processor time.
    pub processor_ns: u64,
    /// What of it came after a request's bytes: interrupts, which are no worker's time.
    pub interrupt_ns: u64,
    /// For how long each disk had a command under way, from when it set out to when its bytes were in memory.
    pub at_work_ns: Vec<u64>,
    /// What each part was busy, over what it could be; of a bus by phase.
    pub parts: Vec<Part>,
    /// Commands that the disks were given, and their bytes: of reads and of writes.
    pub device: [(u64, u64); 2],
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// Where the parts were when the measured part began.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) begun: bool,
    pub(super) busy_ns: Vec<u64>,
}

impl System<'_> {
    /// What each part has been busy up to now.
    pub(super) fn busy_ns(&self) -> Vec<u64> {
        let stations = std::iter::once(&self.processors).chain(&self.stations);
        let stations = stations.map(|station| station.busy_ns(self.now_ns));
        let arms = self.devices.iter().map(|disk| disk.busy_ns(self.now_ns));
        let server = self.share.as_ref().and_then(|share| share.server_busy_ns(self.now_ns));
        stations.chain(arms).chain(server).collect()
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self) {
        self.devices.iter_mut().for_each(|device| device.begin(self.now_ns));
        self.marks = Marks { begun: true, busy_ns: self.busy_ns() };
        self.seen.iter_mut().for_each(|seen| seen.begin(self.now_ns));
    }

    pub(super) fn finish(mut self) -> Outcome {
        let elapsed_ns = self.now_ns.saturating_sub(self.workload.warmup.0);
        let used = self.busy_ns();
        let used: Vec<u64> = used.iter().zip(&self.marks.busy_ns).map(|(after, before)| after - before).collect();
        let part = |kind, name, servers: f64, phases| (Part { name, kind, busy: 0.0, phases }, servers);
        let processors =
            part(PartKind::Processor, "processors".to_owned(), f64::from(self.machine.processors), BTreeMap::new());
        let between = self.machine.parts.iter().zip(&self.tallies);
        let between = between.map(|(one, tally)| part(kind(one), one.name().to_owned(), 1.0, phases(one, tally)));
        let disks = self.machine.disks.iter().enumerate();
        let disks = disks
            .map(|(index, disk)| part(PartKind::Device, format!("{} {}", disk.name, index + 1), 1.0, BTreeMap::new()));
        let server = self.machine.share.as_ref().and_then(|share| share.server_processors);
        let server = server.map(|count| {
            part(PartKind::Processor, "server's processors".to_owned(), f64::from(count), BTreeMap::new())
        });
        let parts = std::iter::once(processors).chain(between).chain(disks).chain(server);
        let whole_ns = elapsed_ns.max(1) as f64;
        let used_by = |((part, servers), used): ((Part, f64), &u64)| {
            let busy = *used as f64 / whole_ns / servers;
            Part { busy, ..part }
        };
        self.outcome.parts = parts.zip(&used).map(used_by).collect();
        self.outcome.at_work_ns = self.seen.iter().map(|seen| seen.at_work_ns(self.now_ns)).collect();
        self.outcome.processor_ns = used.first().copied().unwrap_or(0);
        self.outcome.elapsed_ns = elapsed_ns;
        self.outcome.flush = self.flushes.took.clone();
        self.outcome.flush_ns = self.flushes.ended_ns(self.now_ns);
        self.outcome
    }
}

fn kind(part: &machine::Part) -> PartKind {
    match part {
        machine::Part::Bus(_) => PartKind::Bus,
        machine::Part::Controller(_) => PartKind::Controller,
    }
}

/// What a bus did beside and with bytes, as shares of the time that it was busy.
fn phases(part: &machine::Part, tally: &Tally) -> BTreeMap<String, f64> {
    let machine::Part::Bus(bus) = part else { return BTreeMap::new() };
    let phases = tally.phases(bus);
    let all_ns: u64 = phases.iter().map(|(_, ns)| ns).sum();
    let at_work = phases.into_iter().filter(|(_, ns)| *ns > 0);
    at_work.map(|(phase, ns)| (phase.to_owned(), ns as f64 / all_ns as f64)).collect()
}
