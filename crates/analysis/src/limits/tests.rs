//! Limits of made-up runs.

use super::*;
use crate::fixtures::{Normal, Run, begins, block, deep, random, read, write};
use halfpower_model::environment::DeviceLimit;
use halfpower_model::reading::inspect;
use halfpower_model::sample::{IN_WRITE_CACHE, Interval, SystemAccount, Warning};
use halfpower_model::{BytesPerSecond, FindingCode, Limits, Workload};

/// A bucket: what refills it per second, and what it holds.
#[derive(Clone, Copy, Default)]
struct Bucket(f64, f64);

/// A run of a device with so many requests of 4 KiB and MB per second, behind buckets of requests and of bytes: small
/// and large requests for six seconds, then five short repetitions of them and of fewer outstanding.
fn run(requests: Option<Bucket>, bytes: Option<Bucket>) -> Run {
    let (mut run, mut normal) = (Run::default(), Normal::new(1));
    for large in [false, true] {
        for workload in [read(4), write(4)] {
            let size = if large { 1 << 20 } else { 4096 };
            let limits = Limits { duration: Some(Nanoseconds(6_000_000_000)), ..workload.limits };
            let workload = Workload { request_size: Bytes(size), limits, ..deep(32, workload) };
            let workload = if large { workload } else { random(workload) };
            let device = if large { 2000.0 } else { 100_000.0 };
            let mut left = [requests, bytes].map(|bucket| bucket.map_or(f64::INFINITY, |bucket| bucket.1));
            let mut step = |seconds: f64| {
                let mut done = device * seconds * (1.0 + 0.03 * normal.draw());
                for (left, (bucket, cost)) in left.iter_mut().zip([(requests, 1.0), (bytes, size as f64)]) {
                    if let Some(Bucket(per_s, most)) = bucket {
                        *left = (*left + per_s * seconds).min(most);
                        done = done.min(*left / cost);
                    }
                }
                left[0] -= done;
                left[1] -= done * size as f64;
                done
            };
            let rates: Vec<f64> = (0..300).map(|_| step(0.02) / 0.02).collect();
            let short: Vec<f64> = (0..4).map(|_| step(0.02) / 0.02 * size as f64).collect();
            let first = rates.iter().sum::<f64>() / 300.0 * size as f64;
            let cell = run.add(workload.clone(), &[[first].as_slice(), &short].concat());
            let sample = run.samples.iter_mut().find(|placed| placed.cell == cell).map(|placed| &mut placed.sample);
            let (mut at_s, mut done) = (0.0, 0.0);
            sample.unwrap().intervals = rates
                .iter()
                .map(|rate| {
                    at_s += 0.02;
                    let before = done as u64;
                    done += rate * 0.02;
                    let requests = done as u64 - before;
                    Interval { at_s, requests, bytes: requests * size, ..Interval::default() }
                })
                .collect();
            // What is not long is of a full bucket, and one outstanding needs less than the limits.
            run.add(Workload { depth: 4, ..workload.clone() }, &[device * size as f64; 5]);
            run.add(Workload { depth: 1, ..workload }, &[1000.0 * 4096.0; 5]);
        }
    }
    run
}

fn told(requests: Option<Bucket>, bytes: Option<Bucket>) -> Vec<String> {
    crate::analyse(&run(requests, bytes).observed()).limits.into_iter().map(|limit| limit.sentence).collect()
}

/// A virtual disk at 3000 IOPS, without a burst.
pub(crate) fn regular_in_requests() -> Run {
    let mut run = run(Some(Bucket(3000.0, 60.0)), None);
    for placed in &mut run.samples {
        placed.sample.environment.target.transport = Some("virtio".to_owned());
        let latency = &mut placed.sample.total.latency_ns;
        (latency.min, latency.p50) = (Some(100_000), Some(2_000_000));
    }
    run
}

/// A limit of 60 MB/s with a burst.
pub(crate) fn limited() -> Run {
    limited_with(300e6)
}

/// The same with a burst of so many bytes.
pub(crate) fn limited_with(burst: f64) -> Run {
    run(None, Some(Bucket(60e6, burst)))
}

