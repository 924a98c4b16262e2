//! The highest throughput, or IOPS of random requests, over sizes, depths and workers.
//!
//! The maximum of several means is biased slightly upwards. A single cell has no peak.

use super::frame::found;
use crate::comparable::{Axis, bare};
use crate::evidence::{Evidence, best};
use crate::series::Series;
use crate::summary::CellSummary;
use crate::wording::{named, noted, place, reaches_storage};
use halfpower_model::{BytesPerSecond, Finding, FindingCode, Pattern, Settings, Workload};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.by_load(2, |_| true).iter().filter_map(|group| peak(evidence, group)).collect()
}

fn peak(evidence: &Evidence<'_>, group: &Series<'_>) -> Option<Finding> {
    let (cell, estimate) = best(&group.cells)?;
    let workload = cell.workload;
    let is_advertised = workload.pattern == Pattern::Sequential && reaches_storage(workload);
    let advertised = evidence
        .advertised_bytes_per_s
        .filter(|_| is_advertised)
        .map(|rate| format!(", {:.0} % of the advertised {}", 100.0 * estimate.value / rate, BytesPerSecond(rate)));
    let claim = format!(
        "{} peak at {estimate} with {} requests at {}{}{}",
        named(workload, &group.circumstances),
        workload.request_size,
        crate::wording::depth(workload),
        cell.not_flushed(),
        advertised.unwrap_or_default(),
    );
    let brief = format!("{estimate} ({}{})", place(workload), cell.not_flushed());
    Some(found(FindingCode::Peak, &group.subject, [cell], [brief, noted(workload, &claim)], vec![estimate]))
}

