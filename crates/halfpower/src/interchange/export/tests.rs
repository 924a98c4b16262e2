//! Exports that are imported again are the same.

use super::*;
use crate::interchange::import::sqlio::HEADING;
use crate::interchange::import::{Format as From, Imported, import_bytes};
use halfpower_model::histogram::bucket_of;
use halfpower_model::sample::{CpuTime, Failure, Latency, Totals};
use halfpower_model::workload::Mix;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, Environment, Histogram, Operation, Origin, Pattern, Personality, RequestKind,
    Sample, Workload,
};
use proptest::prelude::*;

fn stored(samples: Vec<Sample>) -> Vec<StoredSample> {
    let store = |(id, sample)| StoredSample { id, cell: 0, block: id as u32, sample };
    (1..).zip(samples).map(store).collect()
}

fn written(samples: Vec<Sample>, format: Format) -> String {
    String::from_utf8(export(&stored(samples), format).unwrap().content).unwrap()
}

fn again(samples: Vec<Sample>, format: Format, from: From) -> Imported {
    import_bytes("again", &export(&stored(samples), format).unwrap().content, Some(from)).unwrap()
}

#[test]
fn rows_of_a_trace_are_the_same_rows_again() {
    let text = format!(
        "{HEADING}\n\
         0.52,66.97,read,8,1,H,1,120,24576000,120.01,16,234,Fri Mar 10 23:27:08 2000,DMA random unbuffered\n\
         2.50,319.93,write,8,1,Y,1,120,0,120.09,266,70094,Fri Mar 10 23:10:11 2000,random buffered\n\
         0.69,22.23,read,32,99,S,8,10,24000,100.00,0,7,Tue Mar 28 16:12:45 2000,sequential\n\
         1000.00,1000.00,write,1024,2,N,1,10,1,1.00,0,0,Tue Mar 28 16:12:45 2000,random\n"
    );
    let samples = import_bytes("trace", text.as_bytes(), None).unwrap().samples;
    assert_eq!(written(samples, Format::Sqlio), text);
}

#[test]
fn what_a_trace_cannot_say_is_left_out_with_the_reason() {
    let whole = Sample::empty(Workload::default(), Environment::unknown("a", None));
    let failed = Sample { failure: Some(Failure { code: "EIO".into(), message: String::new() }), ..whole.clone() };
    let unknown = Sample::imported(Workload::default(), Environment::unknown("a", None), Origin::default());
    let odd = Sample { workload: Workload { request_size: Bytes(1500), ..Workload::default() }, ..whole.clone() };
    let exported = export(&stored(vec![whole, failed, unknown, odd]), Format::Sqlio).unwrap();
    assert_eq!((str::from_utf8(&exported.content).unwrap().lines().count(), exported.left_out.len()), (2, 3));
    assert!(exported.left_out[0].contains("sample 2: it failed"), "{:?}", exported.left_out);
}

#[test]
fn of_fio_s_form_a_folder_has_a_file_a_sample() {
    let place = |cell, block, sample| StoredSample { id: 1, cell, block, sample };
    let warm = Sample { workload: Workload { seed: 9, ..plain(8, 4096).workload }, ..plain(8, 4096) };
    let stored =
        [place(0, 0, plain(8, 4096)), place(0, 1, plain(8, 4096)), place(1, 0, plain(1, 65536)), place(2, 0, warm)];
    let (files, left_out) = fio_files(&stored);
    let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    let expected = [
        "4KiB-direct/repetition-1/randread-8-1.json",
        "4KiB-direct/repetition-2/randread-8-1.json",
        "64KiB-direct/repetition-1/randread-1-1.json",
        "4KiB-direct-2/repetition-1/randread-8-1.json",
    ];
    assert_eq!((names, left_out.len()), (expected.to_vec(), 0));
    let document: serde_json::Value = serde_json::from_str(&files[0].1).unwrap();
    let job = &document["jobs"][0];
    // What fio-plot looks up.
    for path in ["/latency_ms/>=2000", "/latency_us/750", "/latency_ns/2", "/usr_cpu", "/sys_cpu", "/read/iops_stddev"]
    {
        assert!(job.pointer(path).is_some(), "{path}");
    }
    assert_eq!((&job["latency_ns"]["10"], &job["read"]["lat_ns"]["mean"]), (&100.0.into(), &5.0.into()));
}

