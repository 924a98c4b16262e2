//! Every form: what its seeds give, and what damaged ones do.
//!
//! Seeds: fio-log/idle_bw is a run of fio 3.33 with `--thinktime=700ms --thinktime_blocks=1500 --log_avg_msec=250`, whose JSON
//! has 30 720 000 bytes read. hdr/other is of HdrHistogram's Python: four intervals, the third without a value.
//! iozone/throughput is from the kernel report of January 2008, shortened; sqlio/trace from the Windows 2000 study. Others
//! have the form of their program and made-up figures.

use super::damage::damaged;
use super::soundness::check_import;
use super::{Format, Imported, import_bytes};
use clap::ValueEnum;
use halfpower_model::random::Random;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Damaged forms of each seed: `just fuzz` tries millions.
const TRIES: u64 = 200;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/halfpower/src/interchange/import/seeds")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A seed with texts replaced (`from => to & from => to`), as its form.
fn imported(seed: &str, edits: &str) -> Result<Imported, String> {
    let mut text = std::fs::read_to_string(seeds().join(seed)).unwrap();
    for (from, to) in edits.split(" & ").filter_map(|edit| edit.split_once(" => ")) {
        assert!(text.contains(from), "{seed} has no {from}");
        text = text.replace(from, to);
    }
    let (form, name) = seed.split_once('/').unwrap();
    import_bytes(name, text.as_bytes(), Format::from_str(form, false).ok()).map_err(|error| error.to_string())
}

/// The record without unknown fields.
fn known(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, value)| *key != "unknown" && !value.is_null())
            .map(|(key, value)| (key.clone(), known(value)))
            .collect(),
        Value::Array(values) => values.iter().map(known).collect(),
        other => other.clone(),
    }
}

/// The result of an import as text: the warnings, each sample's workload and its record.
fn outcome(imported: Result<Imported, String>) -> String {
    let imported = match imported {
        Ok(imported) => imported,
        Err(message) => return message,
    };
    let mut text = String::new();
    for warning in &imported.warnings {
        let _ = writeln!(text, "{}: {}", warning.code, warning.message);
    }
    for sample in &imported.samples {
        let _ = writeln!(text, "{}", sample.workload);
        let record = known(&serde_json::to_value(sample).unwrap());
        for (key, value) in record.as_object().into_iter().flatten() {
            if !["program", "schema", "warnings"].contains(&key.as_str()) {
                let _ = writeln!(text, "  {key}: {value}");
            }
        }
    }
    text
}

#[test]
fn every_seed_gives_its_samples_and_damaged_it_is_rejected_with_a_place_and_a_remedy() {
    let folders = entries(&seeds());
    assert_eq!(folders.len(), Format::value_variants().len(), "a form without seeds is not tried");
    for path in folders.iter().flat_map(|folder| entries(folder)) {
        let form = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let form = Format::from_str(form, false).unwrap();
        let (whole, name) = (std::fs::read(&path).unwrap(), path.file_name().unwrap().to_str().unwrap());
        let imported = import_bytes(name, &whole, None).unwrap();
        assert_eq!(imported.format, form, "{name}");
        insta::assert_snapshot!(name.replace('.', "_"), outcome(Ok(imported)));
        for seed in 0..TRIES {
            let bytes = damaged(&whole, &mut Random::new(seed));
            let checked = check_import(name, &bytes, form);
            assert!(checked.is_ok(), "{name} damaged with seed {seed}: {}", checked.unwrap_err());
        }
    }
}

/// A seed, the replacements in it, and the result: an error, a warning, a part of a record.
type Case<'a> = (&'a str, &'a str, &'a str);

