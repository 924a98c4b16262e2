//! The bottleneck level, if the figures show it.
//!
//! A level below half of its capacity is ruled out. If targets share a limit, their own levels are ruled out too, and the bottleneck is
//! the shared level closest to its peak, or the lowest with an unknown peak. Otherwise it is the level closest to its peak, within a
//! quarter of it: the studies' buses were saturated at 75 to 80 %. A level is never named by elimination.
//! Source: Riedel, van Ingen and Gray (1997), sections 3 and 4.

use super::level::{Half, PyramidLevel, Stage, Standing};
use super::rows::IoPath;
use crate::findings::shared_limit::Holding;
use crate::wording::{listed, requests, sentence};
use halfpower_model::BytesPerSecond;

/// Below this share of its capacity a level has room.
const SPARE: f64 = 0.5;
/// From this share of its peak on a level may be saturated.
const FULL: f64 = 0.75;
/// Closer loads are equal.
const SAME: f64 = 0.02;

/// How the bottleneck was found, or why not.
enum Reason {
    /// It is saturated.
    NearPeak(f64),
    /// All targets share it, and they share a limit.
    Shared,
    /// The load generator was slower.
    Generator,
    /// Equally loaded.
    Same(Vec<Stage>),
    /// The shared limit is outside the listed levels.
    NothingShared,
    /// Faster than their stated peaks.
    PeaksWrong(Vec<Stage>),
    /// Unknown peaks.
    PeaksUnknown(Vec<Stage>),
    /// Every level has room.
    NoneFull,
}

/// What was found.
pub(super) struct Found {
    pub(super) level: Option<Stage>,
    /// Levels that are equally close to their peaks, so that none is named.
    pub(super) alike: Vec<Stage>,
    /// In a few words.
    pub(super) brief: String,
    /// A sentence about the bottleneck.
    pub(super) claim: String,
    /// Whether that says only that it is unknown.
    pub(super) is_unknown: bool,
    /// Further sentences: levels ruled out, and beyond their peaks.
    pub(super) further: String,
}

/// Finds it and marks every row.
pub(super) fn find(path: &IoPath<'_>, rows: &mut [PyramidLevel]) -> Found {
    let holding = path.together.map(|together| together.holding());
    for row in rows.iter_mut() {
        row.standing = standing(row, holding);
    }
    let (found, reason) = name(path, rows, holding);
    if let Some(index) = found {
        rows[index].standing = Standing::Bottleneck;
    }
    let level = found.map(|index| rows[index].level);
    Found {
        level,
        brief: brief(path, level, &reason),
        claim: sentence(&claim(path, level, &reason)),
        is_unknown: level.is_none() && !matches!(reason, Reason::NothingShared),
        further: [ruled_out(rows, holding), beyond_peak(rows)].concat(),
        alike: if let Reason::Same(stages) = reason { stages } else { Vec::new() },
    }
}

fn load(row: &PyramidLevel) -> Option<f64> {
    row.through.zip(row.capacity).map(|(through, capacity)| through / capacity)
}

fn standing(row: &PyramidLevel, holding: Option<Holding>) -> Standing {
    if row.through.is_none() {
        return Standing::NotPassed;
    }
    match (holding, row.is_shared) {
        (Some(Holding::Held), false) | (Some(Holding::Free), true) => return Standing::RuledOut,
        _ => {}
    }
    match load(row) {
        Some(load) if load < SPARE => Standing::RuledOut,
        _ => Standing::Open,
    }
}

/// The row of the bottleneck and how it was found.
fn name(path: &IoPath<'_>, rows: &[PyramidLevel], holding: Option<Holding>) -> (Option<usize>, Reason) {
    if path.is_generator_bound() {
        return (None, Reason::Generator);
    }
    let open = || rows.iter().enumerate().filter(|(_, row)| row.standing == Standing::Open);
    let is_true = |row: &PyramidLevel| row.half != Half::BeyondPeak;
    let full = open().filter(|(_, row)| is_true(row)).filter_map(|(index, row)| Some((index, load(row)?)));
    let mut full: Vec<(usize, f64)> = full.filter(|(_, load)| *load >= FULL).collect();
    full.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    if let Some((first, most)) = full.first().copied() {
        full.retain(|(_, load)| *load > most - SAME);
        return match full.len() {
            1 => (Some(first), Reason::NearPeak(most)),
            _ => (None, Reason::Same(full.iter().map(|(index, _)| rows[*index].level).collect())),
        };
    }
    if holding == Some(Holding::Held) {
        // Memory is always shared, which alone shows nothing.
        let lowest = open().rfind(|(_, row)| row.level.is_storage());
        return lowest.map_or((None, Reason::NothingShared), |(index, _)| (Some(index), Reason::Shared));
    }
    let wrong: Vec<Stage> = open().filter(|(_, row)| !is_true(row)).map(|(_, row)| row.level).collect();
    if !wrong.is_empty() {
        return (None, Reason::PeaksWrong(wrong));
    }
    let is_unknown = |row: &PyramidLevel| row.pap_bytes_per_s.is_none() && row.level >= Stage::Limit;
    let unknown: Vec<Stage> = open().filter(|(_, row)| is_unknown(row)).map(|(_, row)| row.level).collect();
    (None, if unknown.is_empty() { Reason::NoneFull } else { Reason::PeaksUnknown(unknown) })
}

