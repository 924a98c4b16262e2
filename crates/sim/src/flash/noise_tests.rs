//! The noise of service times against the arithmetic of its figures.

use super::tests::{close, course, drive, per_s};
use super::*;
use halfpower_model::{Bytes, Histogram, Nanoseconds, Pattern};

/// Latencies in microseconds of reads or writes of 4 KiB.
fn latency_us(drive: FlashDrive, operation: &str, depth: u32, which: usize) -> Histogram {
    course(drive, operation, Pattern::Random, 4, depth, 2000).latency[which].clone()
}

fn mean_us(latency: &Histogram) -> f64 {
    latency.mean().unwrap() / 1e3
}

fn quantile_us(latency: &Histogram, share: f64) -> f64 {
    latency.quantile(share).unwrap() as f64 / 1e3
}

#[test]
fn pages_of_three_kinds_are_read_until_their_errors_are_corrected() {
    let reads = latency_us(FlashDrive { read_spread: 0.3, retry: 0.1, ..drive() }, "read", 1, 0);
    close("mean", mean_us(&reads), 50.0 / 0.9, 1.0);
    for (share, wanted) in [(0.15, 35.0), (0.45, 50.0), (0.75, 65.0), (0.999, 3.0 * 65.0)] {
        close(&format!("{share}"), quantile_us(&reads, share), wanted, 3.0);
    }
}

#[test]
fn a_read_waits_for_an_erasure_or_for_its_suspension() {
    // A block of 16 pages of 640 µs is erased in 2 ms: a fifth of the time. The write keeps all units busy.
    let waits_us = |suspend: Option<u64>| -> Vec<f64> {
        let suspend = suspend.map(Nanoseconds);
        let erase = Some(Erase { time: Nanoseconds(2_000_000), block: Bytes(256 << 10), suspend });
        let drive = Arc::new(FlashDrive { erase, ..drive() });
        let of_seed = |seed| {
            let mut flash = Flash::new(Arc::clone(&drive), seed);
            let write = Command { tag: 0, direction: Direction::Write, block: 0, count: 1 << 14, received_ns: 0 };
            flash.serve(0, write);
            flash.serve(0, Command { direction: Direction::Read, count: 8, ..write }).ready_ns as f64 / 1e3 - 50.0
        };
        let mut waits: Vec<f64> = (0..4000).map(of_seed).collect();
        waits.sort_unstable_by(f64::total_cmp);
        waits
    };
    let mean = |waits: &[f64]| waits.iter().sum::<f64>() / waits.len() as f64;
    let (never, soon) = (waits_us(None), waits_us(Some(300_000)));
    close("mean", mean(&never), 2.0 / 10.24 * 1000.0, 5.0);
    assert!(never[3100] < 1.0 && never[3960] > 1800.0, "{} {}", never[3100], never[3960]);
    // A wait is cut at 300 µs, as 85 % of them are.
    close("suspended", mean(&soon), 2.0 / 10.24 * (0.85 * 300.0 + 0.15 * 150.0), 5.0);
}

#[test]
fn rounds_of_garbage_collection_leave_the_throughput_and_lengthen_the_tail() {
    let of = |kib: u64| {
        let worn = FlashDrive { state: State::Steady, collection: Bytes(kib << 10), ..drive() };
        let outcome = course(worn, "write", Pattern::Random, 4, 4, 4000);
        (per_s(&outcome), quantile_us(&outcome.latency[1], 0.5), quantile_us(&outcome.latency[1], 0.999))
    };
    let (even, rounds) = (of(0), of(1024));
    close("throughput", rounds.0, even.0, 2.0);
    assert!(even.2 < 2.0 * even.1 && rounds.1 < even.1 && rounds.2 > 20.0 * even.1, "{even:?} {rounds:?}");
}

#[test]
fn some_writes_wait_for_the_mapping_table_and_every_command_for_the_controller() {
    let slow = FlashDrive { checkpoint: 0.1, buffer: Some(Bytes(1 << 30)), ..drive() };
    let writes = latency_us(slow, "write", 1, 1);
    close("mean", mean_us(&writes), 0.1 * 320.0, 5.0);
    close("99th percentile", quantile_us(&writes, 0.99), 0.9 * 640.0, 3.0);
    let reads = latency_us(FlashDrive { jitter: Nanoseconds(10_000), ..drive() }, "read", 1, 0);
    close("mean", mean_us(&reads), 60.0, 1.0);
    close("99th percentile", quantile_us(&reads, 0.99), 50.0 + 10.0 * f64::ln(100.0), 2.0);
}
