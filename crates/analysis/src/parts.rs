//! How busy the parts of a simulated machine were in a cell: the mean over its repetitions. A real machine does not tell.

use crate::cells::Cell;
use crate::statistics::mean_estimate;
use halfpower_model::sample::{Part, PartKind};
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

/// How busy a part of a simulated machine was.
#[derive(Clone, Debug, Serialize)]
pub struct PartUse {
    /// As the machine's file calls it.
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// Share of the time that it was busy.
    pub busy: Estimate,
}

/// Empty where no repetition tells; a part that stood still in one has no share there.
pub(crate) fn of(cell: &Cell<'_>) -> Vec<PartUse> {
    let samples = || cell.repetitions.iter().map(|observed| &observed.sample.parts);
    let mut first: Vec<&Part> = Vec::new();
    for part in samples().flatten() {
        if !first.iter().any(|other| other.name == part.name) {
            first.push(part);
        }
    }
    let busy = |name: &str| -> Vec<f64> {
        samples().map(|parts| parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.busy)).collect()
    };
    let used = |part: &Part| {
        let busy = mean_estimate(Quantity::Ratio, &busy(&part.name))?;
        Some(PartUse { name: part.name.clone(), kind: part.kind, busy })
    };
    first.into_iter().filter_map(used).collect()
}

/// Parts of one name and a number, such as the disks of a stripe: their name, and the share of the time that each was busy.
pub(crate) fn grouped<'a>(parts: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<(&'a str, Vec<f64>)> {
    let mut groups: Vec<(&str, Vec<f64>)> = Vec::new();
    for (name, busy) in parts {
        let alike = match name.rsplit_once(' ') {
            Some((alike, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => alike,
            _ => name,
        };
        match groups.iter_mut().find(|(other, _)| *other == alike) {
            Some((_, shares)) => shares.push(busy),
            None => groups.push((alike, vec![busy])),
        }
    }
    groups.sort_by(|(_, one), (_, other)| mean_of(other).total_cmp(&mean_of(one)));
    groups
}

/// The mean of shares; never of none.
pub(crate) fn mean_of(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// Parts with the share of the time that each was busy, the busiest first; of those of one name and a number one line, with
/// their mean: `pci 97 %, 3 × atlas-10k 45 % (44 to 46 %)`. What requests wait for without anything at work is left out.
pub fn busiest_first<'a>(parts: impl IntoIterator<Item = (&'a str, PartKind, f64)>) -> Vec<String> {
    let parts = parts.into_iter().filter(|(_, kind, _)| *kind != PartKind::Wait).map(|(name, _, busy)| (name, busy));
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let told = |(name, shares): (&str, Vec<f64>)| {
        let mean = percent(mean_of(&shares));
        let (least, most) =
            shares.iter().fold((1.0_f64, 0.0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
        let range = match (percent(least), percent(most)) {
            (least, most) if least == most => String::new(),
            (least, most) => format!(" ({least} to {most} %)"),
        };
        let number = if shares.len() > 1 { format!("{} × ", shares.len()) } else { String::new() };
        format!("{number}{name} {mean} %{range}")
    };
    grouped(parts).into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::support::{Run, read};

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
        let told: Vec<_> = analysis.cells[0].parts.iter().map(|part| (part.name.as_str(), part.busy.value)).collect();
        assert_eq!(told, [("pci", 0.8), ("disk 1", 0.25)]);
        assert!(analysis.cells[1].parts.is_empty());
    }

    #[test]
    fn disks_of_a_kind_are_one_line() {
        let disks = [("atlas 1", 0.44), ("atlas 2", 0.46), ("atlas 10", 0.45)];
        let disks = disks.map(|(name, busy)| (name, PartKind::Device, busy));
        let (processors, pci) = (("processors", PartKind::Processor, 0.031), ("pci", PartKind::Bus, 0.972));
        let window = (Part::SHARE_WAITS[0], PartKind::Wait, 1.0);
        let parts = [processors, pci, window].into_iter().chain(disks);
        assert_eq!(busiest_first(parts), ["pci 97 %", "3 × atlas 45 % (44 to 46 %)", "processors 3 %"]);
    }
}
