//! What `halfpower inspect` shows: the path from each target to the hardware, what each level advertises, and the machine.

use super::tree;
use crate::instrument::page::{Body, Branch, Page, Section};
use crate::report::table::Table;
use halfpower_model::reading::{Inspected, InspectedTarget};
use halfpower_model::{Level, LevelName};

pub(crate) fn page(inspected: &Inspected) -> Page {
    let is_one = inspected.targets.len() == 1;
    let title = |of_one: &str, target: &InspectedTarget| {
        if is_one { of_one.to_owned() } else { format!("{of_one} of {}", target.path) }
    };
    let targets = inspected.targets.iter();
    let targets = targets.flat_map(|target| {
        let path = Section::new(title("Path", target), "", Body::Tree(tree::path(&target.storage)));
        [path, levels(title("Advertised throughput", target), target)]
    });
    Page {
        title: "Inspect",
        verdict: inspected.targets.iter().map(verdict).collect(),
        sections: targets.chain([machine(inspected)]).collect(),
        method: vec![
            "From sysfs, procfs and the firmware\u{2019}s tables. Nothing is opened or measured. The throughput of a level comes \
             from its link or from --pap; otherwise it is unknown, and nothing is guessed.",
        ],
        ..Page::default()
    }
}

/// What a target lies on, down to the hardware, and what its device advertises.
fn verdict(target: &InspectedTarget) -> String {
    let mut parts = Vec::new();
    let mut storage = Some(&target.storage);
    while let Some(here) = storage {
        parts.extend(here.filesystem.as_ref().map(|mount| mount.kind.clone()));
        let mut device = here.device.as_ref();
        storage = None;
        while let Some(shown) = device {
            let more = if device == here.device.as_ref() { here.beside.len() } else { 0 };
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            parts.push(tree::brief(shown) + &more);
            storage = shown.backing.as_ref().map(|backing| &backing.storage);
            device = shown.below.first();
        }
    }
    let path = if parts.is_empty() { "nothing that the kernel shows".to_owned() } else { parts.join(" on ") };
    let level = target.levels.iter().find(|level| level.name == LevelName::Device);
    let peak = level.and_then(|level| level.pap_bytes_per_s);
    let peak = peak.map(|rate| format!(", which advertises {rate}")).unwrap_or_default();
    format!("{} is on {path}{peak}.", target.path)
}

fn levels(title: String, target: &InspectedTarget) -> Section {
    let name = |level: &Level| match level.name {
        LevelName::ReadLimit => "read limit",
        LevelName::WriteLimit => "write limit",
        name => name.word(),
    };
    let peak = |level: &Level| level.pap_bytes_per_s.map_or("unknown".to_owned(), |rate| rate.to_string());
    let rows = target.levels.iter().map(|level| [name(level).to_owned(), peak(level), level.source.clone()]);
    let is_open = target.levels.iter().any(|level| level.pap_bytes_per_s.is_none());
    let about = if is_open { "An unknown one can be given, for example --pap device=3500MB/s." } else { "" };
    Section::new(title, about, Body::Facts(Table::new(["level", "advertised", "source"], rows)))
}

fn machine(inspected: &Inspected) -> Section {
    let facts = tree::machine(&inspected.machine);
    let row = |fact: &Branch| vec![fact.name.clone(), fact.text.clone()];
    let rows = facts.iter().flat_map(|fact| std::iter::once(row(fact)).chain(fact.below.iter().map(row)));
    Section::new("This machine", "", Body::Facts(Table { head: Vec::new(), rows: rows.collect() }))
}