#[test]
fn open_metrics_have_whole_octaves_and_an_end() {
    let mut sample = Sample::empty(Workload::default(), Environment::unknown("a\"b\\", None));
    let mut histogram = Histogram::default();
    [3, 4, 100].into_iter().for_each(|value| histogram.record(value));
    sample.latency_histogram.read = Some(histogram);
    let text = written(vec![sample], Format::Openmetrics);
    let buckets: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(",le=\"")?.1.split_once("\"} "))
        .map(|(end, rest)| (end, rest.split(' ').next().unwrap()))
        .collect();
    let expected = [("0.000000003", "1"), ("0.000000007", "2"), ("0.000000127", "3"), ("+Inf", "3")];
    assert!(expected.iter().all(|bucket| buckets.contains(bucket)) && buckets.len() == 7, "{buckets:?}");
    assert!(text.contains("target=\"a\\\"b\\\\\"") && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn a_table_has_a_row_a_sample_and_nothing_where_nothing_is_known() {
    let mut sample = Sample::imported(Workload::default(), Environment::unknown("a,\"b", None), Origin::default());
    sample.note = Some("=1+1".to_owned());
    let text = written(vec![sample], Format::Csv);
    let rows: Vec<&str> = text.split("\r\n").collect();
    let columns = rows[0].split(',').count();
    assert_eq!(rows[0].split(',').position(|name| name == "elapsed_s"), Some(4));
    assert!(rows[1].starts_with("1,0,1,,,read,sequential,65536,"), "{}", rows[1]);
    assert!(rows[1].contains("\"a,\"\"b\"") && rows[1].ends_with(", =1+1"), "{}", rows[1]);
    // The one comma in quotes is no column.
    assert_eq!(rows[1].split(',').count(), columns + 1);
}

#[test]
fn what_is_set_of_a_simulated_machine_is_in_every_form() {
    let plain = plain(1, 4096);
    let set = Workload { set: "disks=8,pci.rate=533MB/s".parse().unwrap(), ..plain.workload.clone() };
    let samples = [plain.clone(), Sample { workload: set, ..plain }];
    for (format, said) in [
        (Format::Csv, ",\"disks=8,pci.rate=533MB/s\","),
        (Format::Jsonl, "\"set\":\"disks=8,pci.rate=533MB/s\""),
        (Format::Openmetrics, ",set=\"disks=8,pci.rate=533MB/s\","),
        (Format::Sqlio, ",random disks=8 pci.rate=533MB/s\n"),
        (Format::Hdr, ", set disks=8,pci.rate=533MB/s]\n"),
        (Format::Fio, "\"desc\": \"set disks=8,pci.rate=533MB/s\""),
    ] {
        let [without, with] = [&samples[..1], &samples[1..]].map(|samples| written(samples.to_vec(), format));
        assert!(with.contains(said) && !without.contains("disks=8"), "{format:?}: {with}");
        assert!(!without.contains("set=") && !without.contains(", set"), "{format:?}: {without}");
    }
}

/// Pattern, buffering and personality.
type Access = (Pattern, Buffering, Personality);

/// A sample of our own with figures that belong together, of these latencies, by request size, depth and workers.
fn sample(operation: Operation, access: Access, numbers: (u64, u32, u32), values: &[u64], elapsed_s: f64) -> Sample {
    let ((pattern, buffering, personality), (request_size, depth, workers)) = (access, numbers);
    let workload = Workload {
        operation,
        request_size: Bytes(request_size),
        span: Bytes(1 << 30),
        pattern,
        buffering,
        personality,
        depth,
        workers,
        ..Workload::default()
    };
    let mut sample = Sample::empty(workload, Environment::unknown("/dev/sd:a", None));
    sample.elapsed_s = elapsed_s;
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Trim];
    let kinds: Vec<RequestKind> = kinds.into_iter().filter(|kind| operation.has(*kind)).collect();
    for (number, kind) in kinds.iter().enumerate() {
        let mut histogram = Histogram::default();
        values.iter().skip(number).step_by(kinds.len()).for_each(|value| histogram.record(*value));
        let totals = totals(&histogram, request_size, elapsed_s);
        let histograms = &mut sample.latency_histogram;
        match kind {
            RequestKind::Read => (sample.read, histograms.read) = (Some(totals), Some(histogram)),
            RequestKind::Write => (sample.write, histograms.write) = (Some(totals), Some(histogram)),
            _ => (sample.trim, histograms.trim) = (Some(totals.into()), Some(histogram)),
        }
    }
    sample.total = totals(&sample.latency_histogram.total(), request_size, elapsed_s);
    sample
}

