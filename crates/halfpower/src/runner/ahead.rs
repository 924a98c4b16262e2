//! Measures the cells of a block on all CPUs at once, ahead of storing them in order.
//!
//! Only for testbeds that can be duplicated, such as simulated machines: their samples do not depend on other work.

use halfpower_model::{Cancel, MeasureError, Sample, Testbed, Workload};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Scope, available_parallelism};

/// A testbed of another thread.
type Other = Box<dyn Testbed + Send>;

/// A testbed for each CPU; none with one CPU, or if the testbed cannot be duplicated.
pub(super) fn others(testbed: &dyn Testbed) -> Vec<Other> {
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    if cpus == 1 { Vec::new() } else { (0..cpus).map_while(|_| testbed.another()).collect() }
}

/// Results of the cells of a block.
pub(super) struct Ahead {
    measured: Receiver<(usize, Result<Sample, MeasureError>)>,
    /// Results that arrived before they were needed, by cell.
    early: HashMap<usize, Result<Sample, MeasureError>>,
}

impl Ahead {
    /// Starts to measure cells of a block; none without further testbeds. After a drop, each thread ends after its
    /// current cell.
    pub(super) fn begin<'scope>(
        scope: &'scope Scope<'scope, '_>,
        others: &'scope mut [Other],
        cells: &'scope [(usize, Workload)],
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
                while let Some((cell, workload)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let sample = testbed.measure(workload, &mut (), cancel);
                    if cancel.is_cancelled() && sample.is_err() || sender.send((*cell, sample)).is_err() {
                        return;
                    }
                }
            });
        }
        Some(Ahead { measured, early: HashMap::new() })
    }

    /// The result of a cell; waits for it.
    pub(super) fn take(&mut self, cell: usize) -> Result<Sample, MeasureError> {
        loop {
            if let Some(result) = self.early.remove(&cell) {
                return result;
            }
            // The threads end without a result if they are cancelled.
            let (measured, result) = self.measured.recv().map_err(|_| MeasureError::Cancelled)?;
            self.early.insert(measured, result);
        }
    }
}
