//! The words, the table and the chart of a pyramid, from the analysis.

use super::chart::bars;
use super::table::{Table, or_dash};
use crate::text::once;
use halfpower_analysis::{Half, Pyramid, PyramidLevel, Stage, Standing};
use halfpower_model::{BytesPerSecond, Operation};
use minijinja::{Value, context};

/// `reads`, `writes`.
pub(super) fn name(pyramid: &Pyramid) -> &'static str {
    if pyramid.operation == Operation::Write { "writes" } else { "reads" }
}

pub(super) fn view(pyramid: &Pyramid) -> Value {
    let half_power = pyramid.half_power.as_ref();
    context! {
        title => if pyramid.operation == Operation::Write { "Writes" } else { "Reads" },
        sentence => &pyramid.sentence,
        half_power => half_power.map(|half| format!("Half-power request size of {}: {}.", half.subject, half.brief)),
        chart => chart(pyramid),
        table => table(pyramid),
    }
}

fn chart(pyramid: &Pyramid) -> Option<Value> {
    let name = name(pyramid);
    let levels = pyramid.levels.iter().filter_map(|level| {
        let rap = level.rap?;
        let rates = level.pap_bytes_per_s.map_or_else(|| rap.to_string(), |pap| format!("{rap} of {pap}"));
        Some(format!("{}: {rates}", level.level.name()))
    });
    let (view_box, svg, legend) = bars(pyramid)?;
    Some(context! {
        id => format!("pyramid-{name}"),
        title => format!("Real and advertised performance of each level, {name}"),
        description => format!("Bars from memory to device. {}.", levels.collect::<Vec<_>>().join("; ")),
        caption => "Filled: real application performance (RAP), at the best request size and queue depth. Outlined: peak advertised \
                    performance (PAP), where it is known.",
        view_box,
        svg,
        legend,
    })
}

fn table(pyramid: &Pyramid) -> Table {
    let head = ["level", "PAP", "RAP", "RAP / PAP", "half of PAP", "bottleneck", "PAP source", "RAP workload"];
    let row = |level: &PyramidLevel| {
        [
            named(level),
            level.pap_bytes_per_s.map_or_else(|| "unknown".to_owned(), |rate| rate.to_string()),
            or_dash(level.rap),
            or_dash(level.share.map(percent)),
            half(level.half).to_owned(),
            standing(level.standing).to_owned(),
            level.pap_source.clone(),
            level.rap_source.clone(),
        ]
    };
    Table::new(head, pyramid.levels.iter().map(row))
}

/// Maximum number of parts named in a row.
const PARTS_NAMED: usize = 4;

/// The name of a level, with its parts on this machine.
fn named(level: &PyramidLevel) -> String {
    let name = level.level.name();
    match level.at.len() {
        0 => name.to_owned(),
        parts if parts > PARTS_NAMED => format!("{name} ({parts} parts)"),
        _ if level.at.iter().any(|part| part == name) => name.to_owned(),
        _ => format!("{name} ({})", level.at.join(", ")),
    }
}

fn percent(share: f64) -> String {
    if share < 0.01 { "under 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

fn half(half: Half) -> &'static str {
    match half {
        Half::Reached => "reached",
        Half::Missed => "not reached",
        Half::CannotTell => "unknown",
        Half::BeyondPeak => "beyond PAP",
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Bottleneck => "yes",
        Standing::RuledOut => "ruled out",
        Standing::Open => "unknown",
        Standing::NotPassed => "not on the path",
    }
}

/// A row for each level with a known peak or a measurement apart from the others: PAP, then RAP of reads and writes. None
/// if only the throughput through all levels is known.
pub(super) fn brief_table(pyramids: &[Pyramid]) -> Option<Table> {
    let all = || pyramids.iter().flat_map(|pyramid| &pyramid.levels);
    if !all().any(|level| is_shown(level) && level.level != Stage::FileCache) {
        return None;
    }
    let mut stages = once(all().filter(|level| is_shown(level)).map(|level| level.level));
    stages.sort_unstable();
    let row = |stage: &Stage| {
        let level = |pyramid: &'_ Pyramid| pyramid.levels.iter().find(|level| level.level == *stage).cloned();
        let levels: Vec<Option<PyramidLevel>> = pyramids.iter().map(level).collect();
        let peaks = levels.iter().flatten().filter_map(|level| Some(level.pap_bytes_per_s?.to_string()));
        let peaks = once(peaks).join(", ");
        let peak = if peaks.is_empty() { "unknown".to_owned() } else { peaks };
        let real = levels.iter().map(|level| or_dash(level.as_ref().map(brief)));
        [stage.name().to_owned(), peak].into_iter().chain(real).collect()
    };
    let head = ["Pyramid", "PAP"].into_iter().chain(pyramids.iter().map(name)).map(str::to_owned);
    Some(Table { head: head.collect(), rows: stages.iter().map(row).collect() })
}

/// The bottleneck of reads and of writes, in one row if equal.
pub(super) fn bottlenecks(pyramids: &[Pyramid]) -> Vec<[String; 2]> {
    let groups = pyramids.chunk_by(|one, other| one.brief == other.brief);
    groups
        .map(|alike| {
            let names: Vec<&str> = alike.iter().map(name).collect();
            [names.join(" and "), alike[0].brief.clone()]
        })
        .collect()
}

fn is_shown(level: &PyramidLevel) -> bool {
    let is_measured_apart = level.level <= Stage::FileCache && level.rap.is_some();
    level.pap_bytes_per_s.is_some() || is_measured_apart || level.standing == Standing::Bottleneck
}

/// `23.5 MB/s (98 %, half reached)`.
fn brief(level: &PyramidLevel) -> String {
    let Some(rap) = level.rap else { return or_dash(None::<String>) };
    let rate = BytesPerSecond(rap.value);
    match (level.share, level.half) {
        (None, _) => rate.to_string(),
        (Some(share), Half::BeyondPeak) => format!("{rate} ({}, beyond PAP)", percent(share)),
        (Some(share), Half::CannotTell) => format!("{rate} ({}, about half)", percent(share)),
        (Some(share), reached) => format!("{rate} ({}, half {})", percent(share), half(reached)),
    }
}
