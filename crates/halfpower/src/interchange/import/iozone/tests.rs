//! Excerpts of the output in the kernel report of January 2008 (2.6.24-rc8, parallel writers), and some made to be wrong.

use super::*;
use crate::interchange::import::import_bytes;
use halfpower_model::{BytesPerSecond, FileState, Pattern, WorkerKind};

/// Two writers of the report, buffered, flush and close in the timing; shortened.
const TWO_WRITERS: &str = include_str!("../seeds/iozone/throughput.txt");
/// The form of `-R`, with made-up figures.
const TABLES: &str = include_str!("../seeds/iozone/tables.txt");

fn imported(text: &str) -> crate::interchange::import::Imported {
    import_bytes("rc8.txt", text.as_bytes(), None).unwrap()
}

#[test]
fn parallel_writers_keep_what_children_and_parent_see() {
    let imported = imported(TWO_WRITERS);
    assert_eq!(imported.format, Format::Iozone);
    let [first, again] = &imported.samples[..] else { panic!("{imported:?}") };
    let kib = |kib: f64| BytesPerSecond(kib * 1024.0);
    assert_eq!(first.total.bytes_per_s, kib(9461.15));
    assert!((first.total.requests_per_s - 9461.15 / 1024.0).abs() < 1e-9);
    let parallel = first.parallel.unwrap();
    assert_eq!(
        (parallel.sum_bytes_per_s, parallel.parent_bytes_per_s, parallel.min_bytes_per_s),
        (kib(9461.15), kib(9455.69), kib(4726.85))
    );
    assert_eq!((parallel.max_bytes_per_s, parallel.mean_bytes_per_s), (kib(4734.29), kib(4730.57)));
    let workload = &first.workload;
    assert_eq!(
        (workload.workers, workload.worker_kind, workload.request_size),
        (2, WorkerKind::Process, Bytes(1 << 20))
    );
    assert_eq!((workload.durability, workload.closing), (Durability::FlushAtEnd, Closing::Timed));
    assert_eq!((workload.file_state, again.workload.file_state), (FileState::Append, FileState::Written));
    assert_eq!((workload.buffering, workload.span, workload.targets), (Buffering::Buffered, Bytes(1_536_000 << 10), 2));
    assert_eq!(first.environment.more_targets[0].path, "/scratch/X2");
    assert_eq!(first.started_at.to_string(), "2008-01-23T14:56:41Z");
    let origin = first.origin.as_ref().unwrap();
    assert_eq!((origin.line, origin.version.as_deref()), (Some(15), Some("3.283")));
    for unknown in ["elapsed_s", "total.requests", "total.bytes", "parallel.bytes_at_first_finish", "cpu.lower"] {
        assert!(!first.tells(unknown), "{unknown}");
    }
    assert!(first.tells("parallel.mean_bytes_per_s") && !again.tells("parallel.mean_bytes_per_s"));
}

#[test]
fn output_that_breaks_off_is_told() {
    let is_told = |text: &str| imported(text).warnings.iter().any(|warning| warning.code == "cut_short");
    let cut = TWO_WRITERS.split("Min xfer = 1536000").next().unwrap();
    assert!(is_told(cut) && is_told(&format!("{cut}\n{TWO_WRITERS}")));
    assert!(!is_told(TWO_WRITERS) && !is_told(TABLES));
}

#[test]
fn direct_and_synchronous_writers_are_told() {
    let buffering = |line: &str| {
        let text = TWO_WRITERS.replace("Output is in", &format!("{line}\nOutput is in"));
        imported(&text).samples[0].workload.buffering
    };
    assert_eq!(buffering("O_DIRECT feature enabled"), Buffering::Direct);
    assert_eq!(buffering("SYNC Mode. "), Buffering::Through);
}

#[test]
fn a_second_call_in_a_file_begins_anew() {
    let direct = TWO_WRITERS.replace("Output is in", "O_DIRECT feature enabled\nOutput is in");
    let imported = imported(&format!("{direct}{TWO_WRITERS}"));
    let buffering: Vec<_> = imported.samples.iter().map(|sample| sample.workload.buffering).collect();
    assert_eq!(buffering, [Buffering::Direct, Buffering::Direct, Buffering::Buffered, Buffering::Buffered]);
}

#[test]
fn operations_a_second_are_requests() {
    let text = TWO_WRITERS.replace("KB/sec", "ops/sec").replace("9461.15", "9.25");
    let total = &imported(&text).samples[0].total;
    assert_eq!((total.requests_per_s, total.bytes_per_s), (9.25, BytesPerSecond(9.25 * 1048576.0)));
}

#[test]
fn tables_have_a_sample_for_each_figure() {
    let imported = imported(TABLES);
    let cells: Vec<_> = imported
        .samples
        .iter()
        .map(|sample| (sample.workload.pattern, sample.workload.span.kib(), sample.workload.request_size.kib()))
        .collect();
    assert_eq!(
        cells,
        [
            (Pattern::Sequential, 64.0, 4.0),
            (Pattern::Sequential, 64.0, 8.0),
            (Pattern::Sequential, 64.0, 16.0),
            (Pattern::Sequential, 128.0, 8.0),
            (Pattern::Random, 64.0, 4.0),
            (Pattern::Random, 64.0, 8.0),
        ]
    );
    assert_eq!(imported.samples[3].total.bytes_per_s, BytesPerSecond(2500.0 * 1024.0));
    assert_eq!(imported.warnings.iter().filter(|warning| warning.code == "test_left_out").count(), 1);
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, message) in [
        (TWO_WRITERS.replace("9461.15", "many"), "rc8.txt:15: `Children see"),
        (TWO_WRITERS.replace("4726.85", "NaN"), "rc8.txt:17: `Min throughput"),
        (TABLES.replace("2000", "2x"), "rc8.txt:6: column 3: no figure"),
        (TABLES.replace("4000", "4000 5"), "rc8.txt:6: column 5: no record size"),
        (TABLES.replace("\"16\"", "16"), "rc8.txt:5: the record sizes"),
    ] {
        let error = import_bytes("rc8.txt", text.as_bytes(), None).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_test_with_a_name_as_long_as_a_line_makes_no_such_message() {
    let text = TWO_WRITERS.replace("2 initial writers", &format!("2 {}", "initial ".repeat(10_000)));
    assert!(imported(&text).warnings.iter().all(|warning| warning.message.len() < 400));
}
