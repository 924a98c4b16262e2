//! What a run came to: what was counted from the end of the warm-up on.

use super::System;
use crate::bus::Tally;
use crate::machine::Part;
use halfpower_model::Histogram;

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
    /// Time that requests were outstanding, all together.
    pub outstanding_ns: u128,
    /// Processor time.
    pub processor_ns: u64,
    /// What each part was busy, over what it could be: name and share.
    pub utilisation: Vec<(String, f64)>,
    /// What each bus did beside and with bytes: its name, and the share of its time by phase.
    pub phases: Vec<(String, [(&'static str, f64); 8])>,
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
        stations.chain(arms).collect()
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self) {
        self.marks = Marks { begun: true, busy_ns: self.busy_ns() };
    }

    pub(super) fn finish(mut self) -> Outcome {
        let elapsed_ns = self.now_ns.saturating_sub(self.workload.warmup.0);
        let used = self.busy_ns();
        let used: Vec<u64> = used.iter().zip(&self.marks.busy_ns).map(|(after, before)| after - before).collect();
        let processors = (String::from("processors"), f64::from(self.machine.processors));
        let between = self.machine.parts.iter().map(|part| (part.name().to_owned(), 1.0));
        let disks = self.machine.disks.iter().enumerate();
        let disks = disks.map(|(index, disk)| (format!("{} {}", disk.name, index + 1), 1.0));
        let parts = std::iter::once(processors).chain(between).chain(disks);
        let whole_ns = elapsed_ns.max(1) as f64;
        self.outcome.utilisation =
            parts.zip(&used).map(|((name, servers), busy)| (name, *busy as f64 / whole_ns / servers)).collect();
        self.outcome.phases = self.phases();
        self.outcome.processor_ns = used.first().copied().unwrap_or(0);
        self.outcome.elapsed_ns = elapsed_ns;
        self.outcome
    }

    fn phases(&self) -> Vec<(String, [(&'static str, f64); 8])> {
        let of = |(part, tally): (&Part, &Tally)| {
            let Part::Bus(bus) = part else { return None };
            let phases = tally.phases(bus);
            let all_ns: u64 = phases.iter().map(|(_, ns)| ns).sum();
            Some((bus.name.clone(), phases.map(|(phase, ns)| (phase, ns as f64 / all_ns.max(1) as f64))))
        };
        self.machine.parts.iter().zip(&self.tallies).filter_map(of).collect()
    }
}
