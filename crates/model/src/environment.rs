//! The environment of a measurement: host, clock, personalities, target and its device.
//!
//! Facts that the system does not report are absent, never guessed.

use crate::levels::{GivenPeak, Level, LevelName, together};
use crate::origin::{Unknown, default_as_null, null_as_default, with_unknown};
use crate::reading::inspect::Limit;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds};
use crate::workload::{Among, Layout, Personality, Workload};
use serde::{Deserialize, Serialize};

/// Facts of a testbed. Unknown ones of an imported record are null: host, kernel, CPUs, memory, clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name, or the simulated machine's.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub host: String,
    /// Kernel release.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub kernel: String,
    /// Number of usable CPUs.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub cpus: u32,
    /// Their numbers; empty if unknown. Not part of the record.
    #[serde(skip)]
    pub cpu_numbers: Vec<u32>,
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// The CPU frequency governor, such as `performance`; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// CRC-32C of the content of a simulated machine's file, without comments and order. Several are separated by commas; none on a
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_file_crc32c: Option<String>,
    /// Memory of the host.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub memory_bytes: Bytes,
    /// The clock of the latencies.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub clock: ClockFacts,
    /// The personalities, and whether each works here.
    #[serde(serialize_with = "default_as_null", deserialize_with = "null_as_default")]
    pub personalities: Vec<PersonalityFacts>,
    /// The target; the first of several.
    pub target: TargetFacts,
    /// Further targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_targets: Vec<TargetFacts>,
}

/// A clock, measured at the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Its source: `tsc`, `monotonic`, `virtual`.
    pub source: String,
    /// Smallest step.
    pub resolution_ns: f64,
    /// Time of one reading.
    pub cost_ns: f64,
}

/// Whether a personality works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonalityFacts {
    /// Which.
    pub personality: Personality,
    /// Why it does not work; none if it works.
    pub unavailable: Option<String>,
    /// On a simulated machine, the I/O method that the word stands for; none if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

/// Kinds of targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// No target: requests complete immediately.
    Null,
    /// A volume of a simulated machine.
    Simulated,
    /// A volume of a server, reached without this host's kernel knowing it.
    Remote,
    /// Unknown, in imported records.
    #[default]
    Unknown,
}

impl TargetKind {
    /// Whether its time is virtual: runs take no real time, wear out nothing and repeat exactly.
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
    /// Its name as given.
    pub path: String,
    /// Its kind.
    pub kind: TargetKind,
    /// Its size.
    #[serde(deserialize_with = "null_as_default")]
    pub size_bytes: Bytes,
    /// Allocated bytes; less than the size for a sparse file. None if it does not apply.
    pub allocated_bytes: Option<Bytes>,
    /// Alignment of offsets, sizes and buffers for direct I/O; none if O_DIRECT is not supported.
    pub direct_alignment_bytes: Option<Bytes>,
    /// The file system's type.
    pub filesystem: Option<String>,
    /// Its mount options.
    pub mount_options: Option<String>,
    /// The whole disk's kernel name, `vda`.
    pub device: Option<String>,
    /// Its transport; `docs/FORMAT.md` lists the words.
    pub transport: Option<String>,
    /// The device's model.
    pub model: Option<String>,
    /// The revision of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its write cache by the kernel's account, `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Whether the kernel treats it as a hard disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Read-ahead of the page cache.
    pub read_ahead_bytes: Option<Bytes>,
    /// Requests that its queue holds (`nr_requests`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<u64>,
    /// Largest request that reaches the disk in one piece, whatever memory it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_request_bytes: Option<Bytes>,
    /// Logical block of the device.
    pub logical_block_bytes: Option<Bytes>,
    /// Peak advertised performance, if given.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// The levels from memory to device, each with its peak.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Limits of control groups on this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DeviceLimit>,
    /// The server of a remote target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
}

/// A server, and what it and this program agreed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The protocol, by its personality.
    pub protocol: Personality,
    /// Where it was reached: `192.0.2.1:10809`, or the path of a socket.
    pub address: String,
    /// What was negotiated, in words.
    pub agreed: Vec<String>,
    /// Largest request.
    pub request_max_bytes: Bytes,
    /// Why the volume cannot be written; none if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<String>,
    /// The kernel's estimate of the round trip (TCP_INFO); none of a local socket.
    #[serde(default, rename = "round_trip_s", skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Nanoseconds>,
    /// Largest segment that is sent (TCP_INFO); none of a local socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_max_bytes: Option<Bytes>,
}

