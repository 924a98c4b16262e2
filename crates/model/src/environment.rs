//! What a workload was measured on: the host, its clock, its personalities, the target and the device below it.
//!
//! Whatever the system does not tell is absent, never guessed.

use crate::levels::{GivenPeak, Level, LevelName, together};
use crate::origin::{Unknown, default_as_null, null_as_default, with_unknown};
use crate::reading::inspect::Limit;
use crate::units::{Bytes, BytesPerSecond};
use crate::workload::{Among, Layout, Personality, Workload};
use serde::{Deserialize, Serialize};

/// A testbed describing itself. Of an imported record hardly anything is known: no name, no CPU, no memory and no
/// clock are null in records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name, or the simulated machine's.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub host: String,
    /// Kernel release.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub kernel: String,
    /// CPUs that may be used.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub cpus: u32,
    /// Their numbers; empty where they are not known. Not part of the record.
    #[serde(skip)]
    pub cpu_numbers: Vec<u32>,
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// What chooses the CPUs' clock, `performance`; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// What tells the file of a simulated machine from another that says something else: the CRC-32C of what it says, whatever its
    /// comments and its order. Those of several with a comma between; none of a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_file_crc32c: Option<String>,
    /// Memory of the host.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub memory_bytes: Bytes,
    /// The clock latencies are taken with.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub clock: ClockFacts,
    /// The ways to do I/O, each with whether it works here.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub personalities: Vec<PersonalityFacts>,
    /// What the requests go to; the first, where there are several.
    pub target: TargetFacts,
    /// The others, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_targets: Vec<TargetFacts>,
}

/// A clock, as measured on the spot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Where the time is from: `tsc`, `monotonic`, `virtual`.
    pub source: String,
    /// The smallest step that was seen.
    pub resolution_ns: f64,
    /// What reading it once costs.
    pub cost_ns: f64,
}

/// Whether a personality works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonalityFacts {
    /// Which.
    pub personality: Personality,
    /// Why it does not; none when it does.
    pub unavailable: Option<String>,
    /// On a simulated machine, what its word stands for there; none where it is itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// Nothing: requests complete at once.
    Null,
    /// A volume of a simulated machine.
    Simulated,
    /// What an imported record does not tell.
    #[default]
    Unknown,
}

impl TargetKind {
    /// Whether its time is virtual: nobody waits for it, nothing wears, and a run repeats exactly.
    pub fn is_time_virtual(self) -> bool {
        self == TargetKind::Simulated
    }

    /// Whether a write can destroy data on it.
    pub fn can_lose_data(self) -> bool {
        !matches!(self, TargetKind::Null | TargetKind::Simulated)
    }
}

/// The target and the device below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct TargetFacts {
    /// As it was named.
    pub path: String,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes that can be addressed.
    #[serde(deserialize_with = "null_as_default")]
    pub size_bytes: Bytes,
    /// Bytes that are backed by the medium; less than the size for a sparse file. None where it does not apply.
    pub allocated_bytes: Option<Bytes>,
    /// Multiple that offsets, sizes and buffers must keep to for direct I/O; none where O_DIRECT is refused.
    pub direct_alignment_bytes: Option<Bytes>,
    /// The file system's type.
    pub filesystem: Option<String>,
    /// Its mount options.
    pub mount_options: Option<String>,
    /// The whole disk's kernel name, `vda`.
    pub device: Option<String>,
    /// How it is attached; `docs/FORMAT.md` lists the words.
    pub transport: Option<String>,
    /// The device's model.
    pub model: Option<String>,
    /// The revision of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its write cache as the kernel knows it, `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Read-ahead of the page cache.
    pub read_ahead_bytes: Option<Bytes>,
    /// Logical block of the device.
    pub logical_block_bytes: Option<Bytes>,
    /// Peak advertised performance, where it was given.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// What lies between a program and the medium, from memory to device, each with its peak.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// What control groups let this process move to and from the devices below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DeviceLimit>,
}

/// What a control group lets this process move to and from one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceLimit {
    /// The device's kernel name.
    pub device: String,
    /// How much.
    #[serde(flatten)]
    pub limit: Limit,
}

