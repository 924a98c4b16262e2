//! Names that distinguish several workloads: their words, and settings that the words do not show.
//!
//! A setting is named if a workload's words would be the same with another workload's value. The code tries this out, so that
//! no list of keys has to match the words.

use crate::key::{KEYS, Key};
use crate::workload::{Among, CachePolicy, Personality, Workload};
use std::collections::{HashMap, HashSet};

/// Keys that are named only if nothing else distinguishes two workloads: a plan changes limits, warm-ups and intervals, and a
/// size is rounded to whole requests.
const LAST: [&str; 6] = ["size", "duration", "requests", "bytes", "warmup", "interval"];

/// The name of each workload, in their order. `shown` are keys that are displayed beside the name.
///
/// If two workloads differ in a key, it is part of every name whose words do not show it. Usual values are left out
/// (`is_usual`). Limits, sizes, warm-ups and intervals are named only if nothing else distinguishes two workloads.
pub fn names(workloads: &[&Workload], shown: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = workloads.iter().map(ToString::to_string).collect();
    let words = names.clone();
    for key in first().filter(|key| !shown.contains(&key.name)) {
        let mut values: Vec<&Workload> = Vec::new();
        for workload in workloads {
            if !values.iter().any(|other| key.is_same(workload, other)) {
                values.push(workload);
            }
        }
        if values.len() < 2 {
            continue;
        }
        // For each workload without this setting, the number of values that give the same words. In a grid this makes as many
        // words as there are workloads, not their square.
        let mut readings: HashMap<Workload, HashMap<String, usize>> = HashMap::new();
        for ((name, words), workload) in names.iter_mut().zip(&words).zip(workloads) {
            let mut rest = Workload { seed: 0, ..(*workload).clone() };
            key.take(&mut rest, values[0]);
            let readings = readings.entry(rest).or_insert_with_key(|rest| {
                let mut readings = HashMap::new();
                for value in &values {
                    let mut changed = rest.clone();
                    key.take(&mut changed, value);
                    *readings.entry(changed.to_string()).or_default() += 1;
                }
                readings
            });
            if readings.get(words).is_some_and(|values| *values > 1) && !is_usual(key.name, workload) {
                add(name, key, workload);
            }
        }
    }
    for limit in KEYS.iter().filter(|key| LAST.contains(&key.name) && !shown.contains(&key.name)) {
        let mut first_of: HashMap<&String, &Workload> = HashMap::new();
        let mut shared: HashSet<String> = HashSet::new();
        for (name, workload) in names.iter().zip(workloads) {
            if !limit.is_same(first_of.entry(name).or_insert(workload), workload) {
                shared.insert(name.clone());
            }
        }
        let shared_names = names.iter_mut().zip(workloads).filter(|(name, _)| shared.contains(*name));
        let shared_names = shared_names.filter(|(_, workload)| !is_usual(limit.name, workload));
        shared_names.for_each(|(name, workload)| add(name, limit, workload));
    }
    names
}

/// Whether a setting has its usual value. There is one for each workload, so names still differ.
fn is_usual(key: &str, workload: &Workload) -> bool {
    let is_deep = workload.buffering.is_direct() || workload.depth > 1;
    match key {
        "cache" => workload.is_known(key) && workload.cache == CachePolicy::Keep,
        "personality" => {
            workload.is_known(key)
                && workload.personality == if is_deep { Personality::IoUring } else { Personality::Sync }
        }
        "among" => workload.is_known(key) && workload.among == Among::All,
        "set" => workload.set.is_empty(),
        _ => false,
    }
}

/// The other keys, without the seed, which differs between repetitions only.
fn first() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| !LAST.contains(&key.name) && key.name != "seed")
}