impl Server {
    /// Whether it was reached without a network: by a loopback address or a local socket.
    pub fn is_on_this_host(&self) -> bool {
        let address = self.address.parse::<std::net::SocketAddr>();
        self.address.starts_with('/') || address.is_ok_and(|address| address.ip().is_loopback())
    }
}

/// A control group's limit on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceLimit {
    /// The device's kernel name.
    pub device: String,
    /// The limit.
    #[serde(flatten)]
    pub limit: Limit,
}

impl Environment {
    /// Of an imported record: the target's name, and its size if known.
    pub fn unknown(path: impl Into<String>, size: Option<Bytes>) -> Self {
        let target = TargetFacts::bare(path, TargetKind::Unknown, size.unwrap_or_default());
        Environment { target, ..Environment::default() }
    }

    /// Several joined to one with all targets: names are listed, and differing figures become unknown. None without any.
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

    /// Kernel names of the targets' disks, each once.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for device in self.all_targets().filter_map(|target| target.device.as_deref()) {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    }

    /// The levels of all targets together.
    pub fn levels(&self) -> Vec<Level> {
        together(self.all_targets().map(|target| target.levels.as_slice()))
    }

    /// Number of targets.
    pub fn targets(&self) -> u32 {
        1 + self.more_targets.len() as u32
    }

    /// The CPU numbers as a list of ranges: `0-3,8`.
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

    /// The same, mutable.
    pub fn all_targets_mut(&mut self) -> impl Iterator<Item = &mut TargetFacts> {
        std::iter::once(&mut self.target).chain(&mut self.more_targets)
    }

    /// The same with some of the targets only; none if there are too few.
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

    /// The alignment of direct I/O for all targets; none if one does not support it.
    pub fn direct_alignment(&self) -> Option<Bytes> {
        let most = |most: Bytes, target: &TargetFacts| Some(most.max(target.direct_alignment_bytes?));
        self.all_targets().try_fold(Bytes(1), most)
    }

    /// Bytes of the smallest target, or of the volume that the layout makes of all.
    pub fn volume_size(&self, layout: Layout) -> Bytes {
        let smallest = self.smallest_target().size_bytes.0;
        Bytes(match layout {
            Layout::Each | Layout::Mirror { .. } => smallest,
            Layout::Stripe { chunk } => (smallest - smallest % chunk.0) * u64::from(self.targets()),
        })
    }

    /// The I/O method that a personality's word stands for here; none if it is the same.
    pub fn stands_for(&self, personality: Personality) -> Option<&str> {
        self.personalities.iter().find(|facts| facts.personality == personality)?.stands_for.as_deref()
    }

    /// The I/O method of a workload here: `io_uring`, `by asynchronous requests of Windows 2000`.
    pub fn way(&self, workload: &Workload) -> String {
        let stands_for = self.stands_for(workload.personality);
        stands_for.map_or_else(|| workload.named_personality().to_string(), |what| format!("by {what}"))
    }

    /// The first target that a server holds.
    pub fn remote_target(&self) -> Option<(&TargetFacts, &Server)> {
        self.all_targets().find_map(|target| Some((target, target.server.as_ref()?)))
    }

    /// Whether a personality works here.
    pub fn supports(&self, personality: Personality) -> bool {
        self.personalities.iter().any(|facts| facts.personality == personality && facts.unavailable.is_none())
    }
}

with_unknown!(TargetFacts, |facts| facts.size().is_none().then(|| Unknown::from_iter(["size_bytes"])));

impl TargetFacts {
    /// Its size; none if unknown, in imported records.
    pub fn size(&self) -> Option<Bytes> {
        (self.kind != TargetKind::Unknown || self.size_bytes.0 > 0).then_some(self.size_bytes)
    }

    /// A target with only a name, kind and size.
    pub fn bare(path: impl Into<String>, kind: TargetKind, size: Bytes) -> Self {
        TargetFacts { path: path.into(), kind, size_bytes: size, ..TargetFacts::default() }
    }

    /// Replaces the levels' peaks by given ones.
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

    /// The given peaks.
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
