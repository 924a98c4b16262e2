//! Intervals and estimates, shared by several estimators.

use halfpower_model::{Estimate, Quantity};

/// A range that holds the true figure with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; never below the lower one.
    pub high: f64,
}

impl Interval {
    /// Whether it contains a figure, ends included.
    pub fn holds(self, figure: f64) -> bool {
        self.low <= figure && figure <= self.high
    }

    /// The same, widened to contain a figure.
    #[must_use]
    pub fn with(self, figure: f64) -> Interval {
        Interval { low: self.low.min(figure), high: self.high.max(figure) }
    }

    /// The interval of an increasing function of this figure.
    #[must_use]
    pub fn map(self, figure: impl Fn(f64) -> f64) -> Interval {
        Interval { low: figure(self.low), high: figure(self.high) }
    }
}

/// A figure with its interval, if known.
pub(crate) fn estimate(quantity: Quantity, value: f64, interval: Option<Interval>, repetitions: usize) -> Estimate {
    Estimate {
        quantity,
        value,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        repetitions: repetitions as u32,
    }
}

/// The share of Student's t distribution at or below `t`.
pub(super) fn t_share_below(t: f64, degrees_of_freedom: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, StudentsT};
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |students_t| students_t.cdf(t))
}