/// Random reads, one of 5 ns.
fn plain(depth: u32, request_size: u64) -> Sample {
    let access = (Pattern::Random, Buffering::Direct, Personality::Libaio);
    sample(Operation::Read, access, (request_size, depth, 1), &[5], 1.0)
}

fn made() -> impl Strategy<Value = Sample> {
    let mix = Mix::of_reads(70).unwrap();
    let operations = [Operation::Read, Operation::Write, Operation::Trim, Operation::Mix(mix)];
    let access = (
        prop::sample::select(vec![Pattern::Sequential, Pattern::Random, "zipf=0.9".parse().unwrap()]),
        prop::sample::select(Buffering::ALL.to_vec()),
        prop::sample::select(vec![Personality::Libaio, Personality::IoUring, Personality::Null, Personality::Sg]),
    );
    let numbers = (1_u64..1 << 21, 1_u32..1025, 1_u32..65);
    let values = prop::collection::vec(1_u64..1 << 36, 1..200);
    let note = prop::option::of("[ =+@-]{0,2}\\PC{0,20}[\"\n,]?[a-z]?");
    (prop::sample::select(operations.to_vec()), access, numbers, values, 1_u32..1_000_000, 0.0..1e3, note).prop_map(
        |(operation, access, numbers, values, elapsed_ms, cpu_s, note)| {
            let mut sample = sample(operation, access, numbers, &values, f64::from(elapsed_ms) / 1e3);
            sample.cpu.lower = CpuTime { user_s: cpu_s, system_s: cpu_s * 2.0 };
            Sample { note, ..sample }
        },
    )
}

/// The same, measured at some time; an imported one that does not tell when, where that is not known.
fn timed(mut sample: Sample, known: bool) -> Sample {
    sample.started_at = jiff::Timestamp::new(1_700_000_000 + (sample.elapsed_s * 1e3) as i64, 123_456_789).unwrap();
    if !known {
        let origin = Origin { unknown: ["started_at"].into_iter().collect(), ..Origin::default() };
        sample.origin = Some(origin.into());
    }
    sample
}

fn totals(histogram: &Histogram, request_size: u64, elapsed_s: f64) -> Totals {
    let (requests, bytes) = (histogram.count(), histogram.count() * request_size);
    Totals {
        requests,
        bytes,
        requests_per_s: requests as f64 / elapsed_s,
        bytes_per_s: BytesPerSecond(bytes as f64 / elapsed_s),
        latency_ns: Latency::of(histogram),
        ..Totals::default()
    }
}

/// The same up to the resolution of fio's form: whole bytes per second, and the last digits of a mean.
fn alike(one: &Totals, other: &Totals) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs();
    let percentiles = |totals: &Totals| {
        let latency = totals.latency_ns;
        [latency.min, latency.p50, latency.p90, latency.p95, latency.p99, latency.p99_9, latency.p99_99, latency.max]
    };
    let mean = |totals: &Totals| totals.latency_ns.mean.unwrap_or_default();
    (one.requests, one.bytes, percentiles(one)) == (other.requests, other.bytes, percentiles(other))
        && near(one.requests_per_s, other.requests_per_s)
        && (one.bytes_per_s.0 - other.bytes_per_s.0).abs() <= 0.5 + 1e-9 * one.bytes_per_s.0
        && near(mean(one), mean(other))
}

