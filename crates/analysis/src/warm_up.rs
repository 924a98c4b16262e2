//! Whether a sample begins with a warm-up, and how precise its mean is within the run.
//!
//! A *warm-up* is a beginning that MSER-5 cuts, and without which the mean differs significantly by more than
//! [`Margin::THROUGHPUT`] (batch means). Bursts, throttling and drift are not a warm-up; `findings::drift` reports them. Samples with a
//! timed flush are not judged, because their figure is not the mean of their intervals.
//!
//! The precision *within the run* is by batch means too. Another run may have another level, so no verdict rests on it.
//! Sources: see [`warm_up`], [`series_mean`] and [`worth_by_batches`].

use crate::rate_over_time::{changes_otherwise, rates_of};
use crate::statistics::{Contrast, Margin, Verdict, mean, series_mean, warm_up, worth_by_batches};
use crate::wording::ratio_to;
use halfpower_model::sample::Warning;
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Nanoseconds, Quantity, Sample};
use serde::Serialize;

/// Precision of a sample's mean within its run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WithinRun {
    /// Mean rate; the interval is within the run, not between runs.
    pub mean: Estimate,
    /// Number of intervals.
    pub intervals: usize,
    /// Number of independent intervals they are worth.
    pub independent: f64,
}

/// A beginning to exclude.
pub(crate) struct WarmUp {
    /// End, from the start of the measured part.
    end_s: f64,
    /// Mean after it over the whole mean.
    rest: Estimate,
}

/// The warm-up of a sample, if it matters.
pub(crate) fn warm_up_of(sample: &Sample) -> Option<WarmUp> {
    let (quantity, rates) = rates_of(sample)?;
    let (starts, rates): (Vec<f64>, Vec<f64>) = rates.into_iter().unzip();
    let end = warm_up(&rates).filter(|end| *end > 0)?;
    let whole = mean(&rates).filter(|whole| *whole > 0.0)?;
    let rest = series_mean(quantity, &rates[end..])?;
    let over = |rate: f64| rate / whole;
    let rest = Estimate {
        quantity: Quantity::Ratio,
        value: over(rest.value),
        low: rest.low.map(over),
        high: rest.high.map(over),
        ..rest
    };
    let verdict = Contrast { ratio: rest, margin: Margin::THROUGHPUT, p_value: None }.verdict();
    let matters = matches!(verdict, Verdict::Higher | Verdict::Lower) && !changes_otherwise(sample);
    matters.then(|| WarmUp { end_s: starts[end], rest })
}

/// The warning for a sample with a warm-up.
pub(crate) fn warning(sample: &Sample) -> Option<Warning> {
    let WarmUp { end_s, rest } = warm_up_of(sample)?;
    let time = |seconds: f64| Nanoseconds::from_seconds((seconds * 100.0).ceil() / 100.0);
    let left_out = sample.workload.warmup.seconds();
    let after = if left_out > 0.0 { " after the excluded warm-up" } else { "" };
    // Other programs have no such option.
    let remedy = match sample.origin {
        None => format!("exclude it with --warmup {} (`warmup` in a study)", time(left_out + end_s).exactly()),
        Some(_) => format!("measure again and exclude the first {}", time(left_out + end_s)),
    };
    Some(Warning::new(
        "warm_up",
        format!(
            "the first {}{after} are a warm-up: without it throughput is {}",
            time(end_s),
            ratio_to(rest, "this figure")
        ),
        remedy,
    ))
}

/// None with too few intervals, or if the rate did not settle.
pub fn within_run(sample: &Sample) -> Option<WithinRun> {
    let (quantity, rates) = rates_of(sample)?;
    let rates: Vec<f64> = rates.into_iter().map(|(_, rate)| rate).collect();
    warm_up(&rates)?;
    let mean = series_mean(quantity, &rates).filter(|mean| mean.relative_half_width().is_some())?;
    warm_up_of(sample).is_none().then(|| WithinRun {
        mean,
        intervals: rates.len(),
        independent: worth_by_batches(&rates),
    })
}

impl WithinRun {
    /// `± 2.1 %` of the mean.
    pub fn half_width(&self) -> String {
        let share = self.mean.relative_half_width().unwrap_or(0.0);
        format!("± {} %", significant((share * 1000.0).ceil().max(1.0) / 10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, begins, intervals, read, says};

    /// A sample with these megabytes per 10 ms interval, and 2 % of noise that leans on the interval before.
    fn sample(seed: u64, megabytes: impl Iterator<Item = f64>) -> Sample {
        let mut normal = Normal::new(seed);
        let mut noise = 0.0;
        let mut sample = crate::fixtures::sample(read(64), 1e9);
        sample.workload.interval = Nanoseconds(10_000_000);
        let noisy = megabytes.map(|level| {
            noise = 0.5 * noise + 0.02 * normal.draw();
            100.0 * level * (1.0 + noise)
        });
        sample.intervals = intervals(0.01, noisy);
        sample
    }

    /// Approaches a level from a share of it.
    fn approach(first: f64, intervals: u32) -> impl Iterator<Item = f64> {
        (0..intervals).map(move |index| 10.0 * (1.0 - (1.0 - first) * (-f64::from(index) / 30.0).exp()))
    }

    fn levels(levels: &[(usize, f64)]) -> Sample {
        sample(3, levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count)))
    }