/// The first peak, or the highest of the same requests under other machine settings.
pub fn first_peak<'a>(findings: &'a [Finding], cells: &[CellSummary]) -> Option<&'a Finding> {
    let on_any_machine = |finding: &Finding| {
        let cell = cells.iter().find(|cell| finding.samples.iter().any(|sample| cell.samples.contains(sample)))?;
        Some(Workload { set: Settings::default(), targets: 0, ..bare(&cell.workload, Axis::LOAD) })
    };
    let value = |finding: &Finding| finding.estimates.first().map_or(0.0, |estimate| estimate.value);
    let mut peaks = findings.iter().filter(|finding| finding.code == FindingCode::Peak);
    let first = peaks.next()?;
    let Some(kind) = on_any_machine(first) else { return Some(first) };
    let others = peaks.filter(|finding| on_any_machine(finding).as_ref() == Some(&kind));
    Some(others.fold(first, |highest, other| if value(other) > value(highest) { other } else { highest }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, flushed, random, read, write};
    use halfpower_model::sample::{IN_WRITE_CACHE, Warning};
    use halfpower_model::{Bytes, FileState, Layout, Reach, Workload};

    #[test]
    fn what_a_write_cache_may_have_kept_is_reported() {
        let mut run = Run::of([4, 64, 1024].map(|kib| (write(kib), around(1e6 * kib as f64))));
        let briefs = |run: &Run| {
            let findings = crate::analyse(&run.observed()).findings;
            let is_it = |finding: &&Finding| finding.code == FindingCode::Peak;
            findings.iter().filter(is_it).map(|finding| finding.sentence.clone()).collect::<Vec<_>>()
        };
        assert!(briefs(&run).iter().all(|sentence| !sentence.contains("flushed")));
        for placed in &mut run.samples {
            placed.sample.warnings.push(Warning::new(IN_WRITE_CACHE, String::new(), String::new()));
        }
        assert_eq!(
            briefs(&run),
            ["Sequential writes (direct) peak at 1.02 GB/s ± 2 % with 1 MiB requests at QD1, not flushed.",]
        );
    }

    #[test]
    fn the_highest_mean_is_the_peak_of_its_kind() {
        let mut run = Run::default();
        run.add(read(64), &around(1.2e9));
        run.add(deep(8, read(1024)), &around(1.6e9));
        run.add(buffered(read(64)), &around(2.0e9));
        run.add(buffered(read(1024)), &around(1.9e9));
        run.add(random(read(4)), &around(40.96e6));
        run.add(deep(32, random(read(4))), &around(409.6e6));
        let peaks = run.findings(FindingCode::Peak);
        let sentences: Vec<_> = peaks.iter().map(|finding| finding.sentence.as_str()).collect();
        assert_eq!(
            sentences,
            [
                "Sequential reads (direct) peak at 1.6 GB/s ± 2 % with 1 MiB requests at QD8.",
                "Sequential reads (buffered) peak at 2 GB/s ± 2 % with 64 KiB requests at QD1.",
                "Random reads (direct) peak at 100\u{202f}000 IOPS ± 2 % with 4 KiB requests at QD32.",
            ]
        );
        run.samples.retain(|placed| [0, 4].contains(&placed.cell));
        run.add(random(write(4)), &[0.0, 0.0]);
        run.add(deep(2, random(write(4))), &[0.0, 0.0]);
        assert_eq!(
            run.findings(FindingCode::Peak),
            [],
            "one cell of a kind has no peak, nor have two without throughput"
        );
        assert_eq!((peaks[0].brief.as_str(), peaks[0].reach), ("1.6 GB/s ± 2 % (1 MiB, QD8)", Reach::Storage));
        assert_eq!(peaks[0].samples, [105, 106, 107, 108, 109]);
        assert_eq!((peaks[0].estimates.len(), peaks[0].estimates[0].repetitions), (1, 5));
    }

    #[test]
    fn a_peak_is_held_against_what_was_advertised() {
        let mut run = Run::default();
        run.add(write(64), &[1.0e9]);
        run.add(write(1024), &[1.5e9]);
        run.add(buffered(write(64)), &[8.0e9]);
        run.add(buffered(write(1024)), &[9.0e9]);
        run.add(flushed(buffered(write(64))), &[1.0e9]);
        run.add(flushed(buffered(write(1024))), &[1.2e9]);
        run.advertise(2.0e9);
        assert_eq!(run.findings(FindingCode::Peak)[2].reach, Reach::Memory);
        let sentences = run.sentences(FindingCode::Peak);
        assert_eq!(
            sentences,
            [
                "Sequential writes (direct) peak at 1.5 GB/s with 1 MiB requests at QD1, 75 % of the advertised 2 GB/s.",
                "Sequential writes (buffered, flushed) peak at 1.2 GB/s with 1 MiB requests at QD1, 60 % of the advertised 2 GB/s.",
                "Sequential writes (buffered) peak at 9 GB/s with 1 MiB requests at QD1. Not flushed: this is memory speed, not storage speed.",
            ]
        );
    }

    #[test]
    fn cells_of_another_kind_make_a_peak_of_their_own() {
        let appended = |kib| Workload { file_state: FileState::Append, ..write(kib) };
        let striped = Workload { layout: Layout::Stripe { chunk: Bytes(65_536) }, targets: 2, ..write(1024) };
        let cells = [(write(64), [1.0e9]), (write(1024), [1.5e9]), (appended(64), [0.2e9]), (appended(1024), [0.3e9])];
        let mut run = Run::of(cells);
        // The fastest of all, and alone with its layout.
        run.add(striped, &[3e9]);
        assert_eq!(
            run.sentences(FindingCode::Peak),
            [
                "Sequential writes (direct, written) peak at 1.5 GB/s with 1 MiB requests at QD1.",
                "Sequential writes (direct, new file) peak at 300 MB/s with 1 MiB requests at QD1.",
            ]
        );
        assert_eq!(run.findings(FindingCode::Peak)[1].subject, "sequential write, direct, new file");
    }

    #[test]
    fn of_a_machine_with_several_settings_the_best_is_reported_first() {
        let set = |disks: &str, workload| Workload { set: disks.parse().unwrap(), ..workload };
        let mut run = Run::default();
        for (disks, rate) in [("disks=1", 25e6), ("disks=4", 90e6), ("disks=2", 50e6)] {
            run.add(set(disks, read(64)), &[rate]);
            run.add(Workload { span: Bytes(1 << 31), ..set(disks, read(1024)) }, &[rate * 0.9]);
            run.add(Workload { span: Bytes(1 << 31), ..set(disks, deep(8, read(1024))) }, &[rate * 0.8]);
        }
        // Others are of other requests, however fast.
        run.add(set("disks=4", write(64)), &[3e9]);
        run.add(set("disks=4", write(1024)), &[4e9]);
        let analysis = crate::analyse(&run.observed());
        let first = first_peak(&analysis.findings, &analysis.cells).unwrap();
        assert!(first.subject.ends_with("set disks=4") && first.brief.starts_with("81 MB/s"), "{first:?}");
        assert_eq!(first_peak(&[], &analysis.cells), None);
    }
}
