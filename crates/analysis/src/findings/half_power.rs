//! The half-power size: the request size that reaches half of the reference (RAP ≥ PAP / 2).
//!
//! The reference is the advertised peak if given, else the measured peak of comparable direct sequential requests. The
//! crossing is interpolated over log2 of the size, where a fixed plus marginal time is nearly straight at half. Sizes outside the
//! measured range are never stated. The interval is a bootstrap over repetitions, those of the peak included; it is missing if
//! it extends beyond the largest size. A [fitted line](crate::models::ServiceTime) stands beside it.
//! Source: Riedel, van Ingen and Gray, "A performance study of sequential I/O on Windows NT 4" (1997); Hockney,
//! "(r∞, n½, s½) measurements on the 2-CPU CRAY X-MP", Parallel Computing 2 (1985).

use super::frame::found;
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::evidence::{Evidence, highest};
use crate::models::Models;
use crate::series::Series;
use crate::statistics::{Interval, bootstrap_of_means, estimate, filled_up};
use crate::wording::{caching, memory_note, named, reaches_storage, sentence};
use halfpower_model::{BytesPerSecond, Finding, FindingCode, Pattern, Quantity, Workload};

const SIZES_MIN: usize = 3;

/// The reference: the advertised peak, or a cell's rate.
#[derive(Clone, Copy)]
struct Reference<'a> {
    bytes_per_s: f64,
    cell: Option<&'a Cell<'a>>,
}

/// Where a curve first reaches a height.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crossing {
    /// At the smallest size or below.
    AtSmallest,
    /// Interpolated; the index of the smallest measured size that reaches it.
    Between { bytes: f64, index: usize },
    /// Above the largest size, if at all.
    Never,
}

pub(super) fn find(evidence: &Evidence<'_>, models: &Models) -> Vec<Finding> {
    evidence
        .by_size
        .iter()
        .filter(|series| series.workload().pattern == Pattern::Sequential && series.cells.len() >= SIZES_MIN)
        .filter_map(|series| Some(half_power(series, reference(evidence, series.workload())?, models)))
        .collect()
}

/// None if no comparable request moved anything.
fn reference<'a>(evidence: &Evidence<'a>, workload: &Workload) -> Option<Reference<'a>> {
    if let Some(bytes_per_s) = evidence.advertised_bytes_per_s {
        return Some(Reference { bytes_per_s, cell: None });
    }
    let is_like_it = |cell: &&&Cell<'_>| are_comparable(cell.workload, workload, Axis::WAYS);
    let all: Vec<_> = evidence.cells.iter().filter(is_like_it).copied().collect();
    let direct: Vec<_> = all.iter().filter(|cell| cell.workload.buffering.is_direct()).copied().collect();
    let storage: Vec<_> = all.iter().filter(|cell| reaches_storage(cell.workload)).copied().collect();
    let candidates = [direct, storage, all].into_iter().find(|cells| !cells.is_empty())?;
    let cell = highest(&candidates, Cell::mean_bytes_per_s)?;
    Some(Reference { bytes_per_s: cell.mean_bytes_per_s(), cell: Some(cell) })
}

impl Reference<'_> {
    fn words(self) -> String {
        let rate = BytesPerSecond(self.bytes_per_s);
        let Some(cell) = self.cell else { return format!("half of the advertised {rate}") };
        let how = format!(", {}", caching(cell.workload));
        let how = if cell.workload.buffering.is_direct() { String::new() } else { how };
        format!("half of the peak ({rate} measured{how})")
    }
}

/// The first upward crossing of `height`, sizes ascending.
fn first_crossing(sizes: &[f64], rates: &[f64], height: f64) -> Crossing {
    match rates.iter().position(|rate| *rate >= height) {
        None => Crossing::Never,
        Some(0) => Crossing::AtSmallest,
        Some(index) => {
            let share = (height - rates[index - 1]) / (rates[index] - rates[index - 1]);
            let (below, above) = (sizes[index - 1].log2(), sizes[index].log2());
            Crossing::Between { bytes: (below + share * (above - below)).exp2(), index }
        }
    }
}

