//! What each of several workloads is called among the others: its words, and whatever else tells it from them.
//!
//! A setting is named where the words of a workload would be the same with the value that another one has. That is
//! tried out rather than listed, so that words and names cannot drift apart.

use super::{Among, CachePolicy, Personality, Workload};
use crate::units::{Bytes, Nanoseconds};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;

/// A setting of a workload.
struct Setting {
    /// Its key in a study.
    key: &'static str,
    value: fn(&Workload) -> String,
    is_same: fn(&Workload, &Workload) -> bool,
    /// Gives the first the value that the second has.
    take: fn(&mut Workload, &Workload),
}

/// The settings, each with its field and how its value is written.
macro_rules! settings {
    ($name:ident, $($key:literal: $($field:ident).+ => $value:expr,)+) => {
        const $name: &[Setting] = &[$(Setting {
            key: $key,
            value: |workload| $value(&workload.$($field).+),
            is_same: |one, other| one.$($field).+ == other.$($field).+,
            take: |one, other| one.$($field).+.clone_from(&other.$($field).+),
        },)+];
    };
}

settings!(SETTINGS,
    "operation": operation => text,
    "pattern": pattern => text,
    "sharing": sharing => text,
    "request_size": request_size => text,
    "sizes": sizes => text,
    "align": align => or_none::<Bytes>,
    "offset": offset => text,
    "depth": depth => text,
    "submit_batch": submit_batch => text,
    "wait_batch": wait_batch => text,
    "workers": workers => text,
    "worker_kind": worker_kind => text,
    "buffering": buffering => text,
    "personality": personality => text,
    "plugin": plugin => or_none,
    "ring": ring => text,
    "rw_flags": rw_flags => text,
    "among": among => text,
    "layout": layout => text,
    "arrivals": arrivals => text,
    "rate": rate => or_none,
    "interval": interval => text,
    "cache": cache => text,
    "file_state": file_state => text,
    "durability": durability => text,
    "closing": closing => text,
    "data": data => text,
    "verify": verify => text,
    "block_phases": block_phases => text,
    "cpus": cpus => list,
    "processors": processors => or_none,
    "cpu_accounting": cpu_accounting => text,
    "set": set => text,
);

// How many targets there are follows from which; a plan gives cells limits of its own and takes a warm-up away, and a size is cut to whole requests, so that these say
// little beside the rest.
settings!(LIMITS,
    "targets": targets => text,
    "size": span => text,
    "duration": limits.duration => or_none::<Nanoseconds>,
    "requests": limits.requests => or_none,
    "bytes": limits.bytes => or_none,
    "warmup": warmup => text,
);

/// Every field of a workload is above, but for its seed, by which repetitions differ and not workloads, and for what
/// is not known of imported ones.
const _: fn(Workload) = |workload| {
    #[rustfmt::skip]
    let Workload {
        operation: _, pattern: _, sharing: _, request_size: _, sizes: _, align: _, offset: _, depth: _,
        submit_batch: _, wait_batch: _, workers: _, worker_kind: _, buffering: _, personality: _, plugin: _, ring: _,
        rw_flags: _, layout: _, among: _, targets: _, span: _, limits: _, arrivals: _, rate: _, warmup: _, interval: _,
        cache: _, file_state: _, durability: _, closing: _, data: _, verify: _, seed: _, block_phases: _, cpus: _,
        processors: _, cpu_accounting: _, set: _, unknown: _,
    } = workload;
};