impl Environment {
    /// Of an imported record: the target's name and size as far as they are told, and nothing else.
    pub fn unknown(path: impl Into<String>, size: Option<Bytes>) -> Self {
        let target = TargetFacts::bare(path, TargetKind::Unknown, size.unwrap_or_default());
        Environment { target, ..Environment::default() }
    }

    /// Several as one, with the targets of all: names one after the other, and nothing where they have different figures. None
    /// of none.
    pub fn joined<'a>(environments: impl Iterator<Item = &'a Environment>) -> Option<Environment> {
        let mut whole: Option<Environment> = None;
        let mut names: [Vec<&str>; 3] = Default::default();
        for environment in environments {
            let file = environment.machine_file_crc32c.as_ref();
            for (known, name) in names.iter_mut().zip([Some(&environment.host), Some(&environment.kernel), file]) {
                known.extend(name.map(String::as_str).filter(|name| !known.contains(name)));
            }
            let Some(whole) = &mut whole else {
                whole = Some(environment.clone());
                continue;
            };
            whole.more_targets.extend(environment.all_targets().cloned());
            whole.cpu_model = whole.cpu_model.take().filter(|model| environment.cpu_model.as_ref() == Some(model));
            if whole.cpus != environment.cpus {
                whole.cpus = 0;
                whole.cpu_numbers.clear();
            }
            if whole.memory_bytes != environment.memory_bytes {
                whole.memory_bytes = Bytes(0);
            }
        }
        let [host, kernel, files] = names.map(|names| names.join(", "));
        let machine_file_crc32c = Some(files).filter(|files| !files.is_empty());
        whole.map(|whole| Environment { host, kernel, machine_file_crc32c, ..whole })
    }

    /// The kernel's names of the disks that the targets are on, each once.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for device in self.all_targets().filter_map(|target| target.device.as_deref()) {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    }

    /// The levels from memory to device of all targets together.
    pub fn levels(&self) -> Vec<Level> {
        together(self.all_targets().map(|target| target.levels.as_slice()))
    }

    /// How many targets there are.
    pub fn targets(&self) -> u32 {
        1 + self.more_targets.len() as u32
    }

    /// The numbers of the CPUs as a list of stretches: `0-3,8`.
    pub fn cpu_list(&self) -> String {
        let stretches = self.cpu_numbers.chunk_by(|one, next| one + 1 == *next);
        let written = stretches.map(|stretch| match stretch {
            [first, .., last] => format!("{first}-{last}"),
            _ => stretch.iter().map(u32::to_string).collect(),
        });
        written.collect::<Vec<_>>().join(",")
    }

    /// Every target, in order.
    pub fn all_targets(&self) -> impl Iterator<Item = &TargetFacts> {
        std::iter::once(&self.target).chain(&self.more_targets)
    }

    /// The same, to change them.
    pub fn all_targets_mut(&mut self) -> impl Iterator<Item = &mut TargetFacts> {
        std::iter::once(&mut self.target).chain(&mut self.more_targets)
    }

    /// The same with some of the targets alone; none where there are not as many.
    pub fn among(&self, among: Among) -> Option<Environment> {
        let range = among.range(self.targets())?;
        let mut chosen = self.all_targets().skip(range.start).take(range.len()).cloned();
        let target = chosen.next()?;
        Some(Environment { target, more_targets: chosen.collect(), ..self.clone() })
    }

    /// The first of the smallest targets.
    pub fn smallest_target(&self) -> &TargetFacts {
        self.all_targets().min_by_key(|target| target.size_bytes).unwrap_or(&self.target)
    }

    /// The multiple that direct I/O must keep to on every target; none where one of them refuses it.
    pub fn direct_alignment(&self) -> Option<Bytes> {
        let most = |most: Bytes, target: &TargetFacts| Some(most.max(target.direct_alignment_bytes?));
        self.all_targets().try_fold(Bytes(1), most)
    }

    /// Bytes that requests can be addressed to: those of the smallest target, or of what the layout makes of them all.
    pub fn volume_size(&self, layout: Layout) -> Bytes {
        let smallest = self.smallest_target().size_bytes.0;
        Bytes(match layout {
            Layout::Each | Layout::Mirror { .. } => smallest,
            Layout::Stripe { chunk } => (smallest - smallest % chunk.0) * u64::from(self.targets()),
        })
    }

    /// What a personality's word stands for here; none where it is itself.
    pub fn stands_for(&self, personality: Personality) -> Option<&str> {
        self.personalities.iter().find(|facts| facts.personality == personality)?.stands_for.as_deref()
    }

    /// By which way a workload's requests go here: `io_uring`, `by asynchronous requests of Windows 2000`.
    pub fn way(&self, workload: &Workload) -> String {
        let stands_for = self.stands_for(workload.personality);
        stands_for.map_or_else(|| workload.named_personality().to_string(), |what| format!("by {what}"))
    }

    /// Whether a personality works here.
    pub fn supports(&self, personality: Personality) -> bool {
        self.personalities.iter().any(|facts| facts.personality == personality && facts.unavailable.is_none())
    }
}

