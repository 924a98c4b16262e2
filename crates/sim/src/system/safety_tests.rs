//! Flushes, writes that are written through, and files that grow.

use super::tests::*;
use halfpower_model::FileState;

fn one_disk() -> Machine {
    let mut machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
    let write = Cost { fixed_us: 10.0, marginal_us_per_kib: 5.0 };
    machine.system.cache = Some(PageCache { write, paging: Nanoseconds(0), dirty_share: 0.125, ..page_cache() });
    machine
}

/// So many MiB once over, from the beginning.
fn writes(mib: u64, size: u64, depth: u32, file_state: FileState) -> Workload {
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
    // The electronics process one after another.
    assert!(alone.latency[3].mean().unwrap() < 2e6);
}

#[test]
fn a_file_grows_one_write_at_a_time_where_the_system_does_that() {
    let stripe = Volume::Stripe { chunk: Bytes(65_536) };
    let mut machine = machine(atlas(Scheduler::CLook), 4, stripe).without_write_caches();
    let of = |machine: &Machine, depth, state| course(machine, &writes(16, 65_536, depth, state)).elapsed_ns as f64;
    let one_deep = of(&machine, 1, FileState::Written);
    assert!(of(&machine, 4, FileState::Written) < 0.5 * one_deep);
    assert!((of(&machine, 4, FileState::Append) / one_deep - 1.0).abs() < 0.02);
    let growing = |machine: &Machine, depth, state| {
        let parts = course(machine, &writes(16, 65_536, depth, state)).parts;
        parts.into_iter().find(|part| part.name == "system.growth").map(|part| part.busy)
    };
    let told = [1, 4].map(|depth| growing(&machine, depth, FileState::Append));
    assert!(told.iter().all(|busy| busy.is_some_and(|busy| (0.95..=1.0).contains(&busy))), "{told:?}");
    assert_eq!(growing(&machine, 4, FileState::Written), None);
    machine.system.growth = Growth::Free;
    assert!((of(&machine, 4, FileState::Append) / of(&machine, 4, FileState::Written) - 1.0).abs() < 0.03);
}

#[test]
fn a_file_whose_last_block_is_written_first_is_written_twice() {
    let machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
    let of = |state| course(&machine, &writes(64, 65_536, 4, state));
    let (ordered, last_first) = (of(FileState::Append), of(FileState::LastFirst));
    assert_eq!((ordered.device[1].1, last_first.device[1].1), (64 << 20, (128 << 20) - 65_536));
    let ratio = last_first.elapsed_ns as f64 / ordered.elapsed_ns as f64;
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn what_a_file_does_not_hold_is_not_read_before_a_write() {
    let machine = one_disk();
    let of = |file_state| {
        let write = Workload { buffering: Buffering::Buffered, ..writes(4, 2048, 1, file_state) };
        course(&machine, &write).device[0].0
    };
    assert_eq!((of(FileState::Written), of(FileState::Append)), (1024, 0));
}

#[test]
fn workers_that_share_a_cursor_write_a_growing_file_once() {
    let shared = Workload { workers: 3, sharing: Sharing::Cursor, ..writes(4, 65_536, 1, FileState::Append) };
    let outcome = course(&machine(larger(Scheduler::CLook), 1, Volume::Each), &shared);
    assert_eq!((requests(&outcome), outcome.device[1]), (64, (64, 4 << 20)));
}
