//! What RAID5 writes read, write and join.

use super::super::tests::*;
use super::*;
use proptest::prelude::*;
use std::sync::Arc;

/// Disks with chunks of 32 KiB.
fn raid5(disks: usize) -> Machine {
    let mut machine = machine(larger(Scheduler::CLook), disks, Volume::Raid5 { chunk: Bytes(32 << 10) });
    machine.system.split_at = SplitAt::Disk;
    machine
}

/// A card makes the volume; of memory and of the drives' caches it has 16 chunks per disk.
fn give_memory(machine: &mut Machine) {
    let write_cache = Some(WriteCache { blocks: 1024, extents: 16 });
    for disk in &mut machine.disks {
        disk.device = Device::Disk(Arc::new(Drive { write_cache, ..larger(Scheduler::CLook) }));
    }
    machine.made = Some(Vec::new());
}

fn writes(machine: &Machine, pattern: Pattern, size: u64, depth: u32, count: u64) -> Workload {
    let span = Bytes(machine.size().0 / size * size);
    let (operation, limits) = (Operation::Write, of_requests(count));
    Workload { operation, span, limits, ..workload(pattern, size, depth, machine) }
}

/// Bytes read and written per byte of the requests.
fn moved(outcome: &Outcome) -> [f64; 2] {
    [0, 1].map(|way| outcome.device[way].1 as f64 / outcome.bytes[1] as f64)
}

#[test]
fn the_way_that_reads_fewer_bytes_is_taken() {
    // By reconstruction three disks read one block, five read two for two. Read-modify-write reads two for one.
    let cases = [(3, 4, 1.0, 2.0), (4, 4, 2.0, 2.0), (6, 4, 2.0, 2.0), (5, 64, 1.0, 1.5), (4, 96, 0.0, 4.0 / 3.0)];
    for (disks, kib, read, written) in cases {
        let machine = raid5(disks);
        let found = moved(&course(&machine, &writes(&machine, Pattern::Random, kib << 10, 1, 500)));
        assert!((found[0] - read).abs() + (found[1] - written).abs() < 1e-3, "{disks} × {kib} KiB: {found:?}");
    }
}

/// The expected maximum of two independent accesses: seeks over uniform pairs of cylinders, uniform rotational delays.
fn later_of_two_ns(drive: &Drive, cylinders: u32) -> f64 {
    let (steps, turn_ns) = (400, drive.mechanics.turn_ns);
    let share_within = |time_ns: f64| -> f64 {
        let of_distance = |step: u32| {
            let distance = (f64::from(step) + 0.5) / f64::from(steps);
            let seek_ns = drive.mechanics.seeks.time_ns((distance * f64::from(cylinders)) as u32) as f64;
            2.0 * (1.0 - distance) / f64::from(steps) * ((time_ns - seek_ns) / turn_ns).clamp(0.0, 1.0)
        };
        (0..steps).map(of_distance).sum()
    };
    let step_ns = 20_000.0;
    (0..1200).map(|step| (1.0 - share_within((f64::from(step) + 0.5) * step_ns).powi(2)) * step_ns).sum()
}

/// A small write reads old data and parity, and each disk writes its sectors one rotation after it read them (Patterson, Gibson
/// and Katz, 1988): the later of two accesses, a transfer and a rotation.
#[test]
fn random_small_writes_follow_the_textbook() {
    let machine = raid5(8);
    let drive = machine.disks[0].device.disk();
    // 8 of 350 sectors on average; and the request's CPU time and bus phases.
    let expected_ns = later_of_two_ns(drive, 8000) + (1.0 + 8.0 / 350.0) * drive.mechanics.turn_ns + 100_000.0;
    let outcome = course(&machine, &writes(&machine, Pattern::Random, 4096, 1, 2000));
    assert_eq!(moved(&outcome), [2.0, 2.0]);
    let found_ns = outcome.elapsed_ns as f64 / 2000.0;
    assert!((found_ns / expected_ns - 1.0).abs() < 0.05, "{found_ns} of {expected_ns}");
}

