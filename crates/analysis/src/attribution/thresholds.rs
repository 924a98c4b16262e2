//! Shares and ratios from which on a figure counts, for all suspects.

/// From this share of its time on a worker wants a processor all the time.
pub(super) const FULL: f64 = 0.9;
/// From this share of the time on flushes set the pace, or those who have the processor.
pub(super) const MOST_OF_IT: f64 = 0.5;
/// Of the requests that may be outstanding, so many are few.
pub(super) const FEWER: f64 = 0.75;
/// A device that has less to do than this could do more.
pub(super) const SPARE: f64 = 0.5;
/// With more requests outstanding it is faster from here on, and no faster up to there.
pub(super) const FASTER: f64 = 1.2;
pub(super) const NO_FASTER: f64 = 1.1;
/// Of the time, what makes it so much faster to be without that this is told.
pub(super) const MATTERS: f64 = 1.0 - 1.0 / FASTER;