    #[test]
    fn an_approach_is_a_warm_up_and_reported_with_what_it_changes() {
        // The mean of the approach is 1 - 0.7 × 30 / 500 of the level: what follows is 1.04 of the figure.
        let slow = sample(1, approach(0.3, 500));
        let slowed = warning(&slow).unwrap();
        assert_eq!(slowed.code, "warm_up");
        says(&slowed.message, "are a warm-up: without it throughput is 1.04 times [");
        let rest = warm_up_of(&slow).unwrap().rest;
        assert!(rest.low.unwrap() > 1.02 && rest.high.unwrap() < 1.07, "{rest:?}");
        begins(&slowed.remedy, "exclude it with --warmup ");
        let fast = warning(&levels(&[(150, 10.9), (250, 10.0)])).unwrap();
        assert!(fast.message.contains("throughput is 96."), "a beginning that is too fast: {}", fast.message);
    }

    #[test]
    fn the_remedy_has_what_is_left_out_already() {
        let mut slow = sample(1, approach(0.3, 500));
        let end_s = warm_up_of(&slow).unwrap().end_s;
        slow.workload.warmup = Nanoseconds(3_000_000_000);
        let slowed = warning(&slow).unwrap();
        let time = Nanoseconds::from_seconds((end_s * 100.0 + 300.0).ceil() / 100.0).exactly();
        assert!(slowed.message.contains("after the excluded warm-up") && slowed.remedy.contains(&time), "{slowed:?}");
        slow.origin = Some(Box::default());
        assert!(!warning(&slow).unwrap().remedy.contains("--warmup"), "of another program");
    }

    #[test]
    fn steady_samples_and_what_does_not_matter_have_none() {
        let warned = (0..300).filter(|seed| warning(&sample(*seed, std::iter::repeat_n(10.0, 400))).is_some()).count();
        assert!(warned <= 3, "{warned} of 300 steady samples");
        assert!(warning(&sample(1, approach(0.9, 500))).is_none(), "half a percent");
        assert!(warning(&sample(1, approach(0.3, 99))).is_none(), "too few intervals");
        let mut flushed = sample(1, approach(0.3, 500));
        flushed.flush_s = Some(0.1);
        assert!(warning(&flushed).is_none() && within_run(&flushed).is_none(), "its figure is of other time");
    }

    #[test]
    fn what_drift_shows_is_no_warm_up_and_a_rise_that_settles_is_no_drift() {
        let found = |sample: Sample| {
            let mut run = Run::of([(read(64), [1e9])]);
            run.samples[0].sample = sample;
            let analysis = crate::analyse(&run.observed());
            let drifts = analysis.findings.iter().filter(|finding| finding.code == halfpower_model::FindingCode::Drift);
            let warm_ups = analysis.warnings.iter().filter(|(warning, _)| warning.code == "warm_up");
            (warm_ups.count(), drifts.count())
        };
        assert_eq!(found(levels(&[(100, 10.0), (400, 20.0)])), (1, 0), "a rise that settles");
        assert_eq!(found(levels(&[(150, 30.0), (350, 10.0)])), (0, 1), "a fall");
        assert_eq!(found(levels(&[(350, 10.0), (150, 20.0)])), (0, 1), "still changing in the second half");
        assert_eq!(found(levels(&[(500, 10.0)])), (0, 0));
    }

    #[test]
    fn a_run_shows_how_exact_it_is_within_itself() {
        let steady = sample(5, std::iter::repeat_n(10.0, 400));
        let within = within_run(&steady).unwrap();
        let half = within.mean.relative_half_width().unwrap();
        // Noise of 0.02 / (1 - 0.5) over √400 is 0.2 %; t of four degrees of freedom is 2.8 times that.
        assert!((0.001..0.02).contains(&half) && within.intervals == 400, "{within:?}");
        assert!((60.0..300.0).contains(&within.independent), "a third of 400: {within:?}");
        assert!(within_run(&sample(5, std::iter::repeat_n(10.0, 99))).is_none(), "too few");
        assert!(within_run(&sample(1, approach(0.3, 500))).is_none(), "the beginning is a warm-up");
    }
}
