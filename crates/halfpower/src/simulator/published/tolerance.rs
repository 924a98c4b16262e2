//! How far a simulated figure may be from the published one: 5 %, four rules for kinds of figures, or the range of the
//! paper's own text. An entry cannot set another tolerance.

use serde::Serialize;

/// Percent of the published figure.
const PERCENT: &str = "%";
/// Percentage points.
const POINTS: &str = "points";

/// Tolerance of a simulated figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tolerance {
    /// The maximum absolute error; 0 beyond a range.
    #[serde(rename = "tolerance")]
    pub most: f64,
    /// Unit of the error: `%` of the published figure, or `points` of a percentage.
    #[serde(rename = "tolerance_unit")]
    pub unit: &'static str,
    /// The least and the greatest figure that the paper prints, if any value between them meets it.
    pub range: Option<(f64, f64)>,
    /// Why it is not 5 %.
    #[serde(rename = "tolerance_source")]
    pub source: Option<String>,
}

impl Tolerance {
    /// The tolerance of a published figure, by the name of a rule, or by a range and its text.
    ///
    /// # Errors
    /// If there is no such rule, or the keys contradict each other.
    pub(super) fn of(
        rule: Option<&str>,
        range: Option<(f64, f64)>,
        text: Option<&str>,
        published: f64,
    ) -> Result<Tolerance, String> {
        let (most, unit, source) = match (rule, range, text) {
            (None, None, None) => (5.0, PERCENT, None),
            (None, Some((low, high)), Some(text)) if (low..=high).contains(&published) && low < high => {
                (0.0, PERCENT, Some(format!("printed: {text}")))
            }
            (None, Some(_), Some(_)) => return Err("`range` has to ascend and hold `published`".to_owned()),
            (Some(rule), None, None) => {
                let (most, unit, source) = match rule {
                    "figure 34" => (8.0, PERCENT, "8 % for figure 34"),
                    "curve of the Fireball" => (4.0, PERCENT, "4 % for the curve of the Fireball"),
                    "hits of table 3" => (10.0, PERCENT, "10 % for the hits of table 3"),
                    "shares of table 4" => {
                        (published.min(4.0) / 2.0, POINTS, "2 points, at most half of the share, for table 4")
                    }
                    _ => return Err(format!("unknown tolerance `{rule}`")),
                };
                (most, unit, Some(source.to_owned()))
            }
            _ => return Err("`range` needs `text`, its figures as printed, and no `tolerance`".to_owned()),
        };
        Ok(Tolerance { most, unit, range, source })
    }

    /// The error of a simulated figure, in the unit of the tolerance; of a range, its distance from the nearest end.
    pub(crate) fn error(&self, simulated: f64, published: f64) -> f64 {
        let nearest = self.range.map_or(published, |(low, high)| simulated.clamp(low, high));
        if self.unit == POINTS { simulated - published } else { (simulated / nearest - 1.0) * 100.0 }
    }
}
