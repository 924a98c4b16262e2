//! What a provider lets through in a second: a rate, and above it a faster one for as long as credits last.
//!
//! It is a token bucket (Turner, "New directions in communications", IEEE Communications Magazine 24, 1986) whose tokens
//! are the credits: they come in at the rate, up to what they were at first, and what passes spends one for each of its own.
//! While there are some the pace is that of bursts, and without any what passes waits for its own to come in. A limit
//! without bursts has no credits and never lends: what was not used is lost, and no second sees more than its rate.
//! Providers describe their credits in these words: see `machines/cloud-gp3.toml`.

/// A limit of requests or of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// A second, forever.
    pub per_s: f64,
    /// What goes beyond it for a time; none: nothing.
    pub burst: Option<Burst>,
}

/// Bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// A second, as long as credits last; not below the limit.
    pub per_s: f64,
    /// The most that can be saved up.
    pub credits: f64,
    /// What there is at first.
    pub at_first: f64,
}

/// A limit at work.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    limit: Limit,
    credits: f64,
    /// When they were counted, which is when the next may pass, in nanoseconds.
    free_ns: f64,
}

impl Meter {
    /// With the credits that there are at first.
    pub(super) fn new(limit: Limit) -> Meter {
        let credits = limit.burst.map_or(0.0, |burst| burst.at_first);
        Meter { limit, credits, free_ns: 0.0 }
    }

    /// When the next may pass, in nanoseconds.
    pub(super) fn free_ns(&self) -> f64 {
        self.free_ns
    }

    /// Lets so much pass at a moment that is not before [`free_ns`](Meter::free_ns).
    pub(super) fn pass(&mut self, at_ns: f64, amount: f64) {
        if amount <= 0.0 {
            return;
        }
        let Limit { per_s, burst } = self.limit;
        let (fastest_per_s, most) = burst.map_or((per_s, 0.0), |burst| (burst.per_s, burst.credits));
        let there = (self.credits + (at_ns - self.free_ns) / 1e9 * per_s).min(most);
        let took_s = (amount / fastest_per_s).max((amount - there) / per_s);
        self.credits = (there + took_s * per_s - amount).max(0.0);
        self.free_ns = at_ns + took_s * 1e9;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// When each of some passes that all wait from the beginning on, in seconds.
    fn course(limit: Limit, amount: f64, count: usize) -> Vec<f64> {
        let mut meter = Meter::new(limit);
        (0..count)
            .map(|_| {
                let at_ns = meter.free_ns();
                meter.pass(at_ns, amount);
                at_ns / 1e9
            })
            .collect()
    }

    fn bursting(per_s: f64, credits: f64) -> Limit {
        Limit { per_s, burst: Some(Burst { per_s: 3000.0, credits, at_first: credits }) }
    }

    #[test]
    fn a_limit_without_bursts_lets_pass_evenly_and_saves_nothing() {
        let limit = Limit { per_s: 4.0, burst: None };
        assert_eq!(course(limit, 1.0, 5), [0.0, 0.25, 0.5, 0.75, 1.0]);
        let mut meter = Meter::new(limit);
        meter.pass(60e9, 1.0);
        assert_eq!(meter.free_ns(), 60.25e9, "a minute of nothing is no credit");
        meter.pass(60.25e9, 6.0);
        assert_eq!(meter.free_ns(), 61.75e9);
    }

    /// The provider's table: how long a volume with so many IOPS bursts at 3000 from 5.4 million credits on. Its
    /// first line says 1862 for 100.
    #[test]
    fn credits_last_as_long_as_the_provider_says() {
        for (baseline, lasts_s) in [(100.0, 1862.0), (300.0, 2000.0), (1002.0, 2703.0), (2250.0, 7200.0)] {
            let course = course(bursting(baseline, 5.4e6), 1000.0, 30_000);
            let slow = course.windows(2).position(|pair| pair[1] - pair[0] > 1.01 * 1000.0 / 3000.0).unwrap();
            assert!((course[slow] / lasts_s - 1.0).abs() < 0.001, "{baseline}: {}", course[slow]);
            let end = &course[course.len() - 101..];
            let rate = 100.0 * 1000.0 / (end[100] - end[0]);
            assert!((rate / baseline - 1.0).abs() < 1e-9, "{baseline}: {rate}");
        }
    }

    #[test]
    fn credits_come_back_at_the_rate_and_no_further_than_they_were() {
        let mut meter = Meter::new(bursting(300.0, 600.0));
        let used = 1000;
        for _ in 0..used {
            meter.pass(meter.free_ns(), 1.0);
        }
        assert!(meter.credits < 1.0, "{}", meter.credits);
        let empty_ns = meter.free_ns();
        let mut later = meter.clone();
        later.pass(empty_ns + 1e9, 1.0);
        assert!((later.credits - 299.0).abs() < 1.5, "{}", later.credits);
        meter.pass(empty_ns + 3600e9, 1.0);
        assert!((meter.credits - 599.1).abs() < 1e-6, "{}", meter.credits);
    }

    proptest! {
        #[test]
        fn no_second_sees_more_than_the_limit_nor_any_stretch_more_than_its_credits(
            per_s in 1.0_f64..500.0, credits in 0.0_f64..2000.0, gaps in proptest::collection::vec(0_u32..20, 400)
        ) {
            let limit = Limit { per_s, burst: (credits > 1.0).then_some(Burst { per_s: 1000.0, credits, at_first: credits }) };
            let most_per_s = limit.burst.map_or(per_s, |burst| burst.per_s);
            let (mut meter, mut passed, mut from_ns) = (Meter::new(limit), Vec::new(), 0.0);
            for gap_ms in gaps {
                from_ns += f64::from(gap_ms) * 1e6;
                let at_ns = meter.free_ns().max(from_ns);
                meter.pass(at_ns, 1.0);
                passed.push(at_ns / 1e9);
            }
            for (first, from_s) in passed.iter().enumerate() {
                let within = passed[first..].iter().filter(|at_s| **at_s < from_s + 1.0).count() as f64;
                prop_assert!(within <= most_per_s + 1.0 + 1e-6, "{within} in a second");
                let all = (passed.len() - 1 - first) as f64;
                let lasted_s = passed[passed.len() - 1] - from_s;
                prop_assert!(all <= lasted_s * per_s + credits + 1.0 + 1e-6, "{all} in {lasted_s} s");
            }
        }
    }
}
