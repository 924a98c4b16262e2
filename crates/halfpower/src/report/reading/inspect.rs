//! The page of `halfpower inspect`: the path from each target to the hardware, what each level advertises, the machine.

use super::{Body, Page, Section};
use crate::report::table::Table;
use halfpower_model::reading::{Branch, Inspected, InspectedTarget};

pub(super) fn page(inspected: &Inspected) -> Page {
    let is_one = inspected.targets.len() == 1;
    let title = |of_one: &str, target: &InspectedTarget| {
        if is_one { of_one.to_owned() } else { format!("{of_one} of {}", target.path) }
    };
    let targets = inspected.targets.iter();
    let targets = targets.flat_map(|target| {
        [path(title("The path", target), target), levels(title("What is advertised", target), target)]
    });
    Page {
        title: "Inspect",
        verdict: inspected.verdict(),
        unfinished: None,
        charts: Vec::new(),
        sections: targets.chain([machine(inspected)]).collect(),
        method: vec![
            "From what the kernel tells: sysfs, procfs, the firmware’s tables. Nothing is opened or measured. What a level \
             advertises is read off its link or was given; a level that does not say is unknown, and nothing is guessed.",
        ],
    }
}

fn path(title: String, target: &InspectedTarget) -> Section {
    Section { title, about: String::new(), body: Body::Tree(target.ground.tree()) }
}

fn levels(title: String, target: &InspectedTarget) -> Section {
    let rows = target.levels.iter();
    let rows = rows.map(|level| [level.name.title().to_owned(), level.peak(), level.source.clone()]);
    let is_open = target.levels.iter().any(|level| level.pap_bytes_per_s.is_none());
    Section {
        title,
        about: if is_open { "What is unknown can be given: --pap device=3500MB/s." } else { "" }.to_owned(),
        body: Body::Facts(Table::new(["level", "advertised", "from"], rows)),
    }
}

fn machine(inspected: &Inspected) -> Section {
    let facts = inspected.machine.facts();
    let row = |fact: &Branch| [fact.name.clone(), fact.said.clone()];
    let rows = facts.iter().flat_map(|fact| std::iter::once(row(fact)).chain(fact.below.iter().map(row)));
    Section {
        title: "This machine".to_owned(),
        about: String::new(),
        body: Body::Facts(Table::new(["what", "here"], rows)),
    }
}
