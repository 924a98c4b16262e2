//! Logs of other programs and damaged ones. What our own export gives back is in `export/tests.rs`.

use crate::interchange::import::{Imported, import_bytes};
use halfpower_model::Sample;

/// As HdrHistogram's Python wrote it: four intervals of a second, the third without a value.
const OTHER: &str = include_str!("../seeds/hdr/other.hlog");

fn imported(text: &str) -> Imported {
    import_bytes("a.hlog", text.as_bytes(), None).unwrap()
}

fn refused(text: &str) -> String {
    import_bytes("a.hlog", text.as_bytes(), None).unwrap_err().to_string()
}

fn codes(imported: &Imported) -> Vec<&str> {
    imported.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn another_program_s_log_is_a_sample_of_latencies_with_its_course() {
    let imported = imported(OTHER);
    let [sample] = &imported.samples[..] else { panic!("{imported:?}") };
    assert_eq!(codes(&imported), ["latency_from_buckets", "unit_unknown"]);
    let all = sample.latency_histogram.any.as_ref().unwrap();
    // What the program itself said of the four, over their 9000 values.
    assert_eq!((all.count(), all.min(), all.max()), (9000, Some(4760), Some(5_713_919)));
    let mean = (279_158.102 + 260_535.001_333_333_32 + 259_504.894) / 3.0;
    assert!((all.mean().unwrap() / mean - 1.0).abs() < 1e-9, "{:?}", all.mean());
    let medians: Vec<Option<u64>> = sample.intervals.iter().map(|interval| interval.latency_p50_ns).collect();
    for (median, theirs) in [(medians[0], 166_399.0), (medians[1], 162_303.0), (medians[3], 161_279.0)] {
        assert!((median.unwrap() as f64 / theirs - 1.0).abs() < 0.016, "{median:?} and {theirs}");
    }
    assert_eq!((medians[2], sample.intervals[3].at_s, sample.elapsed_s), (None, 4.0, 4.0));
    assert_eq!(sample.started_at.to_string(), "2023-11-14T22:13:20.123Z");
    // Nothing but that is known.
    let told = |field: &str| sample.tells(field);
    assert!(!told("total.requests") && !told("total.requests_per_s") && !told("intervals.requests"));
    assert!(!sample.workload.tells("operation") && sample.read.is_none() && sample.latency_histogram.read.is_none());
}

#[test]
fn each_tag_is_a_sample() {
    let lines: Vec<&str> = OTHER.lines().filter(|line| line.starts_with("17")).collect();
    let text = format!("Tag=a,{}\n{}\nTag=a,{}\n", lines[0], lines[1], lines[3]);
    let imported = imported(&text);
    let of = |sample: &Sample| {
        let origin = sample.origin.as_ref().unwrap();
        (origin.record.clone(), origin.line, sample.latency_histogram.total().count(), sample.intervals.len())
    };
    let samples: Vec<_> = imported.samples.iter().map(of).collect();
    assert_eq!(samples, [(Some("a".to_owned()), Some(1), 6000, 2), (None, Some(2), 3000, 0)]);
}

#[test]
fn a_start_is_a_time_of_day_where_the_log_says_so() {
    let line = OTHER.lines().find(|line| line.contains("HISTF")).unwrap().split_once(',').unwrap().1;
    let began = |head: &str, start: &str| {
        let imported = imported(&format!("{head}{start},{line}\n"));
        let sample = &imported.samples[0];
        sample.tells("started_at").then(|| sample.started_at.to_string())
    };
    let day = Some("2023-11-14T22:13:20Z".to_owned());
    assert_eq!(began("", "1700000000.000"), day);
    assert_eq!(began("#[StartTime: 1700000000.000 (seconds since epoch), x]\n", "0.000"), day);
    assert_eq!(began("#[BaseTime: 1699999999.500 (seconds since epoch)]\n", "0.500"), day);
    assert_eq!(began("", "0.5"), None);
}

#[test]
fn largest_values_in_another_unit_are_told() {
    let (head, rest) = OTHER.split_once("5.000000,HIST").unwrap();
    // A thousandth of the largest value, 5713919: microseconds shown in milliseconds have that.
    let imported = imported(&format!("{head}5713.919,HIST{rest}"));
    assert_eq!(codes(&imported), ["latency_from_buckets", "unit_unknown", "largest_disagrees"]);
    // The library's own way, and that of those who show what they count.
    for largest in ["5.713", "5.714", "5713919.000"] {
        let imported = self::imported(&format!("{head}{largest},HIST{rest}"));
        assert_eq!(codes(&imported).len(), 2, "{largest}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let lines: Vec<&str> = OTHER.lines().filter(|line| line.starts_with("17")).collect();
    let (head, payload) = lines[1].split_at(lines[1].find("HIST").unwrap());
    let cases = [
        (format!("{head}{}", &payload[..payload.len() - 5]), "is not base64, or was cut off"),
        (format!("{head}{}", &payload[..payload.len() - 8]), "bytes and says"),
        (format!("{head}{}AAA=", &payload[..payload.len() - 4]), "checksum of the compressed histogram is wrong"),
        (format!("{head}HISTEQAA"), "begins with 0x1c849311, which is not the compressed encoding of version 2"),
        (lines[0].to_owned(), "it begins before the line before it"),
        ("Tag=a".to_owned(), "nothing stands behind the tag"),
        ("1,2,3".to_owned(), "a line has a start, a length, a largest value and a histogram"),
        (format!("-1,2,3,{payload}"), "the start is not a number"),
        ("#[BaseTime: soon]".to_owned(), "BaseTime: has no number of seconds"),
    ];
    for (line, message) in cases {
        let error = refused(&format!("{}\n{}\n{line}\n", lines[0], lines[1]));
        assert!(error.starts_with("a.hlog:3: ") && error.contains(message), "{message}: {error}");
    }
    let own = format!("{}\n{}\n", super::OWN, lines[0]);
    assert!(refused(&own).starts_with("a.hlog:2: its tag is not like `sample-17-read`"), "{}", refused(&own));
}
