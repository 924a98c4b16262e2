//! Results that fio 3.33 wrote here, shortened, the form of fio 2, and some made to be wrong.

use super::*;
use crate::interchange::import::{Imported, import_bytes};
use halfpower_model::{Buffering, Bytes, BytesPerSecond, Operation, Personality};
use serde_json::json;

/// A direction of fio 3 with a histogram of `counts` by value.
fn direction(requests: u64, bins: Value) -> Value {
    json!({
        "io_bytes": requests * 4096, "io_kbytes": requests * 4, "bw_bytes": requests * 2048, "bw": requests * 2,
        "iops": requests as f64 / 2.0, "runtime": 2000, "total_ios": requests, "short_ios": 1, "drop_ios": 0,
        "slat_ns": { "min": 1, "max": 2, "mean": 1.5, "stddev": 0.1, "N": requests },
        "clat_ns": { "min": 1152, "max": 10_592_848, "mean": 144_001.5, "stddev": 459_207.5, "N": requests,
            "percentile": { "50.000000": 84480, "99.000000": 1_957_888 }, "bins": bins },
        "lat_ns": { "min": 23_504, "max": 10_597_336, "mean": 155_730.9, "stddev": 464_307.4, "N": requests }
    })
}

fn nothing() -> Value {
    json!({ "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0 })
}

fn job(name: &str, options: Value, read: Value, write: Value) -> Value {
    json!({
        "jobname": name, "groupid": 0, "error": 0, "elapsed": 3, "job options": options, "read": read, "write": write,
        "trim": nothing(), "sync": { "total_ios": 0 }, "job_runtime": 2000, "usr_cpu": 5.0, "sys_cpu": 20.0
    })
}

fn document(jobs: &[Value]) -> Value {
    json!({ "fio version": "fio-3.33", "timestamp": 1_795_258_880, "timestamp_ms": 1_795_258_880_495_u64, "jobs": jobs })
}

fn reads() -> Value {
    let options = json!({ "rw": "randread", "bs": "4k", "iodepth": "4", "ioengine": "libaio", "direct": "1",
        "filename": "/dev/vdb", "size": "8m" });
    job("reads", options, direction(1000, json!({ "1160": 1, "84480": 989, "10551296": 10 })), nothing())
}

fn imported(text: &str) -> Imported {
    import_bytes("result.json", text.as_bytes(), None).unwrap()
}

fn codes(imported: &Imported) -> Vec<&str> {
    imported.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn a_job_is_a_sample() {
    let imported = imported(&document(&[reads()]).to_string());
    let [sample] = &imported.samples[..] else { panic!("{imported:?}") };
    assert_eq!(sample.workload.to_string(), "random read, 4 KiB, QD4, direct");
    assert_eq!((sample.workload.personality, sample.workload.span), (Personality::Libaio, Bytes(8 << 20)));
    assert_eq!((sample.total.requests, sample.total.bytes, sample.elapsed_s), (1000, 4_096_000, 2.0));
    assert_eq!((sample.total.requests_per_s, sample.total.bytes_per_s), (500.0, BytesPerSecond(2_048_000.0)));
    assert_eq!(sample.read, Some(sample.total.clone()));
    assert!(sample.write.is_none() && sample.trim.is_none());
    // 5 % and 20 % of 2 s.
    assert_eq!((sample.cpu.lower.user_s, sample.cpu.lower.system_s), (0.1, 0.4));
    assert_eq!(sample.cpu.lower_us_per_request, Some(500.0));
    let latency = sample.total.latency_ns;
    assert_eq!((latency.min, latency.max, latency.p50), (Some(1152), Some(10_592_848), Some(84_480)));
    assert!((latency.mean.unwrap() - 144_001.5).abs() < 1e-6);
    assert_eq!(sample.latency_histogram.read.as_ref().unwrap().count(), 1000);
    assert_eq!(sample.environment.target.path, "/dev/vdb");
    assert_eq!(sample.started_at.as_millisecond(), 1_795_258_880_495 - 3000);
    assert_eq!(sample.total.short_transfers, 1);
    assert!(!sample.tells("total.errors") && !sample.tells("depth_mean") && !sample.workload.tells("seed"));
    assert_eq!(codes(&imported), ["completion_latency"]);
    let origin = sample.origin.as_ref().unwrap();
    assert_eq!((origin.version.as_deref(), origin.record.as_deref()), (Some("3.33"), Some("reads")));
}

#[test]
fn a_mix_is_added_up_over_its_time() {
    let options = json!({ "rw": "randrw", "rwmixread": "75", "bs": "4k" });
    let bins = |count: u64| json!({ "84480": count });
    let mixed = job("mix", options, direction(3000, bins(3000)), direction(1000, bins(1000)));
    let sample = imported(&document(&[mixed]).to_string()).samples.remove(0);
    assert_eq!((sample.total.requests, sample.total.requests_per_s), (4000, 2000.0));
    assert_eq!((sample.read.unwrap().requests, sample.write.unwrap().requests), (3000, 1000));
    assert_eq!(sample.total.latency_ns.p50, Some(84_480));
}

#[test]
fn without_histograms_percentiles_are_taken_as_they_are() {
    let mut read = direction(1000, Value::Null);
    read["clat_ns"].as_object_mut().unwrap().remove("bins");
    read["clat_ns"]["percentile"]["99.900000"] = json!(9_000_000);
    read["clat_ns"]["max"] = json!(1_957_000);
    let sample = imported(&document(&[job("a", json!({}), read, nothing())]).to_string()).samples.remove(0);
    let latency = sample.total.latency_ns;
    assert_eq!((latency.p50, latency.p99, latency.p99_9), (Some(84_480), Some(1_957_000), None));
    assert!(sample.latency_histogram.read.is_none());
}

#[test]
fn fio_2_has_microseconds_and_kib() {
    let read = json!({ "io_bytes": 4000, "bw": 2000, "iops": 500.0, "runtime": 2000, "total_ios": 1000,
        "clat": { "min": 10, "max": 200, "mean": 50.5, "stddev": 3.0, "percentile": { "99.000000": 150 } },
        "lat": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0 } });
    let text = json!({ "fio version": "fio-2.21", "jobs": [{ "jobname": "old", "read": read }] }).to_string();
    let imported = imported(&text);
    let sample = &imported.samples[0];
    assert_eq!((sample.total.bytes, sample.total.bytes_per_s), (4_096_000, BytesPerSecond(2_048_000.0)));
    assert_eq!((sample.total.latency_ns.max, sample.total.latency_ns.p99), (Some(200_000), Some(150_000)));
    assert!(codes(&imported).contains(&"io_bytes_in_kib"));
    assert!(!sample.workload.tells("operation") && !sample.workload.tells("depth"), "no options, no workload");
    assert!(!sample.tells("cpu.lower") && !sample.tells("started_at"));
}

#[test]
fn clients_are_samples_and_their_sum_is_not() {
    let mut client = reads();
    client["hostname"] = json!("alpha");
    let mut sum = reads();
    sum["jobname"] = json!("All clients");
    let mut document = document(&[]);
    document.as_object_mut().unwrap().remove("jobs");
    document["client_stats"] = json!([client, sum]);
    let imported = imported(&document.to_string());
    assert_eq!(imported.samples.len(), 1);
    assert_eq!(imported.samples[0].environment.host, "alpha");
    assert_eq!(imported.samples[0].origin.as_ref().unwrap().record.as_deref(), Some("reads on alpha"));
}

#[test]
fn text_stands_before_and_documents_follow() {
    let mut later = document(&[reads()]);
    later["timestamp_ms"] = json!(1_795_258_980_495_u64);
    let text = format!("fio: this {{ is a note\n{}\n<fio> done\n{later}\n", document(&[reads()]));
    let imported = imported(&text);
    assert_eq!(imported.samples.len(), 2);
    let lines: Vec<_> = imported.samples.iter().map(|sample| sample.origin.as_ref().unwrap().line).collect();
    assert_eq!(lines, [Some(2), Some(4)]);
}

#[test]
fn what_status_interval_printed_is_superseded() {
    let mut later = document(&[reads()]);
    later["timestamp_ms"] = json!(1_795_258_881_495_u64);
    let imported = imported(&format!("{}\n{later}", document(&[reads()])));
    assert_eq!(imported.samples.len(), 1);
    assert!(codes(&imported).contains(&"status_documents"));
}

#[test]
fn jobs_side_by_side_and_groups_are_told() {
    let waiting = job("b", json!({ "stonewall": "" }), direction(10, json!({ "5": 10 })), nothing());
    assert!(!codes(&imported(&document(&[reads(), waiting]).to_string())).contains(&"ran_together"));
    assert!(codes(&imported(&document(&[reads(), reads()]).to_string())).contains(&"ran_together"));
    // As 3.33 repeats the jobs of a plan of ours: without the option, each in a group of its own.
    let mut next = reads();
    next["groupid"] = json!(1);
    let options = json!({ "rw": "read", "bs": "512", "size": "512", "unlink": "1" });
    let remove = job("remove-test-file-1", options, direction(1, json!({ "5": 1 })), nothing());
    let of_plan = imported(&document(&[reads(), next, remove]).to_string());
    assert_eq!((of_plan.samples.len(), codes(&of_plan)), (2, vec!["completion_latency", "test_left_out"]));
    let group = job("g", json!({ "rw": "read", "iodepth": "1" }), nothing(), direction(10, json!({ "5": 10 })));
    let imported = imported(&document(&[group]).to_string());
    assert!(codes(&imported).contains(&"options_of_one_job"));
    assert_eq!(imported.samples[0].workload.operation, Operation::Write);
    assert!(!imported.samples[0].workload.tells("depth"));
}

#[test]
fn a_job_that_failed_is_no_result() {
    let mut failed = reads();
    failed["error"] = json!(5);
    failed["read"] = nothing();
    let sample = imported(&document(&[failed]).to_string()).samples.remove(0);
    let failure = sample.failure.unwrap();
    assert_eq!(failure.code, "errno 5");
    assert!(failure.message.contains("with error 5: Input/output error"), "{}", failure.message);
    let told: Vec<_> = sample.warnings.iter().map(|warning| (&*warning.code, &warning.message)).collect();
    assert_eq!(told, [("job_failed", &failure.message)]);
}

#[test]
fn what_contradicts_itself_is_said() {
    let mut slow = reads();
    slow["read"]["iops"] = json!(5);
    assert!(codes(&imported(&document(&[slow]).to_string())).contains(&"rates_disagree"));
    let bins = json!({ "1160": 1_u64 << 63, "84480": 1_u64 << 63 });
    let full = job("full", json!({}), direction(1000, bins), nothing());
    assert!(codes(&imported(&document(&[full]).to_string())).contains(&"histogram_left_out"));
    assert_eq!(codes(&imported(&document(&[reads()]).to_string())), ["completion_latency"]);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let text = document(&[reads()]);
    let mut no_rate = reads();
    no_rate["read"]["bw"] = json!(-1);
    for (text, message) in [
        (format!("note\n{}", &text.to_string()[..400]), "result.json:2: the document is cut short"),
        (format!("{{}}\n{text}"), "result.json:1: the document is none of fio's"),
        (document(&[no_rate]).to_string(), "result.json:1: job 1 (`reads`): `read`: `bw` is not a number"),
    ] {
        let error = import_bytes("result.json", text.as_bytes(), Some(Format::Fio)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

fn log(name: &str, text: &str) -> Result<Imported, String> {
    import_bytes(name, text.as_bytes(), None).map_err(|error| error.to_string())
}

#[test]
fn averaged_logs_have_rates_over_their_windows() {
    let bandwidth = log("l_bw.1.log", "200, 68580, 0, 0, 0\n200, 30520, 1, 0, 0\n400, 79540, 0, 0, 0\n").unwrap();
    assert_eq!((bandwidth.format, bandwidth.samples.len()), (Format::FioLog, 2));
    let read = &bandwidth.samples[0];
    assert!((read.total.bytes_per_s.0 - 74_060.0 * 1024.0).abs() < 1e-3, "{:?}", read.total);
    assert_eq!((read.intervals.len(), read.intervals[1].bytes), (2, 79_540 * 1024 / 5));
    assert!(!read.tells("intervals.requests") && !read.tells("total.requests_per_s") && read.tells("elapsed_s"));
    assert_eq!(serde_json::to_value(read).unwrap()["intervals"][0]["requests"], Value::Null);
    let requests = log("l_iops.1.log", "200, 100, 0, 0, 0\n400, 300, 0, 0, 0\n").unwrap();
    assert_eq!(requests.samples[0].total.requests_per_s, 200.0);
    assert!(log("l_lat.1.log", "200, 143861, 0, 0, 0\n").unwrap_err().contains("averages of latencies"));
    assert!(log("l_slat.1.log", "200, 143861, 0, 0, 0\n").unwrap_err().contains("submissions"));
}

/// A run of fio 3.33 with `--thinktime=700ms --thinktime_blocks=1500 --log_avg_msec=250`: its JSON has 30 720 000 bytes read.
#[test]
fn windows_without_a_line_were_idle() {
    let lines = "258, 18899, 0, 0, 0\n\
                 511, 4460, 0, 0, 0\n\
                 1279, 14078, 0, 0, 0\n\
                 1536, 9431, 0, 0, 0\n\
                 2312, 11553, 0, 0, 0\n\
                 2568, 11952, 0, 0, 0\n\
                 2832, 196, 0, 0, 0\n\
                 3363, 1418, 0, 0, 0\n\
                 3620, 15078, 0, 0, 0\n\
                 3896, 6487, 0, 0, 0\n\
                 4650, 17051, 0, 0, 0\n\
                 4900, 6880, 0, 0, 0\n";
    let imported = log("j1_bw.1.log", lines).unwrap();
    let read = &imported.samples[0];
    let bytes: u64 = read.intervals.iter().map(|interval| interval.bytes).sum();
    assert!((bytes as f64 / 30_720_000.0 - 1.0).abs() < 0.03, "{bytes}");
    assert!((read.total.bytes_per_s.0 - bytes as f64 / 4.9).abs() < 10.0, "{:?}", read.total);
    let codes: Vec<&str> = imported.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["idle_windows"]);
    assert!(imported.warnings[0].message.starts_with("for 1."), "{:?}", imported.warnings);
    // The window after a gap begins where the gap ends.
    let gap = read.intervals.iter().position(|interval| interval.bytes == 0).unwrap();
    let length_s = read.intervals[gap + 1].at_s - read.intervals[gap].at_s;
    assert!((length_s - 0.257).abs() < 0.005, "{length_s}");
    assert!(read.workload.tells("interval_s") && (read.workload.interval.seconds() - length_s).abs() < 1e-9);
    // Lines that come late by some of a window leave nothing out.
    let late = "250, 10, 0, 0, 0\n510, 10, 0, 0, 0\n800, 10, 0, 0, 0\n1050, 10, 0, 0, 0\n";
    let late = log("l_iops.1.log", late).unwrap();
    assert_eq!((late.samples[0].intervals.len(), late.samples[0].total.requests_per_s), (4, 10.0));
    assert!(late.warnings.is_empty(), "{:?}", late.warnings);
}

#[test]
fn a_log_of_every_request_has_its_histogram() {
    let lines: Vec<String> = (1..=100).map(|n| format!("{}, {}, 1, 4096, 0", n * 10, n * 1000)).collect();
    let sample = log("/tmp/l_clat.12.log", &lines.join("\n")).unwrap().samples.remove(0);
    assert_eq!((sample.total.requests, sample.total.requests_per_s), (100, 100.0));
    assert_eq!((sample.total.latency_ns.max, sample.total.latency_ns.mean), (Some(100_000), Some(50_500.0)));
    assert_eq!((sample.workload.operation, sample.workload.request_size), (Operation::Write, Bytes(4096)));
    assert_eq!(sample.workload.buffering, Buffering::default());
    assert!(!sample.workload.tells("buffering"));
}

#[test]
fn histogram_logs_are_merged_bucket_by_bucket() {
    let row = |at: u64, bins: usize, bucket: usize| {
        let counts: Vec<String> = (0..bins).map(|bin| if bin == bucket { "7".into() } else { "0".into() }).collect();
        format!("{at}, 0, 4096, {}", counts.join(", "))
    };
    let sample =
        log("l_clat_hist.1.log", &[row(300, 1856, 700), row(700, 1856, 640)].join("\n")).unwrap().samples.remove(0);
    assert_eq!((sample.total.requests, sample.total.requests_per_s), (14, 20.0));
    let histogram = sample.latency_histogram.read.as_ref().unwrap();
    assert_eq!(histogram.bins().collect::<Vec<_>>(), [(640, 7), (700, 7)]);
    assert_eq!((sample.intervals[1].requests, sample.intervals[1].at_s), (7, 0.7));
    // Coarser by two: bin 160 is of buckets 640 to 643.
    let coarse = log("l_clat_hist.1.log", &row(300, 464, 160)).unwrap().samples.remove(0);
    assert_eq!(coarse.latency_histogram.read.unwrap().bins().collect::<Vec<_>>(), [(642, 7)]);
    assert!(log("l_clat_hist.1.log", "300, 0, 4096, 1, 2, 3").unwrap_err().contains(":1: a row has 3 bins"));
}

#[test]
fn mistakes_in_logs_are_told_with_their_line() {
    for (text, message) in [
        ("200, 5, 0, 0, 0\n300, x, 0, 0, 0", ":2: column 2, the value"),
        ("200, 5, 0, 0, 0\n300, 5, 7, 0, 0", ":2: the direction is `7`"),
        ("200, 5, 0, 0, 0\n100, 5, 0, 0, 0", ":2: the time goes back"),
        ("200, 5, 0, 0, 0\n300", ":2: column 2"),
    ] {
        let error = log("l_bw.1.log", text).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_distance_of_lines_that_a_record_cannot_hold_is_not_told() {
    for (ms, is_told) in [("604800000", true), ("4407371616", false)] {
        let lines = format!("{ms}, 5, 0, 0\n");
        let imported = log("a_bw.1.log", &lines).unwrap();
        let sample = &imported.samples[0];
        assert_eq!(sample.workload.tells("interval_s"), is_told, "{ms}");
        let record = serde_json::to_string(sample).unwrap();
        let again: Sample = serde_json::from_str(&record).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), record, "{ms}");
    }
}
