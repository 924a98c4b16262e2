//! The pyramid: peak advertised against real performance at each level from memory to device, for reads and for writes,
//! and which level is the bottleneck.
//!
//! What a level advertises is in the environment of the samples; what it really gave is the best of what the samples put
//! through it, of the best request size and depth ([`rows`]). A level below the file cache is passed by every request that
//! reached the storage, so one figure serves them all, but for levels that several targets have each their own of: their
//! figure is the sum of each alone. Memory is what `halfpower memory` measured, where it did. Nothing is guessed: a peak
//! that nobody told is unknown, and a bottleneck that the figures do not show is not named ([`bottleneck`]).
//! Source: Riedel, van Ingen and Gray, "A performance study of sequential I/O on Windows NT 4" (1997), figure 1.

mod bottleneck;
mod level;
mod rows;
#[cfg(test)]
mod tests;

use crate::evidence::Evidence;
use crate::findings::shared_limit;
use crate::series::Series;
use halfpower_model::reading::MemorySpeed;
use halfpower_model::{Finding, FindingCode, Operation};
pub use level::{Half, PyramidLevel, Stage, Standing};
use serde::Serialize;

/// The levels that requests of one kind pass.
#[derive(Clone, Debug, Serialize)]
pub struct Pyramid {
    /// Reads or writes.
    pub operation: Operation,
    /// Targets that are taken together.
    pub targets: u32,
    /// From memory to device.
    pub levels: Vec<PyramidLevel>,
    /// The level that holds the requests back; none where that cannot be told.
    pub bottleneck: Option<Stage>,
    /// The same in a few words, to stand beside `reads`.
    pub brief: String,
    /// The same in sentences, with what was ruled out and what is left open.
    pub sentence: String,
    /// The half-power request size of the series that the best requests are of.
    pub half_power: Option<HalfPowerSize>,
    /// The store's numbers of the samples it rests on.
    pub samples: Vec<i64>,
}

/// Where half of the peak is reached, as the finding says it.
#[derive(Clone, Debug, Serialize)]
pub struct HalfPowerSize {
    /// Of which requests.
    pub subject: String,
    /// `128 KiB (at 79.3 KiB ± 14 %)`.
    pub brief: String,
}

/// The pyramids of reads and of writes, where requests of the kind reached the storage.
pub(crate) fn all(evidence: &Evidence<'_>, findings: &[Finding], memory: Option<&MemorySpeed>) -> Vec<Pyramid> {
    let together = shared_limit::all_together(evidence);
    let of = |operation: Operation| {
        let path = rows::IoPath::of(evidence, operation, &together, memory)?;
        // The samples of a half-power finding are those of its reference too, so that its series tells it.
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
    let verdict = bottleneck::find(path, &mut rows);
    let mut samples = path.samples();
    samples.sort_unstable();
    samples.dedup();
    Pyramid {
        operation: path.operation,
        targets: path.targets(),
        levels: rows.into_iter().map(|row| row.level).collect(),
        bottleneck: verdict.level,
        brief: verdict.brief,
        sentence: verdict.sentence,
        half_power,
        samples,
    }
}