const MISTAKES: &[Case<'_>] = &[
    ("sqlio/trace.csv", "66.97,read => 66.97,erase", "trace.csv:3: column 3, Op, is `erase`"),
    ("sqlio/trace.csv", "66.97 => inf", "trace.csv:3: column 2, IO/s, is `inf`"),
    ("sqlio/trace.csv", "66.97 => -1", "column 2"),
    ("sqlio/trace.csv", "0.52 => 1e18", "trace.csv:3: column 1, MB/s, is `1e18`, which is not a valid value"),
    ("sqlio/trace.csv", "66.97 => 1e15", "trace.csv:3: `bytes_per_s` is 8.192e18; the maximum is 1e15"),
    ("sqlio/trace.csv", "8,1,H => 8,1,X", "column 6, Buffering"),
    ("sqlio/trace.csv", "read,8,1 => read,1048576,1", "column 4, BlockSize"),
    ("sqlio/trace.csv", "H,1,120 => H,99999999999,120", "column 7, NumThreads"),
    ("sqlio/trace.csv", "120.01 => 9007199254740993", "trace.csv:3: `elapsed_s` is 9.007199254740992e15; the max"),
    ("sqlio/trace.csv", ",DMA buffered => ", "trace.csv:5: the row has 13 columns and not 14; is the file cut short?"),
    ("iozone/throughput.txt", "9461.15 => many", "throughput.txt:15: `Children see"),
    ("iozone/throughput.txt", "4726.85 => NaN", "throughput.txt:17: `Min throughput"),
    ("iozone/ordinary.txt", "2048 => 0", "ordinary.txt:8: a row begins with no file"),
    ("iozone/tables.txt", "2000 => 2x", "tables.txt:6: column 3: no figure"),
    ("iozone/tables.txt", "4000 => 4000 5", "tables.txt:6: column 5: no record size"),
    ("iozone/tables.txt", "\"16\" => 16", "tables.txt:5: the record sizes"),
    ("ior/output.txt", "100.00  => many  ", "output.txt:31: the column `bw(MiB/s)` is not a number"),
    (
        "vdbench/flatfile.html",
        "max 10000.00 78.13 8192 69.90 => max n/a 78.13 8192 69.90",
        "flatfile.html:8: the column `rate`",
    ),
    ("iostat/iostat.json", "\"r/s\" => \"tps\"", "iostat.json:1: it has no extended figures; add -x"),
    ("iostat/iostat.json", "\"timestamp\" => \"when\"", "iostat.json:1: its reports have no times; add -t"),
    ("iostat/iostat.json", "11:00:15 => 11:00:10", "iostat.json:1: two of its reports have the same time"),
    ("iostat/iostat.json", "4000.50 => -1", "iostat.json:1: it has no extended figures"),
    ("bonnie/bonnie.csv", ",64G,, => ,big,,", "bonnie.csv:3: the size `big` is none"),
    (
        "bonnie/bonnie.csv",
        "420000 => +++++ & 530000 => +++++ & 6000.5 => +++++",
        "put_block has no figure: it was left out or took too short a time: measure with a larger size (-s)",
    ),
    ("diskspd/results.xml", "\"10000\" => \"5000\"", "results.xml:21: an interval of the IOPS has no later time"),
    ("diskspd/results.xml", "10.00< => ten<", "results.xml:11: `TestTimeSeconds` is not a number"),
    ("diskspd/results.xml", "<IOCount>1 => <IOCount>-1", "results.xml:23: `IOCount` is not a count"),
    ("diskspd/results.xml", "</Results> => ", "the file ends within an element; is it cut short?"),
    (
        "diskspd/results.txt",
        "total:         655360000 |   => total: 655360000 | x",
        "results.txt:28: the total of I/Os",
    ),
    ("diskspd/results.txt", "actual test time => time", "results.txt:17: the time span has no"),
    ("elbencho/results.csv", "25600 => many", "results.csv:2: the column `IOPS [last]`"),
    ("elbencho/results.csv", ",WRITE => \n", "results.csv:2: the row has 16 columns and not 33"),
    ("elbencho/results.csv", "operation,time ms [first] => ", "results.csv:1: no line of names"),
    ("ior/result.json", "\"tests\" => \"trials\"", "result.json:2: the document is not IOR's: it has no `tests`"),
    ("ior/result.json", "200.0 => \"fast\"", "result.json:2: test 1: `bwMiB` is not a number"),
    ("fio/json.json", "\"fio version\" => \"version\"", "json.json:2: the document is not fio's"),
    ("fio/json.json", "\"bw\": 256000 => \"bw\": -1", "json.json:2: job 1 (`writes`): `write`: `bw` is not a number"),
    ("fio-log/a_bw.1.log", "30060 => x", "a_bw.1.log:3: column 2, the value"),
    ("fio-log/a_bw.1.log", "30060, 0 => 30060, 7", "a_bw.1.log:3: the direction is `7`"),
    ("fio-log/a_bw.1.log", "400, 3 => 100, 3", "a_bw.1.log:3: the time goes back"),
    ("fio-log/a_bw.1.log", "800, 15520, 1, 0, 0 => 800", "a_bw.1.log:8: column 2"),
    ("fio-log/b_lat.1.log", "65536 => 0", "averages of latencies"),
    ("fio-log/a_clat_hist.1.log", "208, 0, 4096, 0,  => 208, 0, 4096, ", "log:1: a row has 57 bins and not 1856"),
    ("hdr/other.hlog", "ESw== => ", "other.hlog:8: the histogram is not base64, or was cut off"),
    ("hdr/other.hlog", "TjkESw== => ", "bytes and says"),
    ("hdr/other.hlog", "jkESw== => jkEAA==", "checksum of the compressed histogram is wrong"),
    ("hdr/other.hlog", "HISTFAAAAB14 => HISTEQAAAB14", "begins with 0x1c849311, which is not the compressed"),
    ("hdr/other.hlog", "1700000003 => 1700000001", "other.hlog:9: it begins before the line before it"),
    ("hdr/other.hlog", "1700000003.123000,1.000000,4.000000,HIST => Tag=a", "nothing stands behind the tag"),
    ("hdr/other.hlog", "1700000003.123000,1.000000,4.000000,HIST => 1,2,3", "a line has a start, a length, a"),
    ("hdr/other.hlog", "1700000003.123000 => -1", "the start is not a number"),
    ("hdr/other.hlog", "BaseTime: 0.0 => BaseTime: soon", "other.hlog:4: BaseTime: has no number of seconds"),
    ("hdr/own.hlog", "sample-7-read => a", "its tag is not like `sample-17-read`"),
    ("halfpower/records.jsonl", "halfpower.sample => other.sample", "records.jsonl:1: the document is not a sample"),
    ("halfpower/records.jsonl", "\"elapsed_s\": 0 => \"elapsed_s\": -0", "`elapsed_s` is -"),
    ("halfpower/records.jsonl", "120.01 => 1e12", "records.jsonl:2: `elapsed_s` is 1e12; the maximum is 1e9"),
];

