//! How long the arm takes from one cylinder to another: measured points, straight lines between them.
//!
//! Where only the track-to-track, average and full-stroke times of a data sheet are known, the curve is a + b √d + c d
//! through them, the average taken over uniformly drawn pairs of cylinders. Source: Ruemmler and Wilkes (1994); Lee and
//! Katz, "An analytic performance model of disk arrays", SIGMETRICS 1993.

/// Distances up to here have a time of their own; beyond it lines lie between [`FAR`] points, so that a drive of half a million
/// cylinders takes no more room or time to make.
const NEAR: u32 = 32_768;
/// How many lines.
const FAR: u32 = 4096;

/// Nanoseconds for every distance in cylinders.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekCurve {
    near_ns: Vec<u32>,
    /// Times of distances from [`NEAR`] on, so many cylinders apart; empty where there are none.
    far_ns: Vec<u32>,
    step: u32,
    last: u32,
    /// Whether further never takes less.
    grows: bool,
}

impl SeekCurve {
    /// From measured points of (cylinders, milliseconds), at least one, the nearest first. Beyond the last the last line goes on.
    pub fn measured(cylinders: u32, points: &[(u32, f64)]) -> SeekCurve {
        SeekCurve::of(cylinders, |distance| interpolate(points, distance))
    }

    /// From a data sheet's times in milliseconds.
    ///
    /// # Errors
    /// When no curve of this form goes through them and never falls.
    pub fn data_sheet(cylinders: u32, single: f64, average: f64, full: f64) -> Result<SeekCurve, String> {
        if !(single > 0.0 && full >= single) {
            return Err("full has to be at least track-to-track, and that above 0 ms".to_owned());
        }
        let most = f64::from(cylinders.saturating_sub(1).max(2));
        // Means over pairs drawn uniformly: of √(d/most) 8/15, of d/most 1/3.
        let (root_mean, linear_mean) = (most.sqrt() * 8.0 / 15.0, most / 3.0);
        // Three equations less the first: b (√d − 1) + c (d − 1).
        let (a1, b1, r1) = (root_mean - 1.0, linear_mean - 1.0, average - single);
        let (a2, b2, r2) = (most.sqrt() - 1.0, most - 1.0, full - single);
        // The averages of curves that are level at one cylinder, and at the full stroke.
        let level_at = |root: f64| single + r2 * (a1 - b1 / (2.0 * root)) / (a2 - b2 / (2.0 * root));
        let [least, greatest] = [1.0, most.sqrt()].map(level_at);
        if !(least..=greatest).contains(&average) {
            return Err(format!(
                "average is {average} ms; between {single} ms from track to track and {full} ms for the full stroke it has to be \
                 from {:.2} to {:.2} ms; write seek for another curve",
                (least * 100.0).ceil() / 100.0,
                (greatest * 100.0).floor() / 100.0
            ));
        }
        let determinant = a1 * b2 - a2 * b1;
        let root = (r1 * b2 - r2 * b1) / determinant;
        let linear = (a1 * r2 - a2 * r1) / determinant;
        let at = |distance: u32| {
            let distance = f64::from(distance);
            single + root * (distance.sqrt() - 1.0) + linear * (distance - 1.0)
        };
        Ok(SeekCurve::of(cylinders, at))
    }

    fn of(cylinders: u32, milliseconds: impl Fn(u32) -> f64) -> SeekCurve {
        let time = |distance: u32| if distance == 0 { 0 } else { (milliseconds(distance) * 1e6).round() as u32 };
        let last = cylinders.max(1) - 1;
        let step = last.saturating_sub(NEAR).div_ceil(FAR).max(1);
        let far = if last > NEAR { (last - NEAR).div_ceil(step) + 1 } else { 0 };
        let near_ns: Vec<u32> = (0..=last.min(NEAR)).map(time).collect();
        let far_ns: Vec<u32> = (0..far).map(|point| time(NEAR + point * step)).collect();
        let grows = near_ns.is_sorted() && far_ns.is_sorted();
        SeekCurve { near_ns, far_ns, step, last, grows }
    }

    /// A distance beyond which every seek takes longer than a time.
    pub fn reach(&self, time_ns: u64) -> u32 {
        if !self.grows {
            return self.last;
        }
        let within = |times: &[u32]| times.partition_point(|one| u64::from(*one) <= time_ns) as u32;
        match within(&self.near_ns) {
            near if near <= NEAR => near.saturating_sub(1),
            _ => (NEAR + within(&self.far_ns) * self.step).min(self.last),
        }
    }

