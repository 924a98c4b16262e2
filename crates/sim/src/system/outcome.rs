//! What a run came to: what was counted from the end of the warm-up on, and where that begins and ends.
//!
//! The measured part is the window that was asked for. Where it holds few requests, its ends are completions: the last one
//! of the warm-up (or the start), and the last of what is outstanding when the window is over. A window of two and a half
//! requests would have a rate of two or of three.

use super::pace::OpenLoop;
use crate::disk::Worked;
use halfpower_model::Histogram;
use halfpower_model::sample::{CutOff, Part};

/// From this share of the time on a wait is the bottleneck.
pub(super) const LONG: f64 = 0.9;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Measured time.
    pub elapsed_ns: u64,
    /// Service times by the kind of a request.
    pub latency: [Histogram; 4],
    /// Bytes read, written and given back.
    pub bytes: [u64; 4],
    /// The course: requests and bytes done in each interval.
    pub intervals: Vec<(u64, u64)>,
    /// How long each is: what the workload asks for, doubled until their number is within its bound.
    pub interval_ns: u64,
    /// How long flushes between writes took.
    pub flush: Histogram,
    /// How long the flush at the end took, as part of the measured time.
    pub flush_ns: Option<u64>,
    /// Time that requests were outstanding, all together.
    pub outstanding_ns: u128,
    /// CPU time.
    pub cpu_ns: u64,
    /// What of it came after a request's bytes: interrupts, which are no worker's time.
    pub interrupt_ns: u64,
    /// What of it the workers' own threads had, each on one CPU at a time.
    pub threads_ns: u64,
    /// For how long each device that the requests reach had something outstanding, as a system counts: from when a command set out
    /// to when its bytes were in memory. A volume that a controller makes is one.
    pub at_work_ns: Vec<u64>,
    /// For how long each command was outstanding there, all together.
    pub at_devices_ns: u64,
    /// What each part was busy, over what it could be; of a bus by phase.
    pub parts: Vec<Part>,
    /// Commands that the disks were given, and their bytes, by their kind.
    pub device: [(u64, u64); 4],
    /// What became one of these with another.
    pub merges: u64,
    /// What was under way at the end, which nobody waits for.
    pub cut_off: CutOff,
    /// What its requests waited, where they arrive whether anybody is free or not.
    pub open_loop: Option<OpenLoop>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// What was counted up to a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    pub(super) at_ns: u64,
    pub(super) busy_ns: Vec<u64>,
    /// Of buses and controllers, without what they were held for others.
    pub(super) own_ns: Vec<u64>,
    /// What arms did; none of devices without one.
    pub(super) worked: Vec<Option<Worked>>,
    pub(super) at_work_ns: Vec<u64>,
    pub(super) at_devices_ns: u64,
    pub(super) interrupt_ns: u64,
    pub(super) device: [(u64, u64); 4],
    pub(super) merges: u64,
    pub(super) outstanding_ns: u128,
}

/// Where the measured part may begin and how it ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) begun: bool,
    /// The end of the warm-up.
    pub(super) window: Mark,
    /// The last completion before it; the start before there is one.
    pub(super) completion: Mark,
    /// What the workers had been on CPUs by then.
    pub(super) threads_ns: u64,
    /// Whether its ends are completions; nobody has asked yet.
    pub(super) is_of_few: Option<bool>,
}

impl Outcome {
    /// Most intervals of a run: their memory is bounded however long it is.
    pub(super) const MAX_INTERVALS: usize = 100_000;

    /// Adds a request to the course, so long after the warm-up.
    pub(super) fn add_to_course(&mut self, after_ns: u64, bytes: u64) {
        let mut index = (after_ns / self.interval_ns) as usize;
        while index >= Self::MAX_INTERVALS {
            let pair = |pair: &[(u64, u64)]| pair.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            self.intervals = self.intervals.chunks(2).map(pair).collect();
            self.interval_ns *= 2;
            index /= 2;
        }
        if self.intervals.len() <= index {
            self.intervals.resize(index + 1, (0, 0));
        }
        let (requests, done) = &mut self.intervals[index];
        (*requests, *done) = (*requests + 1, *done + bytes);
    }
}
