//! Thresholds that several suspects share.

/// Saturated: share of its time that a worker wants a CPU, or a part is busy.
pub(super) const FULL: f64 = 0.9;
/// Most of the time: from here on flushes, or other users of the CPU, are the bottleneck.
pub(super) const MOST_OF_IT: f64 = 0.5;
/// Below this share of the configured requests, few were outstanding.
pub(super) const FEWER: f64 = 0.75;
/// A device below this load has room.
pub(super) const SPARE: f64 = 0.5;
/// A deeper queue is faster from the first on, and no faster up to the second.
pub(super) const FASTER: f64 = 1.2;
pub(super) const NO_FASTER: f64 = 1.1;
/// Share of the time whose removal would make it that much faster.
pub(super) const MATTERS: f64 = 1.0 - 1.0 / FASTER;
