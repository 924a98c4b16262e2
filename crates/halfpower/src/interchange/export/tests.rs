//! What is exported and imported again is the same.

use super::*;
use crate::interchange::import::{Format as From, Imported, import_bytes};
use halfpower_model::sample::{Failure, Latency};
use halfpower_model::{Environment, Histogram, Origin, Sample, Workload};
use proptest::prelude::*;

fn stored(samples: Vec<Sample>) -> Vec<StoredSample> {
    let store = |(id, sample)| StoredSample { id, cell: 0, block: id as u32, sample };
    (1..).zip(samples).map(store).collect()
}

fn text(samples: Vec<Sample>, format: Format) -> String {
    String::from_utf8(export(&stored(samples), format).unwrap().content).unwrap()
}

fn again(samples: Vec<Sample>, format: Format, from: From) -> Imported {
    import_bytes("again", &export(&stored(samples), format).unwrap().content, Some(from)).unwrap()
}

const HEADING: &str = "MB/s,IO/s,Op,BlockSize,OutstandingIOs,Buffering,NumThreads,Time,FileSize,Clock(s),User(ms),\
                       Kernel(ms),Time Stamp,Comment";

#[test]
fn a_row_of_a_trace_is_the_same_row_again() {
    let row = "0.52,66.97,read,8,1,H,1,120,24576000,120.01,16,234,Fri Mar 10 23:27:08 2000,DMA random unbuffered";
    let text = format!("{HEADING}\n{row}\n");
    let samples = import_bytes("trace", text.as_bytes(), None).unwrap().samples;
    assert_eq!(text(samples, Format::Sqlio), text);
}

#[test]
fn what_a_trace_cannot_say_is_left_out_with_the_reason() {
    let whole = Sample::empty(Workload::default(), Environment::unknown("a", None));
    let failed = Sample { failure: Some(Failure { code: "EIO".into(), message: String::new() }), ..whole.clone() };
    let unknown = Sample::imported(Workload::default(), Environment::unknown("a", None), Origin::default());
    let odd = Sample {
        workload: Workload { request_size: halfpower_model::Bytes(1500), ..Workload::default() },
        ..whole.clone()
    };
    let exported = export(&stored(vec![whole, failed, unknown, odd]), Format::Sqlio).unwrap();
    assert_eq!((str::from_utf8(&exported.content).unwrap().lines().count(), exported.left_out.len()), (2, 3));
    assert!(exported.left_out[0].contains("sample 2: it failed"), "{:?}", exported.left_out);
}

#[test]
fn a_table_has_a_row_a_sample_and_nothing_where_nothing_is_known() {
    let mut sample = Sample::imported(Workload::default(), Environment::unknown("a,\"b", None), Origin::default());
    sample.note = Some("=1+1".to_owned());
    let text = text(vec![sample], Format::Csv);
    let rows: Vec<&str> = text.split("\r\n").collect();
    let columns = rows[0].split(',').count();
    assert_eq!(rows[0].split(',').position(|name| name == "elapsed_s"), Some(4));
    assert!(rows[1].starts_with("1,0,1,,,read,sequential,65536,"), "{}", rows[1]);
    assert!(rows[1].contains("\"a,\"\"b\"") && rows[1].ends_with(", =1+1"), "{}", rows[1]);
    // The one comma in quotes is no column.
    assert_eq!(rows[1].split(',').count(), columns + 1);
}

proptest! {
    #[test]
    fn records_come_back_whole(rate in 0.0_f64..1e12, values in proptest::collection::vec(1_u64..1 << 40, 0..30),
                               note in proptest::option::of("\\PC{0,20}"), known in any::<bool>(), seed in any::<u64>()) {
        let workload = Workload { seed, ..Workload::default() };
        let environment = Environment::unknown("x", None);
        let mut sample = if known { Sample::empty(workload, environment) }
            else { Sample::imported(workload, environment, Origin::default()) };
        sample.total.bytes_per_s.0 = rate;
        sample.tell("total.bytes_per_s");
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        sample.total.latency_ns = Latency::of(&histogram);
        sample.latency_histogram.read = Some(histogram);
        sample.note = note;
        let imported = again(vec![sample.clone(), sample.clone()], Format::Jsonl, From::Halfpower);
        prop_assert!(imported.samples == vec![sample.clone(), sample]);
    }

    #[test]
    fn traces_come_back_whole(rate in 1_u32..1_000_000, kib in 1_u64..1025, depth in 1_u32..100, threads in 1_u32..9,
                              buffering in 0_usize..4, clock in 100_u32..100_000, cpu in 0_u32..100_000,
                              size in 0_u64..1 << 40, words in "[a-z ]{0,20}") {
        let kind = ["Y", "H", "S", "N"][buffering];
        let (rate, clock) = (f64::from(rate) / 100.0, f64::from(clock) / 100.0);
        let row = format!("{:.2},{rate:.2},write,{kib},{depth},{kind},{threads},10,{size},{clock:.2},{cpu},7,\
            Tue Mar 28 16:12:45 2000,random {words}", rate * kib as f64 / 1024.0);
        let text = format!("{HEADING}\n{row}");
        let first = import_bytes("again", text.as_bytes(), Some(From::Sqlio)).unwrap().samples;
        let mut second = again(first.clone(), Format::Sqlio, From::Sqlio).samples;
        // A stamp has whole seconds: the end is rounded to them once, and then stays.
        second[0].started_at = first[0].started_at;
        prop_assert!(second == first);
    }

    #[test]
    fn damaged_records_never_panic(at in any::<prop::sample::Index>(), with in "[-0-9a-z\"{},.]{0,8}") {
        let sample = Sample::empty(Workload::default(), Environment::unknown("x", None));
        let mut text = serde_json::to_string(&sample).unwrap();
        let at = at.index(text.len());
        text.replace_range(at..=at, &with);
        let _ = import_bytes("a", text.as_bytes(), Some(From::Halfpower));
    }
}
