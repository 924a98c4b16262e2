//! Bottlenecks that are brought about on purpose, and what is named. `bench/ground_truth.py` does more of them, more often.

use crate::support::{Lab, skip};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Somebody else had the processor for this share of the workers' time: what it waits for cannot be brought about.
const CROWDED: f64 = 0.2;

/// Runs one workload on `target`; gives what is said of its bottleneck when the stored run is shown.
fn bottleneck_of(lab: &Lab, target: &str, how: &[&str]) -> Value {
    let sample = lab.json([&["io", target, "--json", "--duration=400ms"], how].concat());
    let run = lab.runs().iter().map(|(run, _)| *run).max().unwrap().to_string();
    let shown = lab.json(["runs", "show", &run, "--json"]);
    let mut bottleneck = shown["analysis"]["cells"][0]["bottleneck"].clone();
    let waited_s = sample["cpu"]["waited_s"].as_f64();
    bottleneck["waited"] = waited_s.map(|waited_s| waited_s / sample["elapsed_s"].as_f64().unwrap()).into();
    bottleneck
}

/// Whether others left the workers alone; says so when not.
fn is_quiet(bottleneck: &Value) -> bool {
    let quiet = bottleneck["waited"].as_f64().is_some_and(|waited| waited < CROWDED);
    if !quiet {
        skip("the machine is too busy with other things, or does not count what threads wait");
    }
    quiet
}

#[test]
fn the_program_alone_is_the_generator() {
    let lab = Lab::new();
    assert_eq!(bottleneck_of(&lab, "null:", &["--depth=8"])["name"], "generator");
}

#[test]
fn a_file_in_the_cache_is_read_from_memory() {
    let lab = Lab::new();
    lab.data_file("small", 1 << 10);
    let how = ["--pattern=random", "--request-size=16KiB", "--buffering=buffered", "--cache=keep"];
    let bottleneck = bottleneck_of(&lab, "small", &how);
    // Where the device below has no counters, nobody knows.
    assert!(
        bottleneck["name"] == "memory"
            || bottleneck["open"].to_string().contains("how much the page cache served is unknown"),
        "{bottleneck}"
    );
}

#[test]
fn a_processor_that_others_burn_is_named() {
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
        let how = ["--pattern=random", "--request-size=16KiB", "--buffering=buffered", "--cache=warm"];
        let bottleneck = bottleneck_of(&lab, "small", &[&how[..], &[&format!("--cpus={cpu}")]].concat());
        over.store(true, Relaxed);
        bottleneck
    });
    if bottleneck["waited"].is_null() {
        return skip("the kernel does not count how long threads wait for a processor");
    }
    assert_eq!(bottleneck["name"], "processor", "{bottleneck}");
    assert!(
        bottleneck["reason"]
            .as_str()
            .unwrap()
            .contains(&format!("(pinned to CPU {cpu}), because other programs used it")),
        "{bottleneck}"
    );
}

#[test]
fn one_request_at_a_time_is_the_depth_and_many_are_not() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return skip("files here take no direct I/O, or io_uring does not work");
    }
    let how = ["--size=64MiB", "--pattern=random", "--request-size=4KiB", "--buffering=direct"];
    let at = |depth: &str| bottleneck_of(&lab, "place", &[&how[..], &[depth]].concat());
    let (one, many) = (at("--depth=1"), at("--depth=16"));
    if is_quiet(&one) {
        assert_eq!(one["name"], "depth", "{one}");
    }
    if is_quiet(&many) {
        assert_ne!(many["name"], "depth", "{many}");
        assert!(
            many["ruled_out"]
                .as_array()
                .unwrap()
                .iter()
                .any(|who| who.as_str().unwrap().contains("the load generator"))
        );
    }
}
