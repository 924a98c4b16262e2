//! What goes through the cache: what it costs, what it asks of the disks, and how fast that makes it.

use super::super::tests::*;
use super::pages::PAGE;
use crate::machine::Parallel;
use halfpower_model::CachePolicy;
use proptest::prelude::*;

fn cached(mut machine: Machine, fill: Fill) -> Machine {
    machine.system.cache = Some(PageCache { fill, ..page_cache() });
    machine
}

fn one_disk(fill: Fill) -> Machine {
    cached(machine(atlas(Scheduler::CLook), 1, Volume::Each), fill)
}

/// Of a span that the cache does not hold.
fn buffered(operation: Operation, pattern: Pattern, size: u64, depth: u32, machine: &Machine) -> Workload {
    let span = Bytes((1 << 30) / size * size);
    Workload { operation, buffering: Buffering::Buffered, span, ..workload(pattern, size, depth, machine) }
}

#[test]
fn a_stream_of_reads_runs_at_the_disk_s_speed_whatever_its_requests() {
    let machine = one_disk(Fill::Page);
    let of = |buffering, size| {
        let workload = Workload { buffering, ..buffered(Operation::Read, Pattern::Sequential, size, 1, &machine) };
        megabytes_per_s(&course(&machine, &workload))
    };
    let disk = of(Buffering::Direct, 1 << 20);
    for size in [2 << 10, 4 << 10, 64 << 10, 67 << 10, 1 << 20] {
        let rate = of(Buffering::Buffered, size);
        assert!((rate / disk - 1.0).abs() < 0.02, "{size}: {rate} of {disk}");
    }
}

#[test]
fn a_warm_cache_holds_the_end_of_what_does_not_fit() {
    let machine = one_disk(Fill::Page);
    let paged_in = |span: u64| {
        let mut warm = buffered(Operation::Read, Pattern::Random, 64 << 10, 1, &machine);
        warm = Workload { cache: CachePolicy::Warm, span: Bytes(span), ..warm };
        warm.limits = of_requests(256);
        course(&machine, &warm).device[0].0
    };
    assert_eq!(paged_in(32 << 20), 0);
    // Half of a span of twice the cache.
    let asked = paged_in(128 << 20);
    assert!((96..160).contains(&asked), "{asked}");
}

#[test]
fn the_cpu_pays_for_calls_copies_and_the_cache_s_own_requests() {
    let machine = one_disk(Fill::Page);
    // 12 us and 4 a KiB of the call; 30 us and a quarter a KiB of the direct request, and 70 of paging, for each 64 KiB of a stream.
    let of_stream = |kib: f64| 12.0 + (4.0 + 116.0 / 64.0) * kib;
    for (pattern, size, expected_us) in [
        (Pattern::Sequential, 4 << 10, of_stream(4.0)),
        (Pattern::Sequential, 64 << 10, of_stream(64.0)),
        (Pattern::Sequential, 1 << 20, of_stream(1024.0)),
        (Pattern::Random, 8 << 10, 12.0 + 32.0 + 32.0 + 70.0),
    ] {
        let found_us = cpu_us(&course(&machine, &buffered(Operation::Read, pattern, size, 1, &machine)));
        assert!((found_us / expected_us - 1.0).abs() < 0.015, "{pattern} {size}: {found_us} of {expected_us}");
    }
}

#[test]
fn random_reads_are_at_qd1_at_every_depth() {
    let machine = one_disk(Fill::Page);
    let of = |buffering, depth| {
        let workload = buffered(Operation::Read, Pattern::Random, 8192, depth, &machine);
        requests(&course(&machine, &Workload { span: Bytes(8 << 30), buffering, ..workload })) as f64
    };
    let (one, direct, buffered) = (of(Buffering::Direct, 1), of(Buffering::Direct, 8), of(Buffering::Buffered, 8));
    assert!((0.97..1.03).contains(&(buffered / one)) && direct > buffered * 1.15, "{one} {direct} {buffered}");
}