/// What each workload is called among them all, in their order. `shown` are the keys that stand beside the name.
///
/// A key is named in every name that would not tell it otherwise, if any two of the workloads differ in it, but for the file
/// cache left as it is, the personality that nobody has to ask for, all of one target and a machine of which nothing is set; a limit, a size or a warm-up only where nothing else
/// tells two of them apart.
pub fn names(workloads: &[&Workload], shown: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = workloads.iter().map(ToString::to_string).collect();
    let words = names.clone();
    for setting in SETTINGS.iter().filter(|setting| !shown.contains(&setting.key)) {
        let mut values: Vec<&Workload> = Vec::new();
        for workload in workloads {
            if !values.iter().any(|other| (setting.is_same)(workload, other)) {
                values.push(workload);
            }
        }
        if values.len() < 2 {
            continue;
        }
        // By all that is the same but for this setting, how many of its values give the same words: in a grid there are
        // as many words to make as there are workloads, not the square of that.
        let mut readings: HashMap<Workload, HashMap<String, usize>> = HashMap::new();
        for ((name, words), workload) in names.iter_mut().zip(&words).zip(workloads) {
            let mut rest = Workload { seed: 0, ..(*workload).clone() };
            (setting.take)(&mut rest, values[0]);
            let readings = readings.entry(rest).or_insert_with_key(|rest| {
                let mut readings = HashMap::new();
                for value in &values {
                    let mut changed = rest.clone();
                    (setting.take)(&mut changed, value);
                    *readings.entry(changed.to_string()).or_default() += 1;
                }
                readings
            });
            if readings.get(words).is_some_and(|values| *values > 1) && !is_usual(setting.key, workload) {
                setting.add_to(name, workload);
            }
        }
    }
    for limit in LIMITS.iter().filter(|limit| !shown.contains(&limit.key)) {
        let mut first_of: HashMap<&String, &Workload> = HashMap::new();
        let mut shared: HashSet<String> = HashSet::new();
        for (name, workload) in names.iter().zip(workloads) {
            if !(limit.is_same)(first_of.entry(name).or_insert(workload), workload) {
                shared.insert(name.clone());
            }
        }
        let shared_names = names.iter_mut().zip(workloads).filter(|(name, _)| shared.contains(*name));
        let shared_names = shared_names.filter(|(_, workload)| !is_usual(limit.key, workload));
        shared_names.for_each(|(name, workload)| limit.add_to(name, workload));
    }
    names
}

/// Whether a setting has the value that one expects. There is one for each workload, so that names still differ.
fn is_usual(key: &str, workload: &Workload) -> bool {
    let is_deep = workload.buffering.is_direct() || workload.depth > 1;
    match key {
        "cache" => workload.tells(key) && workload.cache == CachePolicy::Keep,
        "personality" => {
            workload.tells(key)
                && workload.personality == if is_deep { Personality::IoUring } else { Personality::Sync }
        }
        "among" => workload.tells(key) && workload.among == Among::All,
        "targets" => workload.tells(key) && workload.targets == 1,
        "set" => workload.set.is_empty(),
        _ => false,
    }
}

impl Setting {
    fn add_to(&self, name: &mut String, workload: &Workload) {
        let value = if workload.tells(self.field()) { (self.value)(workload) } else { "not told".to_owned() };
        *name = format!("{name}, {} {value}", self.key);
    }

    /// The field of a record that has it.
    fn field(&self) -> &'static str {
        match self.key {
            "interval" => "interval_s",
            "warmup" => "warmup_s",
            "size" => "span",
            "duration" | "requests" | "bytes" => "limits",
            key => key,
        }
    }
}

fn text(value: &impl Display) -> String {
    value.to_string()
}