const VARIANTS: &[Case<'_>] = &[
    // Not the first of several sizes.
    ("vdbench/flatfile.html", "max 10000.00 78.13 8192 => max 10000.00 78.13 9216", "random mix=70, QD1 × 8 workers\n"),
    // What iozone did not run.
    ("iozone/ordinary.txt", "101000 =>      0", "!_per_s\":0.0"),
    // What vdbench writes for no limit.
    ("vdbench/flatfile.html", "avg_2-2 max => avg_2-2 9999988.0000 & 8192 8 70 => 8192 8.0000 70", "!at most 9"),
    // What contradicts itself, is cut short, or has to be decided is reported.
    ("sqlio/trace.csv", "0.69 => 0.75", "rates_disagree"),
    ("sqlio/trace.csv", "DMA buffered\n => DMA buf", "no_line_end"),
    ("sqlio/trace.csv", "random => sequential", "file_size_in_kb"),
    ("sqlio/trace.csv", "0.52,66.97 => 52.0,6697", "file_size_in_kb"),
    ("sqlio/trace.csv", "24000 => 4000000", "file_size_in_kb"),
    ("sqlio/trace.csv", "random Cal => random seq Cal", "\nwrite, 8 KiB, QD1, buffered\n"),
    ("sqlio/trace.csv", ",Comment =>  & ,DMA buffered => ", "\nrandom write, 8 KiB, QD1, buffered\n"),
    ("iozone/throughput.txt", "iozone test complete. => ", "cut_short"),
    ("iozone/ordinary.txt", "70700 =>      ", "!random write, 16 KiB"),
    ("iozone/ordinary.txt", "", "\nrandom write, 16 KiB, QD1, direct\n"),
    ("iozone/throughput.txt", "Output is in => O_DIRECT feature enabled\nOutput is in", "direct, flushed, closed\n"),
    ("iozone/throughput.txt", "Output is in => SYNC Mode. \nOutput is in", "through, flushed, closed\n"),
    ("iozone/throughput.txt", "KB/sec => ops/sec & 9461.15 => 9.25", "\"requests_per_s\":9.25"),
    ("iozone/throughput.txt", "KB/sec => ops/sec & 9461.15 => 9.25", "\"bytes_per_s\":9699328.0"),
    ("fio/json.json", "\"error\": 0 => \"error\": 5", "with error 5: Input/output error"),
    ("fio/json.json", "\"iops\": 4000.0 => \"iops\": 5", "rates_disagree"),
    ("fio/json.json", "\"rw\": \"write\" => \"rw\": \"read\"", "options_of_one_job"),
    ("fio/json.json", "\"rw\": \"write\" => \"rw\": \"read\"", "\nwrite\n"),
    ("fio/json-plus.json", "", "disk_left_out"),
    (
        "fio/ordinary-fio.txt",
        "(R) 4096B-4096B, (W) 4096B-4096B => (R) 64.0KiB-64.0KiB, (W) 64.0KiB-64.0KiB & (156MiB/2000msec) => (2.44GiB/2000msec)",
        "\nshuffled read, 64 KiB, QD8 × 2 workers\n",
    ),
    // A job that only wrote: its reads are the verification.
    ("fio/ordinary-fio.txt", "rw=randrw => rw=write", "verification: "),
    ("fio/ordinary-fio.txt", "rw=randrw => rw=write", "total: {\"bytes\":8028160,"),
    ("fio/ordinary-fio.txt", "  read: IOPS=20.0k => mixed: IOPS=20.0k", "total: {\"bytes\":163840000,"),
    ("fio/ordinary-fio.txt", "  read: IOPS=20.0k => mixed: IOPS=20.0k", "!read: {\"bytes\":163840000,"),
    (
        "fio/ordinary-fio.txt",
        "0,980,0,0 => 0,980,0,90 &   cpu          : usr=1 => fsync/fdatasync/sync_file_range/syncfs:\n sync (usec): min=5, max=90, \
         avg=20.00, stdev=1.00\n sync percentiles (usec):\n | 50.0th=[   30]\n  cpu          : usr=1",
        "flush: {\"latency_ns\":{\"max\":90000,\"mean\":20000.0,\"min\":5000,\"p50\":30000,\"stddev\":1000.0},\"requests\":90,",
    ),
    (
        "fio/json-plus.json",
        "\"read_ios\": 8479 => \"read_sectors\": 67832, \"write_sectors\": 9576, \"read_ios\": 8479",
        "block: {\"busy_fraction\":0.44081633,\"bytes\":39632896,",
    ),
    ("fio/clients.json", "989 => \"x\"", "histogram_left_out"),
    ("fio/clients.json", ": 1, => : 9e18, & 989 => 9e18 & 10}} => 9e18}}", "histogram_left_out"),
    ("fio/fio-2.json", "4000 => 4096000", "\"bytes\":4096000"),
    ("fio-log/a_iops.1.log", "200, 1 => 210, 1 & 800, 9 => 795, 9", "\"at_s\":0.795"),
    // Windows with a block size, and with log_window_value=both.
    ("fio-log/a_iops.1.log", "0, 0\n => 4096, 0\n", "\"requests_per_s\":9518.75"),
    (
        "fio-log/a_bw.1.log",
        ", 0, 0, 0\n => , 99999, 0, 0, 0\n & , 1, 0, 0\n => , 99999, 1, 0, 0\n",
        "\"bytes_per_s\":38988800.0",
    ),
    ("fio-log/idle_bw.1.log", "", "idle_windows: for 1."),
    // Behind `status=progress`.
    (
        "dd/dd.txt",
        "200+0 records in => 1 bytes (1 B) copied, 1 s\r2 bytes (2 B) copied, 2 s\n200+0 records in",
        "!line\":1,",
    ),
    // Several jobs in one log.
    ("fio-log/a_clat_hist.1.log", "808, 0, => 108, 0,", "latency_from_buckets"),
    // Microseconds shown in milliseconds; the library's own way and that of those who show what they count are no others.
    ("hdr/other.hlog", "5.000000,HIST => 5713.919,HIST", "largest_disagrees"),
    ("hdr/other.hlog", "1700000000.123000 => Tag=a,1700000000.123000", "\"record\":\"a\""),
    ("hdr/other.hlog", "#[StartTime: => #[x & #[BaseTime: => #[x", "2023-11-14T22:13:20.123Z"),
    ("hdr/other.hlog", "17000000 => 00000000 & BaseTime: 0.0 => BaseTime: 1700000000.0", "2023-11-14T22:13:20.123Z"),
    (
        "sysbench/sysbench.txt",
        "Periodic FSYNC enabled, calling fsync() each 100 requests. => Calling fsync() after each write operation. & reads/s:                      48970.46 => reads/s:                      0.00",
        "buffered, fsync=1",
    ),
    ("ior/result.json", "\"deadlineForStonewall\": 0 => \"deadlineForStonewall\": 30", "\"bytes_per_s\":104857600.0"),
    // What must not be there.
    ("sqlio/trace.csv", "", "!rates_disagree"),
    ("sqlio/trace.csv", "", "!no_line_end"),
    ("iozone/throughput.txt", "", "!cut_short"),
    ("hdr/other.hlog", "5.000000,HIST => 5.713,HIST", "!largest_disagrees"),
    ("hdr/other.hlog", "5.000000,HIST => 5713919.000,HIST", "!largest_disagrees"),
    ("ior/result.json", "\"deadlineForStonewall\": 0 => \"deadlineForStonewall\": 30", "!total: {\"bytes\":"),
];