/// Whatever the rows of a request, each disk gets one command.
#[test]
fn adjacent_rows_are_written_together() {
    let machine = raid5(4);
    for (rows, depth) in [(1, 1), (2, 1), (2, 16)] {
        let outcome = course(&machine, &writes(&machine, Pattern::Random, rows * (96 << 10), depth, 100));
        assert_eq!((outcome.device[0].0, outcome.device[1].0), (0, 400), "{rows} rows, QD{depth}");
    }
}

/// Without memory it would read old data and parity and write both, and be limited by rotations.
#[test]
fn a_card_with_memory_collects_whole_rows() {
    let mut machine = raid5(4);
    give_memory(&mut machine);
    let of = |pattern, durability| {
        moved(&course(&machine, &Workload { durability, ..writes(&machine, pattern, 4096, 1, 2400) }))
    };
    let (never, at_end) = (Durability::None, Durability::FlushAtEnd);
    let [read, written] = of(Pattern::Sequential, at_end);
    assert!(read < 0.02 && (1.3..1.35).contains(&written), "{read} {written}");
    // It holds up to 16 rows, and writes them at the end.
    let [read, written] = of(Pattern::Random, never);
    assert!((1.98..2.0).contains(&read) && (1.98..2.0).contains(&written), "{read} {written}");
    assert_eq!(of(Pattern::Random, at_end), [2.0, 2.0]);
    assert!(of(Pattern::Random, Durability::Fsync { every: 1 })[1] > 1.999, "all but the last");
}

/// Requests of a third of a row: the first one's reads are done when the others have arrived, and the row is written whole.
#[test]
fn writes_that_complete_a_row_while_it_reads_are_written_with_it() {
    let machine = raid5(4);
    let of = |depth| moved(&course(&machine, &writes(&machine, Pattern::Sequential, 32 << 10, depth, 1200)));
    let ([alone_read, alone], [read, joined]) = (of(1), of(8));
    // The first write of a row reads the other two blocks. What is in memory is not read for the next two.
    assert!((alone_read - 2.0 / 3.0).abs() < 0.002 && alone == 2.0, "{alone_read} {alone}");
    assert!(joined < 1.5 && read < 0.5, "{read} {joined}");
}

#[test]
fn spans_are_a_set() {
    let of =
        |all: &[Range<u64>]| all.iter().fold(Spans::default(), |spans, one| spans.union(&Spans(vec![one.clone()])));
    let spans = of(&[4..6, 10..12, 6..7, 20..30]);
    assert_eq!(spans.0, [4..7, 10..12, 20..30]);
    assert_eq!(spans.without(&of(&[0..5, 11..12, 22..24, 29..40])).0, [5..7, 10..11, 20..22, 24..29]);
    assert_eq!((spans.without(&spans), spans.bytes()), (Spans::default(), 15));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is joined, each request is done, and its bytes and their parity are on the disks.
    #[test]
    fn nothing_is_lost(
        disks in 3_usize..7, blocks in 1_u64..600, depth in 1_u32..40, random: bool, offset in 0_u64..200, above: bool,
        has_memory: bool,
    ) {
        let mut machine = raid5(disks);
        machine.offset = Bytes(offset * 512);
        machine.system.split_at = if above { SplitAt::Volume } else { SplitAt::Disk };
        if has_memory {
            give_memory(&mut machine);
        }
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let durability = Durability::FlushAtEnd;
        let workload = Workload { durability, ..writes(&machine, pattern, blocks * 512, depth, 200) };
        let outcome = course(&machine, &workload);
        hold(&outcome, &workload);
        let [read, written] = moved(&outcome);
        let parity = 1.0 / (disks as f64 - 1.0);
        // Two that are the same may be joined.
        prop_assert!(written <= 2.0 && (random || written >= 1.0 + parity - 1e-9), "{} {}", read, written);
        prop_assert!(read <= 2.0, "{}", read);
    }
}