#[test]
fn a_limit_is_named_with_what_it_counts() {
    assert_eq!(told(None, None), [""; 0]);
    assert_eq!(
        told(Some(Bucket(3000.0, 300.0)), None),
        [
            "Reads and writes: 3\u{202f}000 IOPS ± 0.1 % sustained; 15\u{202f}000 IOPS for the first 20 ms (a burst of 240 requests, refilled at 3\u{202f}000 IOPS)."
        ]
    );
    assert_eq!(
        told(None, Some(Bucket(60e6, 300e6))),
        [
            "Reads and writes: 60 MB/s ± 0.9 % sustained; 2.03 GB/s for the first 149 ms (a burst of 294 MB, refilled at 60 MB/s)."
        ]
    );
    let both = crate::analyse(&run(Some(Bucket(2000.0, 8000.0)), Some(Bucket(100e6, 10e6))).observed()).limits;
    let sustained = both.iter().map(|limit| (limit.what, limit.sustained.value)).collect::<Vec<_>>();
    let [(Quantity::RequestsPerSecond, requests), (Quantity::BytesPerSecond, bytes)] = sustained[..] else {
        panic!("{both:?}");
    };
    assert!((requests / 2000.0 - 1.0).abs() < 0.02 && (bytes / 100e6 - 1.0).abs() < 0.02, "{both:?}");
}

#[test]
fn what_waits_for_the_cpu_is_at_no_limit() {
    let named = |busy_s| {
        let mut run = regular_in_requests();
        for placed in &mut run.samples {
            let account = SystemAccount { wall_s: 10.0, busy_s, idle_s: 20.0 - busy_s, ..SystemAccount::default() };
            placed.sample.cpu.system = Some(SystemAccount { user_s: busy_s, ..account });
        }
        crate::analyse(&run.observed()).limits.len()
    };
    assert_eq!([named(10.0), named(19.0)], [1, 0]);
}

#[test]
fn a_program_that_serves_a_file_system_here_is_no_limit() {
    let mut run = regular_in_requests();
    for placed in &mut run.samples {
        placed.sample.environment.target.filesystem = Some("fuse.sshfs".to_owned());
    }
    assert_eq!(crate::analyse(&run.observed()).limits, []);
}

#[test]
fn a_regular_rate_that_short_samples_exceed_a_little_is_the_device_s() {
    let named = |faster: f64| {
        let mut run = regular_in_requests();
        for placed in run.samples.iter_mut().filter(|placed| placed.sample.intervals.is_empty()) {
            let sample = &mut placed.sample;
            if sample.workload.request_size == Bytes(4096) && sample.workload.depth > 1 {
                sample.total.bytes_per_s = BytesPerSecond(faster * 3000.0 * 4096.0);
            }
        }
        crate::analyse(&run.observed()).limits.iter().filter(|limit| limit.what == Quantity::RequestsPerSecond).count()
    };
    assert_eq!([1.0, 1.08, 2.0].map(named), [1, 0, 1]);
}

#[test]
fn a_small_fall_to_a_rate_that_varies_is_the_device_s() {
    let named = |faster: f64| {
        let mut run = run(None, None);
        for placed in &mut run.samples {
            let sample = &mut placed.sample;
            sample.environment.target.transport = Some("virtio".to_owned());
            let is_of_it = sample.workload.request_size == Bytes(4096) && sample.workload.operation.writes();
            for interval in sample.intervals.iter_mut().filter(|interval| is_of_it && interval.at_s < 1.0) {
                interval.requests = (interval.requests as f64 * faster) as u64;
                interval.bytes = interval.requests * 4096;
            }
        }
        crate::analyse(&run.observed()).limits.len()
    };
    assert_eq!([1.0, 1.15, 1.4, 1.8].map(named), [0, 0, 0, 1]);
}

#[test]
fn a_limit_in_bytes_is_not_one_of_parts_that_the_disk_needs_not() {
    // Eight times the large requests are the small ones.
    let mut run = run(Some(Bucket(2020.0, 300.0)), Some(Bucket(265e6, 30e6)));
    let named = |run: &Run| crate::analyse(&run.observed()).limits.iter().map(|limit| limit.what).collect::<Vec<_>>();
    assert_eq!(named(&run), [Quantity::RequestsPerSecond]);
    for placed in &mut run.samples {
        placed.sample.environment.target.whole_request_bytes = Some(Bytes(1 << 20));
    }
    assert_eq!(named(&run), [Quantity::RequestsPerSecond, Quantity::BytesPerSecond]);
    // The kernel counts eight parts.
    for placed in &mut run.samples {
        let parts = placed.sample.workload.request_size.0.div_ceil(128 << 10);
        placed.sample.block = Some(block(placed.sample.total.requests * parts, 0));
    }
    assert_eq!(named(&run), [Quantity::RequestsPerSecond]);
}

