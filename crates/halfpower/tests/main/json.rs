//! `--json`: one document on standard output and nothing else.

use crate::support::{Lab, assert_refusal, codes, find, skip};
use serde_json::Value;
use std::time::Duration;

/// The fields of a sample, as docs/FORMAT.md lists them.
const FIELDS: &str = "schema program workload environment started_at elapsed_s total read write latency_histogram \
    intervals depth_mean cpu block generator_bound warnings flush_s instrument cached_share_before failure note";

fn has(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

#[test]
fn a_sample_has_every_field() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let sample = lab.json(("io data --requests=2000 --request-size=4KiB", ["--note=a note"]));
    has(&sample, FIELDS);
    assert_eq!((&sample["schema"], &sample["note"]), (&"halfpower.sample/1".into(), &"a note".into()));
    has(&sample["program"], "version commit features");
    has(&sample["environment"], "host kernel cpus memory_bytes target");
    let target = "path kind size_bytes device transport filesystem scheduler pap_bytes_per_s";
    has(&sample["environment"]["target"], target);
    for totals in ["total", "read"] {
        has(&sample[totals], "requests bytes requests_per_s bytes_per_s latency_ns errors");
        let latency = &sample[totals]["latency_ns"];
        has(latency, "min mean stddev p50 p90 p95 p99 p99_9 p99_99 max");
        assert_eq!(sample[totals]["requests"], 2000);
        assert!(latency["p99"].is_u64() && latency["p99_9"].is_null(), "too few requests for the last: {latency}");
    }
    assert!(sample["write"].is_null());
    has(&sample["intervals"][0], "at_s requests bytes latency_p50_ns latency_p99_ns");
    has(&sample["cpu"], "lower upper_s upper_method steal_s lower_us_per_request clocks_per_byte");
    has(&sample["depth_mean"], "little counted");
    if sample["block"].is_null() {
        skip("the kernel has no counters of a block device here");
    } else {
        has(&sample["block"], "requests bytes merges busy_fraction");
    }
    assert_eq!(lab.records(), [sample], "the store keeps the very record");
    let long = lab.json("io null: --duration=1100ms --depth=32");
    let bands = long["heat"]["columns"].as_array().unwrap().iter().flat_map(|column| column.as_array().unwrap());
    assert_eq!(bands.map(|band| band[1].as_u64().unwrap()).sum::<u64>(), long["total"]["requests"].as_u64().unwrap());
    let null = lab.json("io null: --requests=100000 --depth=32");
    assert_eq!((&null["generator_bound"], &null["total"]["requests"]), (&true.into(), &100_000.into()));
    assert_eq!(codes(&null)[0], "generator_bound");
}

#[test]
fn every_command_prints_one_document() {
    let lab = Lab::new();
    let run = lab.json("study run tiny.toml --target place --size=1MiB --report=r.html");
    assert_eq!((&run["schema"], &run["status"]), (&"halfpower.run/1".into(), &"complete".into()));
    assert_eq!((&run["samples"], &run["run"]), (&4.into(), &1.into()));
    assert!(run["analysis"].is_object());
    assert_eq!(lab.json("runs")[0]["samples"], 4);
    assert_eq!(lab.json("runs show 1"), run);
    assert_eq!(find(&lab.json("study list"), "name", "survey")["name"], "survey");
    assert_eq!(lab.json("study show survey")["name"], "survey");
    assert_eq!(lab.json("study check tiny.toml")[0]["cells"], 2);
    let plan = lab.json("plan tiny.toml --target place --size=1MiB");
    assert_eq!((&plan["schema"], plan["cells"].as_array().map(Vec::len)), (&"halfpower.plan/1".into(), Some(2)));
    assert_eq!(lab.json("run place --dry-run --size=64MiB")["schema"], "halfpower.plan/1");
    assert!(lab.json("doctor place")["environment"]["kernel"].is_string());
    lab.write("bad.toml", "name = 3\n");
    let document = lab.ends("study check tiny.toml bad.toml --json", 2, "").document();
    assert!(document[0]["error"].is_null() && document[1]["error"].is_string(), "{document}");
}

#[test]
fn a_sample_of_the_page_cache_says_so() {
    let lab = Lab::new();
    lab.data_file("data", 4096);
    let of = |words: &str| lab.json(("io data --requests=200", words));
    let memory = "memory_speed".to_owned();
    let of_memory = |words: &str| codes(&of(words)).contains(&memory);
    let buffered = "--buffering=buffered --personality=sync";
    assert!(!of_memory(&format!("{buffered} --op=write --overwrite --durability=flush_at_end")));
    assert!(!of_memory(&format!("{buffered} --cache=warm --request-size=4KiB")), "it was asked for");
    // The file is in the cache now. The device's counters include requests of other programs.
    for (kind, words, reasons) in [
        ("write", "--op=write --overwrite", &["until the writes were stored"][..]),
        ("read", "--request-size=4KiB", &["this is the speed of memory", "nobody knows how much"]),
    ] {
        let words = format!("{buffered} {words}");
        let is_reported = |_| {
            let sample = of(&words);
            let moved = sample["block"][kind]["bytes"].as_u64();
            let is_seen = moved.is_none_or(|moved| moved * 2 < sample["total"]["bytes"].as_u64().unwrap());
            let has = codes(&sample).contains(&memory);
            // Nobody waits for writes: more of theirs may be moved, and still they are of memory.
            assert!(has == is_seen || has && kind == "write", "{sample}");
            let text = lab.run(("io data --requests=200", &words)).stdout;
            let is_printed = reasons.iter().any(|reason| text.contains(reason));
            std::thread::sleep(Duration::from_millis(if is_seen && is_printed { 0 } else { 100 }));
            is_seen && is_printed
        };
        if !(0..20).any(is_reported) {
            skip("another program uses this device all the time");
        }
    }
    if of("")["workload"]["buffering"] == "direct" {
        let odd = "--request-size=5000";
        assert!(codes(&of(odd)).contains(&"not_direct".to_owned()));
        assert!(!codes(&of(&format!("{odd} --buffering=buffered"))).contains(&"not_direct".to_owned()));
    }
}

#[test]
fn a_failure_is_a_document_too() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    lab.write("none.txt", "nobody's results\n");
    lab.write("bad.toml", "question = 1\n");
    for words in [
        "io missing",
        "io data --request-size=64MiB",
        "io data --no-such-option",
        "io",
        "run missing",
        "study run no-such-study .",
        "plan bad.toml",
        "import none.txt",
        "compare 1 1",
        "export 7 --output o.jsonl",
        "report 7",
        "runs show 7",
        "inspect missing",
    ] {
        let (ended, plain) = (lab.run((words, "--json")), lab.run(words));
        let document = ended.document();
        assert_eq!(document["schema"], "halfpower.error/1", "{words}: {document}");
        assert_eq!(document["status"], Value::from(plain.status), "{words}: {document}");
        assert!(ended.status == plain.status && plain.status.is_some_and(|status| status == 1 || status == 2));
        let error = document["error"].as_str().unwrap();
        let first = error.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        let stderr = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(&first), "{words}: {document} in {stderr}");
        assert_eq!(plain.stdout, "", "{words}: nobody asked for a document");
        if words != "io" {
            assert_refusal(&ended, plain.status.unwrap(), "", words);
        }
    }
    // The list of mistakes is the only document.
    let document = lab.ends("study check bad.toml --json", 2, "").document();
    assert!(document[0]["error"].is_string(), "{document}");
}
