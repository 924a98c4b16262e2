//! The papers' figures as they ship: all there, each a study that runs.

use super::builtin::FILES;
use super::*;
use crate::plan::{Overrides, Plan};
use crate::simulator::published::figures;
use crate::target::{self, TargetOptions};
use halfpower_model::{Among, Cancel, Nanoseconds, Testbed, Workload, WorkloadSpec};
use halfpower_sim::Simulated;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

const FOLDERS: [&str; 3] = ["nt4", "win2000", "lkml"];

/// A plan of a study on its own machine, short.
fn plan(study: &Study) -> (Plan, target::Site) {
    plan_on(study, &[study.path.as_ref().unwrap()])
}

/// A plan of a study on targets, short.
fn plan_on(study: &Study, targets: &[&str]) -> (Plan, target::Site) {
    let targets = targets.iter().map(Into::into).collect();
    let site = target::examine(&TargetOptions { targets, ..TargetOptions::default() }).unwrap();
    let overrides = Overrides {
        workload: WorkloadSpec {
            duration: Some(Nanoseconds(20_000_000)),
            warmup: Some(Nanoseconds(0)),
            ..WorkloadSpec::default()
        },
        machines: site.machines(&study.settings()).unwrap(),
        ..Overrides::default()
    };
    let plan =
        Plan::make(study, &overrides, &site.environment()).unwrap_or_else(|error| panic!("{}: {error}", study.name));
    (plan, site)
}

fn machine(path: &str) -> Simulated {
    let (machine, volume) = path.strip_prefix("sim:").unwrap().rsplit_once(':').unwrap();
    halfpower_sim::shipped::testbed(machine, volume).unwrap().unwrap()
}

#[test]
fn every_study_file_that_is_there_ships() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
    let mut there = BTreeSet::new();
    for under in ["", "nt4/", "win2000/", "win2000/remote/", "lkml/"] {
        for entry in std::fs::read_dir(folder.join(under)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            there.extend(name.strip_suffix(".toml").map(|name| format!("{under}{name}")));
        }
    }
    assert!(there.remove("published"), "the papers' figures are no study");
    assert_eq!(there, FILES.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn every_figure_of_the_papers_is_a_study_or_left_out_with_a_reason() {
    for (folder, figures, tables, page) in [
        ("nt4", 1..=13, 1..=4, include_str!("../../../../docs/studies/nt4.md")),
        ("win2000", 1..=38, 1..=11, include_str!("../../../../docs/studies/win2000.md")),
    ] {
        let (_, left_out) = page.split_once("## Left out").unwrap();
        let labels = figures.map(|number| ("Figure", number)).chain(tables.map(|number| ("Table", number)));
        for (kind, number) in labels {
            let label = format!("{kind} {number}");
            let study = Study::builtin(&format!("{folder}/{}-{number}", kind.to_lowercase()));
            let is_left_out = left_out.contains(&format!("**{label}**"));
            assert!(study.is_some() != is_left_out, "{folder}: {label}");
            let own = study.iter().flat_map(Study::exhibits).map(|exhibit| exhibit.label.as_str());
            assert_eq!(own.collect::<Vec<_>>(), if is_left_out { vec![] } else { vec![label.as_str()] }, "{folder}");
        }
    }
}

#[test]
fn every_figure_runs_on_its_machine() {
    let mut done: HashSet<String> = HashSet::new();
    for name in FOLDERS.into_iter().flat_map(Study::files_of) {
        let study = Study::builtin(name).unwrap();
        assert!(study.question.is_some() && study.exhibits().len() == 1, "{name}");
        let (plan, _) = plan(&study);
        assert!(plan.skipped.is_empty(), "{name}: {:?}", plan.skipped);
        let mut testbed = machine(study.path.as_ref().unwrap());
        for cell in &plan.cells {
            let workload = Workload { seed: 0, ..cell.workload.clone() };
            if done.insert(format!("{} {workload:?}", study.path.as_ref().unwrap())) {
                let sample = testbed.measure(&cell.workload, &mut (), &Cancel::default());
                let sample = sample.unwrap_or_else(|error| panic!("{name}: {}: {error}", cell.workload));
                assert!(sample.is_complete(), "{name}: {}", cell.workload);
            }
        }
    }
    assert!(done.len() > 900, "{}", done.len());
}

#[test]
fn what_the_papers_print_stands_beside_their_figures() {
    let published = figures();
    for (folder, source, least) in [("nt4", "nt4", 0.9), ("win2000", "w2k", 0.75), ("lkml", "lkml", 1.0)] {
        let study = Study::builtin(folder).unwrap();
        let (plan, _) = plan(&study);
        assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
        let beside = crate::simulator::paper_figures::paper_figures(&plan, study.path.as_ref().unwrap(), &published);
        assert_eq!(beside.len(), Study::files_of(folder).count());
        let found: Vec<&str> = beside.iter().flat_map(|of| &of.printed).map(|of| of.figure.id.as_str()).collect();
        let all = published.iter().filter(|figure| figure.source == source && figure.left_out.is_none());
        let missing: Vec<&str> =
            all.clone().map(|figure| figure.id.as_str()).filter(|id| !found.contains(id)).collect();
        assert!(found.len() as f64 >= least * all.count() as f64, "{folder}: {missing:?}");
        // A printed value stands with its figure.
        for figure in &beside {
            let label = figure.exhibit.label.to_lowercase();
            let others = figure.printed.iter().filter(|of| of.figure.place == label && of.figure.source == source);
            let of_place = published.iter().filter(|of| of.place == label && found.contains(&of.id.as_str()));
            assert_eq!(others.count(), of_place.filter(|of| of.source == source).count(), "{folder} {label}");
        }
    }
}

#[test]
fn what_the_papers_print_stands_beside_other_targets_too() {
    let study = Study::builtin("win2000/figure-36").unwrap();
    let one = study.clone().moved(&StandIns::OneOfHost);
    let each = study.moved(&StandIns::EachOfHost);
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let both = folders.each_ref().map(|folder| folder.path().to_str().unwrap());
    for (study, targets, is_each) in [(one, &both[..1], false), (each, &both[..], true)] {
        let (plan, _) = plan_on(&study, targets);
        let beside = crate::simulator::paper_figures::paper_figures(&plan, &targets.join(", "), &figures());
        let printed = &beside[0].printed;
        assert!(printed.len() > 10 && printed.iter().all(|own| !own.is_its_machine && own.is_within().is_none()));
        for own in printed {
            let number = if own.figure.targets[0].ends_with(":unc-atlas") { 1 } else { 2 };
            let among = if is_each { Among::Only(number) } else { Among::All };
            assert!(own.cells.iter().all(|cell| plan.cells[*cell as usize].workload.among == among), "{own:?}");
        }
    }
}