proptest! {
    #[test]
    fn fio_s_form_keeps_rates_counts_and_percentiles(sample in made()) {
        let back = again(vec![sample.clone()], Format::Fio, From::Fio).samples.remove(0);
        let named = |of: &Workload| {
            (of.operation, of.pattern, of.request_size, of.depth, of.workers, of.buffering, of.personality, of.span)
        };
        prop_assert_eq!(named(&back.workload), named(&sample.workload));
        prop_assert_eq!(back.elapsed_s, sample.elapsed_s);
        prop_assert!(alike(&back.total, &sample.total), "{:?} {:?}", back.total, sample.total);
        let parts = |of: &'_ Sample| [of.read.clone(), of.write.clone(), of.trim.as_deref().cloned()];
        for (back, sample) in parts(&back).iter().zip(&parts(&sample)) {
            // Of a kind that came to no request, fio's form has none.
            let sample = sample.as_ref().filter(|totals| totals.requests > 0);
            prop_assert!(back.is_some() == sample.is_some());
            prop_assert!(back.iter().zip(sample).all(|(back, sample)| alike(back, sample)), "{:?} {:?}", back, sample);
        }
        let bins = |of: &Sample| of.latency_histogram.total().bins().collect::<Vec<_>>();
        prop_assert_eq!(bins(&back), bins(&sample));
        let (cpu, own) = (back.cpu.lower, sample.cpu.lower);
        prop_assert!((cpu.user_s - own.user_s).abs() + (cpu.system_s - own.system_s).abs() < 1e-9 * (1.0 + own.user_s));
        prop_assert_eq!(&back.environment.target.path, &sample.environment.target.path);
    }

    #[test]
    fn a_log_of_hdr_histogram_keeps_every_bucket(made in prop::collection::vec(made(), 1..4), known in any::<bool>()) {
        let samples: Vec<Sample> = made.into_iter().map(|sample| timed(sample, known)).collect();
        let back = again(samples.clone(), Format::Hdr, From::Hdr).samples;
        prop_assert_eq!(back.len(), samples.len());
        for (back, sample) in back.iter().zip(&samples) {
            let kinds = |of: &Sample| {
                let histograms = &of.latency_histogram;
                [&histograms.read, &histograms.write, &histograms.trim].map(|histogram| {
                    let full = histogram.as_ref().filter(|histogram| histogram.count() > 0)?;
                    Some((full.bins().collect::<Vec<_>>(), full.max()))
                })
            };
            prop_assert_eq!(kinds(back), kinds(sample));
            // Within its bucket: the smallest value, which bounds percentiles, is not kept.
            let median = |of: &Sample| of.total.latency_ns.p50.map(bucket_of);
            prop_assert_eq!(median(back), median(sample));
            prop_assert!((back.elapsed_s - sample.elapsed_s).abs() <= 1e-6);
            prop_assert_eq!(back.is_known("started_at"), known);
            prop_assert!(!known || (back.started_at - sample.started_at).total(jiff::Unit::Second)?.abs() <= 1e-5);
            prop_assert_eq!(back.total.latency_ns.max, sample.total.latency_ns.max);
            // What the form has not is not there.
            prop_assert!(!back.workload.is_known("operation") && !back.is_known("total.requests") && !back.is_known("cpu.lower"));
        }
        // A second export loses nothing more.
        let histograms = |samples| {
            let log = written(samples, Format::Hdr);
            let lines = log.lines().filter(|line| !line.starts_with('#'));
            lines.filter_map(|line| line.rsplit(',').next().map(str::to_owned)).collect::<Vec<_>>()
        };
        prop_assert_eq!(histograms(back), histograms(samples));
    }

    #[test]
    fn records_come_back_whole(rate in 0.0_f64..1e12, values in proptest::collection::vec(1_u64..1 << 40, 0..30),
                               note in proptest::option::of("\\PC{0,20}"), known in any::<bool>(), seed in any::<u64>()) {
        let workload = Workload { seed, ..Workload::default() };
        let environment = Environment::unknown("x", None);
        let mut sample = if known { Sample::empty(workload, environment) }
            else { Sample::imported(workload, environment, Origin::default()) };
        sample.total.bytes_per_s.0 = rate;
        sample.mark_known("total.bytes_per_s");
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        sample.total.latency_ns = Latency::of(&histogram);
        sample.latency_histogram.read = Some(histogram);
        sample.note = note;
        let imported = again(vec![sample.clone(), sample.clone()], Format::Jsonl, From::Halfpower);
        prop_assert!(imported.samples == vec![sample.clone(), sample]);
    }
}