fn add(name: &mut String, key: &Key, workload: &Workload) {
    let value = if workload.is_known(key.field()) { key.shown(workload) } else { "not known".to_owned() };
    *name = format!("{name}, {} {value}", key.name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests_support::workload;
    use crate::{Buffering, Bytes, Limits, Nanoseconds, Sharing, SubmitBatch};

    fn named(workloads: &[Workload], shown: &[&str]) -> Vec<String> {
        names(&workloads.iter().collect::<Vec<_>>(), shown)
    }

    #[test]
    fn whatever_differs_is_said_once() {
        let batched = |batch, depth| Workload { submit_batch: SubmitBatch::Requests(batch), depth, ..workload() };
        let plain = "sequential read, 4 KiB";
        assert_eq!(named(&[workload(), Workload { seed: 7, ..workload() }], &[]), vec![workload().to_string(); 2]);
        // The depth is among the words; the batch is not, and is said though no two rows read alike.
        let names = named(&[batched(1, 4), batched(2, 8)], &[]);
        assert_eq!(
            names,
            [format!("{plain}, QD4, direct, submit_batch 1"), format!("{plain}, QD8, direct, submit_batch 2")]
        );
        let shared =
            Workload { sharing: Sharing::Whole, cache: CachePolicy::Cold, align: Some(Bytes(512)), ..workload() };
        let names = named(&[workload(), shared.clone()], &["cache"]);
        assert_eq!(names[0], format!("{plain}, QD1, direct, sharing parts, align none"));
        assert_eq!(names[1], format!("{plain}, QD1, direct, sharing whole, align 512 B"));
        assert!(named(&[workload(), shared.clone()], &[])[1].contains("cache cold"));
        // Limits are named only where nothing else differs.
        let longer = Limits { duration: Some(Nanoseconds(7_000_000_000)), ..workload().limits };
        let [first, second, other] = [
            workload(),
            Workload { limits: longer, ..workload() },
            Workload { limits: longer, depth: 2, ..workload() },
        ];
        let names = named(&[first, second, other], &[]);
        assert_eq!(names[0], format!("{plain}, QD1, direct, duration 5 s"));
        assert_eq!(names[1], format!("{plain}, QD1, direct, duration 7 s"));
        assert_eq!(names[2], format!("{plain}, QD2, direct"));
    }

    #[test]
    fn what_one_expects_is_not_said() {
        let direct = Workload { personality: Personality::IoUring, ..workload() };
        let (buffering, cache) = (Buffering::Buffered, CachePolicy::Cold);
        let cold = Workload { buffering, cache, personality: Personality::Sync, ..workload() };
        let other = Workload { personality: Personality::Libaio, ..direct.clone() };
        let set = Workload { set: "volume=atlas-1".parse().unwrap(), ..direct.clone() };
        let alone = Workload { among: Among::Only(2), targets: 4, ..direct.clone() };
        let names = named(&[direct, cold, other, set, alone], &["targets"]);
        let expected = [
            "direct",
            "buffered, cache cold",
            "direct, personality libaio",
            "direct, set volume=atlas-1",
            "direct, target 2 alone",
        ];
        assert_eq!(names, expected.map(|rest| format!("sequential read, 4 KiB, QD1, {rest}")));
    }

    #[test]
    fn unknown_fields_are_given_no_value() {
        let unknown = |fields: &[&str], depth| Workload {
            submit_batch: SubmitBatch::Auto,
            limits: Limits { duration: None, requests: None, bytes: None },
            unknown: fields.iter().copied().collect(),
            depth,
            ..workload()
        };
        let batched = Workload { submit_batch: SubmitBatch::Requests(4), ..workload() };
        let names = named(&[batched, unknown(&["submit_batch", "limits"], 1)], &[]);
        assert!(names[0].ends_with("submit_batch 4"), "{names:?}");
        assert!(names[1].ends_with("submit_batch not known"), "{names:?}");
        let names = named(&[workload(), unknown(&["limits"], 1)], &[]);
        assert!(names[0].ends_with("duration 5 s") && names[1].ends_with("duration not known"), "{names:?}");
    }

    #[test]
    fn every_setting_distinguishes_two_workloads() {
        let other = "operation=write pattern=random sharing=cursor among=only=2 layout=mirror buffering=none cache=warm \
                     file_state=sparse durability=fsync=1 time_close=on data=zeros verify=stamp personality=libaio \
                     ring=sqpoll rw_flags=hipri processes=on workers=5 depth=9 submit_batch=3 wait_batch=3 \
                     arrivals=poisson rate=7/s think=1ms/2 request_size=8KiB sizes=4KiB:1/8KiB:2 align=512 offset=512 size=2MiB \
                     duration=7s requests=1 bytes=1 warmup=1ns interval=10ms advise=on huge_pages=off block_phases=on cpus=1 cpu_count=1 connections=1 \
                     cpu_accounting=soaker set=disks=4";
        let other: HashMap<&str, &str> = other.split_whitespace().map(|said| said.split_once('=').unwrap()).collect();
        for key in KEYS.iter().filter(|key| key.name != "seed") {
            let mut changed = workload();
            key.fill(&key.read(other[key.name]).unwrap(), &mut changed);
            let names = named(&[workload(), changed], &[]);
            assert_ne!(names[0], names[1], "{}", key.name);
        }
    }
}
