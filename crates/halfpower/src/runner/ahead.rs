//! A block measured ahead of being stored: its cells on all CPUs at once, given in whatever order they are asked for.
//!
//! Only testbeds that there can be several of, as simulated machines, which give the same sample whatever else is going on.

use crate::plan::Plan;
use halfpower_model::{Cancel, MeasureError, Sample, Testbed};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Scope, available_parallelism};

/// A testbed that is another thread's.
type Other = Box<dyn Testbed + Send>;

/// One for each CPU; none where there is one CPU, or one testbed.
pub(super) fn others(testbed: &dyn Testbed) -> Vec<Other> {
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    if cpus == 1 { Vec::new() } else { (0..cpus).map_while(|_| testbed.another()).collect() }
}

/// What comes of the cells of a block.
pub(super) struct Ahead {
    measured: Receiver<(usize, Result<Sample, MeasureError>)>,
    /// Those that came before they were asked for, by cell.
    early: HashMap<usize, Result<Sample, MeasureError>>,
}

impl Ahead {
    /// Begins to measure cells of a block; none without testbeds to do it. Its threads end when it is dropped, each after what
    /// it is at.
    pub(super) fn begin<'scope>(
        scope: &'scope Scope<'scope, '_>,
        others: &'scope mut [Other],
        plan: &'scope Plan,
        block: u32,
        cells: &'scope [usize],
        cancel: &'scope Cancel,
    ) -> Option<Ahead> {
        if others.is_empty() {
            return None;
        }
        let (sender, measured) = channel();
        let next = Arc::new(AtomicUsize::new(0));
        for testbed in others {
            let (sender, next) = (sender.clone(), Arc::clone(&next));
            scope.spawn(move || {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let sample = testbed.measure(&plan.workload(*cell, block), &mut (), cancel);
                    if cancel.is_cancelled() && sample.is_err() || sender.send((*cell, sample)).is_err() {
                        return;
                    }
                }
            });
        }
        Some(Ahead { measured, early: HashMap::new() })
    }

    /// What came of a cell, waiting until it is there.
    pub(super) fn take(&mut self, cell: usize) -> Result<Sample, MeasureError> {
        loop {
            if let Some(result) = self.early.remove(&cell) {
                return result;
            }
            // Without another to come the threads were told to stop.
            let (measured, result) = self.measured.recv().map_err(|_| MeasureError::Cancelled)?;
            self.early.insert(measured, result);
        }
    }
}
