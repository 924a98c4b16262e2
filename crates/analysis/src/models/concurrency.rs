//! IOPS against queue depth or workers: a queueing model or the universal scalability law.
//!
//! Each law gives the time of a request with *n* outstanding, which by Little's law is *n* over the rate, and is linear in its
//! parameters, so that least squares have one solution with exact intervals:
//!
//! | law | time per request with n outstanding | knee |
//! |---|---|---|
//! | balanced: a closed network of m equal stations | alone × (1 + (n - 1) / m) | m |
//! | bounded: no waiting until the limit | max(alone, n / limit) | alone × limit |
//! | universal scalability law | alone × (1 + α (n - 1) + β n (n - 1)) | √((1 - α) / β), where the rate begins to fall |
//!
//! The first two bound every closed queueing network without think time: random requests on m disks are close to the first, a
//! pipeline with m slots to the second. The better fit is taken. Both have their knee where the bounds of Denning and Buzen
//! cross. The universal scalability law adds a coherency cost and is taken if that is positive and
//! [worth it](crate::statistics::Fit::is_worth). A knee beyond the measured range is not stated, nor a limit below a measured
//! rate: then no law holds, as for a disk that serves requests faster the more it can choose from.
//!
//! Sources: Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10 (1978);
//! Zahorjan, Sevcik, Eager and Galler, "Balanced job bound analysis of queueing networks", CACM 25 (1982); Gunther,
//! "Guerrilla Capacity Planning" (2007), chapters 4 to 6; Little, "A proof for the queuing formula L = λW", Operations
//! Research 9 (1961).

use super::fit::{Curve, Match, curve, fitted, off, over};
use crate::series::Series;
use crate::statistics::{Equation, Fit, Interval, least_squares};
use halfpower_model::{Estimate, Quantity, Workload};
use serde::Serialize;

/// Two parameters, and two more points to judge them by.
const PLACES_MIN: usize = 4;

/// The varied setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Queue depth of each worker.
    Depth,
    /// Number of workers.
    Workers,
}

/// A law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// A closed network of equal stations.
    Balanced,
    /// No waiting until the limit.
    Bounded,
    /// Contention, and a coherency cost that makes the rate fall in the end.
    UniversalScalability,
}

/// IOPS against depth or workers.
#[derive(Clone, Debug, Serialize)]
pub struct Concurrency {
    /// A workload of the series; ignore what varies.
    pub workload: Workload,
    /// Name of the series: `random read, 4 KiB, direct`.
    pub subject: String,
    /// The varied setting.
    pub load: Load,
    /// The best law.
    pub law: Law,
    /// Latency in ns with one outstanding.
    pub alone: Estimate,
    /// Limit of the rate, if the law has one.
    pub limit: Option<Estimate>,
    /// The knee, if within the measured range.
    pub knee: Option<Estimate>,
    /// α: the serial share.
    pub contention: Option<f64>,
    /// β: the cost of coherency per pair.
    pub coherency: Option<f64>,
    /// The highest measured rate, if it exceeds the limit.
    #[serde(skip)]
    pub exceeded_by: Option<Estimate>,
    /// Mean error of the time: 0.02 is 2 %.
    pub relative_error: f64,
    /// Whether that is small.
    pub matches: Match,
    /// The cells of the series.
    pub cells: Vec<u32>,
    /// IOPS against the varied setting.
    #[serde(skip)]
    pub curve: Curve,
}