#[test]
fn mistakes_and_variants_are_reported() {
    for (seed, edits, expected) in MISTAKES {
        let message = imported(seed, edits).map(|imported| format!("{imported:?}")).unwrap_err();
        assert!(message.contains(expected), "{seed} {edits}: {message}");
    }
    for (seed, edits, expected) in VARIANTS {
        let outcome = outcome(imported(seed, edits));
        let is_as_expected = match expected.strip_prefix('!') {
            Some(unexpected) => outcome.contains("  workload: ") && !outcome.contains(unexpected),
            None => outcome.contains(expected),
        };
        assert!(is_as_expected, "{seed} {edits}: {expected}: {outcome}");
    }
}

#[test]
fn terse_output_of_all_requests_as_one_is_of_no_kind() {
    let text = std::fs::read_to_string(seeds().join("fio/terse.txt")).unwrap();
    let mut fields: Vec<&str> = text.split(';').collect();
    fields.drain(46..87);
    let imported = import_bytes("a", fields.join(";").as_bytes(), None).unwrap();
    let [sample] = &imported.samples[..] else { panic!("{imported:?}") };
    assert_eq!((sample.total.requests, &sample.read), (2048, &None));
}

#[test]
fn clones_that_repeat_the_stonewall_of_their_job_are_one_sample() {
    let job = |name: &str, group: u32| {
        format!(
            r#"{{"jobname":"{name}","groupid":{group},"job options":{{"stonewall":"1","rw":"read","bs":"4k"}},
            "read":{{"io_bytes":4096000,"bw":4000,"iops":1000,"runtime":1000,"total_ios":1000}}}}"#
        )
    };
    let jobs = [job("a", 0), job("n", 1), job("n", 1), job("b", 1)].join(",");
    let text = format!(r#"{{"fio version":"fio-3.42","jobs":[{jobs}]}}"#);
    let samples = import_bytes("a", text.as_bytes(), None).unwrap().samples;
    let requests: Vec<u64> = samples.iter().map(|sample| sample.total.requests).collect();
    assert_eq!(requests, [1000, 2000, 1000], "a stage, clones, and a job that waits for them");
    // Requests of another size than the options say are those of other jobs of the group.
    let other = text.replace("4096000", "40960000");
    let sample = &import_bytes("a", other.as_bytes(), None).unwrap().samples[0];
    assert!(!sample.workload.is_known("request_size"), "{}", sample.workload);
}

