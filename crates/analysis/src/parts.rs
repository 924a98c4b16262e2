//! How busy the parts of a testbed that reports them were, as means over repetitions.

use crate::cells::Cell;
use crate::statistics::mean_estimate;
use halfpower_model::sample::{Part, PartKind};
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;
use std::collections::BTreeMap;

/// A part of a testbed and its load.
#[derive(Clone, Debug, Serialize)]
pub struct PartUse {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: PartKind,
    /// Busy share of the time.
    pub busy: Estimate,
}

/// Empty if no repetition reports parts; a missing part was idle.
pub(crate) fn of(cell: &Cell<'_>) -> Vec<PartUse> {
    let used = |part: &Part| {
        let busy: Vec<f64> = in_each(cell, part).map(|part| part.map_or(0.0, |part| part.busy)).collect();
        Some(PartUse { name: part.name.clone(), kind: part.kind, busy: mean_estimate(Quantity::Ratio, &busy)? })
    };
    each(cell).into_iter().filter_map(used).collect()
}

/// The same as parts of one mean repetition.
pub(crate) fn mean(cell: &Cell<'_>) -> Vec<Part> {
    let count = cell.repetitions.len().max(1) as f64;
    let mean = |part: &Part| {
        let all_busy: f64 = in_each(cell, part).flatten().map(|part| part.busy).sum();
        let mut phases = BTreeMap::<String, f64>::new();
        for part in in_each(cell, part).flatten() {
            for (phase, share) in &part.phases {
                *phases.entry(phase.clone()).or_default() += share * part.busy / all_busy.max(f64::MIN_POSITIVE);
            }
        }
        Part { busy: all_busy / count, phases, ..part.clone() }
    };
    each(cell).into_iter().map(mean).collect()
}

/// Every reported part, once.
fn each<'a>(cell: &Cell<'a>) -> Vec<&'a Part> {
    let mut first: Vec<&Part> = Vec::new();
    for part in cell.repetitions.iter().flat_map(|observed| &observed.sample.parts) {
        if !first.iter().any(|other| is_it(other, part)) {
            first.push(part);
        }
    }
    first
}

/// A part in each repetition; none if idle.
fn in_each<'a>(cell: &'a Cell<'_>, part: &'a Part) -> impl Iterator<Item = Option<&'a Part>> {
    cell.repetitions.iter().map(|observed| observed.sample.parts.iter().find(|other| is_it(other, part)))
}

/// A bus and a disk may share a name.
fn is_it(one: &Part, other: &Part) -> bool {
    one.kind == other.kind && one.name == other.name
}