#[test]
fn a_rest_that_is_joined_with_the_next_request_shows_no_limit_in_bytes() {
    // Large requests at two thirds of the rate of small ones, each in two parts for the kernel.
    let mut run = run(Some(Bucket(600.0, 300.0)), Some(Bucket(419e6, 30e6)));
    let named = |run: &Run| crate::analyse(&run.observed()).limits.iter().map(|limit| limit.what).collect::<Vec<_>>();
    for placed in &mut run.samples {
        placed.sample.environment.target.whole_request_bytes = Some(Bytes(254 << 12));
    }
    for (parts, expected) in [
        (1, &[Quantity::RequestsPerSecond, Quantity::BytesPerSecond][..]),
        (2, &[Quantity::RequestsPerSecond]),
        (4, &[Quantity::RequestsPerSecond, Quantity::BytesPerSecond]),
    ] {
        for placed in &mut run.samples {
            let parts = if placed.sample.workload.request_size.0 > 254 << 12 { parts } else { 1 };
            placed.sample.block = Some(block(placed.sample.total.requests * parts, 0));
        }
        assert_eq!(named(&run), expected, "{parts} parts");
    }
}

#[test]
fn writes_that_move_what_reads_may_are_held_by_the_same_limit() {
    let mut run = run(None, Some(Bucket(21.6e6, 3e6)));
    for placed in &mut run.samples {
        let sample = &mut placed.sample;
        if sample.workload.operation == Operation::Write && sample.workload.request_size.0 > 4096 {
            // Too short for a course, and from a full bucket.
            sample.intervals.truncate(1);
            sample.total.bytes_per_s.0 = 90e6;
        }
    }
    let limits = crate::analyse(&run.observed()).limits;
    let [limit] = &limits[..] else { panic!("{limits:?}") };
    assert_eq!((limit.what, limit.operation), (Quantity::BytesPerSecond, None), "{}", limit.sentence);
}

#[test]
fn a_burst_begins_with_the_sample_that_found_the_bucket_full() {
    let mut run = run(None, Some(Bucket(60e6, 30e6)));
    let is_first = |sample: &Sample| {
        let Workload { operation, request_size, .. } = sample.workload;
        operation == Operation::Read && request_size.0 == 4096 && sample.intervals.len() > 1
    };
    let first = &mut run.samples.iter_mut().find(|placed| is_first(&placed.sample)).unwrap().sample;
    first.started_at -= std::time::Duration::from_secs(10);
    first.total.bytes_per_s.0 = 240e6;
    for (number, interval) in first.intervals.iter_mut().enumerate() {
        // 240 MB/s throughout.
        interval.requests = 1171 + u64::from(number % 8 < 7);
        interval.bytes = interval.requests * 4096;
    }
    let limits = crate::analyse(&run.observed()).limits;
    let [limit] = &limits[..] else { panic!("{limits:?}") };
    assert!((limit.sustained.value / 60e6 - 1.0).abs() < 0.02 && limit.confidence == Sureness::Sure, "{limit:?}");
    // And the 30 MB of the sample that shows the limit.
    assert!((limit.burst.unwrap() / 240e6 - 1.0).abs() < 0.01, "{limit:?}");
    assert!((limit.burst_seconds.unwrap() - 6.17).abs() < 0.1, "{limit:?}");
}

#[test]
fn a_peak_is_what_lasts() {
    let run = run(Some(Bucket(3000.0, 6000.0)), Some(Bucket(60e6, 300e6)));
    let peaks = run.findings(FindingCode::Peak);
    assert!(!peaks.is_empty());
    for peak in peaks {
        let rate = peak.estimates[0].value;
        assert!(rate < 61e6 && !(3100.0..59e6).contains(&rate), "{}", peak.sentence);
    }
}

