//! Results of other programs in, ours out: the commands, and the studies' own files where they lie beside the project.

use crate::support::{Lab, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Rows of one trace of the Windows 2000 study: a disk by DMA, unbuffered; comments cut short.
const TRACE: &str = "\
MB/s,IO/s,Op,BlockSize,OutstandingIOs,Buffering,NumThreads,Time,FileSize,Clock(s),User(ms),Kernel(ms),Time Stamp,Comment
0.06,32.25,read,2,0,0,1,0,24000,0.03,0,0,Fri Mar 10 23:25:08 2000,DMA random Calibration
0.52,66.97,read,8,1,H,1,120,24000,120.01,16,234,Fri Mar 10 23:27:08 2000,DMA random Hardware buffered
0.52,66.95,read,8,2,H,1,120,24000,120.03,31,328,Fri Mar 10 23:29:08 2000,DMA random Hardware buffered
0.69,89.41,write,8,1,H,1,120,24000,120.03,0,469,Fri Mar 10 23:39:09 2000,DMA random Hardware buffered
";

#[test]
fn a_trace_becomes_a_run_that_can_be_shown_and_written_again() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.as_bytes());
    let imported = lab.json(["import", "--json", "trace.csv"]);
    assert_eq!((&imported["samples"], &imported["format"]), (&Value::from(3), &Value::from("sqlio")));
    assert!(imported["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "calibration"));
    let run = imported["run"].to_string();

    let shown = lab.run(["runs", "show", &run]);
    assert_eq!(shown.status, Some(0), "{}", shown.stderr);
    for invented in ["0 processors", "kernel ", "0 B", "0 ns"] {
        assert!(!shown.stdout.contains(invented), "{invented}: {}", shown.stdout);
    }
    assert!(shown.stdout.contains("imported"), "{}", shown.stdout);
    let document = lab.json(["runs", "show", "--json", &run]);
    let cell = &document["analysis"]["cells"][0];
    assert_eq!(cell["workload"]["personality"], Value::Null);
    assert_eq!(cell["workload"]["depth"], Value::from(1));
    assert_eq!((&document["environment"]["cpus"], &document["environment"]["kernel"]), (&Value::Null, &Value::Null));

    let written = lab.run(["report", &run, "--output", "r.html"]);
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.contains("Imported from trace.csv") && !page.contains("in an order drawn at random"));

    let exported = lab.run(["export", &run, "--format", "jsonl", "--output", "out.jsonl"]);
    assert_eq!(exported.status, Some(0), "{}", exported.stderr);
    let again = lab.json(["import", "--json", "out.jsonl"]);
    assert_eq!((&again["samples"], &again["format"]), (&Value::from(3), &Value::from("halfpower")));
    let warnings = again["warnings"].as_array().unwrap();
    let codes: Vec<&Value> = warnings.iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["imported_before"], "the others name lines of the first file");
    let twice = lab.run(["export", &again["run"].to_string(), "--format", "jsonl"]);
    assert_eq!(twice.stdout, std::fs::read_to_string(lab.path("out.jsonl")).unwrap());
    let table = lab.run(["export", &run, "--format", "csv"]);
    assert_eq!(table.stdout.lines().count(), 4, "{}", table.stdout);
}

#[test]
fn a_run_is_written_for_other_programs_too() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.as_bytes());
    let run = lab.json(["import", "--json", "trace.csv"])["run"].to_string();
    let exported = |form: &str| {
        let exported = lab.run(["export", &run, "--format", form]);
        assert_eq!(exported.status, Some(0), "{form}: {}", exported.stderr);
        exported.stdout
    };
    assert!(exported("openmetrics").ends_with("# EOF\n"));
    lab.write("f.json", exported("fio").as_bytes());
    let again = lab.json(["import", "--json", "f.json"]);
    assert_eq!((&again["samples"], &again["format"]), (&Value::from(3), &Value::from("fio")));
    // Those are for other programs, and keep too little to come back.
    for form in ["csv", "openmetrics"] {
        lab.write("lossy", exported(form).as_bytes());
        lab.refuses(["import", "lossy"], 1, "of our own exports only jsonl comes back");
    }
    // A trace has no latencies: nothing is left, and that is said.
    let none = lab.run(["export", &run, "--format", "hdr"]);
    assert_eq!(none.status, Some(1));
    assert!(none.stderr.contains("left out: sample 1: it failed, or its latencies"), "{}", none.stderr);
    assert!(none.stderr.contains("nothing was written") && none.stdout.is_empty(), "{}", none.stderr);
    let none = lab.run(["export", &run, "--format", "hdr", "--output", "none.hdr", "--json"]);
    assert_eq!((none.status, lab.path("none.hdr").exists()), (Some(1), false));
    let document: Value = serde_json::from_str(&none.stdout).unwrap();
    assert!(document["error"].as_str().unwrap().contains("it failed, or its latencies"), "{document}");

    std::fs::create_dir(lab.path("out")).unwrap();
    let files = lab.run(["export", &run, "--format", "fio", "--output", "out"]);
    assert_eq!(files.status, Some(0), "{}", files.stderr);
    assert!(lab.path("out/8KiB-direct/repetition-1/randread-2-1.json").is_file());
    let refused = lab.run(["export", &run, "--format", "csv", "--output", "out"]);
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("out is a folder"), "{}", refused.stderr);
    let kept = lab.run(["export", &run, "--output", "trace.csv"]);
    assert_eq!((kept.status, std::fs::read_to_string(lab.path("trace.csv")).unwrap()), (Some(1), TRACE.to_owned()));
}

