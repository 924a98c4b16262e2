//! `--json`: one document on standard output and nothing else.

use crate::support::{Lab, outcome, skip};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

/// The fields of a sample, as docs/FORMAT.md lists them.
const FIELDS: [&str; 21] = [
    "schema",
    "program",
    "workload",
    "environment",
    "started_at",
    "elapsed_s",
    "total",
    "read",
    "write",
    "latency_histogram",
    "intervals",
    "depth_mean",
    "cpu",
    "block",
    "generator_bound",
    "warnings",
    "flush_s",
    "instrument",
    "cached_share_before",
    "failure",
    "note",
];

fn has(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

#[test]
fn a_sample_has_every_field() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let arguments = ["io", "data", "--requests=2000", "--request-size=4KiB", "--json", "--note=a note"];
    let sample = lab.json(arguments);
    has(&sample, &FIELDS);
    assert_eq!((&sample["schema"], &sample["note"]), (&"halfpower.sample/1".into(), &"a note".into()));
    has(&sample["program"], &["version", "commit", "features"]);
    has(&sample["environment"], &["host", "kernel", "cpus", "memory_bytes", "target"]);
    has(
        &sample["environment"]["target"],
        &["path", "kind", "size_bytes", "device", "transport", "filesystem", "scheduler", "pap_bytes_per_s"],
    );
    for totals in ["total", "read"] {
        has(&sample[totals], &["requests", "bytes", "requests_per_s", "bytes_per_s", "latency_ns", "errors"]);
        let latency = &sample[totals]["latency_ns"];
        has(latency, &["min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"]);
        assert_eq!(sample[totals]["requests"], 2000);
        assert!(latency["p99"].is_u64() && latency["p99_9"].is_null(), "too few requests for the last: {latency}");
    }
    assert!(sample["write"].is_null());
    has(&sample["intervals"][0], &["at_s", "requests", "bytes", "latency_p50_ns", "latency_p99_ns"]);
    let cpu = ["lower", "upper_s", "upper_method", "steal_s", "lower_us_per_request", "clocks_per_byte"];
    has(&sample["cpu"], &cpu);
    has(&sample["depth_mean"], &["little", "counted"]);
    if sample["block"].is_null() {
        skip("the kernel does not tell of a block device here");
    } else {
        has(&sample["block"], &["requests", "bytes", "merges", "busy_fraction"]);
    }
    let stored: Vec<Value> = lab.samples(1).iter().map(|(.., record)| serde_json::from_str(record).unwrap()).collect();
    assert_eq!(stored, [sample], "the store keeps the very record");
}

#[test]
fn the_null_target_measures_the_program() {
    let lab = Lab::new();
    let sample = lab.json(["io", "null:", "--requests=100000", "--depth=32", "--json"]);
    assert_eq!(sample["generator_bound"], true);
    assert_eq!(sample["warnings"][0]["code"], "generator_bound");
    assert_eq!(sample["total"]["requests"], 100_000);
}

#[test]
fn every_command_prints_one_document() {
    let lab = Lab::new();
    let study = ["study", "run", "tiny.toml", "--target", "place", "--size=1MiB", "--report=r.html", "--json"];
    let run = lab.json(study);
    assert_eq!((&run["schema"], &run["status"]), (&"halfpower.run/1".into(), &"complete".into()));
    assert_eq!((&run["samples"], &run["run"]), (&4.into(), &1.into()));
    assert!(run["analysis"].is_object());
    assert_eq!(lab.json(["runs", "--json"])[0]["samples"], 4);
    assert_eq!(lab.json(["runs", "show", "1", "--json"]), run);
    let studies = lab.json(["study", "list", "--json"]);
    assert!(studies.as_array().unwrap().iter().any(|study| study["name"] == "survey"));
    assert_eq!(lab.json(["study", "show", "survey", "--json"])["name"], "survey");
    assert_eq!(lab.json(["study", "check", "tiny.toml", "--json"])[0]["cells"], 2);
    let plan = lab.json(["plan", "tiny.toml", "--target", "place", "--size=1MiB", "--json"]);
    assert_eq!((&plan["schema"], plan["cells"].as_array().map(Vec::len)), (&"halfpower.plan/1".into(), Some(2)));
    let dry = ["run", "place", "--dry-run", "--size=64MiB", "--json"];
    assert_eq!(lab.json(dry)["schema"], "halfpower.plan/1");
    assert!(lab.json(["doctor", "place", "--json"])["environment"]["kernel"].is_string());
}

#[test]
fn a_wrong_study_is_a_document_too() {
    let lab = Lab::new();
    lab.write("bad.toml", b"name = 3\n");
    let checked = lab.run(["study", "check", "tiny.toml", "bad.toml", "--json"]);
    assert_eq!(checked.status, Some(2));
    let document: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert!(document[0]["error"].is_null() && document[1]["error"].is_string(), "{document}");
}

