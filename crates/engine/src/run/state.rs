//! State that the workers of a run share with each other and with the watching thread.

use super::barrier::Barrier;
use crate::instrument::clock::Clock;
use crate::personality::interface::Granted;
use crate::shared_memory::{self, Zeroed};
use crate::target::OpenTarget;
use crate::worker::Record;
use crate::worker::ledger::Volumes;
use halfpower_model::Workload;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A message of a worker to the watching thread.
pub(super) enum Event {
    /// It is ready to start, with the options granted, or cannot be.
    Ready(io::Result<Granted>),
    /// It has ended.
    Done,
}

/// Reports that a worker is ready to start, with the options granted, or cannot be.
pub(super) type Ready<'a> = &'a dyn Fn(io::Result<Granted>);

/// State that the workers of a run share, also as processes.
pub(super) struct Shared<'a> {
    pub(super) workload: &'a Workload,
    pub(super) targets: &'a [OpenTarget],
    pub(super) clock: Clock,
    pub(super) ledger: Option<Volumes<'a>>,
    pub(super) records: shared_memory::Shared<Record>,
    /// One per volume.
    pub(super) cursors: shared_memory::Shared<AtomicU64>,
    pub(super) common: shared_memory::Shared<Common>,
}

/// The single values of a run.
#[repr(C)]
pub(super) struct Common {
    pub(super) barrier: Barrier,
    /// Ends every worker.
    pub(super) stop: AtomicBool,
    /// Workers that have finished, and the bytes of all when the first finished.
    pub(super) finished: AtomicU64,
    pub(super) bytes_at_first_finish: AtomicU64,
}

// SAFETY: a barrier, a flag and numbers, each of which may be zero, changed as atomics.
unsafe impl Zeroed for Common {}

impl<'a> Shared<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        targets: &'a [OpenTarget],
        clock: Clock,
        ledger: Option<Volumes<'a>>,
    ) -> io::Result<Shared<'a>> {
        Ok(Shared {
            workload,
            targets,
            clock,
            ledger,
            records: shared_memory::Shared::new(workload.workers as usize)?,
            cursors: shared_memory::Shared::new(workload.volumes() as usize)?,
            common: shared_memory::Shared::new(1)?,
        })
    }

    pub(super) fn barrier(&self) -> &Barrier {
        &self.common[0].barrier
    }

    pub(super) fn stop(&self) -> &AtomicBool {
        &self.common[0].stop
    }

    /// Whether the time of the measured part is over.
    pub(super) fn is_over(&self) -> bool {
        let end = |from: u64| Some(from.saturating_add(self.clock.ticks(self.workload.limits.duration?.0)));
        self.barrier().started_at().and_then(end).is_some_and(|end| self.clock.tick() > end)
    }

    /// Bytes of all workers until now.
    pub(super) fn bytes(&self) -> u64 {
        self.records.iter().flat_map(|record| &record.kinds).map(|recorder| recorder.bytes()).sum()
    }

    /// A worker has finished.
    pub(super) fn finish(&self) {
        let common = &self.common[0];
        if common.finished.fetch_add(1, Relaxed) == 0 {
            common.bytes_at_first_finish.store(self.bytes(), Relaxed);
        }
    }
}