fn claim(path: &IoPath<'_>, level: Option<Stage>, reason: &Reason) -> String {
    let requests = requests(path.operation);
    let rate = path.most();
    let held = path.together.map_or_else(String::new, |together| {
        let [total, sum] = [together.total, together.sum].map(|rate| BytesPerSecond(rate.value));
        let targets = path.targets();
        format!("{targets} targets together are limited to {total} of {requests}, against a sum of {sum} each alone")
    });
    let stage = level.map_or("", Stage::name);
    match reason {
        Reason::NearPeak(load) if path.is_held() => {
            let load = percent(*load);
            format!("{held}; the {stage}, which they share, is at {load} of its capacity: it is the bottleneck")
        }
        Reason::NearPeak(load) => format!(
            "the bottleneck of {requests} is the {stage}: it is at {} of its capacity, and no other level is closer to its peak",
            percent(*load)
        ),
        Reason::Shared => format!("{held}; the {stage} is the lowest level they share: it is the bottleneck"),
        Reason::NothingShared => format!("{held}, by something outside the listed levels"),
        reason => format!("the bottleneck of {requests} ({rate}) is unknown: {}", why_not(reason)),
    }
}

fn brief(path: &IoPath<'_>, level: Option<Stage>, reason: &Reason) -> String {
    let Some(stage) = level else { return format!("unknown ({})", why_not(reason)) };
    match reason {
        Reason::NearPeak(load) => format!("{} ({} of its capacity)", stage.name(), percent(*load)),
        _ => format!("{} ({} targets share it and are limited to {})", stage.name(), path.targets(), path.most()),
    }
}

fn why_not(reason: &Reason) -> String {
    match reason {
        Reason::Generator => "the load generator was the bottleneck".to_owned(),
        Reason::Same(stages) => format!("{} are equally close to their peaks", list(stages)),
        Reason::NothingShared => "they share something outside the listed levels".to_owned(),
        Reason::PeaksWrong(stages) => {
            format!("more passed the {} than its stated peak allows", list(stages))
        }
        Reason::PeaksUnknown(stages) => {
            let names = list(stages);
            match stages.len() {
                1 => format!("the peak of the {names} is unknown; set it with --pap"),
                _ => format!("the peaks of {names} are unknown; set them with --pap"),
            }
        }
        Reason::NearPeak(_) | Reason::Shared | Reason::NoneFull => {
            "no level is near its peak; the requests, the CPU or something outside the listed levels is the limit"
                .to_owned()
        }
    }
}

/// Levels ruled out, each with its reason.
fn ruled_out(rows: &[PyramidLevel], holding: Option<Holding>) -> String {
    let out = rows.iter().filter(|row| row.standing == Standing::RuledOut);
    let words = out.map(|row| {
        let name = row.level.name();
        match (holding, row.is_shared, load(row)) {
            (Some(Holding::Held), false, _) => format!("{name} (each alone delivers more)"),
            (_, _, Some(load)) if load < SPARE => format!("{name} ({})", percent(load)),
            _ => format!("{name} (the targets share no limit)"),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { String::new() } else { format!(" Ruled out: {}.", words.join(", ")) }
}

/// Levels beyond their stated peak.
fn beyond_peak(rows: &[PyramidLevel]) -> String {
    let beyond = rows.iter().filter(|row| row.half == Half::BeyondPeak);
    let words = beyond.filter_map(|row| {
        let (name, share) = (row.level.name(), row.share?);
        Some(format!(
            " Throughput of the {name} is {} of its peak: the peak is wrong, or a cache answered.",
            percent(share)
        ))
    });
    words.collect()
}

fn percent(share: f64) -> String {
    if share < 0.01 { "under 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

/// `bus, link and device`.
fn list(stages: &[Stage]) -> String {
    listed(&stages.iter().map(|stage| stage.name()).collect::<Vec<_>>())
}
