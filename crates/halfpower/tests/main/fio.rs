//! fio's names for the options, where a hand is used to them.

use crate::support::{Lab, skip};
use serde_json::json;

#[test]
fn the_names_of_fio_come_to_the_same_workload() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return skip("this takes direct I/O and io_uring");
    }
    lab.data_file("data", 1024);
    let of = |arguments: &[&str]| {
        let mut workload = lab.json([&["io", "data", "--json"], arguments].concat())["workload"].take();
        workload["seed"].take();
        workload
    };
    let fio = "--bs 4k --iodepth 8 --rw randread --numjobs 2 --ioengine io_uring --direct 1 --runtime 0.2";
    let ours = "--request-size 4KiB --depth 8 --op read --pattern random --workers 2 --personality io_uring \
                --buffering direct --duration 200ms";
    let [fio, ours] = [fio, ours].map(|text| of(&text.split_whitespace().collect::<Vec<_>>()));
    assert_eq!(fio, ours);
    for (key, value) in [
        ("operation", json!("read")),
        ("pattern", json!("random")),
        ("request_size", json!(4096)),
        ("depth", json!(8)),
        ("workers", json!(2)),
        ("personality", json!("io_uring")),
        ("buffering", json!("direct")),
    ] {
        assert_eq!(fio[key], value, "{key}");
    }
    assert_eq!(fio["limits"]["duration_s"], json!(0.2));
}

#[test]
fn each_direction_of_fio_is_understood() {
    let lab = Lab::new();
    for (word, operation, pattern) in [
        ("read", "read", "sequential"),
        ("write", "write", "sequential"),
        ("randread", "read", "random"),
        ("randwrite", "write", "random"),
        ("rw", "mix=50", "sequential"),
        ("randrw", "mix=50", "random"),
        ("trim", "trim", "sequential"),
        ("randtrim", "trim", "random"),
    ] {
        let workload = lab.json(["io", "null:", "--rw", word, "--requests=100", "--json"])["workload"].take();
        assert_eq!((&workload["operation"], &workload["pattern"]), (&operation.into(), &pattern.into()), "{word}");
    }
}

#[test]
fn shares_and_flushes_are_understood() {
    let lab = Lab::new();
    let of = |words: &str| {
        let words = [&["io", "null:", "--requests=100", "--json"][..], &words.split(' ').collect::<Vec<_>>()].concat();
        lab.json(words)["workload"].take()
    };
    assert_eq!(of("--rw randrw --rwmixread 70")["operation"], "mix=70");
    assert_eq!(of("--rw write --fsync 10")["durability"], "fsync=10");
    assert_eq!(of("--rw randwrite --fdatasync 3 --ramp_time 1ms")["durability"], "fdatasync=3");
}

#[test]
fn each_engine_of_fio_that_is_here_is_understood() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    for (engine, personality) in [("psync", "sync"), ("pvsync2", "vectored"), ("mmap", "mmap"), ("libaio", "libaio")] {
        let arguments = ["io", "data", "--ioengine", engine, "--direct=0", "--requests=10", "--json"];
        assert_eq!(lab.json(arguments)["workload"]["personality"], personality, "{engine}");
    }
}

#[test]
fn what_has_no_meaning_here_is_refused() {
    let lab = Lab::new();
    lab.refuses(["io", "null:", "--ioengine=splice"], 2, "--personality");
    lab.refuses(["io", "null:", "--direct=2"], 2, "use 0 or 1");
    lab.refuses(["io", "null:", "--rw=trimwrite"], 2, "randread");
    lab.refuses(["io", "null:", "--rw=read", "--rwmixread=70"], 2, "--rwmixread goes with");
    lab.refuses(["io", "null:", "--rw=rw", "--rwmixread=100"], 2, "use 1 to 99");
    lab.refuses(["io", "null:", "--rw=write", "--fsync=0"], 2, "use 1 or more");
}
