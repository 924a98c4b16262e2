//! What an arm's time counts as: its work, for how much of that blocks passed under it, how much nobody waited for, and how much of
//! it an earlier request would have saved.
//!
//! Blocks pass for as long as a stream of them takes. Where the medium has to come round for some of them, since the head came down
//! amid them, that is on the way to them, as is the turn that is waited for the first.
//!
//! What the write cache puts on the medium is work for as long as a stream of it takes. Where its next blocks come after the
//! medium has passed, the arm waits over its track until the place comes by again: that turn is lost because the host was slow, and
//! is work only from when the arm is wanted elsewhere or somebody waits for it. The way to what else the write cache holds is work,
//! but *unawaited* while there is room for more and nobody waits for its end: the more there is to gather, the fewer ways there are.

use super::arm::Access;

/// How long an arm was at work, beside reading ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArmTime {
    /// Up to the end of what it is at,
    sum: Worked,
    /// of which it is at work from here on,
    works_from_ns: u64,
    /// is not on its way any more from here on,
    passes_from_ns: u64,
    /// would be that far from here on, had the host not been late,
    late_from_ns: u64,
    /// and before here nobody waits for it.
    awaited_from_ns: u64,
}

/// Parts of an arm's time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// At work.
    pub all_ns: u64,
    /// Of that, while the medium passed what was asked for under it.
    pub passing_ns: u64,
    /// Of that, on the way to what its write cache holds, while nobody waited.
    pub unawaited_ns: u64,
    /// Of that, on the way to what it would have been at sooner, had the host asked before the arm was free.
    pub late_ns: u64,
}

/// Who waits for an arm that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Somebody, for so much longer than if he had asked before the arm was free.
    Somebody { late_ns: u64 },
    /// Nobody: it empties its write cache.
    Nobody,
    /// Nobody, and it goes on with what it wrote, of which a stream takes so long, later than it could have.
    Late { stream_ns: u64 },
}

impl ArmTime {
    /// It is at an access from now on.
    pub(super) fn begin(&mut self, now_ns: u64, access: &Access, waits: Waits) {
        let ends_ns = access.ends_ns;
        let passes_ns = ends_ns.saturating_sub(access.passing_ns).max(now_ns);
        (self.works_from_ns, self.passes_from_ns, self.awaited_from_ns) = match waits {
            Waits::Somebody { .. } => (now_ns, passes_ns, now_ns),
            Waits::Nobody => (now_ns, passes_ns, passes_ns),
            Waits::Late { stream_ns } => [now_ns.max(ends_ns.saturating_sub(stream_ns)); 3].into(),
        };
        let late_ns = if let Waits::Somebody { late_ns } = waits { late_ns } else { 0 };
        self.late_from_ns = self.passes_from_ns.saturating_sub(late_ns).max(now_ns);
        self.sum.late_ns += self.passes_from_ns - self.late_from_ns;
        self.sum.all_ns += ends_ns - self.works_from_ns;
        self.sum.passing_ns += ends_ns - self.passes_from_ns;
        self.sum.unawaited_ns += self.awaited_from_ns - self.works_from_ns;
    }

    /// It passes over more behind that.
    pub(super) fn go_on(&mut self, takes_ns: u64) {
        self.sum.all_ns += takes_ns;
        self.sum.passing_ns += takes_ns;
    }

    /// There is something else for it to do from now on: it is at work.
    pub(super) fn want(&mut self, now_ns: u64) {
        let waits_ns = self.works_from_ns.saturating_sub(now_ns);
        self.sum.all_ns += waits_ns;
        self.sum.unawaited_ns += waits_ns;
        self.works_from_ns -= waits_ns;
    }

    /// Somebody waits for it from now on.
    pub(super) fn wait_for(&mut self, now_ns: u64) {
        self.want(now_ns);
        let unawaited_ns = self.awaited_from_ns.saturating_sub(now_ns);
        self.sum.unawaited_ns -= unawaited_ns;
        self.awaited_from_ns -= unawaited_ns;
    }

