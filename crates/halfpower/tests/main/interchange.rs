//! Import and export by the commands, and the studies' own files if they lie beside the project.

use crate::support::{Lab, codes, names, skip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn a_trace_becomes_a_run_that_can_be_shown_and_written_again() {
    let lab = Lab::new();
    // The format is recognised by its contents, and control characters of the name are replaced.
    let name = "a\n\u{1b}[31mred.name";
    std::fs::copy(lab.path("trace.csv"), lab.path(name)).unwrap();
    let imported = lab.ok(["import", name]).stdout;
    assert_eq!((imported.lines().count(), imported.contains('\u{1b}')), (1, false), "{imported:?}");
    let listed = lab.run("runs").stdout;
    assert_eq!((listed.lines().count(), listed.contains('\u{1b}')), (2, false), "{listed:?}");
    let imported = lab.json("import trace.csv");
    assert_eq!((&imported["samples"], &imported["format"]), (&3.into(), &"sqlio".into()));
    assert!(
        ["calibration", "imported_before"].iter().all(|code| codes(&imported).contains(&code.to_string())),
        "{imported}"
    );

    let shown = lab.ok("runs show 2").stdout;
    for invented in ["0 CPUs", "kernel ", "0 B", "0 ns"] {
        assert!(!shown.contains(invented), "{invented}: {shown}");
    }
    assert!(shown.contains("imported"), "{shown}");
    let document = lab.json("runs show 2");
    let workload = &document["analysis"]["cells"][0]["workload"];
    assert_eq!((&workload["personality"], &workload["depth"]), (&Value::Null, &1.into()));
    assert_eq!((&document["environment"]["cpus"], &document["environment"]["kernel"]), (&Value::Null, &Value::Null));
    let page = lab.page(2);
    assert!(page.contains("Imported from trace.csv") && !page.contains("in an order drawn at random"));

    lab.ok("export 2 --format jsonl --output out.jsonl");
    let again = lab.json("import out.jsonl");
    assert_eq!((&again["samples"], &again["format"]), (&3.into(), &"halfpower".into()));
    assert_eq!(codes(&again), ["imported_before"], "the others name lines of the first file");
    assert_eq!(lab.run("export 3 --format jsonl").stdout, lab.read("out.jsonl"));
    lab.write("f.json", lab.ok("export 2 --format fio").stdout);
    let again = lab.json("import f.json");
    assert_eq!((&again["samples"], &again["format"]), (&3.into(), &"fio".into()));
    // Those are for other programs, and keep too little to come back.
    for (form, lines) in [("csv", 4), ("openmetrics", 0)] {
        let exported = lab.ok(("export 2 --format", form)).stdout;
        assert!(
            if lines > 0 { exported.lines().count() == lines } else { exported.ends_with("# EOF\n") },
            "{exported}"
        );
        lab.write("lossy", exported);
        lab.refuses("import lossy", 1, "of our own exports only jsonl comes back");
    }
    // A trace has no latencies, so nothing is left to write.
    let none = lab.ends("export 2 --format hdr", 1, "left out: sample 4: it failed, or its latencies");
    assert!(none.stderr.contains("nothing was written") && none.stdout.is_empty(), "{}", none.stderr);
    let none = lab.refuses("export 2 --format hdr --output none.hdr --json", 1, "").document();
    assert!(none["error"].as_str().unwrap().contains("it failed, or its latencies"), "{none}");
    lab.directory("out");
    lab.ok("export 2 --format fio --output out");
    assert!(lab.path("out/8KiB-direct/repetition-1/randread-2-1.json").is_file());
    lab.refuses("export 2 --format csv --output out", 2, "out is a folder");
    lab.refuses("export 2 --output trace.csv", 1, "exists");
}

#[test]
fn a_folder_is_one_run() {
    let lab = Lab::new();
    lab.directory("results");
    lab.write("results/a_bw.1.log", "500, 4000, 0, 4096, 0\n1000, 4000, 0, 4096, 0\n");
    lab.write("results/a_iops.1.log", "500, 1000, 0, 4096, 0\n1000, 1000, 0, 4096, 0\n");
    lab.write("results/a_bw.2.log", "500, 9000, 0, 0, 0\n1000, 9000, 0, 0, 0\n");
    lab.write("results/a_iops.2.log", "500, 2000, 0, 0, 0\n1000, 2000, 0, 0, 0\n");
    lab.write("results/a_lat.1.log", "500, 4000, 0, 4096, 0\n1000, 4000, 0, 4096, 0\n");
    lab.write("results/a_slat.1.log", "");
    lab.write("results/notes", "of no form");
    let imported = lab.json("import results");
    // One of each job, with the figures of all its logs.
    assert_eq!((&imported["samples"], &imported["format"]), (&2.into(), &"fio-log".into()));
    assert_eq!(codes(&imported), ["file_left_out"], "{imported}");
    let [one, two] = &lab.records()[..] else { panic!("two samples") };
    assert_eq!((&one["read"]["latency_ns"]["max"], &one["total"]["requests"]), (&4000.into(), &2.into()), "{one}");
    let figures = (&two["total"]["bytes_per_s"], &two["total"]["requests_per_s"], &two["intervals"][1]["requests"]);
    assert_eq!(figures, (&9_216_000.0.into(), &2000.0.into(), &1000.into()), "{two}");
    lab.directory("empty");
    lab.refuses("import empty", 2, "empty has no file of a known form");
}

/// A job of fio's JSON: 21 000 reads of 4 KiB in a second; `more` are further members.
fn fio_job(group: u32, options: &str, more: &str) -> String {
    let reads = r#"{"io_bytes":86016000,"bw":84000,"iops":21000,"runtime":1000,"total_ios":21000}"#;
    format!(r#"{{"jobname":"a","groupid":{group},"job options":{{{options}}},"read":{reads}{more}}}"#)
}

#[test]
fn fio_jobs_of_one_time_are_one_sample() {
    let lab = Lab::new();
    let imported = |jobs: &[String]| -> Vec<Value> {
        lab.write("f.json", format!(r#"{{"fio version":"fio-3.42","jobs":[{}]}}"#, jobs.join(",")));
        let run = lab.json("import f.json")["run"].to_string();
        let exported = lab.ok(("export", run.as_str())).stdout;
        exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let job = |group, options: &str| fio_job(group, options, "");
    let [four] = &imported(&vec![job(0, r#""rw":"randread""#); 4])[..] else { panic!("one sample") };
    assert_eq!((&four["total"]["requests_per_s"], &four["workload"]["workers"]), (&84_000.0.into(), &4.into()));
    assert_eq!(imported(&[job(0, r#""rw":"randread""#), job(1, r#""rw":"randread""#)]).len(), 2, "one after another");
    assert_eq!(imported(&[job(0, r#""rw":"randread""#), job(0, r#""rw":"read""#)]).len(), 2, "not alike");
    // Of fio 3.33, which leaves out options without a value.
    let grouped = fio_job(0, r#""rw":"randread","numjobs":"4""#, r#","job_runtime":4000"#);
    assert_eq!(imported(&[grouped])[0]["workload"]["workers"], 4);
    let both = r#","mixed":{"io_bytes":86016000,"bw":84000,"iops":21000,"runtime":1000,"total_ios":21000}"#;
    assert_eq!(imported(&[fio_job(0, "", both)])[0]["total"]["requests"], 21_000);
    let written = r#","write":{"io_bytes":4096000,"bw":2000,"iops":500,"runtime":2000,"total_ios":1000}"#;
    let verified = &imported(&[fio_job(0, r#""rw":"write","verify":"crc32c""#, written)])[0];
    assert_eq!((&verified["total"]["requests_per_s"], &verified["read"]), (&500.0.into(), &Value::Null));
    let flushed = r#","sync":{"total_ios":100,"lat_ns":{"min":5,"max":900,"mean":100.0,"stddev":1.0,"percentile":{"50.000000":90}}}"#;
    let flush = &imported(&[fio_job(0, r#""rw":"write","fsync":"1""#, flushed)])[0]["flush"];
    assert_eq!((&flush["requests"], &flush["latency_ns"]["p50"]), (&100.into(), &90.into()));
    let shown = lab.ok("runs show 7").words();
    assert!(shown.contains("read: fsync – 100 IOPS 90 ns –"), "{shown}");
    assert_eq!(imported(&[fio_job(0, "", r#","error":28"#)])[0]["failure"]["code"], "ENOSPC");
}

#[test]
fn samples_without_a_depth_are_no_repetitions() {
    let lab = Lab::new();
    let job = |depth: u32, requests: u32| {
        format!(
            r#"{{"jobname":"a","groupid":{depth},"job options":{{"iodepth":"{depth}"}},"read":{{"io_bytes":{},
            "bw":{},"iops":{requests},"runtime":1000,"total_ios":{requests}}}}}"#,
            requests * 4096,
            requests * 4
        )
    };
    let jobs = [job(1, 100), job(2, 200), job(4, 300)].join(",");
    lab.write("f.json", format!(r#"{{"fio version":"fio-3.33","jobs":[{jobs}]}}"#));
    lab.ok("import f.json");
    assert_eq!(lab.json("runs show 1")["analysis"]["cells"].as_array().unwrap().len(), 3);
    let shown = lab.run("runs show 1").stdout;
    assert!(!shown.contains("depth 0") && !shown.contains('±'), "{shown}");
}

#[test]
fn a_run_of_fio_is_compared_with_ours_by_what_both_record() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    lab.ok("io file --pattern=random --depth=4 --buffering=buffered --personality=io_uring --requests=100");
    let options = r#"{"filename":"file","rw":"randread","bs":"4k","iodepth":"4","ioengine":"io_uring","direct":"0","invalidate":"0","fadvise_hint":"0","size":"64k"}"#;
    let read = r#"{"io_bytes":409600,"bw":400,"iops":100,"runtime":1000,"total_ios":100}"#;
    let job = format!(r#"{{"jobname":"a","groupid":0,"job options":{options},"read":{read}}}"#);
    lab.write("f.json", format!(r#"{{"fio version":"fio-3.33","jobs":[{job}]}}"#));
    lab.ok("import f.json");
    let compared = lab.run("compare 2 1 --json").document();
    let sentence = compared["sentence"].as_str().unwrap();
    assert_eq!(compared["cells"].as_array().unwrap().len(), 1, "{sentence}");
    assert!(sentence.contains("One side does not record"), "{sentence}");
    assert!(
        sentence.ends_with("uses each offset once before it repeats any; the other draws each at random."),
        "{sentence}"
    );

    // The emitted job of a study has the study's workload.
    lab.ok("study run tiny.toml --target file --no-report");
    let emitted = lab.ok("plan tiny.toml --target file --emit fio").stdout;
    let job = emitted.split("\n[").nth(2).unwrap().lines().filter_map(|line| line.split_once('='));
    let options: serde_json::Map<String, Value> = job.map(|(key, value)| (key.to_owned(), value.into())).collect();
    let moved = 20 * options["bs"].as_str().unwrap().parse::<u64>().unwrap();
    let read = json!({ "io_bytes": moved, "bw": 400, "iops": 20, "runtime": 1000, "total_ios": 20 });
    let document = json!({ "fio version": "fio-3.42", "global options": { "fadvise_hint": "0" },
        "jobs": [{ "jobname": "b", "groupid": 0, "job options": options, "read": read }] });
    lab.write("emitted.json", document.to_string());
    lab.ok("import emitted.json");
    let compared = lab.run("compare 3 4 --json").document();
    assert_eq!(compared["cells"].as_array().unwrap().len(), 1, "{}", compared["sentence"]);
}

#[test]
fn several_files_are_a_run_each_and_one_bad_one_keeps_all_out() {
    let lab = Lab::new();
    let trace = lab.read("trace.csv");
    lab.write("b.csv", trace.replace("66.97", "-1"));
    lab.write("empty.txt", "");
    lab.write("other.txt", "just words\n");
    // A damaged file whose format is known by its name is rejected with the place of the fault.
    lab.write("a.hlog", "0.1,1.0,2.0,HISTE\n");
    lab.ends("import trace.csv b.csv", 1, "b.csv:3: column 2, IO/s, is `-1`");
    lab.ends("import empty.txt", 1, "empty.txt: it is empty");
    lab.ends("import other.txt", 1, "--format");
    lab.ends("import a.hlog", 1, "a.hlog:1: the histogram is not base64, or was cut off");
    assert!(lab.run("runs").stderr.contains("empty"));
    lab.write("b.csv", trace);
    let imported = lab.ok("import --json trace.csv b.csv").stdout;
    let runs: Vec<Value> = imported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((runs.len(), &runs[0]["run"], &runs[1]["run"]), (2, &1.into(), &2.into()));
}

#[test]
fn the_studies_own_files_are_imported_whole() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = project.ancestors().map(|place| place.join("shared/reference"));
    let Some(reference) = places.into_iter().find(|place| place.is_dir()) else {
        return skip("shared/reference does not lie beside the project");
    };
    let lab = Lab::new();
    // The samples of a file that is imported and exported again.
    let samples = |file: &Path| {
        let imported = lab.json([Path::new("import"), file]);
        let lines = lab.ok(format!("export {} --format=jsonl", imported["run"])).stdout;
        let samples: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&imported["samples"], samples.len()), (&12.into(), 12), "{}", file.display());
        samples
    };
    // A figure of the first sample whose workload has these values.
    let figure = |samples: &[Value], wanted: Value, path: &str| {
        let has = |sample: &&Value| wanted.as_object().unwrap().iter().all(|(key, of)| sample["workload"][key] == *of);
        samples.iter().find(has).unwrap().pointer(path).unwrap().as_f64().unwrap()
    };

    let [slow, good] =
        ["rc8.txt", "rc8-reverted.txt"].map(|name| samples(&reference.join("iozone-throughput").join(name)));
    let times = |buffering: &str, workers: u32, path: &str| {
        let wanted = json!({ "buffering": buffering, "workers": workers, "file_state": "append" });
        figure(&good, wanted.clone(), path) / figure(&slow, wanted, path)
    };
    for (workers, expected) in [(1, 1.6), (2, 9.2), (3, 5.1)] {
        let [buffered, direct] = ["buffered", "direct"].map(|way| times(way, workers, "/total/bytes_per_s"));
        assert!((buffered - expected).abs() < 0.05, "{workers} writers: {buffered}");
        assert!((0.9..1.1).contains(&direct), "{workers} direct writers: {direct}");
    }
    // The one exception: what the parent saw of two direct writers.
    assert!(times("direct", 2, "/parallel/parent_bytes_per_s") > 1.7);

    // Every trace has sizes in MB and nothing but the random workloads of its name.
    let traces: BTreeMap<String, Vec<Value>> = names(&reference.join("sqlio-traces"))
        .into_iter()
        .map(|name| (name.clone(), samples(&reference.join("sqlio-traces").join(&name))))
        .collect();
    for sample in traces.values().flatten() {
        let workload = &sample["workload"];
        assert!(workload["pattern"] == "random" && workload["size"].as_u64().unwrap() >= 23_500 << 20, "{workload}");
    }
    let of = |name: &str, operation: &str, depth: u32, path: &str| {
        figure(&traces[&format!("{name}.csv")], json!({ "operation": operation, "depth": depth }), path)
    };
    let rate = |name, operation, depth| of(name, operation, depth, "/total/requests_per_s");
    let cost_us = |name, operation| of(name, operation, 1, "/cpu/lower_us_per_request");
    let (dma, pio) = ("random-unbuffered-dma", "random-unbuffered-pio");
    assert!((rate(dma, "read", 1) - 66.0).abs() < 1.0 && (rate(dma, "write", 1) - 90.0).abs() < 1.0);
    assert_eq!(rate("2-disk-3ware-hw-raid0-random-u", "read", 2).floor(), 91.0);
    assert_eq!(rate("2-disk-3ware-hw-raid1-random-u", "read", 2).floor(), 112.0);
    for buffered in ["random-buffered-dma", "random-buffered-pio", "2-disk-3ware-hw-raid1-random-b"] {
        assert!((1_500.0..2_500.0).contains(&cost_us(buffered, "write")), "{buffered}");
    }
    // PIO costs a tenth of the reads. Its CPU time is in interrupts, which count for no process.
    for (depth, expected) in [(1, 1.11), (32, 1.18)] {
        let times = rate(dma, "read", depth) / rate(pio, "read", depth);
        assert!((times - expected).abs() < 0.01, "depth {depth}: {times}");
    }
    assert!(cost_us(dma, "read") < 100.0 && cost_us(pio, "read") < 100.0);
    // The collapse of the kernel's report: status 3, and where the cause is.
    let compared = lab.ends("compare 2 1", 3, "").words();
    for words in [
        "throughput 9.23 times lower",
        "throughput 5.14 times lower",
        "throughput 1.62 times lower (QD1, new file)",
        "Before: run 2 (iozone: rc8-reverted.txt",
        "the cause of the largest fall is likely above the device",
    ] {
        assert!(compared.contains(words), "{words}: {compared}");
    }
}

#[test]
fn files_of_any_length_come_in_piece_by_piece() {
    const COUNT: usize = 600;
    let lab = Lab::new();
    let mut sample = lab.json("io null: --requests=10 --no-store");
    let record = |number: usize| {
        sample["elapsed_s"] = (0.001 * (number + 1) as f64).into();
        format!("{sample}\n")
    };
    let records: String = (0..COUNT).map(record).collect();
    lab.write("many.jsonl", &records);
    let read = lab.json("import many.jsonl");
    assert_eq!((&read["run"], &read["samples"]), (&1.into(), &COUNT.into()));
    let elapsed: Vec<f64> = lab.records().iter().map(|record| record["elapsed_s"].as_f64().unwrap()).collect();
    assert!(elapsed.len() == COUNT && elapsed.is_sorted());
    assert_eq!(lab.samples(1).last().map(|(cell, block, _)| (*cell, *block)), Some((0, COUNT as i64 - 1)));
    lab.ends("import many.jsonl", 0, "run 1 holds the same samples already");
    // A mistake far down is reported with its line, and nothing is kept of this file or of those beside it.
    lab.write("damaged.jsonl", format!("{records}{{\"schema\": 7}}\n"));
    lab.refuses("import many.jsonl damaged.jsonl", 1, &format!("damaged.jsonl:{}: ", COUNT + 1));
    assert_eq!(lab.runs().len(), 2);
}