#[test]
fn samples_that_do_not_tell_their_depth_are_no_repetitions() {
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
    lab.write("f.json", format!(r#"{{"fio version":"fio-3.33","jobs":[{jobs}]}}"#).as_bytes());
    let run = lab.json(["import", "--json", "f.json"])["run"].to_string();
    let document = lab.json(["runs", "show", "--json", &run]);
    assert_eq!(document["analysis"]["cells"].as_array().unwrap().len(), 3);
    let shown = lab.run(["runs", "show", &run]).stdout;
    assert!(!shown.contains("depth 0") && !shown.contains('±'), "{shown}");
}

#[test]
fn a_file_s_name_cannot_steer_the_list_of_runs() {
    let lab = Lab::new();
    lab.write("a\n\u{1b}[31mred.csv", TRACE.as_bytes());
    let imported = lab.run(["import", "a\n\u{1b}[31mred.csv"]).stdout;
    assert_eq!((imported.lines().count(), imported.contains('\u{1b}')), (1, false), "{imported:?}");
    let listed = lab.run(["runs"]).stdout;
    assert_eq!((listed.lines().count(), listed.contains('\u{1b}')), (2, false), "{listed:?}");
}

#[test]
fn several_files_are_a_run_each_and_one_bad_one_keeps_all_out() {
    let lab = Lab::new();
    lab.write("a.csv", TRACE.as_bytes());
    lab.write("b.csv", TRACE.replace("66.97", "-1").as_bytes());
    let refused = lab.run(["import", "a.csv", "b.csv"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("b.csv:3: column 2, IO/s, is `-1`"), "{}", refused.stderr);
    assert!(lab.run(["runs"]).stderr.contains("empty"));
    lab.write("b.csv", TRACE.as_bytes());
    let imported = lab.run(["import", "--json", "a.csv", "b.csv"]);
    let runs: Vec<Value> = imported.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((runs.len(), &runs[0]["run"], &runs[1]["run"]), (2, &Value::from(1), &Value::from(2)));
    for (name, text) in [("empty.txt", ""), ("other.txt", "just words\n")] {
        lab.write(name, text.as_bytes());
        let unknown = lab.run(["import", name]);
        assert_eq!(unknown.status, Some(1));
        assert!(unknown.stderr.contains("--format"), "{}", unknown.stderr);
    }
}

#[test]
fn forms_are_known_by_what_is_in_them_or_else_by_their_names() {
    let lab = Lab::new();
    lab.write("any.name", TRACE.as_bytes());
    assert_eq!(lab.json(["import", "--json", "any.name"])["format"], "sqlio");
    // A damaged one is refused at what is wrong.
    lab.write("a.hlog", b"0.1,1.0,2.0,HISTE\n");
    lab.refuses(["import", "a.hlog"], 1, "a.hlog:1: the histogram is not base64, or was cut off");
}

/// A folder of the studies' own figures; none where it does not lie beside the project.
fn reference(folder: &str) -> Option<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let places = project.ancestors().map(|place| place.join("shared/reference").join(folder));
    let found = places.into_iter().find(|place| place.is_dir());
    if found.is_none() {
        skip(&format!("shared/reference/{folder} does not lie beside the project"));
    }
    found
}

/// The samples of a file that is imported and exported again.
fn samples(lab: &Lab, file: &Path) -> Vec<Value> {
    let imported = lab.json(["import", "--json", file.to_str().unwrap()]);
    let lines = lab.run(["export", &imported["run"].to_string(), "--format", "jsonl"]).stdout;
    let samples: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(imported["samples"], Value::from(samples.len()));
    samples
}

/// A figure of the first sample with this operation and depth.
fn figure(samples: &[Value], operation: &str, depth: u32, path: &str) -> f64 {
    let wanted = |sample: &&Value| sample["workload"]["operation"] == operation && sample["workload"]["depth"] == depth;
    samples.iter().find(wanted).unwrap().pointer(path).unwrap().as_f64().unwrap()
}

#[test]
fn the_windows_2000_study_s_traces_give_back_its_text() {
    let Some(folder) = reference("sqlio-traces") else { return };
    let lab = Lab::new();
    let trace = |name: &str| samples(&lab, &folder.join(name));
    let rate = |samples: &[Value], operation, depth| figure(samples, operation, depth, "/total/requests_per_s");
    let fireball = trace("random-unbuffered-dma.csv");
    assert!((rate(&fireball, "read", 1) - 66.0).abs() < 1.0 && (rate(&fireball, "write", 1) - 90.0).abs() < 1.0);
    assert_eq!(rate(&trace("2-disk-3ware-hw-raid0-random-u.csv"), "read", 2).floor(), 91.0);
    assert_eq!(rate(&trace("2-disk-3ware-hw-raid1-random-u.csv"), "read", 2).floor(), 112.0);
    for buffered in ["random-buffered-dma.csv", "random-buffered-pio.csv", "2-disk-3ware-hw-raid1-random-b.csv"] {
        let cost_us = figure(&trace(buffered), "write", 1, "/cpu/lower_us_per_request");
        assert!((1_500.0..2_500.0).contains(&cost_us), "{buffered}: {cost_us}");
    }
    // PIO costs a tenth of the reads; what it costs the processor is in interrupts, which no process is charged for.
    let pio = trace("random-unbuffered-pio.csv");
    for (depth, expected) in [(1, 1.11), (32, 1.18)] {
        let times = rate(&fireball, "read", depth) / rate(&pio, "read", depth);
        assert!((times - expected).abs() < 0.01, "depth {depth}: {times}");
    }
    for samples in [&fireball, &pio] {
        assert!(figure(samples, "read", 1, "/cpu/lower_us_per_request") < 100.0);
    }
    // Every trace has sizes in MB and nothing but the random workloads of its name.
    for entry in std::fs::read_dir(&folder).unwrap() {
        let samples = samples(&lab, &entry.unwrap().path());
        assert_eq!(samples.len(), 12);
        for sample in samples {
            assert_eq!(sample["workload"]["pattern"], "random");
            assert!(sample["workload"]["size"].as_u64().unwrap() >= 23_500 << 20);
        }
    }
}

#[test]
fn the_kernel_report_s_output_gives_its_collapse() {
    let Some(folder) = reference("iozone-throughput") else { return };
    let lab = Lab::new();
    let [slow, good] = ["rc8.txt", "rc8-reverted.txt"].map(|name| samples(&lab, &folder.join(name)));
    assert_eq!((slow.len(), good.len()), (12, 12));
    let first_writes = |samples: &[Value], buffering: &str, workers: u32, path: &str| {
        let wanted = |sample: &&Value| {
            let workload = &sample["workload"];
            workload["buffering"] == buffering && workload["workers"] == workers && workload["file_state"] == "append"
        };
        samples.iter().find(wanted).unwrap().pointer(path).unwrap().as_f64().unwrap()
    };
    let times = |buffering, workers, path| {
        first_writes(&good, buffering, workers, path) / first_writes(&slow, buffering, workers, path)
    };
    let children = "/total/bytes_per_s";
    for (workers, expected) in [(1, 1.6), (2, 9.2), (3, 5.1)] {
        let found = times("buffered", workers, children);
        assert!((found - expected).abs() < 0.05, "{workers} writers: {found}");
        let direct = times("direct", workers, children);
        assert!((0.9..1.1).contains(&direct), "{workers} direct writers: {direct}");
    }
    // By themselves: status 3, and where the cause is.
    let compared = lab.run(["compare", "2", "1"]);
    let said = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(compared.status, Some(3), "{said}");
    for words in [
        "throughput 9.23 times lower",
        "throughput 5.14 times lower",
        "the cause of the largest fall is likely above the device",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // The one exception: what the parent saw of two direct writers.
    assert!(times("direct", 2, "/parallel/parent_bytes_per_s") > 1.7);
}

#[test]
fn files_of_any_length_come_in_piece_by_piece() {
    const COUNT: usize = 600;
    let lab = Lab::new();
    let mut sample = lab.json(["io", "null:", "--requests=10", "--json", "--no-store"]);
    let record = |number: usize| {
        sample["elapsed_s"] = (0.001 * (number + 1) as f64).into();
        format!("{sample}\n")
    };
    let records: Vec<String> = (0..COUNT).map(record).collect();
    lab.write("many.jsonl", records.concat().as_bytes());
    let read = lab.json(["import", "--json", "many.jsonl"]);
    assert_eq!((&read["run"], &read["samples"]), (&1.into(), &COUNT.into()));
    let of = |(_, _, record): (i64, i64, String)| {
        serde_json::from_str::<Value>(&record).unwrap()["elapsed_s"].as_f64().unwrap()
    };
    let elapsed: Vec<f64> = lab.samples(1).into_iter().map(of).collect();
    assert!(elapsed.len() == COUNT && elapsed.is_sorted());
    assert_eq!(lab.samples(1).last().map(|(cell, block, _)| (*cell, *block)), Some((0, COUNT as i64 - 1)));
    let again = lab.json(["import", "--json", "many.jsonl"]);
    assert!(again["warnings"].to_string().contains("run 1 holds the same samples already"), "{}", again["warnings"]);
    // A mistake far down is reported with its line, and nothing is kept of this file or of those beside it.
    let damaged = format!("{}{{\"schema\": 7}}\n", records.concat());
    lab.write("damaged.jsonl", damaged.as_bytes());
    lab.refuses(["import", "many.jsonl", "damaged.jsonl"], 1, &format!("damaged.jsonl:{}: ", COUNT + 1));
    assert_eq!(lab.runs().len(), 2);
}