    /// What it came to until now, where it is at something until `ends_ns`.
    pub(super) fn until(&self, now_ns: u64, ends_ns: Option<u64>) -> Worked {
        let ends_ns = ends_ns.unwrap_or(0);
        let to_come_ns = |from_ns: u64| ends_ns.saturating_sub(now_ns.max(from_ns));
        let unawaited_ns = self.awaited_from_ns.saturating_sub(now_ns.max(self.works_from_ns));
        let late_ns = self.passes_from_ns.saturating_sub(now_ns.max(self.late_from_ns));
        Worked {
            all_ns: self.sum.all_ns.saturating_sub(to_come_ns(self.works_from_ns)),
            passing_ns: self.sum.passing_ns.saturating_sub(to_come_ns(self.passes_from_ns)),
            unawaited_ns: self.sum.unawaited_ns - unawaited_ns,
            late_ns: self.sum.late_ns - late_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Direction};
    use crate::disk::scheduler::Scheduler;
    use crate::disk::tests::larger;
    use crate::disk::{Disk, Drive, Overhead, WriteCache, arm::Position};
    use std::sync::Arc;

    fn access(begins_ns: u64, ends_ns: u64) -> Access {
        let (position, after_turns) = (Position::default(), 0.0);
        Access { begins_ns, ends_ns, passing_ns: ends_ns - begins_ns, position, after_turns }
    }

    fn counted(time: &ArmTime, now_ns: u64) -> (u64, u64, u64) {
        let Worked { all_ns, passing_ns, unawaited_ns, .. } = time.until(now_ns, Some(100));
        (all_ns, passing_ns, unawaited_ns)
    }

    #[test]
    fn by_hand() {
        let mut time = ArmTime::default();
        time.begin(0, &access(80, 100), Waits::Somebody { late_ns: 50 });
        assert_eq!([40, 90, 100].map(|now| counted(&time, now)), [(40, 0, 0), (90, 10, 0), (100, 20, 0)]);
        assert_eq!([20, 40, 90, 100].map(|now| time.until(now, Some(100)).late_ns), [0, 10, 50, 50]);

        let mut time = ArmTime::default();
        time.begin(0, &Access { passing_ns: 20, ..access(10, 100) }, Waits::Somebody { late_ns: 99 });
        assert_eq!([40, 90, 100].map(|now| counted(&time, now)), [(40, 0, 0), (90, 10, 0), (100, 20, 0)], "amid them");
        assert_eq!(time.until(100, Some(100)).late_ns, 80, "no more than the way");

        let mut time = ArmTime::default();
        time.begin(0, &access(80, 100), Waits::Nobody);
        assert_eq!([40, 90].map(|now| counted(&time, now)), [(40, 0, 40), (90, 10, 80)]);
        let mut asked = time;
        asked.wait_for(30);
        assert_eq!([30, 40, 100].map(|now| counted(&asked, now)), [(30, 0, 30), (40, 0, 30), (100, 20, 30)]);

        let mut time = ArmTime::default();
        time.begin(0, &access(80, 100), Waits::Late { stream_ns: 25 });
        assert_eq!([40, 90, 100].map(|now| counted(&time, now)), [(0, 0, 0), (15, 15, 0), (25, 25, 0)]);
        time.want(30);
        assert_eq!([30, 40, 100].map(|now| counted(&time, now)), [(0, 0, 0), (10, 0, 10), (70, 25, 45)]);
        time.wait_for(60);
        assert_eq!([60, 80, 100].map(|now| counted(&time, now)), [(30, 0, 30), (50, 5, 30), (70, 25, 30)]);
    }

    /// Writes of 8 blocks, one every millisecond of each of so many streams, for a second; what the arm did then. Whether the host
    /// waits for the cache's end after each, and what the arm would be at work in a stream.
    fn written(streams: u64, waits: bool) -> (Worked, f64) {
        let drive = Drive {
            write_cache: Some(WriteCache { blocks: 4096, pieces: 64, wait_ns: 0 }),
            ..larger(Scheduler::CLook)
        };
        let stream_ns = drive.mechanics.stream_of_writes_ns(0, 8000);
        let mut disk = Disk::new(Arc::new(drive));
        for number in 0..1000 {
            let now_ns = number * 1_000_000;
            while let Some(at_ns) = disk.next_ns().filter(|at_ns| *at_ns <= now_ns) {
                disk.advance(at_ns);
            }
            for stream in 0..streams {
                let block = stream * 1_000_000 + number * 8;
                let direction = Direction::Write;
                disk.accept(now_ns, Command { tag: 0, direction, block, count: 8, received_ns: now_ns });
            }
            if waits {
                disk.await_flush(now_ns);
            }
        }
        (disk.worked(1_000_000_000), stream_ns as f64 / 1e9)
    }

    #[test]
    fn a_stream_that_the_host_is_late_with_is_work_as_if_it_were_not() {
        let (worked, stream) = written(1, false);
        let busy = worked.all_ns as f64 / 1e9;
        assert!((busy / stream - 1.0).abs() < 0.05 && stream < 0.5, "{busy} for {stream}");
        let (worked, _) = written(1, true);
        assert!(worked.all_ns > 900_000_000 && worked.unawaited_ns == 0, "somebody waits: {worked:?}");
    }

    /// Some writes of 8 blocks past the cache, each told so long after the one before was on the medium, or before; what is the drive's
    /// own for a write takes 0.3 ms.
    fn one_after_another(write_overlaps: bool, after_ns: i64) -> Worked {
        let overhead = Overhead { write_ns: 300_000, write_next_ns: 300_000, write_overlaps, ..Overhead::default() };
        let mut disk = Disk::new(Arc::new(Drive { overhead, ..larger(Scheduler::CLook) }));
        let write = |block, received_ns| Command { tag: 0, direction: Direction::Write, block, count: 8, received_ns };
        disk.accept(0, write(0, 0));
        let mut done_ns = 0;
        for block in (8..800).step_by(8) {
            done_ns = disk.next_ns().unwrap();
            let received_ns = done_ns.saturating_add_signed(after_ns);
            if after_ns > 0 {
                disk.advance(done_ns);
            }
            disk.accept(received_ns, write(block, received_ns));
            disk.advance(done_ns);
        }
        disk.worked(done_ns)
    }

    #[test]
    fn turns_that_an_earlier_write_would_have_saved_are_told() {
        let share = |ns: u64, worked: &Worked| ns as f64 / worked.all_ns as f64;
        for after_ns in [200_000, -100_000] {
            let worked = one_after_another(true, after_ns);
            assert!(share(worked.late_ns, &worked) > 0.9, "told sooner it is prepared in time: {worked:?}");
        }
        let worked = one_after_another(false, 200_000);
        assert!(share(worked.late_ns, &worked) < 0.1, "it loses its turn anyway: {worked:?}");
        assert!(share(worked.passing_ns, &worked) < 0.1, "and the rest is its way: {worked:?}");
    }

    #[test]
    fn ways_between_streams_that_nobody_waits_for_are_told() {
        let (worked, stream) = written(2, false);
        let [busy, passing, unawaited] =
            [worked.all_ns, worked.passing_ns, worked.unawaited_ns].map(|ns| ns as f64 / 1e9);
        assert!(busy > 0.98 && (passing / stream / 2.0 - 1.0).abs() < 0.1, "{worked:?} {stream}");
        assert!((busy - passing - unawaited).abs() < 0.02, "{worked:?}");
        let (worked, _) = written(2, true);
        assert_eq!(worked.unawaited_ns, 0);
    }
}
