//! The laws of depth and of wider buses on the machines that ship, for several streams, whose drives and volumes are none of chance.

use super::laws::{rate, widen};
use super::tests::*;
use halfpower_model::workload::Mix;

/// Machine, volume, and as many streams as its drive has segments, up to three.
const VOLUMES: [(&str, &str, u32); 8] = [
    ("nt4-pentium-pro", "barracuda-uw", 3),
    ("win2k-pentium3", "atlas-1", 3),
    ("win2k-pentium3", "atlas-4", 3),
    ("win2k-pentium3", "fireball-dma", 2),
    ("win2k-pentium3", "maxtor", 3),
    ("hdd-18tb", "disk", 3),
    ("hdd-18tb", "mirror-2", 3),
    ("hdd-18tb", "raid5-4", 3),
];

fn shipped(name: &str, volume: &str) -> Machine {
    crate::shipped::testbed(name, volume).unwrap().unwrap().machine().clone()
}

/// So many streams over all of it, of 128 MiB together.
fn streams(machine: &Machine, workers: u32, bytes: u64) -> Workload {
    Workload {
        workers,
        pattern: Pattern::Sequential,
        request_size: Bytes(bytes),
        span: Bytes(machine.size().0 / bytes * bytes),
        limits: of_requests((128 << 20) / bytes),
        ..Workload::default()
    }
}

/// What is done with each of them, by two streams and by as many as it has segments for.
fn each(mut tell: impl FnMut(&str, &Machine, &Workload)) {
    for (name, volume, most) in VOLUMES {
        let machine = shipped(name, volume);
        for (workers, bytes) in (2..=most).flat_map(|workers| [8192, 65_536].map(|bytes| (workers, bytes))) {
            let what = format!("{name}:{volume}, {workers} streams of {bytes} B");
            tell(&what, &machine, &streams(&machine, workers, bytes));
        }
    }
}

/// Of streams that fill what a link has out and more, however many wait.
#[test]
fn a_stream_waits_for_others_no_longer_than_is_due_to_commands() {
    let machine = shipped("hdd-18tb", "disk");
    let workload = Workload { depth: 32, limits: for_ms(8000), ..streams(&machine, 2, 65_536) };
    let outcome = course(&machine, &workload);
    let longest_ns = outcome.latency.iter().filter_map(Histogram::max).max().unwrap();
    assert!(longest_ns < 2_200_000_000, "{longest_ns}");
}

/// The least that each is of the one before.
fn least_gain(rates: &[f64]) -> f64 {
    rates.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "slow: just slow"]
fn more_depth_lowers_no_throughput() {
    each(|what, machine, workload| {
        let rates = [1, 2, 4, 8, 16, 32, 64].map(|depth| rate(machine, &Workload { depth, ..workload.clone() }));
        assert!(least_gain(&rates) > 0.85, "{what}: {rates:.2?}");
    });
}

#[test]
#[ignore = "slow: just slow"]
fn a_wider_bus_slows_nothing() {
    each(|what, machine, workload| {
        let is_bus = |part: &Part| matches!(part, Part::Bus(_));
        for (which, part) in machine.parts.iter().enumerate().filter(|(_, part)| is_bus(part)) {
            for depth in [1, 8] {
                let rates = [0.25, 0.5, 1.0, 2.0].map(|factor| {
                    let mut machine = machine.clone();
                    widen(&mut machine.parts[which], factor);
                    rate(&machine, &Workload { depth, ..workload.clone() })
                });
                assert!(least_gain(&rates) > 0.9, "{what}, QD{depth}, {}: {rates:.2?}", part.name());
            }
        }
    });
}

/// Writes between the reads of a stream cost it neither what was read ahead of it nor a turn each.
#[test]
fn two_streams_of_reads_and_writes_are_no_slower_deeper() {
    let machine = shipped("hdd-18tb", "disk");
    let operation = Operation::Mix(Mix::of_reads(50).unwrap());
    let workload = Workload { operation, limits: of_requests(10_000), ..streams(&machine, 2, 8192) };
    let rates = [1, 2, 4, 8, 16, 32, 64].map(|depth| rate(&machine, &Workload { depth, ..workload.clone() }));
    assert!(least_gain(&rates) > 0.85 && rates[1] > 40.0, "{rates:.1?}");
}

/// Figure 24 of the study of Windows 2000: the speed of the disk, though the card stores each of the lazy writer's requests first.
#[test]
fn a_lazy_writer_keeps_a_disk_behind_a_card_at_its_speed() {
    let machine = shipped("win2k-pentium3", "fireball-1");
    let rate = |bytes, depth, buffering| {
        let (operation, warmup) = (Operation::Write, Nanoseconds(30_000_000_000));
        let alone = streams(&machine, 1, bytes);
        rate(&machine, &Workload { operation, buffering, depth, warmup, limits: for_ms(30_000), ..alone })
    };
    let direct = rate(65_536, 4, Buffering::Direct);
    for bytes in [4096, 262_144] {
        let buffered = rate(bytes, 1, Buffering::Buffered);
        assert!(buffered > 0.95 * direct, "{bytes} B: {buffered:.2} of {direct:.2}");
    }
}
