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
mod rows;
#[cfg(test)]
mod tests;

use crate::findings::{Evidence, shared_limit};
use crate::series::Series;
use crate::statistics::mean_estimate;
use halfpower_model::reading::MemorySpeed;
use halfpower_model::{BytesPerSecond, Estimate, Finding, FindingCode, Operation, Quantity};
use serde::Serialize;

/// What is beyond the peak it is held against by more than this is not noise.
const BEYOND: f64 = 1.05;

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

/// One level of it.
#[derive(Clone, Debug, Serialize)]
pub struct PyramidLevel {
    /// Which.
    pub level: Stage,
    /// What it consists of on this machine; empty where it has no name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// Peak advertised performance; none where nobody tells. Of a mirror, what it leaves for writes.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// Where that is from, or why there is none.
    pub pap_source: String,
    /// Real performance, in bytes a second; none where nothing measured it.
    pub rap: Option<Estimate>,
    /// What showed it, or why nothing did.
    pub rap_source: String,
    /// RAP over PAP.
    pub share: Option<f64>,
    /// Whether that is half at least.
    pub half: Half,
    /// How it stands in the question of the bottleneck.
    pub standing: Standing,
}

/// The levels of a pyramid: those of a record, and the software between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The machine's memory.
    Memory,
    /// The processors copying from memory to memory.
    MemoryCopy,
    /// The kernel's file cache.
    FileCache,
    /// The file system.
    FileSystem,
    /// What makes the target of other devices: dm, md, loop.
    Stack,
    /// What a control group lets through.
    Limit,
    /// What controllers are attached by, and whatever else several devices may share.
    Bus,
    /// What the device itself is attached by.
    Link,
    /// The device.
    Device,
}

/// Whether RAP reaches half of PAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// It does.
    Reached,
    /// It does not.
    Missed,
    /// One of them is not known, or the interval holds the half.
    CannotTell,
    /// It passes the whole: the peak is wrong, or a cache answered.
    BeyondPeak,
}

/// How a level stands in the question of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is.
    Bottleneck,
    /// It is not: it had more to give.
    RuledOut,
    /// It may be or not.
    Open,
    /// The best requests went past it.
    NotPassed,
}

/// Where half of the peak is reached, as the finding says it.
#[derive(Clone, Debug, Serialize)]
pub struct HalfPowerSize {
    /// Of which requests.
    pub subject: String,
    /// `128 KiB (at 79.3 KiB ± 14 %)`.
    pub brief: String,
}

impl Stage {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Memory => "memory",
            Stage::MemoryCopy => "memory copy",
            Stage::FileCache => "file cache",
            Stage::FileSystem => "file system",
            Stage::Stack => "stack",
            Stage::Limit => "control group",
            Stage::Bus => "bus",
            Stage::Link => "link",
            Stage::Device => "device",
        }
    }

    /// Whether it is on the way between the file cache and the medium, which every request to the storage goes.
    fn is_storage(self) -> bool {
        self >= Stage::FileSystem
    }
}

impl Half {
    /// Of a figure against its peak.
    fn of(rap: Option<Estimate>, pap: Option<f64>) -> Half {
        let Some((rap, pap)) = rap.zip(pap) else { return Half::CannotTell };
        // Where the interval holds the peak, it is as likely the peak that was reached.
        if rap.value > pap * BEYOND && rap.low.unwrap_or(rap.value) > pap {
            return Half::BeyondPeak;
        }
        let half = pap / 2.0;
        match (rap.low.unwrap_or(rap.value) >= half, rap.high.unwrap_or(rap.value) < half) {
            (true, _) => Half::Reached,
            (_, true) => Half::Missed,
            _ => Half::CannotTell,
        }
    }
}

/// The pyramids of reads and of writes, where requests of the kind reached the storage.
pub(crate) fn all(evidence: &Evidence<'_>, findings: &[Finding], memory: Option<&MemorySpeed>) -> Vec<Pyramid> {
    let together = shared_limit::all_together(evidence);
    let of = |operation: Operation| {
        let passage = rows::Passage::of(evidence, operation, &together, memory)?;
        // The samples of a half-power finding are those of its reference too, so that its series tells it.
        let is_of = |series: &&Series<'_>| series.cells.iter().any(|cell| cell.number == passage.best.number);
        let series = evidence.by_size.iter().find(is_of);
        let half_power = findings
            .iter()
            .filter(|finding| finding.code == FindingCode::HalfPower)
            .find(|finding| series.is_some_and(|series| series.subject == finding.subject))
            .map(|finding| HalfPowerSize { subject: finding.subject.clone(), brief: finding.brief.clone() });
        Some(pyramid(&passage, half_power))
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(of).collect()
}

fn pyramid(passage: &rows::Passage<'_>, half_power: Option<HalfPowerSize>) -> Pyramid {
    let mut rows = passage.rows();
    let verdict = bottleneck::find(passage, &mut rows);
    let mut samples = passage.samples();
    samples.sort_unstable();
    samples.dedup();
    Pyramid {
        operation: passage.operation,
        targets: passage.targets(),
        levels: rows.into_iter().map(|row| row.level).collect(),
        bottleneck: verdict.level,
        brief: verdict.brief,
        sentence: verdict.sentence,
        half_power,
        samples,
    }
}

/// The mean throughput of some repetitions.
fn throughput(rates: &[f64]) -> Option<Estimate> {
    mean_estimate(Quantity::BytesPerSecond, rates)
}
