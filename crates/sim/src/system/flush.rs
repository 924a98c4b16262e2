//! Flushes between the writes of a worker, or after the last one.
//!
//! A flushing worker waits for its own requests. Then the page cache writes all dirty pages and each disk empties its write
//! cache. Writes of other workers in the meantime must reach the medium too, so they prolong the flush. A flush itself costs no
//! CPU time.

use halfpower_model::{Durability, Histogram, Workload};

/// A worker that flushes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worker {
    /// Writes since the last flush.
    pub(super) writes: u32,
    /// Writes outstanding.
    pub(super) open: u32,
    /// Requests that wait for the end of the flush.
    pub(super) held: u32,
    /// Start of the flush under way.
    pub(super) since_ns: Option<u64>,
}

/// The flushes of a run.
#[derive(Debug)]
pub(super) struct Flushes {
    pub(super) every: Option<u32>,
    pub(super) at_end: bool,
    pub(super) workers: Vec<Worker>,
    /// Flushes under way. Each counts as an outstanding request.
    pub(super) waiting: u32,
    /// Disks that empty their write cache for a flush: an outstanding command each.
    pub(super) emptying: Vec<bool>,
    /// Start of the flush at the end.
    pub(super) ending_ns: Option<u64>,
    /// Durations of flushes between writes.
    pub(super) took: Histogram,
}

impl Flushes {
    pub(super) fn of(workload: &Workload, disks: usize) -> Flushes {
        Flushes {
            every: workload.durability.every(),
            at_end: workload.durability == Durability::FlushAtEnd,
            workers: vec![Worker::default(); workload.workers as usize],
            waiting: 0,
            emptying: vec![false; disks],
            ending_ns: None,
            took: Histogram::default(),
        }
    }

    /// Whether dirty pages are written out at once.
    pub(super) fn press(&self) -> bool {
        self.waiting > 0 || self.ending_ns.is_some()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::*;
    use halfpower_model::FileState;

    pub(crate) fn one_disk() -> Machine {
        let mut machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
        let write = Cost { fixed_us: 10.0, marginal_us_per_kib: 5.0 };
        machine.system.cache = Some(PageCache { write, paging: Nanoseconds(0), dirty_share: 0.125, ..page_cache() });
        machine
    }

    /// So many MiB once over, from the beginning.
    pub(crate) fn writes(mib: u64, size: u64, depth: u32, file_state: FileState) -> Workload {
        Workload {
            operation: Operation::Write,
            file_state,
            span: Bytes(mib << 20),
            limits: of_bytes(mib << 20),
            ..workload(Pattern::Sequential, size, depth, &one_disk())
        }
    }

    #[test]
    fn a_flush_at_the_end_leaves_nothing_behind() {
        let machine = one_disk();
        let of = |durability| {
            let buffered = Workload { buffering: Buffering::Buffered, ..writes(16, 8192, 1, FileState::Written) };
            course(&machine, &Workload { durability, ..buffered })
        };
        let (without, with) = (of(Durability::None), of(Durability::FlushAtEnd));
        // 50 µs each, and nothing of the disk's.
        assert_eq!((requests(&without), without.elapsed_ns, without.flush_ns), (2048, 2048 * 50_000, None));
        assert_eq!((requests(&with), with.device[1]), (2048, (256, 16 << 20)));
        assert_eq!(with.flush_ns, Some(with.elapsed_ns - without.elapsed_ns));
        assert!(with.elapsed_ns > 5 * without.elapsed_ns);
    }

    #[test]
    fn flushes_between_writes_wait_for_the_medium() {
        let machine = one_disk();
        for buffering in [Buffering::Direct, Buffering::Buffered] {
            let of = |durability| {
                let write = Workload { buffering, ..writes(1, 8192, 2, FileState::Written) };
                course(&machine, &Workload { durability, ..write })
            };
            let (four, one) = (of(Durability::Fsync { every: 4 }), of(Durability::Fdatasync { every: 1 }));
            // None after the last write.
            assert_eq!((four.flush.count(), one.flush.count()), (31, 127), "{buffering:?}");
            let none = of(Durability::None).elapsed_ns;
            assert!(one.elapsed_ns > four.elapsed_ns && four.elapsed_ns > 3 * none, "{buffering:?}");
        }
    }

    /// Flushes that are requests: a disk takes no write into its cache before what it had is out.
    #[test]
    fn a_flush_that_is_asked_for_empties_the_drive_s_cache_and_costs_nothing_without_one() {
        let drive = Drive { write_cache: Some(WriteCache { blocks: 1024, extents: 8 }), ..atlas(Scheduler::CLook) };
        let cached = machine(drive, 2, Volume::Stripe { chunk: Bytes(65_536) });
        let of = |machine: &Machine, operation: &str, depth| {
            let workload = Workload {
                operation: operation.parse().unwrap(),
                limits: of_requests(1000),
                ..workload(Pattern::Random, 8192, depth, machine)
            };
            course(machine, &workload)
        };
        let mixed = "mix=read:20,write:70,flush:10";
        for depth in [1, 16] {
            let outcome = of(&cached, mixed, depth);
            let [reads, writes, trims, flushes] = outcome.latency.each_ref().map(Histogram::count);
            assert_eq!((reads + writes + flushes, trims), (1000, 0));
            assert_eq!(outcome.device[3], (2 * flushes, 0), "each disk is told");
            // A disk has some four writes of the seven: those take it an access each.
            let mean_ms = outcome.latency[3].mean().unwrap() / 1e6;
            assert!(mean_ms > 10.0, "{mean_ms} ms, QD{depth}");
            let uncached = of(&cached.without_write_caches(), mixed, depth);
            assert_eq!((uncached.device[3].0, requests(&uncached)), (0, 1000));
            let longest_us = uncached.latency[3].max().unwrap() as f64 / 1e3;
            // But for those before it at the CPUs.
            assert!(longest_us < 40.0 * f64::from(depth), "{longest_us} us of CPU time");
        }
        let alone = of(&cached, "flush", 4);
        assert_eq!((requests(&alone), alone.device[3].0), (1000, 2000));
        // Four at a time, which the electronics process in turn, and the system's CPU time.
        let expected_us = 4.0 * 345.0;
        let mean_us = alone.latency[3].mean().unwrap() / 1e3;
        assert!((mean_us / expected_us - 1.0).abs() < 0.05, "{mean_us}");
    }
}
