//! Time per request = fixed + bytes / rate over request sizes; half of the rate is reached at fixed × rate.
//!
//! The time is 1 / IOPS at any depth, so the rate is that of the whole queue and comparable with the measured peak, and deeper
//! queues hide some of the fixed time. Latency would count waits behind other requests. At QD1 both agree but for the
//! generator's own time.
//!
//! If two lines with a break (the read-ahead unit, or the size at which requests are split) are
//! [worth it](crate::statistics::Fit::is_worth), both are fitted with a common scatter: at least three sizes on either side.
//! Sources: Hockney, "(r∞, n½, s½) measurements on the 2-CPU CRAY X-MP", Parallel Computing 2 (1985); Fieller, "Some problems
//! in interval estimation", Journal of the Royal Statistical Society B 16 (1954); Schwarz, "Estimating the dimension of a
//! model", Annals of Statistics 6 (1978).

use super::fit::{Curve, Match, curve, fitted, off, over};
use crate::series::Series;
use crate::statistics::{Equation, Fit, least_squares};
use halfpower_model::{Bytes, Estimate, Quantity, Workload};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Per line.
const SIZES_MIN: usize = 3;

/// Time per request against its size.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceTime {
    /// A workload of the series; ignore its request size.
    pub workload: Workload,
    /// Name of the series: `sequential read, QD8, direct`.
    pub subject: String,
    /// One line, or two around a break.
    pub pieces: Vec<Piece>,
    /// Mean error of the time: 0.02 is 2 %.
    pub relative_error: f64,
    /// Whether that is small.
    pub matches: Match,
    /// The cells of the series.
    pub cells: Vec<u32>,
    /// Bytes per second against request size, for each piece.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// A line and its sizes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Piece {
    /// Smallest size.
    pub from: Bytes,
    /// Largest size.
    pub to: Bytes,
    /// Fixed time in ns.
    pub fixed: Estimate,
    /// Rate of endless requests in bytes per second (r∞); none if time does not grow.
    pub rate: Option<Estimate>,
    /// Half-rate size (n½); none without a rate or a significant fixed time, or beyond the measured sizes.
    pub half_size: Option<Estimate>,
}

/// None with fewer than three sizes, or if one has no rate.
pub(super) fn fit(series: &Series<'_>) -> Option<ServiceTime> {
    let sizes: Vec<Bytes> = series.cells.iter().map(|cell| cell.workload.request_size).collect();
    let times_ns: Vec<f64> = series.cells.iter().map(|cell| 1e9 / cell.mean_requests_per_s()).collect();
    if sizes.len() < SIZES_MIN || times_ns.iter().any(|time| !time.is_finite()) {
        return None;
    }
    let (fit, breaks) = best(&sizes, &times_ns)?;
    let repetitions = series.cells.iter().map(|cell| cell.requests_per_s.len()).min()?;
    let ends = breaks.map_or_else(|| vec![(0, sizes.len())], |at| vec![(0, at), (at, sizes.len())]);
    let measured = sizes[0].0 as f64..=sizes[sizes.len() - 1].0 as f64;
    let pieces = ends
        .iter()
        .enumerate()
        .map(|(number, (from, to))| piece(&fit, number, &sizes[*from..*to], &measured, repetitions));
    let of_piece = |(number, (from, to)): (usize, &(usize, usize))| {
        let (fixed_ns, ns_per_byte) = (fit.coefficients[2 * number], fit.coefficients[2 * number + 1]);
        let rate = |bytes: f64| 1e9 * bytes / (fixed_ns + ns_per_byte * bytes);
        curve(sizes[*from].0 as f64, sizes[*to - 1].0 as f64, rate)
    };
    let relative_error = fit.relative_error();
    Some(ServiceTime {
        workload: series.workload().clone(),
        subject: series.subject.clone(),
        pieces: pieces.collect(),
        relative_error,
        matches: Match::of(relative_error),
        cells: series.cells.iter().map(|cell| cell.number).collect(),
        curves: ends.iter().enumerate().map(of_piece).collect(),
    })
}

/// One line, or two with the first size of the second.
fn best(sizes: &[Bytes], times_ns: &[f64]) -> Option<(Fit, Option<usize>)> {
    let line = lines(sizes, times_ns, None)?;
    let places = SIZES_MIN..(sizes.len() + 1).saturating_sub(SIZES_MIN);
    let broken = places.clone().filter_map(|at| Some((lines(sizes, times_ns, Some(at))?, at)));
    let broken = broken.min_by(|(one, _), (other, _)| one.squares_left.total_cmp(&other.squares_left));
    Some(match broken.filter(|(broken, _)| broken.is_worth(&line, places.len())) {
        Some((broken, at)) => (broken, Some(at)),
        None => (line, None),
    })
}

