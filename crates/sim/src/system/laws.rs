//! What holds for any machine and any workload, whatever its figures.
//!
//! A wider bus slows nothing, to the nanosecond, as long as it does not change the order in which anything is served: bytes that
//! come earlier are never served later. Where the order is a matter of time (a scheduler that looks at the angle, transfers of
//! several disks that meet on a bus, commands that meet bytes there, completions that meet new requests on a CPU, a write
//! cache that takes what it has room for, writes that are prepared together), a request that comes earlier may lead to a course of
//! which a later part is worse, by a turn of a disk at a time; that is so for real machines, and known of all scheduling (Graham,
//! "Bounds on multiprocessing timing anomalies", 1969). There it is a law of throughput, the mean of several runs, as is that of
//! depth: for requests at random, for one stream, and for several where each drive has a segment for each of them and reads ahead
//! at least, and a card that lets only a few commands be at a disk makes one of those that wait and go on with one another.
//! Where it does not, streams that are asked for sooner lose to one another what was read ahead, by far more than a turn; so they
//! do on real disks (Iyer and Druschel, "Anticipatory scheduling", 2001). Nor is depth a law of several streams that read from a
//! mirror round-robin, or whichever disk has less to do: with little outstanding they may have a disk each, and not with more.

use super::tests::*;
use crate::bus::BusKeys;
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::disk::Overhead;
use crate::disk::cache::ReadBuffer;
use crate::disk::tests::read_buffer;
use crate::named::Named;
use crate::volume::Reader;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::sync::Arc;

/// A disk of any habits.
fn any_drive() -> impl Strategy<Value = Drive> {
    let cache = proptest::option::of((16_u64..2048, 1_usize..12));
    (0..Scheduler::WORDS.len(), 1_usize..8, 8_u64..1024, 0_u64..1024, 0_u64..600_000, cache).prop_map(
        |(which, segments, segment_blocks, read_ahead_blocks, own_ns, cache)| Drive {
            buffer: read_buffer(segments, segment_blocks, read_ahead_blocks),
            overhead: Overhead {
                read_hit_ns: own_ns / 2,
                read_again_ns: own_ns,
                read_miss_ns: own_ns,
                write_ns: own_ns,
                write_overlaps: own_ns % 3 == 0,
            },
            write_cache: cache.map(|(blocks, pieces)| WriteCache { blocks, extents: pieces }),
            ..larger(Scheduler::WORDS[which].1)
        },
    )
}

/// One to four of them on two buses of any rate.
fn any_machine() -> impl Strategy<Value = Machine> {
    (any_drive(), 1_usize..5, any::<bool>(), 10.0_f64..400.0, 10.0_f64..400.0, 1.0_f64..200.0).prop_map(
        |(drive, disks, striped, near, far, fixed_us)| {
            let volume = if striped { Volume::Stripe { chunk: Bytes(65_536) } } else { Volume::Each };
            let mut machine = machine(drive, disks, volume);
            machine.parts = vec![bus("scsi", near * 1e6), bus("pci", far * 1e6)];
            let cost = Cost { fixed_us, marginal_us_per_kib: fixed_us / 100.0 };
            (machine.system.direct_read, machine.system.direct_write) = (cost, cost);
            machine
        },
    )
}

/// Anything to do on it, of a number of requests: as many small and few at a time as large and many.
fn any_workload(requests: u64) -> impl Strategy<Value = Workload> {
    let up_to = |bits| (0.0..bits).prop_map(f64::exp2);
    sized_workload(requests, up_to(9.2_f64).prop_map(|blocks| blocks as u64), up_to(5.0).prop_map(|depth| depth as u32))
}

pub(crate) fn sized_workload(
    requests: u64,
    blocks: impl Strategy<Value = u64>,
    depth: impl Strategy<Value = u32>,
) -> impl Strategy<Value = Workload> {
    let operation = prop_oneof![Just(Operation::Read), Just(Operation::Write)];
    let pattern = prop_oneof![Just(Pattern::Random), Just(Pattern::Sequential)];
    (any::<u64>(), operation, pattern, blocks, depth, 1_u32..3).prop_map(
        move |(seed, operation, pattern, blocks, depth, workers)| Workload {
            seed,
            operation,
            pattern,
            depth,
            workers,
            request_size: Bytes(blocks * 512),
            span: Bytes((4 << 30) / (blocks * 512) * (blocks * 512)),
            limits: of_requests(requests),
            ..Workload::default()
        },
    )
}