#[test]
fn a_peak_is_not_of_a_cache_that_a_longer_sample_empties_in_lumps() {
    let duration = Some(Nanoseconds(6_000_000_000));
    let long = Workload { request_size: Bytes(1 << 20), ..deep(8, write(4)) };
    let long = Workload { limits: Limits { duration, ..long.limits }, ..long };
    let mut run = Run::default();
    run.add(long.clone(), &[190e6]);
    run.samples[0].sample.intervals = (0..300)
        .map(|number| {
            let requests = if number % 10 < 3 { 12 } else { 0 };
            let at_s = f64::from(number + 1) * 0.02;
            Interval { at_s, requests, bytes: requests << 20, ..Interval::default() }
        })
        .collect();
    let short = run.add(Workload { request_size: Bytes(1 << 18), ..long.clone() }, &[592e6; 5]);
    run.add(Workload { request_size: Bytes(1 << 14), ..long }, &[90e6; 5]);
    run.samples.iter_mut().skip(1).for_each(|placed| placed.sample.elapsed_s = 0.2);
    let peak = |run: &Run| run.findings(FindingCode::Peak).remove(0).estimates[0].value;
    assert_eq!(peak(&run), 592e6, "without a cache they may last");
    for placed in run.samples.iter_mut().filter(|placed| placed.cell == short) {
        placed.sample.warnings.push(Warning::new(IN_WRITE_CACHE, String::new(), String::new()));
    }
    assert_eq!(peak(&run), 190e6);
}

#[test]
fn a_peak_is_not_of_a_cache_that_a_longer_sample_of_the_kind_fills() {
    // The rate at the end varies, so that it is no provider's limit.
    let mut normal = Normal::new(3);
    let mut noise = || 1.0 + 0.2 * normal.draw();
    let rate = |number: u32, noise: f64| if number < 50 { 2000.0 } else { 100.0 * noise };
    let duration = Some(Nanoseconds(6_000_000_000));
    let long = Workload { request_size: Bytes(1 << 20), ..deep(8, write(4)) };
    let mut run = Run::default();
    let long = Workload { limits: Limits { duration, ..long.limits }, ..long };
    let cell = run.add(long.clone(), &[400e6]);
    let sample = run.samples.iter_mut().find(|placed| placed.cell == cell).map(|placed| &mut placed.sample).unwrap();
    sample.intervals = (0..300)
        .map(|number| {
            let requests = (rate(number, noise()) * 0.02).round() as u64;
            let at_s = f64::from(number + 1) * 0.02;
            Interval { at_s, requests, bytes: requests << 20, ..Interval::default() }
        })
        .collect();
    run.add(Workload { request_size: Bytes(1 << 18), ..long.clone() }, &[2e9; 5]);
    run.add(Workload { request_size: Bytes(1 << 14), ..long }, &[90e6; 5]);
    let observed = run.observed();
    let analysis = crate::analyse(&observed);
    assert_eq!(analysis.limits, Vec::new());
    let peak = run.findings(FindingCode::Peak).remove(0);
    assert!(peak.estimates[0].value < 120e6, "{}", peak.sentence);
}

/// A virtual disk whose small requests wait for nothing, with regular MB/s of large reads, writes and both, none of which is fast alone.
fn regular(megabytes: [f64; 3]) -> Vec<String> {
    let mut run = Run::default();
    for (operation, rate) in ["read", "write", "mix=50"].into_iter().zip(megabytes) {
        let operation = operation.parse().unwrap();
        for (workload, mb_per_s) in [(random(read(4)), 100.0), (read(1024), rate)] {
            let duration = Some(Nanoseconds(6_000_000_000));
            let limits = Limits { duration, ..workload.limits };
            let cell = run.add(Workload { operation, limits, ..deep(8, workload) }, &[mb_per_s * 1e6]);
            let sample = &mut run.samples.iter_mut().find(|placed| placed.cell == cell).unwrap().sample;
            sample.environment.target.transport = Some("virtio".to_owned());
            let per_s = sample.total.requests_per_s;
            let done = |number: u32| (per_s * 0.02 * f64::from(number)) as u64;
            let is_large = sample.workload.request_size.0 > 4096;
            sample.intervals = (1..=300)
                .map(|number| {
                    let requests = done(number) - done(number - 1);
                    let bytes = requests * sample.workload.request_size.0;
                    let at_s = f64::from(number) * 0.02;
                    Interval { at_s, requests, bytes, ..Interval::default() }
                })
                .collect();
            let latency = &mut sample.total.latency_ns;
            (latency.min, latency.p50) = (Some(4_000_000), Some(if is_large { 20_000_000 } else { 4_000_000 }));
        }
    }
    crate::analyse(&run.observed()).limits.into_iter().map(|limit| limit.sentence).collect()
}

