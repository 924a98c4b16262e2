//! What the block layer did, from the device's `stat` file (Linux, Documentation/block/stat.rst). Reading it costs a
//! few microseconds, before and after a sample.

use halfpower_model::sample::Block;
use std::path::PathBuf;

/// A device whose counters can be read.
#[derive(Clone, Debug)]
pub(crate) struct DiskCounters {
    path: PathBuf,
}

/// The counters at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    requests: u64,
    bytes: u64,
    merges: u64,
    busy_ms: u64,
}

impl DiskCounters {
    /// Of the device `major:minor`; none where the kernel keeps none.
    pub(crate) fn of(major: u32, minor: u32) -> Option<Self> {
        let path = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        path.exists().then_some(DiskCounters { path })
    }

    /// Reads them.
    pub(crate) fn read(&self) -> Option<Reading> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let fields: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let field = |index: usize| fields.get(index).copied();
        Some(Reading {
            requests: field(0)? + field(4)?,
            merges: field(1)? + field(5)?,
            // The unit is 512 bytes whatever the device's block is.
            bytes: (field(2)? + field(6)?) * 512,
            busy_ms: field(9)?,
        })
    }
}

/// What happened between two readings.
pub(crate) fn between(before: Reading, after: Reading, elapsed_s: f64) -> Block {
    Block {
        requests: after.requests.saturating_sub(before.requests),
        bytes: after.bytes.saturating_sub(before.bytes),
        merges: after.merges.saturating_sub(before.merges),
        busy_fraction: (after.busy_ms.saturating_sub(before.busy_ms) as f64 / 1e3 / elapsed_s.max(1e-9)).min(1.0),
    }
}