/// None with fewer than four places, or if one has no rate.
pub(super) fn fit(series: &Series<'_>, load: Load) -> Option<Concurrency> {
    let places = || series.cells.iter().map(|cell| load.of(cell.workload));
    // Outstanding per unit of what varies.
    let each = series.cells[0].outstanding() as f64 / places().next()?;
    let rates = series.cells.iter().map(|cell| cell.mean_requests_per_s());
    let points: Vec<(f64, f64)> = places().zip(rates).map(|(n, rate)| (n, 1e9 * n * each / rate)).collect();
    if points.len() < PLACES_MIN || points.iter().any(|(_, time_ns)| !time_ns.is_finite()) {
        return None;
    }
    let (law, fit) = best(&points)?;
    let repetitions = series.cells.iter().map(|cell| cell.requests_per_s.len()).min()?;
    let deepest = points.iter().map(|(n, _)| *n).fold(1.0, f64::max);
    let knee = knee(law, &fit).filter(|(knee, _)| *knee <= deepest).map(|(knee, interval)| {
        let interval = interval.map(|interval| interval.map(|end| end.max(1.0)));
        fitted(load.quantity(), knee.max(1.0), interval, repetitions)
    });
    let relative_error = fit.relative_error();
    let limit = limit(law, &fit, each);
    let exceeded_by =
        limit.filter(|_| law != Law::UniversalScalability).and_then(|limit| exceeding(series, limit, relative_error));
    let (contention, coherency) = shares(law, &fit).unzip();
    let shallowest = points.iter().map(|(n, _)| *n).fold(deepest, f64::min);
    Some(Concurrency {
        workload: series.workload().clone(),
        subject: series.subject.clone(),
        load,
        law,
        alone: fitted(Quantity::Nanoseconds, fit.coefficients[0], fit.interval(0), repetitions),
        limit: limit.map(|(rate, interval)| fitted(Quantity::RequestsPerSecond, rate, interval, repetitions)),
        exceeded_by,
        knee,
        contention,
        coherency,
        relative_error,
        matches: if exceeded_by.is_some() { Match::Poor } else { Match::of(relative_error) },
        cells: series.cells.iter().map(|cell| cell.number).collect(),
        curve: curve(shallowest, deepest, |n| 1e9 * each * n / time_ns(law, &fit, n)),
    })
}

/// Measured rates exceed a limit by no more, however wide its interval is.
const ABOVE_MOST: f64 = 1.05;

/// The highest rate of a series, if it contradicts the limit.
fn exceeding(series: &Series<'_>, (limit, interval): (f64, Option<Interval>), relative_error: f64) -> Option<Estimate> {
    let rates = series.cells.iter().filter_map(|cell| cell.rate(Quantity::RequestsPerSecond));
    let highest = rates.max_by(|one, other| one.value.total_cmp(&other.value))?;
    let most = match series.still_grows() {
        // Rounding aside, a limit at the last place equals its rate.
        true => limit * (1.0 + 1e-9),
        false => (interval.map_or(limit, |interval| interval.high) * (1.0 + relative_error)).min(limit * ABOVE_MOST),
    };
    let least = if series.still_grows() { highest.value } else { highest.low.unwrap_or(highest.value) };
    (least > most).then_some(highest)
}

/// The best law for (n, time); none if even one request takes no time.
fn best(points: &[(f64, f64)]) -> Option<(Law, Fit)> {
    let balanced = of_terms(points, |_, n| vec![1.0, n - 1.0]);
    let bounded = (1..points.len()).filter_map(|full| bounded(points, full));
    let bounded = bounded.min_by(|one, other| one.squares_left.total_cmp(&other.squares_left));
    let universal = universal(points).filter(|universal| balanced.iter().all(|plain| universal.is_worth(plain, 1)));
    let laws = [
        balanced.filter(|fit| fit.coefficients.iter().all(|part| *part >= 0.0)).map(|fit| (Law::Balanced, fit)),
        bounded.map(|fit| (Law::Bounded, fit)),
        universal.map(|fit| (Law::UniversalScalability, fit)),
    ];
    let laws = laws.into_iter().flatten().filter(|(_, fit)| fit.coefficients[0] > 0.0);
    laws.min_by(|(_, one), (_, other)| one.bic().total_cmp(&other.bic()))
}

/// Weighted by relative error.
fn of_terms(points: &[(f64, f64)], terms: impl Fn(usize, f64) -> Vec<f64>) -> Option<Fit> {
    let equation = |(index, (n, time_ns)): (usize, &(f64, f64))| Equation {
        terms: terms(index, *n),
        value: *time_ns,
        weight: time_ns.powi(-2),
    };
    least_squares(&points.iter().enumerate().map(equation).collect::<Vec<_>>())
}

/// Saturated from that place on; the crossing must lie there.
fn bounded(points: &[(f64, f64)], full: usize) -> Option<Fit> {
    let fit = of_terms(points, |index, n| if index < full { vec![1.0, 0.0] } else { vec![0.0, n] })?;
    let knee = fit.coefficients[0] / fit.coefficients[1];
    (knee >= points[full - 1].0 && knee <= points[full].0).then_some(fit)
}

/// Three parameters, of which contention may be zero.
fn universal(points: &[(f64, f64)]) -> Option<Fit> {
    let whole = of_terms(points, |_, n| vec![1.0, n - 1.0, n * (n - 1.0)])?;
    let fit = if whole.coefficients[1] < 0.0 { of_terms(points, |_, n| vec![1.0, n * (n - 1.0)])? } else { whole };
    (fit.coefficients.last()? > &0.0).then_some(fit)
}