/// As much as Linux makes one command.
const MERGE: u64 = 1280 << 10;

/// Three to five disks of one volume of any kind, behind a controller that may store bytes, queue commands and make the volume.
fn any_array() -> impl Strategy<Value = Machine> {
    let volume = prop_oneof![
        Just(Volume::Each),
        Just(Volume::Stripe { chunk: Bytes(32_768) }),
        Just(Volume::Raid5 { chunk: Bytes(16_384) }),
        (0..Reader::WORDS.len()).prop_map(|which| Volume::Mirror { reader: Reader::WORDS[which].1 }),
    ];
    let queue = proptest::option::of((1_u32..5, 0..Order::WORDS.len(), any::<bool>()));
    (any_drive(), 3_usize..6, volume, any::<(bool, bool)>(), queue, 0_u64..64).prop_map(
        |(drive, disks, volume, (stores, makes), queue, offset)| {
            let mut machine = machine(drive, disks, volume);
            let forwarding = if stores { Forwarding::Stored } else { Forwarding::Through };
            machine.parts.push(Part::Controller(Controller {
                request_ns: 50_000,
                ns_per_byte: [15.0, 25.0],
                ..controller(forwarding)
            }));
            machine.offset = Bytes(offset * 512);
            let is_made_there = stores && makes && volume != Volume::Each;
            for disk in &mut machine.disks {
                disk.queue = queue.map(|(outstanding, which, merges)| Queue {
                    outstanding,
                    order: Order::WORDS[which].1,
                    merge: if merges { MERGE } else { 0 },
                });
                (disk.near, disk.far) = match (stores, is_made_there) {
                    (true, true) => (vec![0], Vec::new()),
                    (true, false) => (vec![0], vec![2, 1]),
                    _ => (vec![0, 2, 1], Vec::new()),
                };
            }
            if is_made_there {
                machine.made = Made::InController(vec![2, 1]);
            }
            machine
        },
    )
}

/// The same over no more than a machine has.
fn on(machine: &Machine, workload: Workload) -> Workload {
    let span = workload.span.0.min(machine.size().0 / workload.request_size.0 * workload.request_size.0);
    Workload { span: Bytes(span), ..workload }
}

pub(super) fn rate(machine: &Machine, workload: &Workload) -> f64 {
    megabytes_per_s(&course(machine, workload))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_array_does_what_it_is_asked_and_a_mirror_or_raid5_what_that_takes(
        machine in prop_oneof![any_machine(), any_array()], workload in any_workload(300)
    ) {
        let workload = on(&machine, workload);
        let outcome = course(&machine, &workload);
        hold(&outcome, &workload);
        let (bytes, disks) = (300 * workload.request_size.0, machine.disks.len() as u64);
        let writes = workload.operation == Operation::Write;
        let moved = outcome.device[usize::from(writes)].1;
        match machine.volume {
            Volume::Mirror { .. } if writes => prop_assert!(moved >= bytes * disks, "{} of {}", moved, bytes),
            // Whole rows have a chunk of parity to all others, parts of one as much parity again at most.
            Volume::Raid5 { .. } if writes => {
                prop_assert!(moved >= bytes + bytes / (disks - 1), "{} of {}", moved, bytes);
                prop_assert!(outcome.device[0].1 <= moved, "{:?}", outcome.device);
            }
            _ => prop_assert!(moved >= bytes, "{} of {}", moved, bytes),
        }
    }

    #[test]
    fn a_wider_bus_slows_no_requests_one_after_another(
        machine in any_machine(), workload in any_workload(300), factor in 1.0_f64..4.0, which in 0_usize..2
    ) {
        let (narrow, wide) = narrow_and_wide(machine, factor, which);
        let workload = Workload { workers: 1, depth: 1, ..workload };
        let (narrow, wide) = (rate(&narrow, &workload), rate(&wide, &workload));
        // But for the rounding to nanoseconds.
        prop_assert!(wide >= narrow * (1.0 - 1e-6), "{} {}", narrow, wide);
    }

    /// Reads that are too small for the read-ahead come to its limit, now within it and now beyond.
    #[test]
    fn a_wider_bus_slows_no_stream_whose_requests_meet_nothing_of_another_kind(
        machine in any_machine(), workload in any_workload(300), factor in 1.0_f64..4.0, which in 0_usize..2,
        small in proptest::option::of((0_u64..40, 1_u64..9)),
    ) {
        let mut machine = machine;
        machine.disks.truncate(1);
        machine.volume = Volume::Each;
        machine.system.completion_share = 0.0;
        for part in &mut machine.parts {
            let Part::Bus(bus) = part else { continue };
            bus.keys = BusKeys::default();
        }
        let mut workload =
            Workload { workers: 1, operation: Operation::Read, pattern: Pattern::Sequential, ..workload };
        if let Some((read_ahead_blocks, blocks)) = small {
            machine = with_drives(machine, |drive| Drive {
                buffer: ReadBuffer { read_ahead_blocks, ..drive.buffer },
                ..drive
            });
            workload.request_size = Bytes(blocks * 512);
            workload.span = Bytes((4 << 30) / (blocks * 512) * (blocks * 512));
        }
        let (narrow, wide) = narrow_and_wide(machine, factor, which);
        let (narrow, wide) = (rate(&narrow, &workload), rate(&wide, &workload));
        prop_assert!(wide >= narrow * (1.0 - 1e-6), "{} {}", narrow, wide);
    }
}

