//! Rows of the Windows 2000 study's traces (their figures; the comments are cut short), and traces made to be wrong.

use super::*;
use crate::interchange::import::{Imported, import_bytes};
use halfpower_model::BytesPerSecond;

const HEADING: &str = "MB/s,IO/s,Op,BlockSize,OutstandingIOs,Buffering,NumThreads,Time,FileSize,Clock(s),User(ms),\
                       Kernel(ms),Time Stamp,Comment";
const CALIBRATION: &str = "0.12,62.5,read,2,0,0,1,0,24000,0.01,0,16,Fri Mar 10 23:25:08 2000,DMA random Calibration";
/// One disk on the motherboard by DMA, unbuffered then buffered.
const FIREBALL: [&str; 4] = [
    "0.52,66.97,read,8,1,H,1,120,24000,120.01,16,234,Fri Mar 10 23:27:08 2000,DMA random Hardware buffered",
    "0.69,89.41,write,8,1,H,1,120,24000,120.03,0,469,Fri Mar 10 23:39:09 2000,DMA random Hardware buffered",
    "0.52,66.63,read,8,1,Y,1,120,24000,120,31,766,Fri Mar 10 22:58:06 2000,DMA random buffered",
    "2.49,319.93,write,8,1,Y,1,120,24000,120.09,266,70094,Fri Mar 10 23:10:11 2000,DMA random buffered",
];
/// Two disks on a 3ware card, two deep: striped, then mirrored.
const TWO_DISKS: [&str; 2] = [
    "0.71,91,read,8,2,H,1,120,47500,120.01,78,422,Tue Mar 28 16:16:46 2000,HW RAID0 dynamic random Hardware buffered",
    "0.87,112.44,read,8,2,H,1,120,23500,120.01,47,641,Tue Mar 28 12:41:08 2000,HW RAID1 dynamic unbuffered",
];

fn trace(rows: &[&str]) -> String {
    [&[HEADING], rows].concat().join("\r\n") + "\r\n"
}

fn imported(rows: &[&str]) -> Imported {
    import_bytes("trace.csv", trace(rows).as_bytes(), None).unwrap()
}

fn refused(text: &str) -> String {
    import_bytes("trace.csv", text.as_bytes(), Some(Format::Sqlio)).unwrap_err().to_string()
}

