//! How far a simulated figure may be from the published one: 5 %, four rules for kinds of figures, or the range of the
//! paper's own text. An entry cannot set another tolerance.

use serde::Deserialize;

/// Tolerance of a simulated figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// Percent of the published figure.
    Percent(f64),
    /// Percentage points.
    Points(f64),
    /// From one published figure to another; nothing beyond them.
    Range(f64, f64),
}

/// A tolerance other than 5 %, by the kind of figure.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum Rule {
    #[serde(rename = "figure 34")]
    Figure34,
    #[serde(rename = "curve of the Fireball")]
    FireballCurve,
    #[serde(rename = "hits of table 3")]
    Table3,
    #[serde(rename = "shares of table 4")]
    Table4,
}

impl Rule {
    /// The tolerance of a published figure, and its source.
    pub(super) fn of(self, published: f64) -> (Tolerance, &'static str) {
        match self {
            Rule::Figure34 => (Tolerance::Percent(8.0), "8 % for figure 34"),
            Rule::FireballCurve => (Tolerance::Percent(4.0), "4 % for the curve of the Fireball"),
            Rule::Table3 => (Tolerance::Percent(10.0), "10 % for the hits of table 3"),
            Rule::Table4 => {
                (Tolerance::Points(published.min(4.0) / 2.0), "2 points, at most half of the share, for table 4")
            }
        }
    }
}

impl Tolerance {
    /// The error of a simulated figure, in the unit of the tolerance; of a range, its distance from the nearest end.
    pub(crate) fn error(self, simulated: f64, published: f64) -> f64 {
        let percent = |of: f64| (simulated / of - 1.0) * 100.0;
        match self {
            Tolerance::Percent(_) => percent(published),
            Tolerance::Points(_) => simulated - published,
            Tolerance::Range(low, high) => percent(simulated.clamp(low, high)),
        }
    }

    /// The maximum absolute [`error`](Tolerance::error).
    pub(crate) fn most(self) -> f64 {
        match self {
            Tolerance::Percent(most) | Tolerance::Points(most) => most,
            Tolerance::Range(..) => 0.0,
        }
    }

    /// The unit of the error.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Tolerance::Percent(_) | Tolerance::Range(..) => "%",
            Tolerance::Points(_) => "points",
        }
    }
}