#[test]
fn nobody_reading_is_no_failure() {
    let lab = Lab::new();
    lab.data_file("data", 256);
    for arguments in [
        &["io", "data", "--requests=10", "--json"][..],
        &["io", "data", "--requests=10"],
        &["runs"],
        &["study", "show", "survey"],
        &["plan", "tiny.toml", "--target", "data"],
        &["study", "run", "tiny.toml", "--target", "data", "--no-report"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = lab.command(arguments);
        command.stdout(Stdio::from(writer)).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_full_output_is_a_failure_that_is_told() {
    let lab = Lab::new();
    let mut command = lab.command(["study", "show", "survey"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("cannot write to standard output"), "{said}");
}

#[test]
fn without_a_terminal_there_is_neither_bar_nor_colour() {
    let lab = Lab::new();
    let output = outcome(lab.command(["study", "run", "tiny.toml", "--target", "place", "--size=1MiB", "--no-report"]));
    assert_eq!(output.status, Some(0));
    assert!(!output.stdout.contains('\x1b') && !output.stderr.contains(['\x1b', '\r']), "{}", output.stderr);
}

#[test]
fn a_name_cannot_steer_the_terminal() {
    let lab = Lab::new();
    lab.data_file("e\x1b[31m\nvil", 256);
    let io = lab.run(["io", "e\x1b[31m\nvil", "--requests=10"]);
    let runs = lab.run(["runs"]);
    let refused = lab.run(["io", "e\x1b[31m", "--requests=10"]);
    for outcome in [&io, &runs, &refused] {
        assert!(!outcome.stdout.contains('\x1b') && !outcome.stderr.contains('\x1b'), "{}", outcome.stdout);
    }
    assert!(io.stdout.contains("e\u{fffd}[31m\u{fffd}vil"), "{}", io.stdout);
    assert_eq!(runs.stdout.lines().count(), 2, "a line a run: {}", runs.stdout);
    let lost = lab.run(["io", "no\n\u{202e}such", "--requests=10"]);
    assert_eq!(lost.stderr.lines().count(), 1, "{}", lost.stderr);
    assert!(lost.stderr.contains("no\u{fffd}\u{fffd}such"), "{}", lost.stderr);
    lab.data_file("e\u{202e}vil", 256);
    let turned = lab.run(["io", "e\u{202e}vil", "--requests=10"]);
    assert!(turned.stdout.contains("e\u{fffd}vil") && !turned.stdout.contains('\u{202e}'), "{}", turned.stdout);
}

#[test]
fn a_sample_of_the_file_cache_says_so() {
    let lab = Lab::new();
    lab.data_file("data", 4096);
    let of = |arguments: &[&str]| lab.json([&["io", "data", "--requests=200", "--json"], arguments].concat());
    let has = |sample: &Value, code: &str| {
        sample["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
    };
    let says = |code: &str, arguments: &[&str]| has(&of(arguments), code);
    let of_memory =
        |more: &[&str]| says("memory_speed", &[&["--buffering=buffered", "--personality=sync"], more].concat());
    assert!(of_memory(&["--op=write", "--overwrite"]));
    assert!(!of_memory(&["--op=write", "--overwrite", "--durability=flush_at_end"]));
    assert!(!of_memory(&["--cache=warm", "--request-size=4KiB"]));
    // It is in the cache now. The device's counters have in them what other programs read at the time.
    let buffered = ["--request-size=4KiB", "--buffering=buffered"];
    let is_told = |_| {
        let sample = of(&buffered);
        let moved = sample["block"]["read"]["bytes"].as_u64();
        let is_seen = moved.is_none_or(|moved| moved * 2 < sample["total"]["bytes"].as_u64().unwrap());
        assert_eq!(has(&sample, "memory_speed"), is_seen, "{sample}");
        let text = lab.run([&["io", "data", "--requests=200"], &buffered[..]].concat()).stdout;
        let is_said = text.contains("this is the speed of memory") || text.contains("nobody knows how much");
        std::thread::sleep(Duration::from_millis(if is_seen && is_said { 0 } else { 100 }));
        is_seen && is_said
    };
    if !(0..20).any(is_told) {
        skip("another program reads from this device all the time");
    }
    if lab.json(["io", "data", "--requests=1", "--json"])["workload"]["buffering"] == "direct" {
        assert!(says("not_direct", &["--request-size=5000"]));
        assert!(!says("not_direct", &["--request-size=5000", "--buffering=buffered"]));
    }
}

#[test]
fn a_failure_is_a_document_too() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    lab.write("none.txt", b"nobody's results\n");
    lab.write("bad.toml", b"question = 1\n");
    let cases: [&[&str]; 13] = [
        &["io", "missing"],
        &["io", "data", "--request-size=64MiB"],
        &["io", "data", "--no-such-option"],
        &["io"],
        &["run", "missing"],
        &["study", "run", "no-such-study", "."],
        &["plan", "bad.toml"],
        &["import", "none.txt"],
        &["compare", "1", "1"],
        &["export", "7", "--output", "o.jsonl"],
        &["report", "7"],
        &["runs", "show", "7"],
        &["inspect", "missing"],
    ];
    for arguments in cases {
        let (ended, plain) = (lab.run(arguments.iter().chain(&["--json"])), lab.run(arguments));
        let document = serde_json::from_str::<Value>(&ended.stdout);
        let document = document.unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert_eq!(document["schema"], "halfpower.error/1", "{arguments:?}: {document}");
        assert_eq!(document["status"], Value::from(plain.status), "{arguments:?}: {document}");
        assert!(ended.status == plain.status && plain.status.is_some_and(|status| status == 1 || status == 2));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (told, said) = (words(document["error"].as_str().unwrap()), words(&ended.stderr));
        let first = &told[..told.len().min(4)];
        assert!(said.windows(first.len()).any(|part| part == first), "{arguments:?}: {document} in {}", ended.stderr);
        assert_eq!(plain.stdout, "", "{arguments:?}: nobody asked for a document");
    }
    // What is out stands alone: the list of what is wrong with each study, and not a second document.
    let ended = lab.run(["study", "check", "bad.toml", "--json"]);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(document[0]["error"].is_string() && ended.status == Some(2), "{document}");
}
