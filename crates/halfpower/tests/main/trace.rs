//! Traces by the command: read, shown, replayed.

use crate::support::Lab;
use serde_json::Value;
use std::fmt::Write as _;

/// A trace of Microsoft Research's form: a request each ms, in the order of its offsets, every fourth a write.
fn msr(requests: u64) -> String {
    let mut text = String::new();
    for number in 0..requests {
        let (at, kind) = (128_166_372_003_061_629 + number * 10_000, if number % 4 == 3 { "Write" } else { "Read" });
        let _ = writeln!(text, "{at},web,2,{kind},{},4096,1500", number * 4096);
    }
    text
}

#[test]
fn a_trace_is_shown_imported_and_replayed() {
    let lab = Lab::new();
    lab.write("web.csv", msr(400));
    let text = lab.ok("trace show web.csv").stdout;
    assert!(text.starts_with("web.csv: 400 requests in 399 ms, 1003 IOPS"), "{text}");
    assert!(
        text.contains("75 % reads, requests of 4 KiB on average, 99.8 % sequential.\nArrivals are even;"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    // Its last window is not over, and a short trace has too few.
    lab.write("part.csv", msr(404));
    assert_eq!(lab.json("trace show part.csv")["dispersion"], 0.0);
    lab.write("short.csv", msr(150));
    assert!(lab.ok("trace show short.csv").stdout.contains("Arrivals are not characterised"));

    let imported = lab.json("trace import web.csv --output web.trace");
    assert_eq!(imported["contents"]["requests"], serde_json::json!([300, 100, 0, 0]));
    assert_eq!(lab.json("trace show web.trace"), lab.json("trace show web.csv"));
    lab.refuses("trace import web.csv --output web.trace", 1, "name a file that does not exist");

    for trace in ["web.csv", "web.trace"] {
        let sample = lab.json(format!("replay {trace} sim:nvme-gen4:steady"));
        assert_eq!((&sample["read"]["requests"], &sample["write"]["requests"]), (&300.into(), &100.into()));
        assert_eq!(sample["workload"]["trace"]["digest"], imported["digest"]);
        let elapsed_s = sample["elapsed_s"].as_f64().unwrap();
        assert!((0.399..0.41).contains(&elapsed_s), "{elapsed_s}");
    }
    let sample = lab.json("replay web.trace place --speed 4 --personality sync --workers 2 --verify read-back");
    assert_eq!((&sample["total"]["requests"], &sample["verified"]["wrong"]), (&400.into(), &0.into()), "{sample}");
    assert!(sample["elapsed_s"].as_f64().unwrap() >= 0.099, "{sample}");
    assert_eq!(std::fs::read_dir(lab.place()).unwrap().count(), 0, "its test file is removed");
    // None was outstanding with another in the trace, so none is in a replay without its times.
    for target in ["sim:nvme-gen4:steady", "place"] {
        let sample = lab.json(format!("replay web.trace {target} --speed max"));
        let depth = sample["depth_mean"]["counted"].as_f64();
        assert!(depth <= Some(1.0) && sample["total"]["requests"] == 400, "{target}: {sample}");
    }
    let sample = lab.json("replay web.trace place --speed max --block-phases");
    assert_eq!(sample["workload"]["block_phases"], "on", "{sample}");
    let text = lab.ok("replay web.trace place --speed max").stdout;
    assert!(text.starts_with("trace web.trace as fast as possible, QD256"), "{text}");
}

#[test]
fn what_exists_is_overwritten_by_permission_only() {
    let lab = Lab::new();
    lab.write("web.csv", msr(40));
    lab.write("data", "x".repeat(1 << 20));
    lab.refuses("replay web.csv data", 2, "data exists and would be overwritten");
    assert!(lab.read("data").bytes().all(|byte| byte == b'x'));
    lab.ok("replay web.csv data --overwrite=data");
    assert!(std::fs::read(lab.path("data")).unwrap().iter().any(|byte| *byte != b'x'));
    lab.write("reads.csv", msr(40).replace("Write", "Read"));
    lab.ok("replay reads.csv data");
}

#[test]
fn traces_that_are_none_are_refused_with_their_line() {
    let lab = Lab::new();
    lab.write("a.csv", "some,words\n");
    lab.refuses("trace show a.csv", 1, "its format is not recognised");
    lab.write("b.csv", msr(3) + "1,web,2,Read,oops,4096,1500\n" + &msr(1));
    lab.refuses("trace show b.csv", 1, "line 4 is no request: `1,web,2,Read,oops,4096,1500`");
    lab.write("c.csv", msr(3) + "128166372003061629,we");
    lab.refuses("trace show c.csv", 1, "line 4, behind the requests, is none");
    lab.write("d.csv", msr(2) + &msr(1).replace(",2,", ",3,"));
    lab.refuses("trace show d.csv", 1, "several devices, 2 and 3; say which with --device 2");
    assert!(lab.ok("trace show d.csv --device 3").stdout.contains("1 requests"));
    lab.refuses("trace show d.csv --device 4", 1, "holds no request of that device");
    lab.write("e.trace", b"halfpower.trace/9 and what follows, of any length");
    lab.refuses("trace show e.trace", 1, "of another version of Halfpower");
    lab.write("f.csv", msr(2));
    lab.ok("trace import f.csv --output f.trace");
    let mut bytes = std::fs::read(lab.path("f.trace")).unwrap();
    let kind = bytes.len() - 28 + 15;
    bytes[kind] = 9;
    lab.write("g.trace", bytes);
    lab.refuses("trace show g.trace", 1, "entry 1 of the trace is not valid");
    lab.refuses("replay g.trace place", 1, "entry 1 of the trace is not valid");
}

#[test]
fn the_closest_workload_is_a_study_that_runs() {
    let lab = Lab::new();
    lab.write("web.csv", msr(2000));
    let study = lab.ok("trace to-study web.csv").stdout;
    assert!(study.contains("mean size                         4 KiB        4 KiB"), "{study}");
    lab.write("like.toml", study);
    lab.ok("study check like.toml");
    let plan: Value = lab.json("plan like.toml --target sim:nvme-gen4:steady");
    assert!(plan.to_string().contains("mix=75"), "{plan}");
    // Few random requests, each elsewhere: the span is all that the trace reaches.
    let far = |number: u64| format!("{number} 0 {} 8 1\n", number * 7 % 16 * 2560);
    lab.write("far.disksim", (0..16).map(far).collect::<String>());
    let study = lab.ok("trace to-study far.disksim").stdout;
    assert!(
        study.contains("size = \"19MiB\"") && study.contains("bytes accessed                   64 KiB       64 KiB"),
        "{study}"
    );
    // Of requests to the same places again and again it is these.
    let near = |number: u64| format!("{number} 0 {} 8 1\n", number % 16 * 8);
    lab.write("near.disksim", far(15) + &(16..1600).map(near).collect::<String>());
    assert!(lab.ok("trace to-study near.disksim").stdout.contains("size = \"1MiB\""));
}