#[test]
fn a_write_of_part_of_a_page_reads_the_page_first() {
    let machine = one_disk(Fill::Page);
    let of = |size| {
        let limits = of_bytes(64 << 20);
        let sequential = buffered(Operation::Write, Pattern::Sequential, size, 1, &machine);
        course(&machine, &Workload { limits, ..sequential })
    };
    let (small, whole) = (of(2 << 10), of(4 << 10));
    let pages = (64 << 20) / PAGE;
    assert!((pages..=pages + 1).contains(&small.device[0].0), "{:?}", small.device);
    assert_eq!(whole.device[0], (0, 0));
    assert!(small.elapsed_ns > 2 * whole.elapsed_ns);
}

#[test]
fn a_random_write_reads_its_frame_where_the_system_does_that() {
    let [page, frame] = [Fill::Page, Fill::Frame].map(|fill| {
        let machine = one_disk(fill);
        let workload =
            Workload { span: Bytes(8 << 30), ..buffered(Operation::Write, Pattern::Random, 8192, 1, &machine) };
        course(&machine, &workload)
    });
    let writes = requests(&frame);
    assert_eq!(page.device[0].0, 0);
    // But for those whose frame is there by chance.
    let frames = frame.device[0].1 as f64 / (writes * 64 * 1024) as f64;
    assert!((0.97..=1.01).contains(&frames), "{frames}");
    assert!(requests(&page) > 3 * writes);
}

#[test]
fn random_writes_leave_in_the_order_of_their_place() {
    let machine = one_disk(Fill::Page);
    let of = |buffering| {
        let random = buffered(Operation::Write, Pattern::Random, 8192, 1, &machine);
        // What the cache takes at the beginning is no matter of the disks.
        let (warmup, limits) = (Nanoseconds(20_000_000_000), for_ms(20_000));
        requests(&course(&machine, &Workload { span: Bytes(8 << 30), buffering, warmup, limits, ..random })) as f64
    };
    let (direct, sorted) = (of(Buffering::Direct), of(Buffering::Buffered));
    assert!(sorted > 1.15 * direct, "{direct} {sorted}");
}

#[test]
fn a_write_through_the_cache_is_on_the_disk_when_it_is_done() {
    let machine = one_disk(Fill::Page);
    let of = |buffering| {
        let workload = buffered(Operation::Write, Pattern::Sequential, 8192, 1, &machine);
        course(&machine, &Workload { buffering, ..workload })
    };
    let (through, direct) = (of(Buffering::Through), of(Buffering::Direct));
    assert!(through.device[1].0 >= requests(&through));
    assert!((requests(&through) as f64 / requests(&direct) as f64 - 1.0).abs() < 0.1);
}

/// As Linux does it.
fn side_by_side(mut machine: Machine) -> Machine {
    let parallel = Parallel { reads: 64, writes: 8, largest: Bytes(1 << 20) };
    machine.system.cache = Some(PageCache { parallel: Some(parallel), ..page_cache() });
    machine
}

#[test]
fn readers_do_not_wait_for_one_another_where_each_asks_for_its_own() {
    let machine = side_by_side(machine(atlas(Scheduler::CLook), 4, Volume::Stripe { chunk: Bytes(64 << 10) }));
    let of = |buffering, workers, depth| {
        let random = buffered(Operation::Read, Pattern::Random, 8192, depth, &machine);
        requests(&course(&machine, &Workload { span: Bytes(8 << 30), buffering, workers, ..random })) as f64
    };
    for (workers, depth) in [(1, 1), (8, 1), (1, 8), (32, 1)] {
        let ratio = of(Buffering::Buffered, workers, depth) / of(Buffering::Direct, workers, depth);
        assert!((0.95..1.05).contains(&ratio), "{workers} × {depth}: {ratio}");
    }
}

