//! Cloud volumes as their provider describes them.

use super::tests::check;
use halfpower_model::{
    Buffering, Bytes, Cancel, Limits, Nanoseconds, Operation, Pattern, Personality, Sample, Settings, Testbed, Workload,
};

fn measure(volume: &str, set: &str, change: impl Fn(Workload) -> Workload) -> Sample {
    let text = super::machine_text("cloud-gp3").unwrap();
    let settings = if set.is_empty() { Settings::default() } else { set.parse().unwrap() };
    let mut testbed = super::Simulated::of_file("cloud-gp3", text, volume, &settings).unwrap();
    let workload = Workload {
        buffering: Buffering::Direct,
        personality: Personality::IoUring,
        pattern: Pattern::Random,
        request_size: Bytes(16 << 10),
        depth: 256,
        span: Bytes(64 << 30),
        limits: Limits { duration: Some(Nanoseconds(5_000_000_000)), requests: None, bytes: None },
        ..Workload::default()
    };
    testbed.measure(&change(workload), &mut (), &Cancel::default()).unwrap()
}

#[test]
fn requests_and_bytes_a_second_are_what_the_provider_documents() {
    for (volume, requests, mebibytes) in [
        ("baseline", 3000.0, 125.0),
        ("provisioned", 16_000.0, 1000.0),
        ("burst", 3000.0, 128.0),
        ("stripe-4", 12_000.0, 500.0),
    ] {
        for operation in [Operation::Read, Operation::Write] {
            let small = measure(volume, "", |workload| Workload { operation, ..workload });
            check(&format!("{volume}, {operation} of 16 KiB"), small.total.requests_per_s, requests, 1.0);
            let large = |workload| Workload { operation, request_size: Bytes(256 << 10), ..workload };
            let rate = measure(volume, "", large).total.bytes_per_s.0 / 1_048_576.0;
            check(&format!("{volume}, {operation} of 256 KiB"), rate, mebibytes, 1.0);
        }
    }
}

#[test]
fn a_request_beyond_the_unit_counts_as_several() {
    let large = |workload| Workload { request_size: Bytes(1 << 20), ..workload };
    // With bytes enough, 3000 requests of 256 KiB are 750 of 1 MiB.
    let rate = measure("baseline", "gp3.limits.rate=1000MiB/s", large).total.requests_per_s;
    check("1 MiB", rate, 750.0, 1.0);
}

#[test]
fn sequential_requests_that_wait_are_merged_up_to_the_unit() {
    let sequential = |depth| {
        let change = |workload| Workload { pattern: Pattern::Sequential, request_size: Bytes(4096), depth, ..workload };
        measure("baseline", "", change).total.requests_per_s
    };
    // What waits behind the first of a group joins it, until the bytes are the limit: 32 000 of 4 KiB are 125 MiB.
    check("QD256", sequential(256), 32_000.0, 1.0);
    assert!(sequential(1) < 1500.0, "nothing waits: {}", sequential(1));
}

#[test]
fn one_deep_the_latency_sets_the_pace() {
    let sample = measure("provisioned", "", |workload| Workload { depth: 1, ..workload });
    // 700 us, 16 KiB over the instance's link, and 1.23 us of the system.
    check("latency", sample.total.latency_ns.mean.unwrap() / 1e3, 700.0 + 13.1 + 1.2, 0.5);
    let spread = sample.total.latency_ns.max.unwrap() - sample.total.latency_ns.min.unwrap();
    assert!((200e3..=400e3).contains(&(spread as f64)), "{spread}");
}

#[test]
fn credits_run_out_when_the_provider_says() {
    // A hundredth of 5.4 million lasts 20 s.
    let sample = measure("burst", "gp2.limits.full=0.01", |workload| Workload {
        limits: Limits { duration: Some(Nanoseconds(40_000_000_000)), ..workload.limits },
        ..workload
    });
    let rates: Vec<u64> = sample.intervals.iter().map(|interval| interval.requests).collect();
    let fast = rates.iter().take_while(|requests| **requests > 2900).count();
    assert_eq!(fast, 20, "{rates:?}");
    let ends: Vec<f64> = sample.intervals.iter().map(|interval| interval.at_s).collect();
    assert_eq!((ends[0], ends[39], sample.elapsed_s), (1.0, 40.0, 40.0), "an interval has its end");
    assert!(rates[22..].iter().all(|requests| *requests <= 301), "{rates:?}");
    assert!(rates[22..39].iter().all(|requests| *requests >= 299), "{rates:?}");
}

#[test]
fn a_small_instance_holds_a_large_volume_when_its_half_hour_is_over() {
    let fresh = measure("small-instance", "", |workload| workload).total.requests_per_s;
    check("fresh", fresh, 16_000.0, 1.0);
    let spent = |set: &str, kib: u64| {
        let settings = format!("m6i-large.full=0{set}");
        measure("small-instance", &settings, |workload| Workload { request_size: Bytes(kib << 10), ..workload })
    };
    check("spent, 16 KiB", spent("", 16).total.requests_per_s, 3600.0, 1.0);
    let spent_on_bytes = spent("", 64);
    check("spent, 64 KiB", spent_on_bytes.total.bytes_per_s.0, 81.25e6, 1.0);
    let busy = |sample: &Sample, name: &str| {
        let of = |part: &&halfpower_model::sample::Part| part.name.starts_with(name);
        sample.parts.iter().find(of).map_or(0.0, |part| part.busy)
    };
    let both = |sample: &Sample| [busy(sample, "m6i-large"), busy(sample, "gp3-small")];
    let [instance, volume] = both(&spent_on_bytes);
    assert!(instance > 0.99 && volume < 0.1, "{instance} {volume}");
    let fresh = measure("small-instance", "", |workload| workload);
    let [instance, volume] = both(&fresh);
    assert!(instance < 0.1 && volume > 0.99, "{instance} {volume}");
    // Credits for 4 s at the volume's own rate, of 10.
    let used_up = measure("small-instance", "m6i-large.request-credits=49600", |workload| {
        let duration = Some(Nanoseconds(10_000_000_000));
        Workload { limits: Limits { duration, requests: None, bytes: None }, ..workload }
    });
    let [instance, volume] = both(&used_up);
    assert!((instance - 0.6).abs() < 0.01 && (volume - 0.4).abs() < 0.01, "{instance} {volume}");
}