#[test]
fn runs_and_reports_that_fio_printed_into_one_file_are_told_apart() {
    let read = |text: &str| import_bytes("a", text.as_bytes(), None).unwrap();
    let text = std::fs::read_to_string(seeds().join("fio/ordinary-fio.txt")).unwrap();
    let (head, report) = text.split_at(text.find("a: (groupid").unwrap());
    let rates = |text: &str| read(text).samples.iter().map(|sample| sample.total.requests).collect::<Vec<_>>();
    let alone = rates(&text);
    assert_eq!(rates(&format!("{text}{text}")), [alone.clone(), alone.clone()].concat(), "two runs");
    assert_eq!(rates(&format!("{head}{report}{report}")), alone, "a report on the way, and the last");
    // A group has one job's size, and its amount is of all.
    let group = read(&text.replace("(156MiB/2000msec)", "(300MiB/2000msec)"));
    let first = &group.samples[0];
    assert_eq!((first.total.bytes, first.workload.is_known("request_size")), (300 << 20, false));
    let headless = read(&text[text.find("b: (g=1)").unwrap()..]);
    assert!(!headless.samples[0].workload.is_known("pattern"), "nothing says what it was");
    let terse = std::fs::read_to_string(seeds().join("fio/terse.txt")).unwrap();
    let several = |text: String| read(&text).warnings.iter().any(|warning| warning.code == "terse_lines");
    assert!(several(terse.repeat(2)) && !several(terse.clone()));
    let others = read(&format!("{terse}{}", terse.replace(";reads;", ";other;")));
    assert_eq!(others.samples.len(), 2 * read(&terse).samples.len());
}

