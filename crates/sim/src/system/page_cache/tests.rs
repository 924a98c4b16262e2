//! What goes through the page cache: its cost, its requests to the disks, its throughput.

use super::super::tests::*;
use super::pages::PAGE;
use crate::machine::Parallel;
use halfpower_model::CachePolicy;
use proptest::prelude::*;

/// One target of so many disks, with Windows' cache.
fn cached(disks: usize, volume: Volume) -> Machine {
    let mut machine = machine(atlas(Scheduler::CLook), disks, volume);
    machine.system.cache = Some(page_cache());
    machine
}

/// The same with Linux' cache.
fn parallel(disks: usize, volume: Volume) -> Machine {
    let mut machine = cached(disks, volume);
    let parallel = Parallel { reads: 64, writes: 8, largest: Bytes(1 << 20) };
    machine.system.cache = Some(PageCache { parallel: Some(parallel), ..page_cache() });
    machine
}

/// Over a span that the cache does not hold.
fn buffered(operation: Operation, pattern: Pattern, size: u64, depth: u32, machine: &Machine) -> Workload {
    let span = if pattern == Pattern::Random { 8 << 30 } else { 1 << 30 };
    let span = Bytes(span / size * size);
    Workload { operation, buffering: Buffering::Buffered, span, ..workload(pattern, size, depth, machine) }
}

#[test]
fn a_stream_of_reads_runs_at_disk_speed_at_every_size() {
    let machine = cached(1, Volume::Each);
    let of = |buffering, size| {
        let workload = Workload { buffering, ..buffered(Operation::Read, Pattern::Sequential, size, 1, &machine) };
        megabytes_per_s(&course(&machine, &workload))
    };
    let disk = of(Buffering::Direct, 1 << 20);
    for size in [2 << 10, 67 << 10, 1 << 20] {
        let rate = of(Buffering::Buffered, size);
        assert!((rate / disk - 1.0).abs() < 0.02, "{size}: {rate} of {disk}");
    }
}

#[test]
fn a_warm_cache_holds_the_end_of_what_does_not_fit() {
    let machine = cached(1, Volume::Each);
    let paged_in = |span: u64| {
        let random = buffered(Operation::Read, Pattern::Random, 64 << 10, 1, &machine);
        let warm = Workload { cache: CachePolicy::Warm, span: Bytes(span), limits: of_requests(256), ..random };
        course(&machine, &warm).device[0].0
    };
    // Half of a span of twice the cache.
    let (fits, twice) = (paged_in(32 << 20), paged_in(128 << 20));
    assert!(fits == 0 && (96..160).contains(&twice), "{fits} {twice}");
}

#[test]
fn the_cpu_pays_for_calls_copies_and_the_cache_s_own_requests() {
    let machine = cached(1, Volume::Each);
    // A call is 12 µs and 4 per KiB. A request of the cache is 30 µs, 0.25 per KiB, and 70 of paging.
    let of_stream = |kib: f64| 12.0 + (4.0 + 116.0 / 64.0) * kib;
    for (pattern, size, expected_us) in [
        (Pattern::Sequential, 4 << 10, of_stream(4.0)),
        (Pattern::Sequential, 1 << 20, of_stream(1024.0)),
        (Pattern::Random, 8 << 10, 12.0 + 32.0 + 32.0 + 70.0),
    ] {
        let found_us = cpu_us(&course(&machine, &buffered(Operation::Read, pattern, size, 1, &machine)));
        assert!((found_us / expected_us - 1.0).abs() < 0.015, "{pattern} {size}: {found_us} of {expected_us}");
    }
}

/// As the studies' traces have it, and Linux not.
#[test]
fn random_reads_run_one_at_a_time_or_as_direct_ones() {
    let stripe = Volume::Stripe { chunk: Bytes(64 << 10) };
    let (windows, linux) = (cached(4, stripe), parallel(4, stripe));
    let of = |machine: &Machine, buffering, workers, depth| {
        let random = buffered(Operation::Read, Pattern::Random, 8192, depth, machine);
        requests(&course(machine, &Workload { buffering, workers, ..random })) as f64
    };
    let one = of(&windows, Buffering::Direct, 1, 1);
    for (workers, depth) in [(1, 1), (8, 1), (1, 8), (32, 1)] {
        let direct = of(&linux, Buffering::Direct, workers, depth);
        let ratios = [
            of(&windows, Buffering::Buffered, workers, depth) / one,
            of(&linux, Buffering::Buffered, workers, depth) / direct,
        ];
        assert!(ratios.iter().all(|ratio| (0.95..1.05).contains(ratio)), "{workers} × {depth}: {ratios:?}");
    }
}