fn or_none<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "none".to_owned(), T::to_string)
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    if numbers.is_empty() { "none".to_owned() } else { numbers.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests_support::workload;
    use crate::{Buffering, Limits, Sharing};

    fn named(workloads: &[Workload], shown: &[&str]) -> Vec<String> {
        names(&workloads.iter().collect::<Vec<_>>(), shown)
    }

    #[test]
    fn what_one_expects_is_not_said_beside_what_one_does_not() {
        let one = Workload { set: "volume=atlas-1".parse().unwrap(), ..workload() };
        let alone = Workload { among: Among::Only(2), targets: 4, ..workload() };
        let names = named(&[one, alone], &[]);
        assert!(!names[1].contains("set"), "{names:?}");
        assert!(names[0].ends_with("set volume=atlas-1") && names[1].contains("target 2 alone"), "{names:?}");
        assert!(!names[0].contains("among") && !names[0].contains("targets"), "{names:?}");
    }

    #[test]
    fn whatever_differs_is_said_once() {
        let batched = |submit_batch, depth| Workload { submit_batch, depth, ..workload() };
        let plain = "sequential read, 4 KiB";
        assert_eq!(named(&[workload(), Workload { seed: 7, ..workload() }], &[]), vec![workload().to_string(); 2]);
        // The depth is among the words; the batch is not, and is said though no two rows read alike.
        let names = named(&[batched(1, 4), batched(2, 8)], &[]);
        assert_eq!(
            names,
            [format!("{plain}, 4 deep, direct, submit_batch 1"), format!("{plain}, 8 deep, direct, submit_batch 2")]
        );
        let shared =
            Workload { sharing: Sharing::Whole, cache: CachePolicy::Cold, align: Some(Bytes(512)), ..workload() };
        let names = named(&[workload(), shared.clone()], &["cache"]);
        assert_eq!(names[0], format!("{plain}, 1 deep, direct, sharing parts, align none"));
        assert_eq!(names[1], format!("{plain}, 1 deep, direct, sharing whole, align 512 B"));
        assert!(named(&[workload(), shared.clone()], &[])[1].ends_with("cache cold"));
        // Only those that nothing else tells apart name their limits.
        let longer = Limits { duration: Some(Nanoseconds(7_000_000_000)), ..workload().limits };
        let [first, second, other] =
            [workload(), Workload { limits: longer, ..workload() }, Workload { limits: longer, ..batched(1, 2) }];
        let names = named(&[first, second, other], &[]);
        assert_eq!(names[0], format!("{plain}, 1 deep, direct, duration 5 s"));
        assert_eq!(names[1], format!("{plain}, 1 deep, direct, duration 7 s"));
        assert_eq!(names[2], format!("{plain}, 2 deep, direct"));
    }

    #[test]
    fn what_one_expects_is_not_said() {
        let direct = Workload { personality: Personality::IoUring, ..workload() };
        let cold = Workload {
            buffering: Buffering::Buffered,
            personality: Personality::Sync,
            cache: CachePolicy::Cold,
            ..workload()
        };
        let other = Workload { personality: Personality::Libaio, ..direct.clone() };
        let plain = "sequential read, 4 KiB, 1 deep";
        let names = named(&[direct, cold, other], &[]);
        let expected = ["direct", "buffered, cache cold", "direct, personality libaio"];
        assert_eq!(names, expected.map(|rest| format!("{plain}, {rest}")));
    }

    #[test]
    fn what_is_not_told_is_not_given_a_value() {
        let untold = |fields: &[&str], depth| Workload {
            submit_batch: 0,
            limits: Limits { duration: None, requests: None, bytes: None },
            unknown: fields.iter().copied().collect(),
            depth,
            ..workload()
        };
        let names = named(&[workload(), untold(&["submit_batch", "limits"], 1)], &[]);
        assert!(names[0].ends_with("submit_batch 1"), "{names:?}");
        assert!(names[1].ends_with("submit_batch not told"), "{names:?}");
        let batched = Workload { submit_batch: 0, ..workload() };
        let names = named(&[batched, untold(&["limits"], 1)], &[]);
        assert!(names[0].ends_with("duration 5 s") && names[1].ends_with("duration not told"), "{names:?}");
    }

    #[test]
    fn every_setting_tells_two_workloads_apart() {
        let other = Workload {
            operation: "write".parse().unwrap(),
            pattern: "random".parse().unwrap(),
            sharing: "cursor".parse().unwrap(),
            request_size: Bytes(8192),
            sizes: "4KiB:1/8KiB:2".parse().unwrap(),
            align: Some(Bytes(512)),
            offset: Bytes(512),
            depth: 9,
            submit_batch: 3,
            wait_batch: 3,
            workers: 5,
            worker_kind: "process".parse().unwrap(),
            buffering: "none".parse().unwrap(),
            personality: "libaio".parse().unwrap(),
            plugin: "./own.so".parse().ok(),
            ring: "sqpoll".parse().unwrap(),
            rw_flags: "hipri".parse().unwrap(),
            layout: "mirror".parse().unwrap(),
            among: "only=2".parse().unwrap(),
            targets: 2,
            span: Bytes(1 << 21),
            limits: Limits { duration: None, requests: Some(1), bytes: Some(Bytes(1)) },
            arrivals: "poisson".parse().unwrap(),
            rate: "7/s".parse().ok(),
            warmup: Nanoseconds(1),
            interval: Nanoseconds(1),
            cache: "warm".parse().unwrap(),
            file_state: "sparse".parse().unwrap(),
            durability: "fsync=1".parse().unwrap(),
            closing: "timed".parse().unwrap(),
            data: "zeros".parse().unwrap(),
            verify: "stamp".parse().unwrap(),
            block_phases: "on".parse().unwrap(),
            seed: 2,
            cpus: vec![1],
            processors: Some(1),
            cpu_accounting: "soaker".parse().unwrap(),
            set: "disks=4".parse().unwrap(),
            ..workload()
        };
        for setting in SETTINGS.iter().chain(LIMITS) {
            let mut changed = workload();
            (setting.take)(&mut changed, &other);
            let names = named(&[workload(), changed], &[]);
            assert_ne!(names[0], names[1], "{}", setting.key);
        }
    }
}
