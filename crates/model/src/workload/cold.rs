//! Reads of an emptied file cache: they fill it as they go, so that what comes around is a measurement of memory.

use super::{CachePolicy, Pattern, RwFlag, Workload};
use crate::units::Bytes;

impl Workload {
    /// Whether it reads one place after another from a cache that was emptied and that keeps what was read: beyond its
    /// span it would find what it just put there.
    pub fn reads_a_cold_cache_in_order(&self) -> bool {
        self.cache == CachePolicy::Cold
            && self.pattern == Pattern::Sequential
            && !self.buffering.is_direct()
            && !self.rw_flags.has(RwFlag::Dontcache)
            && self.operation.reads()
    }

    /// What going over every span once comes to.
    pub fn once_over(&self) -> Bytes {
        Bytes(self.span.0.saturating_sub(self.offset.0).saturating_mul(self.volumes()))
    }
}
