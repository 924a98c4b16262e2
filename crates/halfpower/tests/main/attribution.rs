//! Bottlenecks caused on purpose, and the finding. `bench/ground_truth.py` has more of them.

use crate::support::{Lab, Words, skip};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// From this share of time waiting for a CPU on, other programs disturb the test.
const CROWDED: f64 = 0.2;

const CACHED: &str = "io small --pattern=random --request-size=16KiB --buffering=buffered";

/// Runs one workload; gives the verdict on its bottleneck when the stored run is shown.
fn bottleneck_of(lab: &Lab, io: impl Words) -> Value {
    let sample = lab.json((io, "--duration=400ms"));
    let run = lab.runs().len();
    let mut bottleneck = lab.json(format!("runs show {run}"))["analysis"]["cells"][0]["bottleneck"].take();
    let waited_s = sample["cpu"]["waited_s"].as_f64();
    bottleneck["waited"] = waited_s.map(|waited_s| waited_s / sample["elapsed_s"].as_f64().unwrap()).into();
    bottleneck
}

/// Whether others left the workers alone; prints the reason if not.
fn is_quiet(bottleneck: &Value) -> bool {
    let quiet = bottleneck["waited"].as_f64().is_some_and(|waited| waited < CROWDED);
    if !quiet {
        skip("the machine is too busy with other things, or does not count what threads wait");
    }
    quiet
}

#[test]
fn the_program_alone_is_the_generator_and_memory_answers_for_a_file_in_the_cache() {
    let lab = Lab::new();
    lab.data_file("small", 1 << 10);
    assert_eq!(bottleneck_of(&lab, "io null: --depth=8")["name"], "generator");
    let bottleneck = bottleneck_of(&lab, (CACHED, "--cache=keep"));
    // Without counters of the device it is unknown.
    let is_unknown = bottleneck["open"].to_string().contains("how much the page cache served is unknown");
    assert!(bottleneck["name"] == "memory" || is_unknown, "{bottleneck}");
}

#[test]
fn a_cpu_that_others_burn_is_named() {
    let lab = Lab::new();
    lab.data_file("small", 1 << 10);
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
    let over = AtomicBool::new(false);
    let burn = || {
        let mut one = rustix::thread::CpuSet::new();
        one.set(cpu);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        while !over.load(Relaxed) {
            std::hint::spin_loop();
        }
    };
    let bottleneck = std::thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(burn)));
        let bottleneck = bottleneck_of(&lab, (CACHED, format!("--cache=warm --cpus={cpu}")));
        over.store(true, Relaxed);
        bottleneck
    });
    if bottleneck["waited"].is_null() {
        return skip("the kernel does not count how long threads wait for a CPU");
    }
    assert_eq!(bottleneck["name"], "cpu", "{bottleneck}");
    let why = format!("(pinned to CPU {cpu}), because other programs used it");
    assert!(bottleneck["reason"].as_str().unwrap().contains(&why), "{bottleneck}");
}

#[test]
fn one_request_at_a_time_is_the_depth_and_many_are_not() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return;
    }
    let io = "io place --size=64MiB --pattern=random --request-size=4KiB --buffering=direct";
    let (one, many) = (bottleneck_of(&lab, (io, "--depth=1")), bottleneck_of(&lab, (io, "--depth=16")));
    if is_quiet(&one) {
        assert_eq!(one["name"], "depth", "{one}");
    }
    if is_quiet(&many) {
        assert_ne!(many["name"], "depth", "{many}");
        assert!(many["ruled_out"].to_string().contains("the load generator"), "{many}");
    }
}