/// A machine whose disks serve in the order of arrival, and the same with one of its buses so many times as wide.
fn narrow_and_wide(machine: Machine, factor: f64, which: usize) -> (Machine, Machine) {
    let as_asked = |drive: Drive| Drive { scheduler: Scheduler::Fcfs, write_cache: None, ..drive };
    let narrow = with_drives(machine, as_asked);
    let mut wide = narrow.clone();
    widen(&mut wide.parts[which], factor);
    (narrow, wide)
}

pub(crate) fn widen(part: &mut Part, factor: f64) {
    let Part::Bus(bus) = part else { return };
    bus.ns_per_byte = bus.ns_per_byte.map(|ns| ns / factor);
}

/// The same machine with other drives.
fn with_drives(mut machine: Machine, change: impl Fn(Drive) -> Drive) -> Machine {
    for disk in &mut machine.disks {
        disk.device = Device::Disk(Arc::new(change(disk.device.disk().clone())));
    }
    machine
}

/// The same machine, whose disks serve in order of place; so does a controller that hands them a few at a time.
fn circular(mut machine: Machine) -> Machine {
    let queues = machine.disks.iter_mut().filter_map(|disk| disk.queue.as_mut());
    queues.for_each(|queue| queue.order = Order::CLook);
    with_drives(machine, |drive| Drive { scheduler: Scheduler::CLook, ..drive })
}

/// The same machine, whose write caches have room for four of the requests, wherever these are, and of a stripe for four chunks, and
/// whose segments each have room for four requests. For several streams its drives have a segment for each, and its controllers make one
/// command of those that wait and go on with one another.
fn with_room(mut machine: Machine, workload: &Workload) -> Machine {
    let chunk = match machine.volume {
        Volume::Stripe { chunk } | Volume::Raid5 { chunk, .. } => chunk,
        Volume::Each | Volume::Mirror { .. } => Bytes(0),
    };
    let room = |cache: WriteCache| WriteCache {
        blocks: cache.blocks.max(4 * workload.request_size.max(chunk).0 / 512),
        extents: cache.extents.max(4),
    };
    let streams = if are_several_streams(workload) { workload.workers as usize } else { 1 };
    if streams > 1 {
        let queues = machine.disks.iter_mut().filter_map(|disk| disk.queue.as_mut());
        queues.for_each(|queue| queue.merge = MERGE);
    }
    with_drives(machine, |drive| Drive {
        write_cache: drive.write_cache.map(room),
        buffer: ReadBuffer {
            segments: drive.buffer.segments.max(streams),
            segment_blocks: drive.buffer.segment_blocks.max(4 * workload.request_size.0 / 512),
            ..drive.buffer
        },
        ..drive
    })
}

fn are_several_streams(workload: &Workload) -> bool {
    workload.workers > 1 && workload.pattern == Pattern::Sequential
}

/// Whether each may be read from several disks.
fn is_read_by_turns(machine: &Machine, workload: &Workload) -> bool {
    matches!(machine.volume, Volume::Mirror { .. }) && workload.operation == Operation::Read
}

