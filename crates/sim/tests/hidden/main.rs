//! The analysis with the truth hidden: random machines and workloads in the simulator, which knows how busy every part was;
//! what a host has of them goes to the analysis, which has to name the part that was full.
//!
//! The machines are those on which one part is busy more than nine tenths of the time and every other less than seven, 40 for
//! each kind (`just hidden`; `cargo test` has 4): CPUs, disks, what disks are attached by, controllers, buses of the
//! host. `--nocapture` shows the table and every machine of which another part is named, by its seed.

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

/// How often which part was named, by the part that was full.
type Table = BTreeMap<(&'static str, &'static str), usize>;

fn table(first_seed: u64) -> Table {
    let mut table = Table::new();
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
        let attribution = case.attribution();
        let name = named(&attribution);
        *table.entry((truth, name)).or_default() += 1;
        if name != truth {
            eprintln!("seed {seed}: {words}; named: {name}. {}", attribution.brief());
        }
    }
    assert!(counts.len() == KINDS && counts.values().all(|count| *count == EACH), "{counts:?}");
    table
}

fn right(table: &Table) -> usize {
    table.iter().filter(|((truth, name), _)| truth == name).map(|(_, count)| count).sum()
}

fn show(table: &Table) {
    for part in PARTS {
        let row = table.iter().filter(|((truth, _), _)| *truth == part);
        let row: Vec<String> = row.map(|((_, name), count)| format!("{name} {count}")).collect();
        eprintln!("{part:>10} is full, named: {}", row.join(", "));
    }
    eprintln!("{} of {}", right(table), EACH * KINDS);
}

#[test]
fn the_part_that_is_full_is_named_in_nineteen_of_twenty() {
    let table = table(0);
    show(&table);
    assert!(right(&table) * 20 >= EACH * KINDS * 19, "{table:?}");
}

#[test]
#[ignore = "five times as many: just hidden"]
fn so_it_is_with_other_seeds() {
    for set in 1..=5 {
        let table = table(set * 1_000_000);
        show(&table);
        assert!(right(&table) * 20 >= EACH * KINDS * 19, "{table:?}");
    }
}
