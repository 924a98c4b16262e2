//! The settings of a sample's simulated machine, wherever they were given: in the workload by a study, or in the target's name
//! by `--set` and by the scripts of `plan --emit`. Both mean the same machine, and so the same workload.

use super::matching::{Group, Index, Spans, gather};
use super::programs::{Both, Habit, by_both};
use halfpower_model::{Sample, Settings, TargetKind, Unknown, Workload};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The settings key that names a volume.
const VOLUME: &str = "volume";

/// Settings of a machine by key.
type Set<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

/// A sample and the settings of its machine.
struct Placed<'a> {
    sample: &'a Sample,
    /// Settings in the target's name only, with machine and volume; empty on a host.
    named: Set<'a>,
    /// Settings of the workload, without the volume if the target's name has it.
    own: Set<'a>,
}

/// Samples and their workloads, each with all settings that distinguish its machine from the others.
pub(super) type WithSettings<'a> = Vec<(Cow<'a, Workload>, &'a Sample)>;

/// Both sides as they are compared.
pub(super) struct Sides<'a> {
    pub(super) workloads: [WithSettings<'a>; 2],
    pub(super) spans: Spans,
    /// Fields that one side does not record and that so do not count.
    pub(super) lacking: Unknown,
    /// Differences between the programs that do not count either.
    pub(super) habits: Vec<Habit>,
}

/// Both sides, matched so that more of their workloads are common. Either the settings in all targets' names of both sides are
/// the machine, and the others belong to the workload; or each side has its own machine, for a what-if comparison. Where nothing is
/// common, two targets of different sizes are compared, then two programs by the settings that both record, then both.
pub(super) fn with_settings<'a>(before: &[&'a Sample], after: &[&'a Sample]) -> Sides<'a> {
    let [before, after] =
        [before, after].map(|samples| samples.iter().map(|sample| placed(sample)).collect::<Vec<_>>());
    let [of_before, of_after] = [common(&before), common(&after)];
    let of_both = of_before.iter().filter(|(key, value)| of_after.get(*key) == Some(*value));
    let of_both: Set<'_> = of_both.map(|(key, value)| (key.clone(), value.clone())).collect();
    let one_machine = [without(&before, &of_both), without(&after, &of_both)];
    let two_machines = [without(&before, &of_before), without(&after, &of_after)];
    let of_one = meet(&one_machine, Spans::Equal);
    let of = |workloads, spans| Sides { workloads, spans, lacking: Unknown::default(), habits: Vec::new() };
    if of_before != of_after && meet(&two_machines, Spans::Equal) > of_one {
        return of(two_machines, Spans::Equal);
    }
    if of_one > 0 {
        return of(one_machine, Spans::Equal);
    }
    if meet(&two_machines, Spans::Any) > 0 {
        return of(two_machines, Spans::Any);
    }
    if let Some(Both { workloads, lacking, habits }) = by_both(&two_machines) {
        let first = [Spans::Equal, Spans::Any].into_iter().find(|spans| meet(&workloads, *spans) > 0);
        if let Some(spans) = first {
            return Sides { workloads, spans, lacking, habits };
        }
    }
    of(one_machine, Spans::Equal)
}

/// Number of common workloads.
fn meet([before, after]: &[WithSettings<'_>; 2], spans: Spans) -> usize {
    let groups = gather(before, &[]);
    let index = Index::of(groups.iter().map(|group: &Group<'_, '_>| group.workload), spans);
    gather(after, &[]).iter().filter(|group| index.find(group.workload).is_some()).count()
}

fn placed(sample: &Sample) -> Placed<'_> {
    let own = &sample.workload.set.0;
    let mut own: Set<'_> = own.iter().map(|(key, value)| (Cow::from(key), Cow::from(value))).collect();
    let target = &sample.environment.target;
    let mut named = if target.kind == TargetKind::Simulated { of_name(&target.path) } else { Set::new() };
    if named.contains_key(VOLUME) {
        own.remove(VOLUME);
    }
    named.retain(|key, _| !own.contains_key(key));
    Placed { sample, named, own }
}

/// The settings in the name of a simulated target, `sim:MACHINE:VOLUME,KEY=VALUE`; one of several ends with `#1`. Of a
/// machine file only the last part of the path counts, because the folder depends on where it is named from.
fn of_name(path: &str) -> Set<'_> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let path = path.rsplit_once('#').filter(|(_, number)| is_number(number)).map_or(path, |(path, _)| path);
    let Some(name) = path.strip_prefix("sim:") else { return Set::new() };
    let (volume, settings) = name.split_once(',').unwrap_or((name, ""));
    let volume = volume.rsplit_once('/').map_or(volume, |(_, name)| name);
    let settings: Settings = settings.parse().unwrap_or_default();
    let settings = settings.0.into_iter().map(|(key, value)| (Cow::from(key), Cow::from(value)));
    settings.chain([(Cow::from(VOLUME), Cow::from(volume))]).collect()
}

