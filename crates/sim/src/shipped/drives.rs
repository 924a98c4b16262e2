//! Drives by commands straight to them, table 3 of the 1997 study, and streams of writes.

use super::tests::check;
use halfpower_model::workload::Rate;
use halfpower_model::{Buffering, Bytes, Cancel, Limits, Nanoseconds, Operation, Personality, Testbed, Workload};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hit {
    /// The same blocks, again and again.
    Cache,
    /// The next ones, after a pause in which the drive read ahead.
    Prefetch,
}

/// Milliseconds for a read of the Barracuda on a bus.
fn service_ms(volume: &str, hit: Hit, bytes: u64) -> f64 {
    let mut testbed = super::testbed("nt4-pentium-pro", volume).unwrap().unwrap();
    let workload = Workload {
        personality: Personality::Sg,
        buffering: Buffering::Direct,
        request_size: Bytes(bytes),
        span: Bytes(if hit == Hit::Cache { bytes } else { 100 << 20 }),
        rate: (hit == Hit::Prefetch).then_some(Rate::Requests(10)),
        warmup: Nanoseconds(1_000_000_000),
        limits: Limits { duration: None, requests: Some(100), bytes: None },
        ..Workload::default()
    };
    let sample = testbed.measure(&workload, &mut (), &Cancel::default()).unwrap();
    sample.total.latency_ns.mean.unwrap() / 1e6
}

#[test]
fn barracudas_take_for_hits_what_the_study_has() {
    use Hit::{Cache, Prefetch};
    let table = [
        ("barracuda-narrow", Cache, [0.96, 1.01, 1.11, 1.33, 1.75, 2.63, 4.35, 16.5]),
        ("barracuda-narrow", Prefetch, [0.56, 0.63, 0.75, 0.93, 1.38, 2.25, 3.93, 7.3]),
        ("barracuda-fw", Cache, [0.93, 0.97, 1.02, 1.13, 1.36, 1.81, 2.75, 16.5]),
        ("barracuda-fw", Prefetch, [0.59, 0.59, 0.58, 0.61, 0.86, 1.31, 2.25, 4.05]),
        ("barracuda-uw", Cache, [8.14, 8.14, 8.14, 8.13, 8.13, 8.13, 8.13, 8.15]),
        ("barracuda-uw", Prefetch, [0.3, 0.32, 0.34, 0.4, 0.51, 0.74, 1.22, 2.15]),
    ];
    for (volume, hit, published) in table {
        for (doublings, milliseconds) in published.into_iter().enumerate() {
            let bytes = 512 << doublings;
            check(&format!("{volume}, {hit:?}, {bytes} B"), service_ms(volume, hit, bytes), milliseconds, 10.0);
        }
    }
}

/// The studies have 22.5 of SQLIO's MB/s: a turn is lost at the step to each cylinder, for which the shift has no room beside
/// settling, and none anywhere else, however the stream is cut into passages.
#[test]
fn an_atlas_writes_as_fast_at_every_depth() {
    for (kib, depth) in [(8, 2), (8, 4), (8, 8), (16, 1), (16, 16), (64, 2)] {
        let mut testbed = super::testbed("win2k-pentium3", "atlas-1").unwrap().unwrap();
        let workload = Workload {
            operation: Operation::Write,
            buffering: Buffering::Direct,
            personality: Personality::IoUring,
            request_size: Bytes(kib << 10),
            depth,
            span: Bytes(2 << 30),
            warmup: Nanoseconds(1_000_000_000),
            limits: Limits { duration: Some(Nanoseconds(20_000_000_000)), requests: None, bytes: None },
            ..Workload::default()
        };
        let sample = testbed.measure(&workload, &mut (), &Cancel::default()).unwrap();
        check(&format!("{kib} KiB, QD{depth}"), sample.total.bytes_per_s.0 / 1_048_576.0, 22.3, 0.5);
    }
}