#[test]
fn a_limit_in_bytes_alone_holds_reads_writes_and_both_at_one_rate() {
    let [named] = &regular([300.0, 300.0, 300.0])[..] else { panic!("one is named") };
    begins(named, "Reads and writes: 300 MB/s");
    assert_eq!(regular([300.0, 306.0, 303.0]), [""; 0], "a CPU that copies is not as fast at both");
}

#[test]
fn a_limit_in_bytes_is_named_where_large_requests_complete_in_lumps() {
    let mut run = limited();
    for placed in &mut run.samples {
        let Sample { workload, intervals, .. } = &mut placed.sample;
        if workload.request_size.0 == 1 << 20 && intervals.len() > 1 {
            workload.depth = 8;
            // As many at once as are outstanding, some of them in the interval after.
            let (mut waiting, mut late) = (0, 0);
            for (number, interval) in intervals.iter_mut().enumerate() {
                waiting += interval.requests;
                let lump = waiting / 8 * 8 + late;
                late = if number % 5 == 0 && lump >= 8 { 3 } else { 0 };
                waiting %= 8;
                (interval.requests, interval.bytes) = (lump - late, (lump - late) << 20);
            }
        }
    }
    let limits = crate::analyse(&run.observed()).limits;
    let [limit] = &limits[..] else { panic!("{limits:?}") };
    assert_eq!((limit.what, limit.operation), (Quantity::BytesPerSecond, None));
    assert!((limit.sustained.value / 60e6 - 1.0).abs() < 0.02, "{limit:?}");
}

#[test]
fn a_limit_that_a_control_group_sets_is_named_whatever_its_rate_shows() {
    let mut run = run(None, None);
    assert_eq!(crate::analyse(&run.observed()).limits, Vec::new());
    let write_bytes_per_s = Some(BytesPerSecond(2000.0 * 1048576.0));
    let limit = inspect::Limit { group: "blkio:/batch".to_owned(), write_bytes_per_s, ..inspect::Limit::default() };
    for placed in &mut run.samples {
        placed.sample.environment.target.limits = vec![DeviceLimit { device: "sda".to_owned(), limit: limit.clone() }];
    }
    let limits = crate::analyse(&run.observed()).limits;
    let [found] = &limits[..] else { panic!("{limits:?}") };
    assert_eq!((found.what, found.operation), (Quantity::BytesPerSecond, Some(Operation::Write)));
    assert!(found.sentence.ends_with("sustained, which the control group blkio:/batch allows."), "{}", found.sentence);
    // Short writes beyond it are of a burst, whatever the long ones show.
    let short = run.add(write(64), &[3e9]);
    let placed = run.samples.iter_mut().find(|placed| placed.cell == short).unwrap();
    placed.sample.environment.target.limits = vec![DeviceLimit { device: "sda".to_owned(), limit }];
    placed.sample.write = Some(placed.sample.total.clone());
    assert!(crate::analyse(&run.observed()).cells.iter().any(|cell| cell.cell == short && cell.is_burst));
}

#[test]
fn a_limit_in_bytes_that_a_control_group_sets_is_not_named_in_requests_too() {
    // Small requests of a virtual disk, of which a rate in bytes is as regular a rate of requests; large ones are not long.
    let mut run = run(None, Some(Bucket(60e6, 6e6)));
    for placed in &mut run.samples {
        let sample = &mut placed.sample;
        sample.environment.target.transport = Some("virtio".to_owned());
        (sample.total.latency_ns.p50, sample.total.latency_ns.min) = (Some(2_000_000), Some(100_000));
        if sample.workload.request_size > Bytes(4096) {
            sample.intervals.clear();
        }
    }
    let limits = crate::analyse(&run.observed()).limits;
    assert!(limits.iter().any(|limit| limit.what == Quantity::RequestsPerSecond), "{limits:?}");
    let rate = Some(BytesPerSecond(60e6));
    let limit = inspect::Limit {
        group: "blkio:/batch".to_owned(),
        read_bytes_per_s: rate,
        write_bytes_per_s: rate,
        ..inspect::Limit::default()
    };
    for placed in &mut run.samples {
        placed.sample.environment.target.limits = vec![DeviceLimit { device: "sda".to_owned(), limit: limit.clone() }];
    }
    let limits = crate::analyse(&run.observed()).limits;
    assert!(!limits.is_empty() && limits.iter().all(|limit| limit.what == Quantity::BytesPerSecond), "{limits:?}");
}