fn half_power(series: &Series<'_>, reference: Reference<'_>, models: &Models) -> Finding {
    let sizes: Vec<f64> = series.cells.iter().map(|cell| cell.workload.request_size.0 as f64).collect();
    let rates: Vec<f64> = series.cells.iter().map(|cell| cell.mean_bytes_per_s()).collect();
    let what = named(series.workload(), &series.circumstances);
    let half = reference.words();
    let size_of = |index: usize| series.cells[index].workload.request_size;
    let (smallest, largest) = (size_of(0), size_of(sizes.len() - 1));
    let (brief, claim, estimates) = match first_crossing(&sizes, &rates, reference.bytes_per_s / 2.0) {
        Crossing::AtSmallest => (
            format!("at or below {smallest}"),
            format!("{what} reach {half} even at {smallest}, the smallest size measured"),
            Vec::new(),
        ),
        Crossing::Between { bytes, index } => {
            let interval = interval(series, reference, &sizes, index);
            let is_open = interval.is_some_and(|interval| interval.high.is_infinite());
            let interval = interval.filter(|_| !is_open).map(|interval| interval.with(bytes));
            let fewest = series.cells.iter().map(|cell| cell.repetitions.len()).min().unwrap_or(0);
            let estimate = estimate(Quantity::RequestSizeBytes, bytes, interval, fewest);
            let unbounded = format!("; the confidence interval extends beyond {largest}");
            let (open, unbounded) = match is_open {
                true => (format!(", CI beyond {largest}"), unbounded),
                false => (String::new(), String::new()),
            };
            let size = size_of(index);
            (
                format!("{size} ({estimate}{open})"),
                format!("{what} reach {half} at {size} (interpolated: {estimate}{unbounded})"),
                vec![estimate],
            )
        }
        Crossing::Never => (
            format!("not reached by {largest}"),
            format!("{what} do not reach {half} even at {largest}, the largest size measured"),
            Vec::new(),
        ),
    };
    let model = models.service_times.iter().find(|model| model.subject == series.subject);
    let fitted = model.map(|model| format!(" {}", model.sentence())).unwrap_or_default();
    let words = [brief, sentence(&claim) + &fitted + memory_note(series.workload())];
    let cells = series.cells.iter().copied().chain(reference.cell);
    found(FindingCode::HalfPower, &series.subject, cells, words, estimates)
}

