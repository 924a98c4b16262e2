//! The pyramid: advertised and real performance at each level from memory to device, and the bottleneck level.
//!
//! Advertised peaks are in the samples' environment; real performance is the best of the samples that passed a level ([`rows`]). All levels
//! below the page cache share one figure, except levels that each target has for itself, where it is the sum of each
//! alone. Memory is from `halfpower memory`. Unknown peaks stay unknown, and no bottleneck is guessed ([`bottleneck`]).
//! Source: Riedel, van Ingen and Gray, "A performance study of sequential I/O on Windows NT 4" (1997), figure 1.

mod bottleneck;
mod level;
mod rows;
#[cfg(test)]
mod tests;

use crate::evidence::Evidence;
use crate::findings::shared_limit;
use crate::series::Series;
use bottleneck::Found;
use halfpower_model::reading::MemorySpeed;
use halfpower_model::{Finding, FindingCode, Operation};
pub use level::{Half, PyramidLevel, Stage, Standing};
use serde::Serialize;

/// The levels on the path of reads or of writes.
#[derive(Clone, Debug, Serialize)]
pub struct Pyramid {
    /// Read or write.
    pub operation: Operation,
    /// Number of targets.
    pub targets: u32,
    /// From memory to device.
    pub levels: Vec<PyramidLevel>,
    /// The bottleneck level, if known.
    pub bottleneck: Option<Stage>,
    /// In a few words.
    pub brief: String,
    /// In sentences, with levels ruled out or open.
    pub sentence: String,
    /// Levels that are equally close to their peaks, so that none is named.
    #[serde(skip)]
    pub(crate) alike: Vec<Stage>,
    /// What follows in `sentence` after saying that the bottleneck is unknown; none if it says something else.
    #[serde(skip)]
    pub(crate) unknown: Option<String>,
    /// Half-power size of the best requests' series.
    pub half_power: Option<HalfPowerSize>,
    /// Store numbers of the samples used.
    pub samples: Vec<i64>,
}

impl Pyramid {
    /// `; more passed the device than its stated peak allows`; empty if none did.
    pub(crate) fn beyond_peaks(&self) -> String {
        let beyond = self.levels.iter().filter(|level| level.half == Half::BeyondPeak);
        let names: Vec<&str> = beyond.map(|level| level.level.name()).collect();
        let names = names.join(" and ");
        if names.is_empty() { names } else { format!("; more passed the {names} than its stated peak allows") }
    }
}

/// The half-power size, as in its finding.
#[derive(Clone, Debug, Serialize)]
pub struct HalfPowerSize {
    /// Of which requests.
    pub subject: String,
    /// `128 KiB (at 79.3 KiB ± 14 %)`.
    pub brief: String,
}

/// Pyramids of reads and of writes that reached the storage.
pub(crate) fn all(evidence: &Evidence<'_>, findings: &[Finding], memory: Option<&MemorySpeed>) -> Vec<Pyramid> {
    let together = shared_limit::all_together(evidence);
    let of = |operation: Operation| {
        let path = rows::IoPath::of(evidence, operation, &together, memory)?;
        // A half-power finding also has the samples of its reference, so the series identifies it.
        let is_of = |series: &&Series<'_>| series.cells.iter().any(|cell| cell.number == path.best.number);
        let series = evidence.by_size.iter().find(is_of);
        let half_power = findings
            .iter()
            .filter(|finding| finding.code == FindingCode::HalfPower)
            .find(|finding| series.is_some_and(|series| series.subject == finding.subject))
            .map(|finding| HalfPowerSize { subject: finding.subject.clone(), brief: finding.brief.clone() });
        Some(pyramid(&path, half_power))
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(of).collect()
}

fn pyramid(path: &rows::IoPath<'_>, half_power: Option<HalfPowerSize>) -> Pyramid {
    let mut rows = path.rows();
    let Found { level, alike, brief, claim, is_unknown, further } = bottleneck::find(path, &mut rows);
    Pyramid {
        operation: path.operation,
        targets: path.targets(),
        levels: rows,
        bottleneck: level,
        alike,
        brief,
        sentence: format!("{claim}{further}"),
        unknown: is_unknown.then_some(further),
        half_power,
        samples: path.samples(),
    }
}