#[test]
fn samples_that_alternate_share_what_is_unknown() {
    let copies = "1+0 records in\n1 bytes copied, 1 s\n1+1 records in\n1 bytes copied, 1 s\n".repeat(3);
    let samples = import_bytes("a", copies.as_bytes(), Some(Format::Dd)).unwrap().samples;
    let unknown = |index: usize| (&samples[index].workload.unknown, &samples[index].origin.as_ref().unwrap().unknown);
    let ((one, of_one), (other, of_other)) = (unknown(0), unknown(4));
    assert!(one.is(other) && of_one.is(of_other) && !one.is(unknown(3).0));
    // A count that contradicts the bytes.
    let none = import_bytes("a", b"9+0 records in\n0 bytes copied, 1 s\n", Some(Format::Dd)).unwrap().samples;
    assert_eq!((none[0].total.bytes, none[0].workload.is_known("request_size")), (0, false));
    let empty = "\n".repeat(2_000_001) + "File operations:\nreads/s:\n";
    assert!(import_bytes("a", empty.as_bytes(), Some(Format::Sysbench)).is_err());
}

#[test]
fn a_second_call_of_iozone_in_a_file_begins_anew() {
    let text = std::fs::read_to_string(seeds().join("iozone/throughput.txt")).unwrap();
    let direct = text.replace("Output is in", "O_DIRECT feature enabled\nOutput is in");
    let imported = import_bytes("rc8.txt", format!("{direct}{text}").as_bytes(), None).unwrap();
    let buffering: Vec<_> = imported.samples.iter().map(|sample| sample.workload.buffering.word()).collect();
    assert_eq!(buffering, ["direct", "direct", "buffered", "buffered"]);
}

#[test]
fn a_test_of_iozone_with_a_name_as_long_as_a_line_makes_no_such_message() {
    let text = std::fs::read_to_string(seeds().join("iozone/throughput.txt")).unwrap();
    let text = text.replace("2 initial writers", &format!("2 {}", "initial ".repeat(10_000)));
    let imported = import_bytes("rc8.txt", text.as_bytes(), None).unwrap();
    assert!(imported.warnings.iter().all(|warning| warning.message.len() < 400));
}

#[test]
fn a_distance_of_lines_that_a_record_cannot_hold_is_unknown() {
    for (ms, is_known) in [("604800000", true), ("4407371616", false)] {
        let lines = format!("{ms}, 5, 0, 0\n");
        assert_eq!(check_import("a_bw.1.log", lines.as_bytes(), Format::FioLog), Ok(()));
        let imported = import_bytes("a_bw.1.log", lines.as_bytes(), None).unwrap();
        assert_eq!(imported.samples[0].workload.is_known("interval_s"), is_known, "{ms}");
    }
}

#[test]
fn other_outputs_are_rejected_by_the_name_of_their_program() {
    for (text, expected) in [
        (
            "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n",
            "elbencho's console table; run it with --jsonfile",
        ),
        ("Device            r/s     rkB/s   rrqm/s  %rrqm  aqu-sz  %util\n", "iostat -x -t -o JSON"),
        ("Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n", "`bonnie++ -q`"),
        ("sysbench 1.0.20\nCPU speed:\nThreads fairness:\n", "only that of `sysbench fileio run`"),
        ("Vdbench summary report, created 10:00:00\n", "flatfile.html"),
        (" \n", "a: it is empty; "),
    ] {
        let message = import_bytes("a", text.as_bytes(), None).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