/// Settings in the names of all.
fn common<'a>(samples: &[Placed<'a>]) -> Set<'a> {
    let Some((first, others)) = samples.split_first() else { return Set::new() };
    let mut common = first.named.clone();
    others.iter().for_each(|other| common.retain(|key, value| other.named.get(key) == Some(value)));
    common
}

/// The workloads with all settings but these.
fn without<'a>(samples: &[Placed<'a>], machine: &Set<'_>) -> WithSettings<'a> {
    let workload = |placed: &Placed<'a>| {
        let Placed { sample, named, own } = placed;
        let apart = named.iter().filter(|(key, value)| machine.get(*key) != Some(*value));
        let set: BTreeMap<_, _> = own.iter().chain(apart).collect();
        let set = Settings(set.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
        let workload = &sample.workload;
        let is_unchanged = workload.set == set;
        (if is_unchanged { Cow::Borrowed(workload) } else { Cow::Owned(Workload { set, ..workload.clone() }) }, *sample)
    };
    samples.iter().map(workload).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, Method, compare};
    use crate::fixtures::{Run, read};
    use halfpower_model::{Sample, TargetKind, Workload};

    /// Samples of a read on simulated targets, each with what its workload sets.
    fn side(samples: &[(&str, &str)]) -> Vec<Sample> {
        let sample = |(path, set): &(&str, &str)| {
            let mut run = Run::of([(Workload { set: set.parse().unwrap_or_default(), ..read(4) }, [1e6])]);
            let mut sample = run.samples.remove(0).sample;
            (sample.environment.target.kind, sample.environment.target.path) =
                (TargetKind::Simulated, (*path).to_owned());
            sample
        };
        samples.iter().map(sample).collect()
    }

    fn compared(before: &[(&str, &str)], after: &[(&str, &str)]) -> Comparison {
        let (before, after) = (side(before), side(after));
        let [before, after] = [&before, &after].map(|side| vec![side.iter().collect()]);
        compare(&before, &after, Method::default())
    }

    /// How many workloads meet, and how many are of the one side and of the other alone.
    fn counts(before: &[(&str, &str)], after: &[(&str, &str)]) -> [usize; 3] {
        let comparison = compared(before, after);
        [comparison.cells.len(), comparison.only_before.len(), comparison.only_after.len()]
    }

    const SWEPT: [(&str, &str); 3] = [("sim:m:v", ""), ("sim:m:v", "disks=2"), ("sim:m:v", "pci.rate=1MB/s,disks=4")];

    #[test]
    fn a_setting_is_the_same_wherever_it_was_said() {
        let named = [("sim:m:v,disks=2", ""), ("sim:m:v,disks=4,pci.rate=1MB/s", ""), ("sim:m:v", "")];
        assert_eq!(counts(&SWEPT, &named), [3, 0, 0]);
        assert_eq!(counts(&SWEPT, &named[..1]), [1, 2, 0], "one of them");
        assert_eq!(counts(&named[..2], &SWEPT), [2, 0, 1]);
        // Each of several targets.
        assert_eq!(counts(&[("sim:m:v#1", "disks=2"), ("sim:m:v#1", "")], &[("sim:m:v,disks=2#1", "")]), [1, 1, 0]);
        // A volume of a study, whose target has its name.
        let volumes = [("sim:m:w", "volume=w"), ("sim:m:v", "volume=v,disks=2")];
        assert_eq!(counts(&volumes, &[("sim:m:v,disks=2", ""), ("sim:m:w", "")]), [2, 0, 0]);
        let of_file = [("sim:./m.toml:v", ""), ("sim:m:w", "volume=m:w")];
        assert_eq!(counts(&of_file, &[("sim:/home/m.toml:v", ""), ("sim:m:w", "")]), [2, 0, 0]);
    }

    #[test]
    fn what_all_of_a_side_have_is_its_machine() {
        assert_eq!(counts(&[("sim:m:v", "")], &[("sim:m:v,disks=2", "")]), [1, 0, 0]);
        assert_eq!(counts(&[("sim:m:v", "")], &[("sim:n:w", "")]), [1, 0, 0]);
        let other: Vec<(&str, &str)> = SWEPT.iter().map(|(_, set)| ("sim:m:v,cpu.count=1", *set)).collect();
        assert_eq!(counts(&SWEPT, &other), [3, 0, 0]);
        assert_eq!(counts(&SWEPT, &[("sim:n:w", "disks=2")]), [1, 2, 0]);
    }

    #[test]
    fn machines_that_differ_are_no_repetitions() {
        let named = [("sim:m:v,disks=2", ""), ("sim:m:v,disks=4", "")];
        assert_eq!(counts(&named, &[("sim:m:v", "")]), [0, 2, 1]);
    }

    #[test]
    fn what_is_not_set_is_not_named() {
        let comparison = compared(&SWEPT, &[("sim:m:v,disks=3", ""), ("sim:m:v,disks=5", "")]);
        let plain = "sequential read, 4 KiB, QD1, direct";
        assert_eq!(comparison.only_before[0], plain);
        assert_eq!(comparison.only_before[1], format!("{plain}, set disks=2"));
        assert_eq!(comparison.only_after[0], format!("{plain}, set disks=3"));
    }
}
