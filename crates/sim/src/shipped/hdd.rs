//! A present-day disk as its data sheet has it.

use super::tests::check;
use halfpower_model::{
    Buffering, Bytes, Cancel, Limits, Nanoseconds, Operation, Pattern, Personality, Testbed, Workload,
};

/// Requests a second: random ones over all of a volume, a stream in its outermost 100 GiB.
fn rate(volume: &str, operation: Operation, pattern: Pattern, bytes: u64, depth: u32) -> f64 {
    let mut testbed = super::testbed("hdd-18tb", volume).unwrap().unwrap();
    let size = match pattern {
        Pattern::Sequential => 100 << 30,
        _ => testbed.describe().target.size_bytes.0,
    };
    let workload = Workload {
        buffering: Buffering::Direct,
        personality: Personality::IoUring,
        operation,
        pattern,
        depth,
        request_size: Bytes(bytes),
        span: Bytes(size / bytes * bytes),
        limits: Limits { duration: Some(Nanoseconds(60_000_000_000)), requests: None, bytes: None },
        ..Workload::default()
    };
    testbed.measure(&workload, &mut (), &Cancel::default()).unwrap().total.requests_per_s
}

fn random(volume: &str, operation: Operation, bytes: u64, depth: u32) -> f64 {
    rate(volume, operation, Pattern::Random, bytes, depth)
}

#[test]
fn the_data_sheet_s_figures_come_out() {
    let size = super::testbed("hdd-18tb", "disk").unwrap().unwrap().describe().target.size_bytes.0;
    assert_eq!(size, 35_156_656_128 * 512);
    for operation in [Operation::Read, Operation::Write] {
        let sustained = rate("disk", operation, Pattern::Sequential, 1 << 20, 4) * 1_048_576.0 / 1e6;
        check(&format!("{operation}, outside"), sustained, 270.0, 5.0);
    }
    check("random reads, 16 deep", random("disk", Operation::Read, 4096, 16), 170.0, 5.0);
    // One deep: an average seek, half a turn, and the drive's own time.
    let access_ms = 7.4 + 4.167 + 0.82;
    check("random reads, 1 deep", random("disk", Operation::Read, 4096, 1), 1000.0 / access_ms, 5.0);
}

#[test]
fn the_link_s_queue_has_room_for_32() {
    let [less, full, more] = [16, 32, 64].map(|depth| random("disk", Operation::Read, 4096, depth));
    assert!(full > less * 1.1, "{less} {full}");
    check("64 deep", more, full, 2.0);
}

#[test]
fn writes_of_part_of_a_physical_sector_cost_a_turn() {
    let whole = random("disk-nocache", Operation::Write, 4096, 1);
    let part = random("disk-nocache", Operation::Write, 512, 1);
    check("512 B", part, 1000.0 / (1000.0 / whole + 8.333), 2.0);
}