/// α and β of the universal scalability law.
fn shares(law: Law, fit: &Fit) -> Option<(f64, f64)> {
    let alone = fit.coefficients[0];
    match (law, &fit.coefficients[1..]) {
        (Law::UniversalScalability, [agreement]) => Some((0.0, agreement / alone)),
        (Law::UniversalScalability, [contention, agreement]) => Some((contention / alone, agreement / alone)),
        _ => None,
    }
}

fn knee(law: Law, fit: &Fit) -> Option<(f64, Option<Interval>)> {
    if law != Law::UniversalScalability {
        return fit.ratio(&[1.0, 0.0], &[0.0, 1.0]);
    }
    let (above, below): (&[f64], &[f64]) = match fit.coefficients.len() {
        2 => (&[1.0, 0.0], &[0.0, 1.0]),
        _ => (&[1.0, -1.0, 0.0], &[0.0, 0.0, 1.0]),
    };
    let (squared, interval) = fit.ratio(above, below)?;
    // A falling rate has its peak at the first place.
    let root = |squared: f64| squared.max(0.0).sqrt();
    Some((root(squared), interval.map(|interval| interval.map(root))))
}

/// Limit of the rate; without an interval for the universal scalability law.
fn limit(law: Law, fit: &Fit, each: f64) -> Option<(f64, Option<Interval>)> {
    let a_place = 1e9 * each;
    match shares(law, fit) {
        None => {
            let of = fit.coefficients[1];
            (of > 0.0).then(|| (a_place / of, over(a_place, fit.interval(1))))
        }
        Some(_) => {
            let n = knee(law, fit)?.0.max(1.0);
            Some((a_place * n / time_ns(law, fit, n), None))
        }
    }
}

/// Time per request with n outstanding, as in the table above.
fn time_ns(law: Law, fit: &Fit, n: f64) -> f64 {
    let alone = fit.coefficients[0];
    match (law, shares(law, fit)) {
        (Law::Bounded, _) => alone.max(fit.coefficients[1] * n),
        (_, Some((contention, coherency))) => alone * (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0)),
        (_, None) => alone + fit.coefficients[1] * (n - 1.0),
    }
}

impl Load {
    fn of(self, workload: &Workload) -> f64 {
        f64::from(match self {
            Load::Depth => workload.depth,
            Load::Workers => workload.workers,
        })
    }

    fn quantity(self) -> Quantity {
        match self {
            Load::Depth => Quantity::Depth,
            Load::Workers => Quantity::Workers,
        }
    }
}

impl Law {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Law::Balanced => "a closed queueing network of equal stations",
            Law::Bounded => "a fixed latency up to a throughput limit",
            Law::UniversalScalability => "the universal scalability law",
        }
    }
}