with_unknown!(TargetFacts, |facts| facts.size().is_none().then(|| Unknown::from_iter(["size_bytes"])));

impl TargetFacts {
    /// Bytes that can be addressed; none where an imported record does not tell.
    pub fn size(&self) -> Option<Bytes> {
        (self.kind != TargetKind::Unknown || self.size_bytes.0 > 0).then_some(self.size_bytes)
    }

    /// Facts of something that has a size and nothing else.
    pub fn bare(path: impl Into<String>, kind: TargetKind, size: Bytes) -> Self {
        TargetFacts { path: path.into(), kind, size_bytes: size, ..TargetFacts::default() }
    }

    /// Takes over peaks that were given: the levels' own say counts no more.
    pub fn give_peaks(&mut self, given: &[GivenPeak]) {
        for GivenPeak { level: name, bytes_per_s } in given {
            let at = match name {
                LevelName::Link | LevelName::Device => self.path.as_str(),
                _ => "this machine",
            };
            let level = self.levels.iter().find(|level| level.name == *name).cloned();
            let level = level.unwrap_or_else(|| Level::of(*name, [])).given(*bytes_per_s, at);
            if *name == LevelName::Device {
                self.pap_bytes_per_s = level.pap_bytes_per_s;
            }
            self.levels.retain(|other| other.name != *name);
            self.levels.push(level);
            self.levels.sort_by_key(|level| level.name);
        }
    }

    /// The peaks that were given, as they were given.
    pub fn given_peaks(&self) -> Vec<GivenPeak> {
        let rate = |level: &Level| level.channels.first().and_then(|channel| channel.pap_bytes_per_s);
        let given = self.levels.iter().filter(|level| level.is_given());
        given.filter_map(|level| Some(GivenPeak { level: level.name, bytes_per_s: rate(level)? })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(host: &str, cpus: u32, device: &str) -> Environment {
        let target = TargetFacts { device: Some(device.to_owned()), ..TargetFacts::default() };
        let (host, machine_file_crc32c, memory_bytes) = (host.to_owned(), Some(format!("of {host}")), Bytes(64));
        Environment { host, cpus, machine_file_crc32c, memory_bytes, target, ..Environment::default() }
    }

    #[test]
    fn several_machines_are_shown_as_one() {
        assert_eq!(Environment::joined(std::iter::empty()), None);
        let (one, same, other) = (machine("a", 2, "disk"), machine("a", 2, "disk"), machine("b", 1, "drum"));
        assert_eq!(Environment::joined([&one].into_iter()), Some(one.clone()));
        let all = Environment::joined([&one, &same, &other].into_iter()).unwrap();
        assert_eq!((all.host.as_str(), all.targets(), all.devices()), ("a, b", 3, vec!["disk", "drum"]));
        assert_eq!((all.cpus, all.memory_bytes), (0, Bytes(64)), "they differ in one of the two");
        assert_eq!(all.machine_file_crc32c.as_deref(), Some("of a, of b"));
    }
}
