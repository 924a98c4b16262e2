//! The analysis with the truth hidden: random machines and workloads in the simulator, which knows how busy every part was;
//! what a host has of them goes to the analysis, which has to name the part that was full.
//!
//! The machines are those on which one part is busy more than nine tenths of the time and every other less than seven, 40 for
//! each kind (`just hidden`; `cargo test` has 4): CPUs, disks, what disks are attached by, controllers, buses of the
//! host. The host is told the true rates of the buses, and then rates 35 % above, as PCI's 133 MB/s are above the 98.5 that the
//! study of 2000 reached. `--nocapture` shows the tables and every machine of which another part is named, by its seed.

mod host;
mod machines;
mod study;

use std::collections::BTreeMap;
use study::{Case, PARTS, named};

/// Machines of each kind; fewer without optimisation, since that takes several times as long.
const EACH: usize = if cfg!(debug_assertions) { 4 } else { 40 };
/// The kinds: the buses of the host are one, and still have to be told apart.
const KINDS: usize = 5;
/// More seeds than this a kind does not need.
const SEEDS: u64 = 20_000;

/// What the host is told of the buses' rates, times the truth.
const TOLD: [f64; 2] = [1.0, 1.35];

/// How often which part was named, by the part that was full.
type Table = BTreeMap<(&'static str, &'static str), usize>;

/// Adds the machines from this seed on, to a table for each telling.
fn add(tables: &mut [Table; TOLD.len()], first_seed: u64) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in first_seed..first_seed + SEEDS {
        if counts.values().sum::<usize>() == EACH * KINDS {
            break;
        }
        let Some(case) = Case::of(seed) else { continue };
        let (truth, words) = (case.truth, case.words());
        let count = counts.entry(if truth == "bridge" { "far" } else { truth }).or_default();
        if *count == EACH {
            continue;
        }
        *count += 1;
        for ((table, told), attribution) in tables.iter_mut().zip(TOLD).zip(case.attributions(TOLD)) {
            let name = named(&attribution);
            *table.entry((truth, name)).or_default() += 1;
            if name != truth {
                eprintln!("seed {seed}, told {told}: {words}; named: {name}. {}", attribution.brief());
            }
        }
    }
    assert!(counts.len() == KINDS && counts.values().all(|count| *count == EACH), "{counts:?}");
}

/// Shows how often the part was named that was full, and demands nineteen of twenty.
fn check(tables: &[Table]) {
    for (table, told) in tables.iter().zip(TOLD) {
        let right: usize = table.iter().filter(|((truth, name), _)| truth == name).map(|(_, count)| count).sum();
        let all: usize = table.values().sum();
        eprintln!("told {told}: {right} of {all}");
        for part in PARTS {
            let row = table.iter().filter(|((truth, _), _)| *truth == part);
            let row: Vec<String> = row.map(|((_, name), count)| format!("{name} {count}")).collect();
            eprintln!("{part:>10} is full, named: {}", row.join(", "));
        }
        assert!(right * 20 >= all * 19, "told {told}: {table:?}");
    }
}

#[test]
fn the_part_that_is_full_is_named_in_nineteen_of_twenty() {
    let mut tables = Default::default();
    add(&mut tables, 0);
    check(&tables);
}

#[test]
#[ignore = "five times as many: just hidden"]
fn so_it_is_with_other_seeds() {
    let mut all: [Table; TOLD.len()] = Default::default();
    for set in 1..=5 {
        let mut tables = Default::default();
        add(&mut tables, set * 1_000_000);
        check(&tables[..1]);
        for (sum, table) in all.iter_mut().zip(tables) {
            table.into_iter().for_each(|(named, count)| *sum.entry(named).or_default() += count);
        }
    }
    check(&all);
}