impl Concurrency {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let off = off(self.relative_error);
        if let (Some(highest), Some(limit)) = (self.exceeded_by, self.limit) {
            let law = self.law.words();
            let highest = highest.quantity.format(highest.value);
            return format!(
                "No queueing model fits: the limit of the best, {law} ({off}), is {limit}, below the measured {highest}."
            );
        }
        if self.matches == Match::Poor {
            return format!("No queueing model fits: the best is {off}.");
        }
        let law = self.law.words();
        let alone = format!("one I/O alone takes {}", self.alone);
        let limit = self.limit.map(|limit| limit.to_string()).unwrap_or_default();
        let rest = match (self.law, self.knee) {
            (_, None) => "its knee is beyond the measured range".to_owned(),
            (Law::UniversalScalability, Some(knee)) => {
                format!("the rate peaks at {knee} ({limit}) and then falls")
            }
            (_, Some(knee)) => format!("the limit is {limit}, with the knee at {knee}"),
        };
        format!("Fitted model, {law} ({off}): {alone}, {rest}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Normal, Run, around, by_depth, deep, ends, random, read};
    use halfpower_model::FindingCode;

    fn model(run: &Run) -> Concurrency {
        analyse(&run.observed()).models.concurrency.remove(0)
    }

    fn follows(curve: &Curve, ends: (f64, f64), rate: impl Fn(f64) -> f64) {
        assert_eq!((curve[0].0, curve[curve.len() - 1].0.round()), ends);
        assert!(curve.iter().all(|(n, found)| (found / rate(*n) - 1.0).abs() < 1e-6), "{curve:?}");
    }

    fn close(estimate: Option<Estimate>, truth: f64) -> bool {
        estimate.is_some_and(|estimate| (estimate.value / truth - 1.0).abs() < 1e-6)
    }

    /// Requests per second of equal stations that each take so long, by mean value analysis (Reiser and Lavenberg,
    /// "Mean-value analysis of closed multichain queuing networks", Journal of the ACM 27, 1980).
    fn mean_value_analysis(stations: u32, service_s: f64, customers: u32) -> f64 {
        let (mut rate, mut queue) = (0.0, 0.0);
        for n in 1..=customers {
            let residence_s = service_s * (1.0 + queue);
            rate = f64::from(n) / (f64::from(stations) * residence_s);
            queue = rate * residence_s;
        }
        rate
    }

    #[test]
    fn equal_stations_are_a_balanced_network() {
        let depths = [1, 2, 4, 8, 16, 32];
        let model = model(&by_depth(&depths.map(|depth| (depth, mean_value_analysis(6, 20e-6, depth)))));
        // A request visits all six, 20 µs each, and each of them serves 50 000 per second.
        assert_eq!((model.law, model.matches), (Law::Balanced, Match::Good));
        follows(&model.curve, (1.0, 32.0), |n| 50e3 * n / (n + 5.0));
        assert!(close(Some(model.alone), 120e3) && close(model.knee, 6.0) && close(model.limit, 50e3), "{model:?}");
    }

    #[test]
    fn a_pipe_is_bounded() {
        let rates = [1, 2, 4, 8, 16, 32].map(|depth| (depth, (f64::from(depth) / 100e-6).min(57e3)));
        let model = model(&by_depth(&rates));
        assert_eq!((model.law, model.matches), (Law::Bounded, Match::Good));
        follows(&model.curve, (1.0, 32.0), |n| (n / 100e-6).min(57e3));
        assert!(close(Some(model.alone), 100e3) && close(model.knee, 5.7) && close(model.limit, 57e3), "{model:?}");
        let words = "Fitted model, a fixed latency up to a throughput limit (0.01 % off on average): one I/O alone takes 100 µs ± 0.1 %, the limit is 57\u{202f}000 IOPS ± 0.1 %, with the knee at QD5.7.";
        assert_eq!(model.sentence(), words);
    }

    #[test]
    fn what_only_grows_has_its_knee_beyond() {
        let model = model(&by_depth(&[1, 2, 4, 8].map(|depth| (depth, mean_value_analysis(100, 1e-6, depth)))));
        assert_eq!(model.knee, None);
        ends(&model.sentence(), "its knee is beyond the measured range.");
    }

    /// A disk with an arm that takes the shorter ways the more it has to choose from: two Fireballs that a card makes one of.
    #[test]
    fn a_limit_below_a_rate_that_still_grows_is_not_said() {
        let run = by_depth(&[(1, 63.9), (2, 90.5), (4, 105.0), (8, 121.0), (16, 139.0), (32, 157.0)]);
        let model = model(&run);
        let limit = model.limit.unwrap();
        assert!(limit.value < 157.0 && limit.high.unwrap() > 157.0 && model.relative_error < 0.05, "{model:?}");
        assert_eq!(model.matches, Match::Poor);
        let words = "No queueing model fits: the limit of the best, a closed queueing network of equal stations (4.97 % off on average), is 152 IOPS ± 12 %, below the measured 157 IOPS.";
        assert_eq!(model.sentence(), words);
        let finding = analyse(&run.observed()).findings.into_iter().find(|finding| finding.code == FindingCode::Knee);
        let sentence = finding.unwrap().sentence;
        assert!(
            sentence.contains("at QD32, the highest depth measured, and still rising")
                && !sentence.contains("is reached"),
            "{sentence}"
        );
    }

    /// Where it grows no more, a limit may lie as far below the highest as its interval goes and the law is off.
    #[test]
    fn a_limit_agrees_with_what_was_measured_or_does_not_hold() {
        let scattered = by_depth(&[(1, 10e3), (2, 20e3), (4, 40e3), (8, 57e3), (16, 59e3), (32, 58e3)]);
        let agrees = model(&scattered);
        assert!(agrees.limit.unwrap().value < 59e3 && agrees.exceeded_by.is_none(), "{agrees:?}");
        assert!(agrees.sentence().contains("with the knee at"), "{}", agrees.sentence());
        // A peak, and less beyond it, with which no bound agrees.
        let peak = |depth: u32| (depth, if depth == 16 { 74e3 } else { (f64::from(depth) * 10e3).min(64e3) });
        let peak = by_depth(&(0..11).map(|power| peak(1 << power)).collect::<Vec<_>>());
        let contradicted = model(&peak);
        assert!(contradicted.relative_error < 0.05 && contradicted.matches == Match::Poor, "{contradicted:?}");
        assert!(contradicted.sentence().contains("below the measured"), "{}", contradicted.sentence());
    }

    /// Processes and scripts an hour of a SPARCcenter 2000 in SPEC SDM91; with the fit of Gunther's "Guerrilla Capacity
    /// Planning" as the manual of the R package `usl` prints it: α 0.0277285 (standard error 0.0091217), β 0.0001044
    /// (0.0000199), γ 89.9952330 (14.2134894), the peak at 96.5 users with 1883.8.
    const SPEC: [(u32, f64); 7] =
        [(1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2)];
    const PUBLISHED: [(f64, f64); 3] =
        [(0.027_728_5, 0.009_121_7), (0.000_104_4, 0.000_019_9), (89.995_233_0, 14.213_489_4)];

    #[test]
    fn the_published_curve_gives_its_own_parts_and_peak() {
        let [alpha, beta, gamma] = PUBLISHED.map(|(value, _)| value);
        let law = |n: f64| gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
        let model = model(&by_depth(&SPEC.map(|(users, _)| (users, law(f64::from(users))))));
        assert_eq!(model.law, Law::UniversalScalability);
        follows(&model.curve, (1.0, 216.0), law);
        assert!((model.contention.unwrap() - alpha).abs() < 1e-9 && (model.coherency.unwrap() - beta).abs() < 1e-9);
        assert!((model.knee.unwrap().value - 96.5).abs() < 0.05, "{model:?}");
        assert!((model.limit.unwrap().value - 1883.8).abs() < 0.5, "{model:?}");
    }

    #[test]
    fn the_published_measurements_give_the_published_parts() {
        // There every user count weighs by its rate, here by its relative error: within two of the published errors.
        let points = SPEC.map(|(users, rate)| (f64::from(users), 1e9 * f64::from(users) / rate));
        let fit = universal(&points).unwrap();
        let (contention, coherency) = shares(Law::UniversalScalability, &fit).unwrap();
        let found = [contention, coherency, 1e9 / fit.coefficients[0]];
        for (found, (value, error)) in found.into_iter().zip(PUBLISHED) {
            assert!((found - value).abs() < 2.0 * error, "{found} for {value}");
        }
        let (peak, interval) = knee(Law::UniversalScalability, &fit).unwrap();
        assert!(interval.unwrap().holds(96.5) && (peak - 96.5).abs() < 5.0, "{peak} {interval:?}");
        // By relative errors a queue of two parts is as near as the three of the universal law, and is taken.
        assert_eq!(best(&points).unwrap().0, Law::Bounded);
    }

    #[test]
    fn workers_have_a_law_of_their_own() {
        let mut run = Run::default();
        for workers in [1, 2, 4, 8] {
            let requests_per_s = (f64::from(workers) * 1e4).min(3e4);
            run.add(Workload { workers, ..deep(2, random(read(4))) }, &around(requests_per_s * 4096.0));
        }
        let model = model(&run);
        assert_eq!((model.load, model.subject.as_str()), (Load::Workers, "random read, 4 KiB, QD2 per worker, direct"));
        assert!(close(Some(model.alone), 200e3), "two outstanding at 10 000 a second: {model:?}");
        assert_eq!(model.knee.unwrap().to_string(), "3 workers");
    }

    #[test]
    fn noise_makes_no_universal_law_and_its_knee_is_held() {
        let (mut normal, mut held, mut universal) = (Normal::new(1993), 0, 0);
        for _ in 0..200 {
            let noisy = |depth: u32| (depth, mean_value_analysis(6, 20e-6, depth) * (1.0 + 0.02 * normal.draw()));
            let run = by_depth(&[1, 2, 4, 8, 16, 32].map(noisy));
            let observed = run.observed();
            let cells = crate::cells::gather(&observed);
            let series = crate::series::group(&cells, &[crate::comparable::Axis::Depth], 1);
            let model = super::fit(&series[0], Load::Depth).unwrap();
            universal += u32::from(model.law == Law::UniversalScalability);
            let holds = |knee: Estimate| knee.low.unwrap() <= 6.0 && 6.0 <= knee.high.unwrap();
            held += u32::from(model.law == Law::Balanced && model.knee.is_some_and(holds));
        }
        assert!(universal <= 10, "{universal} of 200");
        assert!((180..=199).contains(&held), "{held} of 200");
    }
}
