//! What the stripe cache of a RAID5 reads, writes and joins.

use super::tests::*;
use proptest::prelude::*;

/// Disks with chunks of 32 KiB, and a stripe cache of so many of them.
fn raid5(disks: usize, kept: u64) -> Machine {
    let cache = (kept > 0).then_some(Bytes(kept * (32 << 10)));
    let mut machine = machine(larger(Scheduler::CLook), disks, Volume::Raid5 { chunk: Bytes(32 << 10), cache });
    machine.system.split_at = SplitAt::Disk;
    machine
}

fn writes(machine: &Machine, pattern: Pattern, size: u64, depth: u32, count: u64) -> Workload {
    let (operation, limits) = (Operation::Write, of_requests(count));
    Workload { operation, limits, ..workload(pattern, size, depth, machine) }
}

fn write(machine: &Machine, pattern: Pattern, size: u64, depth: u32, count: u64) -> Outcome {
    course(machine, &writes(machine, pattern, size, depth, count))
}

/// Bytes read and written for each that was asked for.
fn moved(outcome: &Outcome) -> [f64; 2] {
    [0, 1].map(|way| outcome.device[way].1 as f64 / outcome.bytes[1] as f64)
}

#[test]
fn of_old_bytes_with_parity_and_the_others_the_fewer_are_read() {
    // Four disks have two either way, three one other, six four others.
    for (disks, reads) in [(3, 1.0), (4, 2.0), (6, 2.0)] {
        let [read, written] = moved(&write(&raid5(disks, 0), Pattern::Random, 4096, 1, 500));
        assert_eq!([read, written], [2.0, 2.0], "without the cache");
        let [read, written] = moved(&write(&raid5(disks, 2), Pattern::Random, 4096, 1, 500));
        assert!((read - reads).abs() < 0.05, "{disks} disks: {read}");
        assert!((written - 2.0).abs() < 0.01, "{written}");
    }
}

#[test]
fn a_row_that_is_known_is_not_read_again() {
    // Rows of three chunks: two are read for the first.
    let [read, written] = moved(&write(&raid5(4, 2), Pattern::Sequential, 8192, 1, 1200));
    assert!((read - 2.0 / 3.0).abs() < 0.02 && written == 2.0, "{read} {written}");
    let [read, _] = moved(&write(&raid5(4, 0), Pattern::Sequential, 8192, 1, 1200));
    assert_eq!(read, 2.0);
}

#[test]
fn what_comes_while_a_row_is_read_is_written_with_it() {
    let [_, alone] = moved(&write(&raid5(4, 2), Pattern::Sequential, 32 << 10, 1, 1200));
    let [_, joined] = moved(&write(&raid5(4, 2), Pattern::Sequential, 32 << 10, 8, 1200));
    assert!(alone == 2.0 && joined < 1.6, "{alone} {joined}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is joined, each request is done, and its bytes and their parity are on the disks.
    #[test]
    fn nothing_is_lost(
        disks in 3_usize..7, kept in 1_u64..5, blocks in 1_u64..600, depth in 1_u32..40, random: bool, offset in 0_u64..200,
        above: bool,
    ) {
        let mut machine = raid5(disks, kept);
        machine.offset = Bytes(offset * 512);
        machine.system.split_at = if above { SplitAt::Volume } else { SplitAt::Disk };
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let workload = writes(&machine, pattern, blocks * 512, depth, 200);
        let outcome = course(&machine, &workload);
        hold(&outcome, &workload);
        let [read, written] = moved(&outcome);
        let parity = 1.0 / (disks as f64 - 1.0);
        // Two that are the same may be joined.
        prop_assert!(written <= 2.0 && (random || written >= 1.0 + parity - 1e-9), "{} {}", read, written);
        prop_assert!(read <= 2.0, "{}", read);
    }
}
