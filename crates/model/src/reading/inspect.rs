//! Inspecting: the path from a file to the hardware, and the machine around it.
//!
//! Names and models are what the kernel tells and may hold anything; serial numbers and addresses are left out.

use crate::levels::Level;
use crate::units::{Bytes, BytesPerSecond};
use crate::workload::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What inspecting found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    /// The machine.
    pub machine: Machine,
    /// Each target, in the order they were named.
    pub targets: Vec<InspectedTarget>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedTarget {
    /// As it was named.
    pub path: String,
    /// What it lies on.
    #[serde(flatten)]
    pub ground: Ground,
    /// From memory to device, each with its peak.
    pub levels: Vec<Level>,
}

/// What a file or a device lies on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ground {
    /// The file system; none for a device.
    pub filesystem: Option<FileSystem>,
    /// The block device; none where there is none or it is not known.
    pub device: Option<Device>,
    /// The other devices of a file system that lies on several at once, as btrfs may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Device>,
}

impl Ground {
    /// The device and those beside it.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.device.iter().chain(&self.beside)
    }
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its type, `ext4`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Options of the mount and of the file system.
    pub mount_options: String,
    /// What is mounted.
    pub source: String,
    /// Where it is and how it is reached, of one on a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// What a network file system is mounted from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The server, as the mount names it; none where there is none to name.
    pub server: Option<String>,
    /// What of it is mounted.
    pub share: Option<String>,
    /// The mount's options that decide what a request costs: `rsize=1048576`, `sync`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The interface that requests leave by.
    pub interface: Option<String>,
    /// The links from the processor to the network, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// A block device and what lies below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The kernel's name, `vda`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// What kind.
    pub kind: DeviceKind,
    /// Its size.
    pub size_bytes: Bytes,
    /// What a stacked device makes of those below: `raid0 of 4, chunks of 512 KiB`, `crypt`.
    pub made_as: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The firmware's revision.
    pub firmware: Option<String>,
    /// How it is attached, as in `target.transport`.
    pub transport: Option<String>,
    /// Its queue in the kernel; none for a partition, which uses its disk's.
    pub queue: Option<Queue>,
    /// Devices that are made of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
    /// The NUMA node it is attached to; none where there is one only or nobody tells.
    pub numa_node: Option<u32>,
    /// The links from the processor to the device, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What control groups let this process move to and from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// The devices it is made of, or the disk of a partition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Device>,
    /// The file that a loop device lies on.
    pub backing: Option<Box<Backing>>,
}

/// The kinds of block devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A disk, or what looks like one.
    Disk,
    /// A part of one.
    Partition,
    /// Made by the device mapper: encryption, volumes, paths.
    Mapped,
    /// A software RAID.
    Raid,
    /// A file that looks like a disk.
    Loop,
    /// Memory that looks like a disk.
    Memory,
}

words!(DeviceKind, "disk, partition, mapped, raid, loop, memory",
    "disk" => DeviceKind::Disk, "partition" => DeviceKind::Partition, "mapped" => DeviceKind::Mapped,
    "raid" => DeviceKind::Raid, "loop" => DeviceKind::Loop, "memory" => DeviceKind::Memory);

/// A block device's queue, from sysfs; what the kernel does not tell is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that may wait in the kernel, of each hardware queue.
    pub requests_max: Option<u64>,
    /// Commands that the device takes at once, where it says.
    pub depth_max: Option<u64>,
    /// Largest request the kernel sends.
    pub request_max_bytes: Option<Bytes>,
    /// Logical block.
    pub logical_block_bytes: Option<Bytes>,
    /// Physical block.
    pub physical_block_bytes: Option<Bytes>,
    /// Read-ahead of the file cache.
    pub read_ahead_bytes: Option<Bytes>,
    /// `write back` where the kernel takes the device to have a volatile write cache, else `write through`.
    pub write_cache: Option<String>,
    /// Unit of what may be discarded; none where nothing may be.
    pub discard_bytes: Option<Bytes>,
}

/// A link on the way from the processor to a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// What it is called on this machine: the PCI address of its lower end, `ata1`, `phy-0:0`.
    pub at: String,
    /// What kind.
    pub kind: LinkKind,
    /// How fast it runs now; none where nobody tells.
    pub now: Option<LinkRate>,
    /// How fast both ends could make it; none where nobody tells.
    pub best: Option<LinkRate>,
    /// Its peak as it runs now.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// Where that figure is from, or why there is none.
    pub source: String,
}

/// How a link runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRate {
    /// Bits on each lane in a second, in 10^9, before any coding is taken off.
    pub gigabits_per_s: f64,
    /// Lanes.
    pub lanes: u32,
}