/// Weighted by relative error.
fn lines(sizes: &[Bytes], times_ns: &[f64], break_at: Option<usize>) -> Option<Fit> {
    let equation = |(index, (size, time_ns)): (usize, (&Bytes, &f64))| {
        let line = [1.0, size.0 as f64];
        let terms = match break_at {
            None => line.to_vec(),
            Some(at) if index < at => [line, [0.0; 2]].concat(),
            Some(_) => [[0.0; 2], line].concat(),
        };
        Equation { terms, value: *time_ns, weight: time_ns.powi(-2) }
    };
    least_squares(&sizes.iter().zip(times_ns).enumerate().map(equation).collect::<Vec<_>>())
}

/// One of the lines.
fn piece(fit: &Fit, number: usize, sizes: &[Bytes], measured: &RangeInclusive<f64>, repetitions: usize) -> Piece {
    let (fixed, slope) = (2 * number, 2 * number + 1);
    let only =
        |term: usize| (0..fit.coefficients.len()).map(|one| f64::from(u8::from(one == term))).collect::<Vec<_>>();
    let fixed_ns = fitted(Quantity::Nanoseconds, fit.coefficients[fixed], fit.interval(fixed), repetitions);
    let ns_per_byte = fit.coefficients[slope];
    let rate = (ns_per_byte > 0.0)
        .then(|| fitted(Quantity::BytesPerSecond, 1e9 / ns_per_byte, over(1e9, fit.interval(slope)), repetitions));
    let half = fit.ratio(&only(fixed), &only(slope));
    let half = half.filter(|(bytes, _)| fixed_ns.low.unwrap_or(fixed_ns.value) > 0.0 && measured.contains(bytes));
    Piece {
        from: sizes[0],
        to: sizes[sizes.len() - 1],
        fixed: fixed_ns,
        rate,
        half_size: half.map(|(bytes, interval)| fitted(Quantity::RequestSizeBytes, bytes, interval, repetitions)),
    }
}

impl ServiceTime {
    /// For a legend.
    pub fn law(&self) -> &'static str {
        if self.pieces.len() > 1 { "two linear pieces" } else { "fixed time plus bytes at a rate" }
    }

    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let off = off(self.relative_error);
        match (&self.pieces[..], self.matches) {
            (_, Match::Poor) => {
                format!("No model of fixed time + size/rate fits: the best is {off}.")
            }
            ([line], Match::Good) => {
                let half = line.half_size.map(|half| format!(", half of that rate at {half}")).unwrap_or_default();
                format!("Fitted model: {}{half} ({off}).", line.words("a request"))
            }
            (pieces, Match::Good) => {
                let which = |piece: &Piece| match piece.from == pieces[0].from {
                    true => format!("a request up to {}", piece.to),
                    false => format!("a request of {} or more", piece.from),
                };
                let words: Vec<String> = pieces.iter().map(|piece| piece.words(&which(piece))).collect();
                format!("Fitted model in two pieces: {} ({off}).", words.join("; "))
            }
        }
    }
}

