//! The keys of CPUs, and what the keys of an operating system have to agree on.

use super::error::Wrong;
use crate::bounds::{Clock, Count, LEAST_CALL, MOST_BYTES, Size};
use crate::machine::OperatingSystem;
use crate::table::table;
use halfpower_model::Bytes;

table! { pub(super) CpuKeys {
    /// number of CPU cores
    count: Count<1, 4096>,
    /// CPU model
    model: String,
    /// clock frequency, for CPU cost in clocks per byte. The file's CPU times hold at this clock and scale with `--set
    /// cpu.clock=1466MHz`
    clock: Option<Clock>,
    /// main memory
    memory: Size<{ 1 << 20 }, MOST_BYTES>,
} }

/// Less than that has no room for what is read and what is written at the same time.
const LEAST_CACHE: Bytes = Bytes(1 << 20);

/// Checks an operating system on a machine with so much memory; `place` is where its keys are.
///
/// # Errors
/// What cannot be.
pub(super) fn check(system: &OperatingSystem, place: &[&str], memory: Bytes) -> Result<(), Wrong> {
    let Some(cache) = &system.cache else { return Ok(()) };
    let wrong = |keys: &[&str], message: String| Err(Wrong::at(&[place, &["cache"], keys].concat(), message));
    for (call, cost) in [("read", cache.read), ("write", cache.write)] {
        if cost.fixed_us * 1e3 < LEAST_CALL.0 as f64 {
            return wrong(&[call, "fixed"], format!("it has to be at least {LEAST_CALL}"));
        }
    }
    let [capacity, dirty] = cache.sizes(memory);
    if dirty > capacity {
        return wrong(&["dirty-share"], "it has to be at most share".to_owned());
    }
    if capacity < LEAST_CACHE {
        let message =
            format!("it leaves the cache {capacity}, and it needs {LEAST_CACHE}; for no cache leave the table out");
        return wrong(&["share"], message);
    }
    Ok(())
}