/// The kinds of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// PCI or PCI Express.
    Pci,
    /// Serial ATA.
    Sata,
    /// Parallel ATA.
    Ata,
    /// Serial attached SCSI.
    Sas,
    /// Another kind of SCSI.
    Scsi,
    /// USB.
    Usb,
    /// What a hypervisor makes.
    Virtual,
    /// A network.
    Network,
    /// A memory card's.
    Mmc,
}

words!(LinkKind, "pci, sata, ata, sas, scsi, usb, virtual, network, mmc",
    "pci" => LinkKind::Pci, "sata" => LinkKind::Sata, "ata" => LinkKind::Ata, "sas" => LinkKind::Sas,
    "scsi" => LinkKind::Scsi, "usb" => LinkKind::Usb, "virtual" => LinkKind::Virtual,
    "network" => LinkKind::Network, "mmc" => LinkKind::Mmc);

/// What a control group lets a process move to and from a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The group, and the version of control groups it is one of: `blkio:/batch`, `v2:/user.slice`.
    pub group: String,
    /// Bytes read.
    pub read_bytes_per_s: Option<BytesPerSecond>,
    /// Bytes written.
    pub write_bytes_per_s: Option<BytesPerSecond>,
    /// Reads.
    pub read_requests_per_s: Option<u64>,
    /// Writes.
    pub write_requests_per_s: Option<u64>,
}

/// The file that a loop device lies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backing {
    /// Its path.
    pub path: String,
    /// What it lies on.
    #[serde(flatten)]
    pub ground: Ground,
}

/// The machine around the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Who made it and what they call it, or the hypervisor's word for that; none where the firmware does not tell.
    pub product: Option<String>,
    /// What it is virtualised by; none where it is not, as far as it shows.
    pub virtualisation: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// The processors.
    pub processors: Processors,
    /// Their caches, the smallest level first.
    pub caches: Vec<Cache>,
    /// NUMA nodes; none where the kernel does not show its processors either.
    pub numa_nodes: Option<u32>,
    /// The memory.
    pub memory: Memory,
    /// What the kernel says of each weakness of the processors.
    pub mitigations: BTreeMap<String, String>,
}

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processors {
    /// The name.
    pub model: Option<String>,
    /// Sockets; none where the kernel does not show them.
    pub sockets: Option<u32>,
    /// Cores of all sockets; none as above.
    pub cores: Option<u32>,
    /// Hardware threads of all cores; none as above.
    pub threads: Option<u32>,
    /// Clock of the first one when it was looked at.
    pub clock_mhz: Option<f64>,
    /// The most it may run at.
    pub clock_max_mhz: Option<f64>,
    /// What chooses the clock; several where processors differ, none where the kernel does not.
    pub governors: Vec<String>,
}

/// A cache of the processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the nearest.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of one.
    pub size_bytes: Bytes,
    /// How many there are.
    pub instances: u32,
}

/// The memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// What the kernel has.
    pub size_bytes: Bytes,
    /// The modules that are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<MemoryModule>,
    /// Channels with modules; none where their names do not tell.
    pub channels: Option<u32>,
    /// The peak of all channels.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// Where that figure is from, or why there is none.
    pub source: String,
}

/// A module of memory, from the firmware's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryModule {
    /// Where it is: the names of its slot and of its bank.
    pub place: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// `DDR4`; none for a kind that the tables have no name for.
    pub kind: Option<String>,
    /// 10^6 transfers a second that it is run at; none where the tables do not tell.
    pub megatransfers_per_s: Option<u32>,
    /// Bytes of a transfer.
    pub width_bytes: Option<u32>,
}

impl Device {
    /// It, and every device below it, however deep.
    pub fn stack(&self) -> Vec<&Device> {
        let below = self.below.iter().chain(self.backing.iter().filter_map(|backing| backing.ground.device.as_ref()));
        std::iter::once(self).chain(below.flat_map(Device::stack)).collect()
    }
}

impl Link {
    /// Whether both ends could make it faster than it runs.
    pub fn is_below_its_best(&self) -> bool {
        let rate = |rate: LinkRate| rate.gigabits_per_s * f64::from(rate.lanes);
        self.now.zip(self.best).is_some_and(|(now, best)| rate(now) < rate(best) * 0.99)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [
            self.read_bytes_per_s.map(|rate| format!("reads at {rate}, ")),
            self.write_bytes_per_s.map(|rate| format!("writes at {rate}, ")),
            self.read_requests_per_s.map(|rate| format!("{rate} reads per second, ")),
            self.write_requests_per_s.map(|rate| format!("{rate} writes per second, ")),
        ];
        write!(f, "{}control group {}", limits.into_iter().flatten().collect::<String>(), self.group)
    }
}