/// The interval; infinite beyond the largest size. Only the sizes around the crossing, the larger at `index`, and the peak have
/// to be repeated.
fn interval(series: &Series<'_>, reference: Reference<'_>, sizes: &[f64], index: usize) -> Option<Interval> {
    let mut cells: Vec<&Cell<'_>> = series.cells.clone();
    // The peak is resampled with the rest, once if its cell is in the series.
    let peak = reference.cell.map(|peak| {
        cells.iter().position(|cell| cell.number == peak.number).unwrap_or_else(|| {
            cells.push(peak);
            cells.len() - 1
        })
    });
    let counts = |at: usize| at == index || at + 1 == index || Some(at) == peak;
    let fewest = (0..cells.len()).filter(|at| counts(*at)).map(|at| cells[at].bytes_per_s.len()).min()?;
    let of_cell = |(at, cell): (usize, &&Cell<'_>)| match counts(at) {
        true => cell.bytes_per_s.clone(),
        false => filled_up(&cell.bytes_per_s, fewest),
    };
    let repetitions: Vec<Vec<f64>> = cells.iter().enumerate().map(of_cell).collect();
    bootstrap_of_means(&repetitions, |means| {
        let height = peak.map_or(reference.bytes_per_s, |index| means[index]) / 2.0;
        match first_crossing(sizes, &means[..sizes.len()], height) {
            Crossing::AtSmallest => sizes[0],
            Crossing::Between { bytes, .. } => bytes,
            Crossing::Never => f64::INFINITY,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, begins, buffered, deep, ends, hockney, read, says, write};
    use halfpower_model::Bytes;

    const SIZES_KIB: [u64; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

    fn sweep(run: &mut Run, workload: impl Fn(u64) -> Workload, rate: impl Fn(Bytes) -> f64) {
        for kib in SIZES_KIB {
            run.add(workload(kib), &around(rate(Bytes(kib << 10))));
        }
    }

    #[test]
    fn the_crossing_by_hand() {
        let sizes = [1024.0, 4096.0, 16_384.0];
        // A third of the way from 1 to 2 in rate is a third of the way from 2^10 to 2^12.
        let crossing = first_crossing(&sizes, &[1.0, 2.0, 3.0], 4.0 / 3.0);
        let Crossing::Between { bytes, index } = crossing else { panic!("{crossing:?}") };
        assert!((bytes - (10.0_f64 + 2.0 / 3.0).exp2()).abs() < 1e-9 && index == 1);
        assert_eq!(first_crossing(&sizes, &[1.0, 2.0, 3.0], 2.0), Crossing::Between { bytes: 4096.0, index: 1 });
        assert_eq!(first_crossing(&sizes, &[2.0, 1.0, 3.0], 2.0), Crossing::AtSmallest);
        assert_eq!(first_crossing(&sizes, &[1.0, 2.0, 3.0], 3.5), Crossing::Never);
    }

    #[test]
    fn hockneys_half_size_comes_back() {
        // 100 µs per I/O and 1 GB/s at the end: n½ = 100 000 bytes.
        let mut run = Run::default();
        sweep(&mut run, read, |size| hockney(size, 100e-6, 1e9));
        run.advertise(1e9);
        let findings = run.findings(FindingCode::HalfPower);
        let estimate = findings[0].estimates[0];
        assert!((estimate.value / 100_000.0 - 1.0).abs() < 0.02, "{estimate:?}");
        assert!(estimate.low.unwrap() < 100_000.0 && estimate.high.unwrap() > 100_000.0, "{estimate:?}");
        let sentence = &findings[0].sentence;
        begins(
            sentence,
            "Sequential reads (QD1, direct) reach half of the advertised 1 GB/s at 128 KiB (interpolated: 97",
        );
        begins(&findings[0].brief, "128 KiB (97");
        assert_eq!(findings[0].samples.len(), 50);
    }

    #[test]
    fn without_an_advertised_peak_the_measured_one_counts() {
        let mut run = Run::default();
        sweep(&mut run, read, |size| hockney(size, 100e-6, 1e9));
        sweep(&mut run, |kib| deep(8, read(kib)), |size| hockney(size, 12.5e-6, 1e9));
        sweep(&mut run, |kib| buffered(read(kib)), |_| 3e9);
        let findings = run.findings(FindingCode::HalfPower);
        // The peak is 1 MiB, QD8: n / (n + 12 500) GB/s, 0.98822; half of it is at n½ × p / (1 - p) of p = 0.49411.
        let half = 100_000.0 * 0.494_11 / 0.505_89;
        assert!((findings[0].estimates[0].value / half - 1.0).abs() < 0.02, "{:?}", findings[0]);
        says(&findings[0].sentence, "half of the peak (988 MB/s measured)");
        assert_eq!(findings[0].samples.len(), 55, "the peak's samples are part of the evidence");
        assert!(findings[2].sentence.contains("even at 2 KiB, the smallest size measured"));
        assert_eq!((findings[2].brief.as_str(), findings[2].estimates.len()), ("at or below 2 KiB", 0));
    }

    #[test]
    fn half_is_taken_of_a_peak_of_the_same_kind() {
        let mirrored = |kib| Workload { layout: "mirror".parse().unwrap(), targets: 2, ..read(kib) };
        let mut run = Run::default();
        sweep(&mut run, read, |size| hockney(size, 100e-6, 1e9));
        sweep(&mut run, mirrored, |size| hockney(size, 100e-6, 1e9));
        let alone = run.findings(FindingCode::HalfPower)[0].estimates[0];
        // Faster, deeper and of the mirror: the peak of the mirror alone.
        run.add(deep(8, mirrored(1024)), &around(1.9e9));
        let findings = run.findings(FindingCode::HalfPower);
        assert_eq!(findings[0].estimates[0], alone);
        ends(&findings[0].subject, "direct, layout each, targets 1");
        ends(&findings[1].subject, "direct, layout mirror=round_robin, targets 2");
        says(&findings[1].sentence, "half of the peak (1.9 GB/s measured)");
        assert_eq!((findings[0].samples.len(), findings[1].samples.len()), (50, 55));
    }

    #[test]
    fn a_peak_out_of_reach_is_said_to_be() {
        let mut run = Run::default();
        sweep(&mut run, write, |size| hockney(size, 100e-6, 1e9) / 10.0);
        run.advertise(1e9);
        let findings = run.findings(FindingCode::HalfPower);
        let words = "Sequential writes (QD1, direct) do not reach half of the advertised 1 GB/s even at 1 MiB, the largest size measured. Fitted model: a request takes 1 ms ± 0.1 % plus its bytes at 100 MB/s ± 0.1 %, half of that rate at 97.7 KiB ± 0.1 % (0.01 % off on average).";
        assert_eq!(findings[0].sentence, words);
        assert_eq!((findings[0].brief.as_str(), findings[0].estimates.len()), ("not reached by 1 MiB", 0));
    }

    #[test]
    fn buffered_only_says_so() {
        let mut run = Run::default();
        sweep(&mut run, |kib| buffered(read(kib)), |size| hockney(size, 10e-6, 1e9));
        says(&run.findings(FindingCode::HalfPower)[0].sentence, "(991 MB/s measured, buffered)");
    }

    #[test]
    fn one_repetition_has_no_interval_and_two_sizes_no_finding() {
        let mut run = Run::of([4, 64, 1024].map(|kib| (read(kib), [hockney(Bytes(kib << 10), 100e-6, 1e9)])));
        let estimate = run.findings(FindingCode::HalfPower)[0].estimates[0];
        assert_eq!((estimate.low, estimate.high, estimate.repetitions), (None, None, 1));
        run.samples.pop();
        assert_eq!(run.findings(FindingCode::HalfPower), []);
        let mut still = Run::default();
        sweep(&mut still, read, |_| 0.0);
        assert_eq!(still.findings(FindingCode::HalfPower), [], "half of nothing");
    }

    #[test]
    fn an_interval_beyond_the_largest_size_is_not_given() {
        let mut run = Run::default();
        for (kib, rates) in [(4, [1e8; 4]), (64, [2e8; 4]), (1024, [3e8, 3e8, 7.5e8, 7.5e8])] {
            run.add(read(kib), &rates);
        }
        run.advertise(1e9);
        let finding = &run.findings(FindingCode::HalfPower)[0];
        let estimate = finding.estimates[0];
        assert_eq!((estimate.low, estimate.high), (None, None), "five of sixteen resamples never get there");
        let sentence = &finding.sentence;
        says(sentence, "the confidence interval extends beyond 1 MiB). No model of fixed time");
        ends(&finding.brief, ", CI beyond 1 MiB)");
    }
}