#[test]
fn a_page_that_several_wait_for_is_read_once() {
    let machine = side_by_side(machine(atlas(Scheduler::CLook), 1, Volume::Each));
    let whole = Workload {
        workers: 8,
        sharing: Sharing::Whole,
        seed: 3,
        limits: of_bytes(64 << 20),
        ..buffered(Operation::Read, Pattern::Sequential, 64 << 10, 1, &machine)
    };
    let outcome = course(&machine, &Workload { span: Bytes(8 << 20), ..whole });
    // One beyond the last is read ahead.
    assert!([8 << 20, (8 << 20) + (64 << 10)].contains(&outcome.device[0].1), "{:?}", outcome.device);
}

#[test]
fn what_lies_side_by_side_goes_out_as_one_and_random_writes_several_at_a_time() {
    let disks = || machine(atlas(Scheduler::CLook), 4, Volume::Stripe { chunk: Bytes(1 << 20) });
    let (one, mut many) = (cached(disks(), Fill::Page), side_by_side(disks()));
    many.system.split = None;
    let of = |pattern, machine: &Machine| {
        let limits = of_bytes(16 << 20);
        let writes = buffered(Operation::Write, pattern, 8192, 1, machine);
        course(machine, &Workload { span: Bytes(8 << 30), limits, durability: Durability::FlushAtEnd, ..writes })
    };
    let (stream, random) = (of(Pattern::Sequential, &many), of(Pattern::Random, &many));
    // A chunk's end cuts each in two.
    let (writes, bytes) = stream.device[1];
    assert!((16..=34).contains(&writes) && bytes == 16 << 20, "{:?}", stream.device);
    let ratio = of(Pattern::Random, &one).elapsed_ns as f64 / random.elapsed_ns as f64;
    assert!(ratio > 2.0, "{ratio}");
}

#[test]
fn each_target_is_written_by_itself() {
    let machine = side_by_side(machine(atlas(Scheduler::CLook), 2, Volume::Each));
    let limits = of_bytes(8 << 20);
    let durability = Durability::FlushAtEnd;
    let writes = buffered(Operation::Write, Pattern::Random, 8192, 1, &machine);
    let of = |targets| {
        let workload =
            Workload { span: Bytes(8 << 30), limits, durability, workers: targets, targets, ..writes.clone() };
        course(&machine, &workload).elapsed_ns as f64
    };
    let ratio = of(1) / of(2);
    assert!((1.7..2.3).contains(&ratio), "{ratio}");
}

#[test]
fn what_is_read_for_a_request_is_its_own_though_the_cache_has_no_room_for_it() {
    let mut small = side_by_side(machine(atlas(Scheduler::CLook), 1, Volume::Each));
    let model = small.system.cache.as_mut().unwrap();
    (model.share, model.dirty_share) = (1.0 / 1024.0, 1.0 / 1024.0);
    let limits = of_requests(40);
    let reads = buffered(Operation::Read, Pattern::Random, 3 << 20, 8, &small);
    let outcome = course(&small, &Workload { limits, ..reads });
    assert_eq!(requests(&outcome), 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_request_is_done_once(
        seed in any::<u64>(), depth in 1_u32..9, workers in 1_u32..4, size_kib in 1_u64..300, disks in 1_usize..4,
        random in any::<bool>(), writes in 1_u8..100, frame in any::<bool>(), through in any::<bool>(),
        many in any::<bool>(), flush in any::<bool>()
    ) {
        let fill = if frame { Fill::Frame } else { Fill::Page };
        let machine = machine(larger(Scheduler::CLook), disks, Volume::Each);
        let machine = if many { side_by_side(machine) } else { cached(machine, fill) };
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let workload = Workload {
            seed, workers,
            operation: format!("mix={writes}").parse().unwrap(),
            buffering: if through { Buffering::Through } else { Buffering::Buffered },
            limits: of_requests(400),
            durability: if flush { Durability::FlushAtEnd } else { Durability::None },
            ..buffered(Operation::Read, pattern, size_kib << 10, depth, &machine)
        };
        let outcome = course(&machine, &workload);
        hold(&outcome, &workload);
    }
}