fn codes(imported: &Imported) -> Vec<&str> {
    imported.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn a_row_is_a_sample_with_what_it_tells_and_nothing_else() {
    let imported = imported(&[CALIBRATION, CALIBRATION, FIREBALL[0]]);
    let [sample] = &imported.samples[..] else { panic!("{imported:?}") };
    assert_eq!(sample.workload.to_string(), "random read, 8 KiB, QD1, direct");
    assert_eq!((sample.total.requests_per_s, sample.total.bytes_per_s), (66.97, BytesPerSecond(66.97 * 8192.0)));
    assert_eq!((sample.total.requests, sample.elapsed_s), (8037, 120.01));
    assert_eq!((sample.cpu.lower.user_s, sample.cpu.lower.system_s), (0.016, 0.234));
    assert_eq!(sample.started_at.to_string(), "2000-03-10T23:25:07.99Z");
    assert_eq!(
        (sample.workload.span, sample.environment.target.size_bytes),
        (Bytes(24_000 << 20), Bytes(24_000 << 20))
    );
    assert_eq!(sample.note.as_deref(), Some("DMA random Hardware buffered"));
    let origin = sample.origin.as_ref().unwrap();
    assert_eq!((origin.format.as_str(), origin.file.as_str(), origin.line), ("sqlio", "trace.csv", Some(4)));
    for unknown in ["personality", "seed", "durability", "cache", "arrivals", "targets", "data"] {
        assert!(!sample.workload.tells(unknown), "{unknown}");
    }
    assert!(!sample.tells("generator_bound") && !sample.tells("depth_mean") && !sample.tells("total.errors"));
    assert_eq!(
        codes(&imported),
        ["file_size_in_mb", "pattern_from_comment", "requests_worked_out", "time_zone_unknown", "calibration"]
    );
    assert!(imported.warnings[4].message.contains("2 rows"), "{:?}", imported.warnings[4]);
}

#[test]
fn the_study_s_text_is_in_its_rows() {
    let fireball = imported(&FIREBALL).samples;
    let rates: Vec<f64> = fireball.iter().map(|sample| sample.total.requests_per_s).collect();
    // Section 7: "66 reads and 90 writes a second".
    assert!((rates[0] - 66.0).abs() < 1.0 && (rates[1] - 90.0).abs() < 1.0, "{rates:?}");
    // Buffered random writes cost near 2 ms of processor time each.
    let cost_us = fireball[3].cpu.lower_us_per_request.unwrap();
    assert!((1_600.0..2_400.0).contains(&cost_us), "{cost_us}");
    assert!(fireball[2].cpu.lower_us_per_request.unwrap() < 200.0, "reads cost a tenth of it");
    // Figure 34: 91 and 112 reads a second, two deep.
    let two = imported(&TWO_DISKS).samples;
    assert_eq!([two[0].total.requests_per_s.floor(), two[1].total.requests_per_s.floor()], [91.0, 112.0]);
}

#[test]
fn the_unit_of_the_file_s_size_is_decided_from_the_rows() {
    let size = |row: &str| imported(&[row]).samples[0].workload.span;
    let fast = "52.0,6697,read,8,1,H,1,120,24000,120.01,16,234,Fri Mar 10 23:27:08 2000,random";
    assert_eq!(size(FIREBALL[0]), Bytes(24_000 << 20));
    assert_eq!(size(fast), Bytes(24_000 << 10), "a disk that does not seek may have a small file");
    assert_eq!(size(&FIREBALL[0].replace("24000", "4000000")), Bytes(4_000_000 << 10), "large enough in KB");
    assert_eq!(size(&FIREBALL[0].replace("random", "sequential")), Bytes(24_000 << 10));
    assert!(codes(&imported(&[fast])).contains(&"file_size_in_kb"));
}

#[test]
fn the_pattern_is_in_a_comment_or_unknown() {
    let workload = |rows: &[&str]| imported(rows).samples[0].workload.to_string();
    let mute = TWO_DISKS[1];
    assert_eq!(workload(&[mute]), "read, 8 KiB, QD2, direct");
    assert_eq!(workload(&[CALIBRATION, mute]), "random read, 8 KiB, QD2, direct");
    assert_eq!(workload(&[CALIBRATION, &mute.replace("HW", "sequential")]), "sequential read, 8 KiB, QD2, direct");
    assert_eq!(workload(&[&CALIBRATION.replace("random", "random seq"), mute]), "read, 8 KiB, QD2, direct");
}

#[test]
fn rates_that_contradict_each_other_are_told() {
    let imported = imported(&[FIREBALL[0], &FIREBALL[1].replace("0.69", "0.75")]);
    assert!(imported.samples[0].warnings.iter().all(|warning| warning.code != "rates_disagree"));
    assert!(imported.samples[1].warnings.iter().any(|warning| warning.code == "rates_disagree"));
    assert!(codes(&imported).contains(&"rates_disagree"));
}

#[test]
fn mistakes_are_told_with_their_line() {
    let row = |from: &str, to: &str| trace(&[CALIBRATION, &FIREBALL[0].replacen(from, to, 1)]);
    for (text, message) in [
        (row("read", "erase"), "trace.csv:3: column 3, Op, is `erase`"),
        (row("66.97", "inf"), "trace.csv:3: column 2, IO/s, is `inf`"),
        (row("66.97", "-1"), "column 2"),
        (row("H,1", "X,1"), "column 6, Buffering"),
        (row(",8,1", ",1048576,1"), "column 4, BlockSize"),
        (row(",1,120", ",99999999999,120"), "column 7, NumThreads"),
        (format!("{HEADING}\n0.5,66"), "trace.csv:2: the row has 2 columns and not 14"),
        (trace(&[CALIBRATION]), "no result"),
        (String::new(), "no result"),
    ] {
        assert!(refused(&text).contains(message), "{text}: {}", refused(&text));
    }
}

#[test]
fn a_row_that_is_cut_is_told() {
    let whole = trace(&FIREBALL[..2]);
    let cut = |at: &str| &whole[..whole.rfind(at).unwrap()];
    let message = "trace.csv:3: the row has 13 columns and not 14; is the file cut short?";
    assert!(refused(cut("00,DMA")).contains(message), "within the year: {}", refused(cut("00,DMA")));
    let within_comment = import_bytes("trace.csv", cut("buffered").as_bytes(), None).unwrap();
    assert!(codes(&within_comment).contains(&"no_line_end"), "{:?}", within_comment.warnings);
    assert!(!codes(&imported(&FIREBALL)).contains(&"no_line_end"));
    let without_comments = whole.replace(",Comment", "").replace(",DMA random Hardware buffered", "");
    let sample = import_bytes("trace.csv", without_comments.as_bytes(), None).unwrap().samples.remove(1);
    assert_eq!(sample.started_at.to_string(), "2000-03-10T23:37:08.97Z");
}

#[test]
fn a_clock_beyond_all_time_ends_no_program() {
    let refused = refused(&trace(&[&FIREBALL[0].replace("120.01", "9007199254740993")]));
    assert!(refused.starts_with("trace.csv:2: no run time is 9.007199254740992e15 s"), "{refused}");
}
