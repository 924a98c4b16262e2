//! Cloud volumes as their provider describes them.

use super::tests::{asked, check};
use halfpower_model::Operation::{Read, Write};
use halfpower_model::{Bytes, Pattern, Sample, Workload};

/// Random requests of 16 KiB, QD256, for 5 s.
fn measure(target: &str, change: impl Fn(Workload) -> Workload) -> Sample {
    let workload = Workload { span: Bytes(64 << 30), ..asked(Read, Pattern::Random, 16, 256, 5.0) };
    super::tests::measure(&format!("cloud-gp3:{target}"), &change(workload))
}

fn of_kib(kib: u64) -> impl Fn(Workload) -> Workload {
    move |workload| Workload { request_size: Bytes(kib << 10), ..workload }
}

#[test]
fn requests_and_bytes_a_second_are_what_the_provider_documents() {
    for (volume, requests, mebibytes) in [
        ("baseline", 3000.0, 125.0),
        ("provisioned", 16_000.0, 1000.0),
        ("burst", 3000.0, 128.0),
        ("stripe-4", 12_000.0, 500.0),
    ] {
        for operation in [Read, Write] {
            let total = |kib| measure(volume, |workload| of_kib(kib)(Workload { operation, ..workload })).total;
            check(&format!("{volume}, {operation} of 16 KiB"), total(16).requests_per_s, requests, 1.0);
            check(&format!("{volume}, {operation} of 256 KiB"), total(256).bytes_per_s.0 / 1_048_576.0, mebibytes, 1.0);
        }
    }
    // A request beyond the unit counts as several: with bytes enough, 3000 requests of 256 KiB are 750 of 1 MiB.
    let rate = measure("baseline,gp3.limits.rate=1000MiB/s", of_kib(1024)).total.requests_per_s;
    check("1 MiB", rate, 750.0, 1.0);
}

#[test]
fn sequential_requests_that_wait_are_merged_up_to_the_unit() {
    let sequential = |depth| {
        let change = |workload| Workload { pattern: Pattern::Sequential, depth, ..of_kib(4)(workload) };
        measure("baseline", change).total.requests_per_s
    };
    // What waits behind the first of a group joins it, until the bytes are the limit: 32 000 of 4 KiB are 125 MiB.
    check("QD256", sequential(256), 32_000.0, 1.0);
    assert!(sequential(1) < 1500.0, "nothing waits: {}", sequential(1));
}

#[test]
fn credits_run_out_when_the_provider_says() {
    // A hundredth of 5.4 million lasts 20 s.
    let limits = asked(Read, Pattern::Random, 16, 256, 40.0).limits;
    let sample = measure("burst,gp2.limits.full=0.01", |workload| Workload { limits, ..workload });
    let rates: Vec<u64> = sample.intervals.iter().map(|interval| interval.requests).collect();
    assert_eq!(rates.iter().take_while(|requests| **requests > 2900).count(), 20, "{rates:?}");
    assert!(rates[22..39].iter().all(|requests| (299..=301).contains(requests)), "{rates:?}");
    let ends: Vec<f64> = sample.intervals.iter().map(|interval| interval.at_s).collect();
    assert_eq!((ends[0], ends[39], sample.elapsed_s), (1.0, 40.0, 40.0), "an interval has its end");
}

#[test]
fn at_qd1_the_latency_limits_the_rate() {
    let latency = measure("provisioned", |workload| Workload { depth: 1, ..workload }).total.latency_ns;
    // 700 us, 16 KiB over the instance's link, and 1.23 us of the system.
    check("latency", latency.mean.unwrap() / 1e3, 700.0 + 13.1 + 1.2, 0.5);
    let spread = latency.max.unwrap() - latency.min.unwrap();
    assert!((200e3..=400e3).contains(&(spread as f64)), "{spread}");
}

#[test]
fn a_small_instance_limits_a_large_volume_when_its_half_hour_is_over() {
    let of = |set: &str, kib| measure(&format!("small-instance{set}"), of_kib(kib));
    let busy = |sample: &Sample| {
        ["m6i-large", "gp3-small"]
            .map(|name| sample.parts.iter().find(|part| part.name.starts_with(name)).map_or(0.0, |part| part.busy))
    };
    let fresh = of("", 16);
    check("fresh", fresh.total.requests_per_s, 16_000.0, 1.0);
    let [instance, volume] = busy(&fresh);
    assert!(instance < 0.1 && volume > 0.99, "{instance} {volume}");
    check("spent, 16 KiB", of(",m6i-large.full=0", 16).total.requests_per_s, 3600.0, 1.0);
    let spent = of(",m6i-large.full=0", 64);
    check("spent, 64 KiB", spent.total.bytes_per_s.0, 81.25e6, 1.0);
    let [instance, volume] = busy(&spent);
    assert!(instance > 0.99 && volume < 0.1, "{instance} {volume}");
    // Credits for 4 s at the volume's own rate, of 10.
    let limits = asked(Read, Pattern::Random, 16, 256, 10.0).limits;
    let used_up = measure("small-instance,m6i-large.request-credits=49600", |workload| Workload { limits, ..workload });
    let [instance, volume] = busy(&used_up);
    assert!((instance - 0.6).abs() < 0.01 && (volume - 0.4).abs() < 0.01, "{instance} {volume}");
}
