//! Bounds of keys.

use crate::units::{Bytes, Nanoseconds};

/// Largest request.
pub const MAX_REQUEST: Bytes = Bytes(1 << 30);
/// Most requests outstanding a worker.
pub const MAX_DEPTH: u32 = 16_384;
/// Most workers.
pub const MAX_WORKERS: u32 = 1024;
/// Most requests a second that can be asked for: more than any loop issues.
pub const MAX_RATE: u64 = 100_000_000;
/// Closest spacing of the recorded intervals.
pub const MIN_INTERVAL: Nanoseconds = Nanoseconds(10_000_000);
/// The largest number: what a signed 64-bit offset can address.
pub const LARGEST: u64 = i64::MAX as u64;
/// The longest time: longer ones are mistyped, and records keep seconds.
pub const LONGEST: Nanoseconds = Nanoseconds(7 * 24 * 3600 * 1_000_000_000);
