//! How long an arm was busy: its accesses, and how much of that requested blocks passed under it.
//!
//! Destaging a write cache less than half full while no command waits counts for as long as a stream of its blocks takes: a
//! fuller cache would spare the seeks and rotations between them. Else all of the arm's time counts.

use super::arm::Access;

/// Busy time of an arm, read-ahead left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArmTime {
    /// Up to the end of the present access.
    sum: Worked,
    /// The present access counts from here on,
    counts_from_ns: u64,
    /// and its blocks pass from here on.
    passes_from_ns: u64,
}

/// Parts of an arm's time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Busy.
    pub busy_ns: u64,
    /// Of that, while requested blocks passed under the head.
    pub passing_ns: u64,
}

impl ArmTime {
    /// An access begins; whether a command waits for it or behind it.
    pub(super) fn begin(&mut self, now_ns: u64, access: &Access, is_awaited: bool) {
        self.passes_from_ns = access.ends_ns.saturating_sub(access.passing_ns).max(now_ns);
        self.counts_from_ns = if is_awaited { now_ns } else { self.passes_from_ns };
        self.sum.busy_ns += access.ends_ns - self.counts_from_ns;
        self.sum.passing_ns += access.ends_ns - self.passes_from_ns;
    }

    /// The access is extended.
    pub(super) fn extend(&mut self, takes_ns: u64) {
        self.sum.busy_ns += takes_ns;
        self.sum.passing_ns += takes_ns;
    }

    /// A command waits for the arm from now on.
    pub(super) fn is_awaited(&mut self, now_ns: u64) {
        let more_ns = self.counts_from_ns.saturating_sub(now_ns);
        self.sum.busy_ns += more_ns;
        self.counts_from_ns -= more_ns;
    }

    /// The time until now, during an access that ends at `ends_ns`.
    pub(super) fn until(&self, now_ns: u64, ends_ns: Option<u64>) -> Worked {
        let to_come_ns = |from_ns: u64| ends_ns.unwrap_or(0).saturating_sub(now_ns.max(from_ns));
        Worked {
            busy_ns: self.sum.busy_ns.saturating_sub(to_come_ns(self.counts_from_ns)),
            passing_ns: self.sum.passing_ns.saturating_sub(to_come_ns(self.passes_from_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::arm::Position;

    #[test]
    fn by_hand() {
        let position = Position::default();
        let access = Access { begins_ns: 80, ends_ns: 100, passing_ns: 20, position, after_turns: 0.0 };
        let until = |time: &ArmTime, now_ns| {
            let Worked { busy_ns, passing_ns } = time.until(now_ns, Some(100));
            (busy_ns, passing_ns)
        };
        let mut time = ArmTime::default();
        time.begin(0, &access, true);
        assert_eq!([40, 90, 100].map(|now| until(&time, now)), [(40, 0), (90, 10), (100, 20)]);
        let mut destaging = ArmTime::default();
        destaging.begin(0, &access, false);
        assert_eq!([40, 90, 100].map(|now| until(&destaging, now)), [(0, 0), (10, 10), (20, 20)]);
        destaging.is_awaited(60);
        assert_eq!([60, 80, 100].map(|now| until(&destaging, now)), [(0, 0), (20, 0), (40, 20)]);
    }
}
