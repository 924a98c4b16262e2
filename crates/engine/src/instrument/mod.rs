//! Instruments: measurements beside the requests themselves. Each states its cost or resolution.

pub(crate) mod accounts;
pub(crate) mod clock;
pub(crate) mod counters;
pub(crate) mod cpu;
pub(crate) mod dirty;
pub mod drop_cache;
pub mod files;
pub mod idle;
pub mod inspect;
pub(crate) mod kernel_threads;
pub mod link;
pub mod map;
pub mod memory;
pub(crate) mod perf;
pub(crate) mod phases;
pub(crate) mod soaker;

use halfpower_model::{Cancel, MeasureError, Sample, Testbed, Workload};

/// Measures a workload; a sample that failed is an error.
fn measure(testbed: &mut dyn Testbed, workload: &Workload, cancel: &Cancel) -> Result<Sample, MeasureError> {
    let sample = testbed.measure(workload, &mut (), cancel)?;
    match sample.failure {
        Some(_) if cancel.is_cancelled() => Err(MeasureError::Cancelled),
        Some(failure) => Err(MeasureError::Unsupported(failure.message)),
        None => Ok(sample),
    }
}