#[test]
fn a_write_of_part_of_a_page_reads_the_page_first() {
    let machine = cached(1, Volume::Each);
    let of = |size| {
        let sequential = buffered(Operation::Write, Pattern::Sequential, size, 1, &machine);
        course(&machine, &Workload { limits: of_bytes(64 << 20), ..sequential })
    };
    let (small, whole) = (of(2 << 10), of(4 << 10));
    let pages = (64 << 20) / PAGE;
    assert!((pages..=pages + 1).contains(&small.device[0].0) && whole.device[0] == (0, 0), "{:?}", small.device);
    assert!(small.elapsed_ns > 2 * whole.elapsed_ns);
}

#[test]
fn random_writes_leave_sorted_and_written_through_ones_as_they_come() {
    let machine = cached(1, Volume::Each);
    let of = |buffering| {
        let random = buffered(Operation::Write, Pattern::Random, 8192, 1, &machine);
        // The cache takes the first ones at once.
        let (warmup, limits) = (Nanoseconds(20_000_000_000), for_ms(20_000));
        requests(&course(&machine, &Workload { buffering, warmup, limits, ..random })) as f64
    };
    let [direct, sorted, through] = [Buffering::Direct, Buffering::Buffered, Buffering::Through].map(of);
    assert!(sorted > 1.15 * direct && (through / direct - 1.0).abs() < 0.1, "{direct} {sorted} {through}");
}

#[test]
fn linux_writes_neighbours_as_one_request_and_several_requests_at_once() {
    let chunk = Bytes(1 << 20);
    let (windows, mut linux) = (cached(4, Volume::Stripe { chunk }), parallel(4, Volume::Stripe { chunk }));
    linux.system.split = None;
    let of = |pattern, machine: &Machine| {
        let writes = buffered(Operation::Write, pattern, 8192, 1, machine);
        course(machine, &Workload { limits: of_bytes(16 << 20), durability: Durability::FlushAtEnd, ..writes })
    };
    // The end of a chunk cuts each in two.
    let (writes, bytes) = of(Pattern::Sequential, &linux).device[1];
    assert!((16..=34).contains(&writes) && bytes == 16 << 20, "{writes}");
    let ratio = of(Pattern::Random, &windows).elapsed_ns as f64 / of(Pattern::Random, &linux).elapsed_ns as f64;
    assert!(ratio > 2.0, "{ratio}");
}

/// Eight workers read the same 8 MiB.
#[test]
fn a_page_that_several_requests_lack_is_read_once() {
    let machine = parallel(1, Volume::Each);
    let sequential = buffered(Operation::Read, Pattern::Sequential, 64 << 10, 1, &machine);
    let (sharing, limits) = (Sharing::Whole, of_bytes(64 << 20));
    let outcome =
        course(&machine, &Workload { workers: 8, seed: 3, span: Bytes(8 << 20), sharing, limits, ..sequential });
    // And 64 KiB ahead.
    assert!([8 << 20, (8 << 20) + (64 << 10)].contains(&outcome.device[0].1), "{:?}", outcome.device);
}

#[test]
fn a_read_is_done_though_the_cache_has_no_room_for_it() {
    let mut small = parallel(1, Volume::Each);
    let model = small.system.cache.as_mut().unwrap();
    (model.share, model.dirty_share) = (1.0 / 1024.0, 1.0 / 1024.0);
    let reads = Workload { limits: of_requests(40), ..buffered(Operation::Read, Pattern::Random, 3 << 20, 8, &small) };
    assert_eq!(requests(&course(&small, &reads)), 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_request_is_done_once(
        seed in any::<u64>(), depth in 1_u32..9, workers in 1_u32..4, size_kib in 1_u64..300, disks in 1_usize..4,
        random in any::<bool>(), writes in 1_u8..100, through in any::<bool>(), linux in any::<bool>(), flush in any::<bool>()
    ) {
        let machine = if linux { parallel(disks, Volume::Each) } else { cached(disks, Volume::Each) };
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let workload = Workload {
            seed, workers,
            operation: format!("mix={writes}").parse().unwrap(),
            buffering: if through { Buffering::Through } else { Buffering::Buffered },
            limits: of_requests(400),
            durability: if flush { Durability::FlushAtEnd } else { Durability::None },
            ..buffered(Operation::Read, pattern, size_kib << 10, depth, &machine)
        };
        hold(&course(&machine, &workload), &workload);
    }
}