/// Parts with one kind and name but for a number, such as the disks of a stripe, the busiest first; the group of the busiest
/// first. `of` gives a part's name, kind and busy share.
pub(crate) fn grouped<'a, T: Copy>(
    parts: impl IntoIterator<Item = T>,
    of: impl Fn(T) -> (&'a str, PartKind, f64),
) -> Vec<Vec<T>> {
    let name = |part: T| (of(part).1, without_number(of(part).0));
    // In the order of the path: of two that are as busy, the first one counts.
    let mut groups: Vec<Vec<T>> = Vec::new();
    for part in parts {
        match groups.iter_mut().find(|group| name(group[0]) == name(part)) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    let busy = |part: &T| of(*part).2;
    groups.iter_mut().for_each(|group| group.sort_by(|one, other| busy(other).total_cmp(&busy(one))));
    let mean = |group: &[T]| group.iter().map(busy).sum::<f64>() / group.len() as f64;
    groups.sort_by(|one, other| busy(&other[0]).total_cmp(&busy(&one[0])).then(mean(other).total_cmp(&mean(one))));
    groups
}

/// A part's name without its number.
pub(crate) fn without_number(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Parts with their busy share, the busiest first, numbered ones in one line: `pci 97 %, 3 × atlas-10k 45 % (44 to 46 %)`. Waits
/// are left out.
pub fn busiest_first<'a>(parts: impl IntoIterator<Item = (&'a str, PartKind, f64)>) -> Vec<String> {
    let parts = parts.into_iter().filter(|(_, kind, _)| *kind != PartKind::Wait);
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let line = |group: Vec<(&str, PartKind, f64)>| {
        let (most, least) = (percent(group[0].2), percent(group[group.len() - 1].2));
        let mean = percent(group.iter().map(|(_, _, busy)| busy).sum::<f64>() / group.len() as f64);
        let range = if least == most { String::new() } else { format!(" ({least} to {most} %)") };
        let number = if group.len() > 1 { format!("{} × ", group.len()) } else { String::new() };
        format!("{number}{} {mean} %{range}", without_number(group[0].0))
    };
    grouped(parts, |part| part).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Run, begins, read};

    fn part(name: &str, kind: PartKind, busy: f64) -> Part {
        Part { busy, ..Part::idle(name, kind) }
    }

    #[test]
    fn repetitions_are_averaged() {
        let mut run = Run::default();
        run.add(read(64), &[1e9, 1e9]);
        run.add(read(128), &[1e9]);
        run.samples[0].sample.parts = vec![part("pci", PartKind::Bus, 0.9), part("disk 1", PartKind::Device, 0.5)];
        run.samples[1].sample.parts = vec![part("pci", PartKind::Bus, 0.7)];
        let analysis = analyse(&run.observed());
        let parts: Vec<_> = analysis.cells[0].parts.iter().map(|part| (part.name.as_str(), part.busy.value)).collect();
        assert_eq!(parts, [("pci", 0.8), ("disk 1", 0.25)]);
        assert!(analysis.cells[1].parts.is_empty());
    }

    #[test]
    fn the_pace_has_the_figures_of_the_table() {
        let mut run = Run::of([(read(64), [1e9, 1.01e9, 0.99e9])]);
        for (sample, share) in run.samples.iter_mut().zip([0.79, 0.69, 0.74]) {
            let mut disk = part("disk 1", PartKind::Device, 0.98);
            disk.phases.insert(Part::PASSING.to_owned(), share);
            sample.sample.parts = vec![disk, part("adapter", PartKind::Bus, share)];
        }
        let analysis = analyse(&run.observed());
        assert!((analysis.cells[0].parts[1].busy.value - 0.74).abs() < 1e-9);
        let reason = &analysis.cells[0].pace.as_ref().unwrap().reason;
        begins(reason, "the busiest part, disk, was busy 98 % of the time; the next, adapter, 74 %");
    }

    #[test]
    fn the_busiest_by_itself_is_named_first() {
        let parts = [("disk 1", 0.0), ("disk 2", 1.0), ("bus", 0.7)].map(|(name, busy)| (name, PartKind::Device, busy));
        assert_eq!(busiest_first(parts), ["2 × disk 50 % (0 to 100 %)", "bus 70 %"]);
        let parts = [("ssd 1", PartKind::Device, 0.2), ("ssd 2", PartKind::Device, 0.4), ("ssd", PartKind::Bus, 1.0)];
        assert_eq!(busiest_first(parts), ["ssd 100 %", "2 × ssd 30 % (20 to 40 %)"], "a bus is no disk of its name");
    }

    #[test]
    fn disks_of_a_kind_are_one_line() {
        let disks = [("atlas 1", 0.44), ("atlas 2", 0.46), ("atlas 10", 0.45)];
        let disks = disks.map(|(name, busy)| (name, PartKind::Device, busy));
        let (cpus, pci) = (("CPUs", PartKind::Cpu, 0.031), ("pci", PartKind::Bus, 0.972));
        let window = ("window", PartKind::Wait, 1.0);
        let parts = [cpus, pci, window].into_iter().chain(disks);
        assert_eq!(busiest_first(parts), ["pci 97 %", "3 × atlas 45 % (44 to 46 %)", "CPUs 3 %"]);
    }
}
