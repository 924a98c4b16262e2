//! A testbed: what a workload can be measured on. This host is one, a simulated machine another; whoever drives one
//! cannot tell which.

use crate::environment::Environment;
use crate::sample::Sample;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds};
use crate::workload::Workload;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Measures workloads on one target.
pub trait Testbed {
    /// The host, its instruments and the target.
    fn describe(&self) -> &Environment;

    /// Runs one workload and gives what it measured.
    ///
    /// A request that fails ends the sample early; the sample then says so in `failure` and holds what was measured
    /// until then. A cancelled one holds what was measured, and says so too.
    ///
    /// # Errors
    /// When nothing could be measured at all.
    fn measure(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError>;

    /// Another one that measures the same at the same time; none where two would be in each other's way, as on a host.
    fn another(&self) -> Option<Box<dyn Testbed + Send>> {
        None
    }
}

/// Is told how a measurement goes.
pub trait Observer {
    /// Called a few times a second.
    fn progress(&mut self, progress: &Progress);
}

/// Nobody watches.
impl Observer for () {
    fn progress(&mut self, _: &Progress) {}
}

/// How far a measurement is and what it shows.
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

/// Ends what is being measured, cleanly, from another thread or a signal. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Over a flag that somebody else sets, a signal handler say.
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Cancel(flag)
    }

    /// Ends it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why nothing could be measured. Each message ends with the remedy where there is one.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The operating system refused.
    #[error("cannot {action} {subject}")]
    System {
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// On what.
        subject: String,
        /// What it said.
        #[source]
        source: std::io::Error,
    },
    /// The target does not do what the workload asks.
    #[error("{0}")]
    Unsupported(String),
    /// It was cancelled before the first request was counted.
    #[error("interrupted before anything was measured")]
    Cancelled,
}