    /// Nanoseconds over so many cylinders; 0 for none.
    pub fn time_ns(&self, cylinders: u32) -> u64 {
        let distance = cylinders.min(self.last);
        if let Some(time_ns) = self.near_ns.get(distance as usize) {
            return u64::from(*time_ns);
        }
        let (point, beyond) = ((distance - NEAR) / self.step, (distance - NEAR) % self.step);
        let [from, to] =
            [point, point + 1].map(|point| i64::from(self.far_ns[(point as usize).min(self.far_ns.len() - 1)]));
        (from + (to - from) * i64::from(beyond) / i64::from(self.step)) as u64
    }
}

fn interpolate(points: &[(u32, f64)], distance: u32) -> f64 {
    let above = points.partition_point(|(known, _)| *known < distance).clamp(1, points.len().max(2) - 1);
    let (Some((low, from)), Some((high, to))) = (points.get(above - 1), points.get(above)) else { return points[0].1 };
    let share = (f64::from(distance) - f64::from(*low)) / (f64::from(*high) - f64::from(*low));
    (from + share * (to - from)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_through_the_points() {
        let curve = SeekCurve::measured(1000, &[(1, 1.0), (11, 2.0), (111, 4.0)]);
        let times: Vec<u64> = [0, 1, 6, 11, 61, 111, 211].iter().map(|distance| curve.time_ns(*distance)).collect();
        assert_eq!(times, [0, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 6_000_000]);
        assert_eq!(curve.time_ns(999_999), curve.time_ns(999), "no further than the last cylinder");
        assert_eq!(SeekCurve::measured(9, &[(1, 1.5)]).time_ns(8), 1_500_000);
    }

    #[test]
    fn beyond_its_reach_every_seek_takes_longer() {
        for curve in [
            SeekCurve::data_sheet(10_000, 2.0, 9.5, 18.0).unwrap(),
            SeekCurve::data_sheet(546_190, 0.2, 8.5, 16.0).unwrap(),
            SeekCurve::measured(100, &[(1, 1.0), (10, 2.0), (99, 9.0)]),
            // None that falls is taken; of one that did, nothing would be left out.
            SeekCurve::of(100, |distance| if distance < 50 { 9.0 } else { 2.0 }),
        ] {
            for time_ns in [0, 100_000, 2_000_000, 2_500_000, 5_000_000, 12_000_000, 30_000_000] {
                let reach = curve.reach(time_ns);
                let further = (1..=curve.last).filter(|distance| curve.time_ns(*distance) <= time_ns).max();
                let further = further.unwrap_or(0);
                assert!(reach >= further, "{time_ns}: {reach} and {further}");
                assert!(!curve.grows || reach <= further + curve.step + 1, "{time_ns}: {reach} and {further}");
            }
        }
    }

    #[test]
    fn a_data_sheet_s_average_comes_back() {
        let cylinders = 10_000_u32;
        let curve = SeekCurve::data_sheet(cylinders, 2.0, 9.5, 18.0).unwrap();
        // Over all pairs: the distance d has 2 (C − d) of C².
        let sum: f64 = (1..cylinders).map(|d| 2.0 * f64::from(cylinders - d) * curve.time_ns(d) as f64).sum();
        let mean_ms = sum / f64::from(cylinders).powi(2) / 1e6;
        assert!((mean_ms / 9.5 - 1.0).abs() < 0.002, "{mean_ms}");
        assert_eq!((curve.time_ns(1), curve.time_ns(cylinders - 1)), (2_000_000, 18_000_000));
    }

    #[test]
    fn an_average_that_no_growing_curve_has_is_rejected_with_its_bounds() {
        let curve = |average| SeekCurve::data_sheet(10_000, 2.0, average, 18.0);
        let bounds = "it has to be from 7.27 to 13.64 ms";
        for average in [1.5, 7.26, 13.65, 20.0] {
            assert!(curve(average).unwrap_err().contains(bounds), "{:?}", curve(average));
        }
        assert!([7.27, 13.64].iter().all(|average| curve(*average).unwrap().grows));
        assert_eq!(SeekCurve::data_sheet(10_000, 2.0, 2.0, 2.0).unwrap().time_ns(5000), 2_000_000);
    }
}