impl Piece {
    fn words(&self, request: &str) -> String {
        match self.rate {
            Some(rate) if self.fixed.low.unwrap_or(self.fixed.value) > 0.0 => {
                format!("{request} takes {} plus its bytes at {rate}", self.fixed)
            }
            Some(rate) => format!("{request} takes its bytes at {rate}, with no measurable fixed time"),
            None => format!("{request} takes {}, independent of size", self.fixed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Normal, Run, around, begins, deep, hockney, read, says};

    const SIZES_KIB: [u64; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

    fn sweep(rate: impl Fn(Bytes) -> f64) -> Run {
        let mut run = Run::default();
        for kib in SIZES_KIB {
            run.add(deep(8, read(kib)), &around(rate(Bytes(kib << 10))));
        }
        run
    }

    fn model(run: &Run) -> ServiceTime {
        analyse(&run.observed()).models.service_times.remove(0)
    }

    #[test]
    fn hockneys_two_numbers_come_back() {
        // 12.5 µs per I/O at 2 GB/s: n½ = 25 000 bytes.
        let model = model(&sweep(|size| hockney(size, 12.5e-6, 2e9)));
        let [line] = model.pieces[..] else { panic!("{model:?}") };
        assert!((line.fixed.value - 12_500.0).abs() < 0.1, "{line:?}");
        assert!((line.rate.unwrap().value - 2e9).abs() < 1e3, "{line:?}");
        assert!((line.half_size.unwrap().value - 25_000.0).abs() < 0.1, "{line:?}");
        assert_eq!((line.from, line.to, model.matches), (Bytes(2048), Bytes(1 << 20), Match::Good));
        let words = "Fitted model: a request takes 12.5 µs ± 0.1 % plus its bytes at 2 GB/s ± 0.1 %, half of that rate at 24.4 KiB ± 0.1 % (0.01 % off on average).";
        assert_eq!(model.sentence(), words);
        let [curve] = &model.curves[..] else { panic!("{:?}", model.curves) };
        assert_eq!((curve[0].0.round(), curve[curve.len() - 1].0.round()), (2048.0, 1_048_576.0));
        let rate = |bytes: f64| bytes / (12.5e-6 + bytes / 2e9);
        assert!(curve.iter().all(|(bytes, found)| (found / rate(*bytes) - 1.0).abs() < 1e-6), "{curve:?}");
    }

    #[test]
    fn three_sizes_by_hand() {
        // 1, 2 and 4 µs at 1, 2 and 3 KiB: with weights 1/t² the line is -10/33 + 14/11 x (see `findings::cpu_cost`).
        let cell = |(kib, us)| (read(kib), around(kib as f64 * 1024.0 / (us * 1e-6)));
        let run = Run::of([(1, 1.0), (2, 2.0), (3, 4.0)].map(cell));
        let line = model(&run).pieces[0];
        assert!((line.fixed.value + 10_000.0 / 33.0).abs() < 1e-6, "{line:?}");
        assert!((line.rate.unwrap().value - 11.0 / 14.0 * 1024e6).abs() < 1.0, "{line:?}");
        assert_eq!(line.half_size, None, "a fixed time below zero has no half of anything");
    }

    #[test]
    fn a_split_at_64_kib_is_found_and_a_line_has_none() {
        // Beyond 64 KiB a request is cut in pieces that go side by side: 60 µs more, at twice the rate.
        let split = |size: Bytes| match size.0 > 65_536 {
            true => hockney(size, 140e-6, 2e9),
            false => hockney(size, 80e-6, 1e9),
        };
        let mut normal = Normal::new(1997);
        let mut noise = || 1.0 + 0.01 * normal.draw();
        let mut run = Run::default();
        for kib in SIZES_KIB {
            run.add(read(kib), &[(); 5].map(|()| split(Bytes(kib << 10)) * noise()));
        }
        let model = model(&run);
        let [small, large] = model.pieces[..] else { panic!("{model:?}") };
        assert_eq!((small.to, large.from), (Bytes(65_536), Bytes(131_072)));
        let holds = |estimate: Estimate, truth| estimate.low.unwrap() < truth && truth < estimate.high.unwrap();
        assert!(holds(small.fixed, 80e3) && holds(large.fixed, 140e3), "{model:?}");
        assert!(holds(small.rate.unwrap(), 1e9) && holds(large.rate.unwrap(), 2e9), "{model:?}");
        assert!(holds(small.half_size.unwrap(), 80e3) && holds(large.half_size.unwrap(), 280e3), "{model:?}");
        let sentence = model.sentence();
        begins(&sentence, "Fitted model in two pieces: a request up to 64 KiB takes ");
        says(&sentence, "; a request of 128 KiB or more takes ");
    }

    #[test]
    fn what_is_no_line_is_said_to_be_none() {
        let model = model(&sweep(|size| if size.0.ilog2() % 2 == 0 { 1e9 } else { 2.5e9 }));
        assert_eq!((model.matches, model.pieces.len()), (Match::Poor, 1));
        assert!(model.sentence().starts_with("No model of fixed time + size/rate fits"), "{}", model.sentence());
    }

    #[test]
    fn half_the_rate_is_held_by_nineteen_intervals_of_twenty() {
        let (mut normal, mut broken, mut held) = (Normal::new(1985), 0, 0);
        for _ in 0..200 {
            let mut run = Run::default();
            for kib in SIZES_KIB {
                let rate = hockney(Bytes(kib << 10), 50e-6, 2e9) * (1.0 + 0.03 * normal.draw());
                run.add(read(kib), &[rate, rate]);
            }
            let observed = run.observed();
            let cells = crate::cells::gather(&observed);
            let series = crate::series::group(&cells, &[crate::comparable::Axis::RequestSize], 1);
            match fit(&series[0]).unwrap().pieces[..] {
                [line] => {
                    let half = line.half_size.unwrap();
                    held += u32::from(half.low.unwrap() <= 1e5 && 1e5 <= half.high.unwrap());
                }
                _ => broken += 1,
            }
        }
        // One in twenty at most, 4.2 % of 20 000, and two deviations of what chance adds in 200.
        assert!(broken <= 16, "{broken} of 200 straight lines");
        let share = f64::from(held) / f64::from(200 - broken);
        assert!((0.92..=0.995).contains(&share), "{held} of {}", 200 - broken);
    }
}
