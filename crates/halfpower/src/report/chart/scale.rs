//! The scale of an axis, linear from zero or logarithmic, and its labels.

/// An axis from one figure to another; linear if it begins at zero.
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// The place of a figure along the axis, from 0 to 1; cut at the ends.
    pub(super) fn share(&self, figure: f64) -> f64 {
        let figure = figure.clamp(self.low, self.high);
        if self.low == 0.0 { figure / self.high } else { (figure / self.low).ln() / (self.high / self.low).ln() }
    }

    /// The labels: at most `steps` on a linear axis, these multiples of each decade on a logarithmic one.
    pub(super) fn ticks(&self, steps: f64, factors: &[f64]) -> Vec<f64> {
        if self.low == 0.0 {
            let step = round_up(self.high / steps);
            return (0..=(self.high / step) as u32).map(|count| f64::from(count) * step).collect();
        }
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let ticks = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade)));
        ticks.filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick)).collect()
    }
}

/// The next of 1, 2, 5 times a power of ten, at or below.
pub(super) fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].map(|step| step * power).into_iter().find(|step| *step <= value).unwrap_or(power)
}

/// The next of 1, 2, 5 times a power of ten, at or above.
pub(super) fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_one_two_and_five() {
        for (value, below, above) in [(1.0, 1.0, 1.0), (3.7, 2.0, 5.0), (0.019, 0.01, 0.02), (7200.0, 5000.0, 1e4)] {
            assert!((round_down(value) / below - 1.0).abs() < 1e-9, "{value}");
            assert!((round_up(value) / above - 1.0).abs() < 1e-9, "{value}");
        }
        let (linear, log) = (Scale { low: 0.0, high: 96.0 }, Scale { low: 10.0, high: 20_000.0 });
        assert_eq!(linear.ticks(5.0, &[1.0]), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(log.ticks(5.0, &[1.0]), [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!([-8.0, 48.0, f64::INFINITY].map(|figure| linear.share(figure)), [0.0, 0.5, 1.0]);
        assert_eq!([10.0, 20_000.0].map(|figure| log.share(figure)), [0.0, 1.0]);
        let half = |figure: f64| log.share(figure) - log.share(figure / 2.0);
        assert!((half(20_000.0) - half(60.0)).abs() < 1e-9, "half of a peak is the same step everywhere");
    }
}