/// How much the second may be slower, in logarithms: little, of two courses that part by chance; more, where that decides which of
/// several streams meet, and where a controller has an order of its own; and most where RAID5 rows are written whole or not, and where
/// streams are before a controller that lets only one to four commands be at a disk. See docs/decisions/simulator.md.
fn lost_at_most(machine: &Machine, workload: &Workload) -> f64 {
    let has_controller = machine.parts.iter().any(|part| matches!(part, Part::Controller(_)));
    let has_queue = machine.disks.iter().any(|disk| disk.queue.is_some());
    match machine.volume {
        _ if has_queue && workload.pattern == Pattern::Sequential => 0.5,
        Volume::Raid5 { .. } => 0.4,
        _ if has_controller || are_several_streams(workload) => 0.25,
        _ => 0.02,
    }
}

/// A stream of requests of 4 KiB at least: whether a smaller one comes in time for the one before decides over a turn of the
/// disk for each.
fn of_a_size(workload: Workload) -> Workload {
    let is_small = workload.pattern == Pattern::Sequential && workload.request_size.0 < 4096;
    Workload { request_size: if is_small { Bytes(4096) } else { workload.request_size }, ..workload }
}

/// By which share the second machine or workload is faster, on average over several seeds: over more and longer runs where it
/// looks slower, as two courses part by chance.
fn gain(slow: (&Machine, &Workload), fast: (&Machine, &Workload)) -> f64 {
    let mean = |seeds: std::ops::Range<u64>, longer: u64| {
        let rate = |(machine, workload): (&Machine, &Workload), seed| {
            let limits = of_requests(workload.limits.requests.unwrap() * longer);
            rate(machine, &Workload { seed: workload.seed.wrapping_add(seed), limits, ..workload.clone() })
        };
        let gains = seeds.clone().map(|seed| (rate(fast, seed) / rate(slow, seed)).ln());
        gains.sum::<f64>() / seeds.count() as f64
    };
    let few = mean(0..4, 1);
    if few > -0.005 { few } else { mean(4..28, 6) }
}

/// How much a bus so many times as wide gains.
fn wider(machine: &Machine, workload: &Workload, factor: f64, which: usize) -> f64 {
    let mut wide = machine.clone();
    widen(&mut wide.parts[which], factor);
    gain((machine, workload), (&wide, workload))
}

/// How much twice the depth gains.
fn deeper(machine: &Machine, workload: &Workload) -> f64 {
    gain((machine, workload), (machine, &Workload { depth: workload.depth * 2, ..workload.clone() }))
}

// Other machines every time.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[ignore = "slow: just slow"]
    fn a_wider_bus_slows_nothing(
        machine in prop_oneof![any_machine(), any_array()], workload in any_workload(1000), factor in 1.0_f64..4.0,
        which in 0_usize..2,
    ) {
        let workload = on(&machine, of_a_size(workload));
        let gain = wider(&with_room(machine.clone(), &workload), &workload, factor, which);
        prop_assert!(gain > -lost_at_most(&machine, &workload), "{}", gain);
    }

    #[test]
    #[ignore = "slow: just slow"]
    fn more_depth_lowers_no_throughput_with_c_look(
        machine in prop_oneof![any_machine(), any_array()], workload in any_workload(1000)
    ) {
        let workload = on(&machine, of_a_size(workload));
        prop_assume!(!is_read_by_turns(&machine, &workload) || !are_several_streams(&workload));
        let gain = deeper(&circular(with_room(machine.clone(), &workload)), &workload);
        prop_assert!(gain > -lost_at_most(&machine, &workload), "{}", gain);
    }
}

/// By which share a bus of any factor as wide and twice the depth gain on machines that are the same every time, several streams among
/// them.
fn gains_of_a_fixed_set(cases: u32) {
    let config = ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() };
    let drawn = (any_machine(), sized_workload(500, 1_u64..600, 1_u32..24), 1.0_f64..4.0, 0_usize..2);
    let holds = |(machine, workload, factor, which): (Machine, Workload, f64, usize)| {
        let gains = [wider(&machine, &workload, factor, which), deeper(&circular(machine), &workload)];
        prop_assert!(gains.iter().all(|gain| *gain > -0.02), "{gains:?}");
        Ok(())
    };
    TestRunner::new(config).run(&drawn, holds).unwrap();
}

#[test]
fn a_wider_bus_and_more_depth_slow_no_machine_of_a_fixed_set() {
    gains_of_a_fixed_set(2);
}

#[test]
#[ignore = "slow: just slow"]
fn a_wider_bus_and_more_depth_slow_no_machine_of_a_larger_fixed_set() {
    gains_of_a_fixed_set(32);
}
