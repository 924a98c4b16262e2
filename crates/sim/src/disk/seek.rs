//! How long the arm takes from one cylinder to another: measured points, straight lines between them.
//!
//! Where only the track-to-track, average and full-stroke times of a data sheet are known, the curve is a + b √d + c d
//! through them, the average taken over uniformly drawn pairs of cylinders. Source: Ruemmler and Wilkes (1994); Lee and
//! Katz, "An analytic performance model of disk arrays", SIGMETRICS 1993.

/// Nanoseconds for every distance in cylinders.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekCurve {
    by_distance_ns: Vec<u32>,
}

/// What is wrong with a curve.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SeekError {
    /// No points, or not in order.
    #[error("a seek curve needs points (cylinders, milliseconds) with the distance growing from 1, at least one")]
    Points,
    /// A time that is none.
    #[error("a seek over {cylinders} cylinders takes {milliseconds} ms? A time lies between 0 and 1000 ms")]
    Time {
        /// Distance.
        cylinders: u32,
        /// As given.
        milliseconds: f64,
    },
    /// Average below track to track, or beyond full stroke.
    #[error(
        "seek times grow from track to track ({single} ms) over the average ({average} ms) to the full stroke ({full} ms)"
    )]
    Order {
        /// Track to track.
        single: f64,
        /// Average.
        average: f64,
        /// Full stroke.
        full: f64,
    },
}

impl SeekCurve {
    /// From measured points of (cylinders, milliseconds), the nearest first. Beyond the last the last line goes on.
    ///
    /// # Errors
    /// When they are not in order or no times.
    pub fn measured(cylinders: u32, points: &[(u32, f64)]) -> Result<SeekCurve, SeekError> {
        if points.is_empty() || points[0].0 == 0 || points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(SeekError::Points);
        }
        for (distance, milliseconds) in points {
            if !(0.0..=1000.0).contains(milliseconds) {
                return Err(SeekError::Time { cylinders: *distance, milliseconds: *milliseconds });
            }
        }
        Ok(SeekCurve::of(cylinders, |distance| interpolate(points, distance)))
    }

    /// From a data sheet's times in milliseconds.
    ///
    /// # Errors
    /// When they do not grow.
    pub fn data_sheet(cylinders: u32, single: f64, average: f64, full: f64) -> Result<SeekCurve, SeekError> {
        if !(single > 0.0 && average > single && full > average && full <= 1000.0) {
            return Err(SeekError::Order { single, average, full });
        }
        let most = f64::from(cylinders.saturating_sub(1).max(2));
        // Means over pairs drawn uniformly: of √(d/most) 8/15, of d/most 1/3.
        let (root_mean, linear_mean) = (most.sqrt() * 8.0 / 15.0, most / 3.0);
        // Three equations less the first: b (√d − 1) + c (d − 1).
        let (a1, b1, r1) = (root_mean - 1.0, linear_mean - 1.0, average - single);
        let (a2, b2, r2) = (most.sqrt() - 1.0, most - 1.0, full - single);
        let determinant = a1 * b2 - a2 * b1;
        let root = (r1 * b2 - r2 * b1) / determinant;
        let linear = (a1 * r2 - a2 * r1) / determinant;
        let at = |distance: u32| {
            let distance = f64::from(distance);
            single + root * (distance.sqrt() - 1.0) + linear * (distance - 1.0)
        };
        Ok(SeekCurve::of(cylinders, |distance| at(distance).max(single)))
    }

    fn of(cylinders: u32, milliseconds: impl Fn(u32) -> f64) -> SeekCurve {
        let time = |distance: u32| if distance == 0 { 0 } else { (milliseconds(distance) * 1e6).round() as u32 };
        SeekCurve { by_distance_ns: (0..cylinders.max(1)).map(time).collect() }
    }

    /// Nanoseconds over so many cylinders; 0 for none.
    pub fn time_ns(&self, cylinders: u32) -> u64 {
        let last = self.by_distance_ns.len() - 1;
        u64::from(self.by_distance_ns[(cylinders as usize).min(last)])
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
        let curve = SeekCurve::measured(1000, &[(1, 1.0), (11, 2.0), (111, 4.0)]).unwrap();
        let times: Vec<u64> = [0, 1, 6, 11, 61, 111, 211].iter().map(|distance| curve.time_ns(*distance)).collect();
        assert_eq!(times, [0, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 6_000_000]);
        assert_eq!(curve.time_ns(999_999), curve.time_ns(999), "no further than the last cylinder");
        assert_eq!(SeekCurve::measured(9, &[(1, 1.5)]).unwrap().time_ns(8), 1_500_000);
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
    fn what_is_no_curve_is_told() {
        assert_eq!(SeekCurve::measured(9, &[]), Err(SeekError::Points));
        assert_eq!(SeekCurve::measured(9, &[(2, 1.0), (2, 2.0)]), Err(SeekError::Points));
        assert!(matches!(SeekCurve::measured(9, &[(1, f64::NAN)]), Err(SeekError::Time { cylinders: 1, .. })));
        assert!(SeekCurve::data_sheet(9, 3.0, 2.0, 9.0).unwrap_err().to_string().contains("track to track (3 ms)"));
    }
}
