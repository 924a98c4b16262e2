//! Work that one part does in order, and how long it took.

/// Work that is done at once as soon as there is time: what is booked and what of it lies ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Until when.
    pub(super) free_ns: u64,
    pub(super) booked_ns: u64,
}

impl Work {
    /// Takes more, now; gives when that is done.
    pub(super) fn book(&mut self, now_ns: u64, ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + ns;
        self.booked_ns += ns;
        self.free_ns
    }

    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        self.booked_ns - self.free_ns.saturating_sub(now_ns).min(self.booked_ns)
    }
}
