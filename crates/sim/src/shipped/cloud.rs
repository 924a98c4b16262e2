//! Cloud volumes as their provider describes them.

use super::tests::{asked, check};
use halfpower_model::Operation::{Read, Write};
use halfpower_model::{Pattern, Sample, Workload};

/// Random reads of so many KiB, QD256, for so many seconds.
fn measure(target: &str, kib: u64, seconds: f64, change: impl Fn(&mut Workload)) -> Sample {
    let mut workload =
        Workload { span: halfpower_model::Bytes(64 << 30), ..asked(Read, Pattern::Random, kib, 256, seconds) };
    change(&mut workload);
    super::tests::measure(&format!("cloud-gp3:{target}"), &workload)
}

#[test]
fn iops_and_bytes_per_second_are_as_documented() {
    for (volume, requests, mebibytes) in [
        ("baseline", 3000.0, 125.0),
        ("provisioned", 16_000.0, 1000.0),
        ("burst", 3000.0, 128.0),
        ("stripe-4", 12_000.0, 500.0),
    ] {
        for operation in [Read, Write] {
            let total = |kib| measure(volume, kib, 5.0, |workload| workload.operation = operation).total;
            check(&format!("{volume}, {operation} of 16 KiB"), total(16).requests_per_s, requests, 1.0);
            check(&format!("{volume}, {operation} of 256 KiB"), total(256).bytes_per_s.0 / 1_048_576.0, mebibytes, 1.0);
        }
    }
    // A request beyond the unit counts as several: with enough bytes, 3000 requests of 256 KiB are 750 of 1 MiB.
    let rate = measure("baseline,gp3.limits.rate=1000MiB/s", 1024, 5.0, |_| {}).total.requests_per_s;
    check("1 MiB", rate, 750.0, 1.0);
    // Waiting sequential requests merge until the bytes are the limit: 32 000 of 4 KiB are 125 MiB. At QD1 none waits.
    let sequential = |depth| {
        let change = |workload: &mut Workload| (workload.pattern, workload.depth) = (Pattern::Sequential, depth);
        measure("baseline", 4, 5.0, change).total.requests_per_s
    };
    check("QD256", sequential(256), 32_000.0, 1.0);
    assert!(sequential(1) < 1500.0, "{}", sequential(1));
}

#[test]
fn credits_run_out_when_the_provider_says() {
    // A hundredth of 5.4 million lasts 20 s.
    let sample = measure("burst,gp2.limits.full=0.01", 16, 40.0, |_| {});
    let rates: Vec<u64> = sample.intervals.iter().map(|interval| interval.requests).collect();
    assert_eq!(rates.iter().take_while(|requests| **requests > 2900).count(), 20, "{rates:?}");
    assert!(rates[22..39].iter().all(|requests| (299..=301).contains(requests)), "{rates:?}");
    let ends: Vec<f64> = sample.intervals.iter().map(|interval| interval.at_s).collect();
    assert_eq!((ends[0], ends[39], sample.elapsed_s), (1.0, 40.0, 40.0), "an interval has its end");
}

#[test]
fn at_qd1_the_latency_limits_the_rate() {
    let latency = measure("provisioned", 16, 5.0, |workload| workload.depth = 1).total.latency_ns;
    // 700 µs, 16 KiB over the instance's link, and 1.23 µs of the system.
    check("latency", latency.mean.unwrap() / 1e3, 700.0 + 13.1 + 1.2, 0.5);
    let spread = latency.max.unwrap() - latency.min.unwrap();
    assert!((200_000..=400_000).contains(&spread), "{spread}");
}

#[test]
fn a_small_instance_limits_a_large_volume_when_its_half_hour_is_over() {
    for (set, kib, seconds, requests, instance, volume) in [
        ("", 16, 5.0, 16_000.0, 0.0, 1.0),
        (",m6i-large.full=0", 16, 5.0, 3600.0, 1.0, 0.0),
        (",m6i-large.full=0", 64, 5.0, 81.25e6 / 65_536.0, 1.0, 0.0),
        // Credits for 4 s of 10 at the volume's rate.
        (",m6i-large.request-credits=49600", 16, 10.0, 0.4 * 16_000.0 + 0.6 * 3600.0, 0.6, 0.4),
    ] {
        let sample = measure(&format!("small-instance{set}"), kib, seconds, |_| {});
        check(set, sample.total.requests_per_s, requests, 1.0);
        // The 64 servers of the volume take 700 µs per request, whoever limits it.
        let volume = f64::max(volume, requests * 700e-6 / 64.0);
        for (name, wanted) in [("m6i-large", instance), ("gp3-small", volume)] {
            let busy = sample.parts.iter().find(|part| part.name.starts_with(name)).map_or(0.0, |part| part.busy);
            assert!((busy - wanted).abs() < 0.01, "{set}: {name} {busy}");
        }
    }
}
