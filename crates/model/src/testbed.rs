//! A testbed: a place to measure a workload. This host is one, a simulated machine another; their users see no difference.

use crate::environment::Environment;
use crate::sample::Sample;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds};
use crate::workload::Workload;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Measures workloads on its targets.
pub trait Testbed {
    /// The host, its instruments and the target.
    fn describe(&self) -> &Environment;

    /// Runs one workload and returns its sample.
    ///
    /// A failed request ends the sample early, and so does a cancellation. The sample then holds the part measured until
    /// then, and the reason in `failure`.
    ///
    /// # Errors
    /// If nothing could be measured.
    fn measure(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError>;

    /// A second testbed that can measure at the same time; none if they would disturb each other, as on a host.
    fn another(&self) -> Option<Box<dyn Testbed + Send>> {
        None
    }
}

/// Receives the progress of a measurement.
pub trait Observer {
    /// Called a few times per second.
    fn progress(&mut self, progress: &Progress);
}

/// Ignores progress.
impl Observer for () {
    fn progress(&mut self, _: &Progress) {}
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the first request.
    pub elapsed: Nanoseconds,
    /// Requests so far, warm-up excluded.
    pub requests: u64,
    /// Bytes so far, warm-up excluded.
    pub bytes: Bytes,
    /// Over the last interval.
    pub rate: BytesPerSecond,
}

/// Cancels a measurement cleanly, from another thread or a signal handler. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// From a flag that a signal handler sets, for example.
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Cancel(flag)
    }

    /// Cancels it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why nothing could be measured. Each message ends with the remedy where there is one.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The operating system rejected a call.
    #[error("cannot {action} {subject}")]
    System {
        /// The action: `open`, `read`.
        action: &'static str,
        /// Its object.
        subject: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The target does not support the workload.
    #[error("{0}")]
    Unsupported(String),
    /// It was cancelled before the first request was counted.
    #[error("interrupted before anything was measured")]
    Cancelled,
}
