//! The path from a file to the hardware, and the machine around it.
//!
//! Names and models come from the kernel and may contain anything. Serial numbers and addresses are left out.

use crate::levels::Level;
use crate::units::{Bytes, BytesPerSecond};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The record of `inspect`.
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
    /// Its storage.
    #[serde(flatten)]
    pub storage: Storage,
    /// From memory to device, each with its peak.
    pub levels: Vec<Level>,
}

/// Storage of a file or device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// The file system; none for a device.
    pub filesystem: Option<FileSystem>,
    /// The block device; none if there is none or it is unknown.
    pub device: Option<Device>,
    /// The other devices of a file system on several, such as btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Device>,
}

impl Storage {
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
    /// The mounted source.
    pub source: String,
    /// The server and the path to it, of a network file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// The server of a network file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The server, as the mount names it.
    pub server: Option<String>,
    /// The mounted share.
    pub share: Option<String>,
    /// The mount options that decide the cost of a request: `rsize=1048576`, `sync`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The interface that requests leave by.
    pub interface: Option<String>,
    /// The links from the CPU to the network, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Why there are no links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// A block device and those below it.
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
    /// Devices stacked on this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
    /// Its NUMA node; none if there is only one or it is unknown.
    pub numa_node: Option<u32>,
    /// The links from the CPU to the device, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Limits of control groups on this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// The devices it is stacked on, or the disk of a partition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Device>,
    /// The file of a loop device.
    pub backing: Option<Box<Backing>>,
}

words! {
    /// The kinds of block devices.
    pub enum DeviceKind {
        /// A disk, real or virtual.
        Disk = "disk",
        /// A partition of one.
        Partition = "partition",
        /// By the device mapper: encryption, volumes, multipath.
        Mapped = "mapped",
        /// A software RAID.
        Raid = "raid",
        /// A file as a disk.
        Loop = "loop",
        /// Memory as a disk.
        Memory = "memory",
    }

    /// The kinds of links.
    pub enum LinkKind {
        /// PCI or PCI Express.
        Pci = "pci",
        /// Serial ATA.
        Sata = "sata",
        /// Parallel ATA.
        Ata = "ata",
        /// Serial attached SCSI.
        Sas = "sas",
        /// Another kind of SCSI.
        Scsi = "scsi",
        /// USB.
        Usb = "usb",
        /// Of a hypervisor.
        Virtual = "virtual",
        /// A network.
        Network = "network",
        /// A memory card's.
        Mmc = "mmc",
    }
}

/// A block device's queue, from sysfs; none is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Whether the kernel treats it as a hard disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Maximum requests per hardware queue in the kernel.
    pub requests_max: Option<u64>,
    /// Queue depth of the device, if it reports one.
    pub depth_max: Option<u64>,
    /// Maximum request size.
    pub request_max_bytes: Option<Bytes>,
    /// Maximum pieces of memory in a request (`max_segments`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_max: Option<u64>,
    /// Logical block.
    pub logical_block_bytes: Option<Bytes>,
    /// Physical block.
    pub physical_block_bytes: Option<Bytes>,
    /// Read-ahead of the page cache.
    pub read_ahead_bytes: Option<Bytes>,
    /// `write back` if the kernel knows a volatile write cache, else `write through`.
    pub write_cache: Option<String>,
    /// Discard granularity; none without discard.
    pub discard_bytes: Option<Bytes>,
}

/// A link between the CPU and a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name on this machine: the PCI address of its lower end, `ata1`, `phy-0:0`.
    pub at: String,
    /// What kind.
    pub kind: LinkKind,
    /// Its current rate; none if unknown.
    pub now: Option<LinkRate>,
    /// The best rate of both ends; none if unknown.
    pub best: Option<LinkRate>,
    /// Its peak at the current rate.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// The source of that figure, or why there is none.
    pub source: String,
}

/// The rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRate {
    /// 10^9 bits per second per lane, before line coding.
    pub gigabits_per_s: f64,
    /// Lanes.
    pub lanes: u32,
}

/// Limits of a control group on a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The group, and the version of control groups it is one of: `blkio:/batch`, `v2:/user.slice`.
    pub group: String,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<BytesPerSecond>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<BytesPerSecond>,
    /// Reads per second.
    pub read_requests_per_s: Option<u64>,
    /// Writes per second.
    pub write_requests_per_s: Option<u64>,
}

/// The file of a loop device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backing {
    /// Its path.
    pub path: String,
    /// Its storage.
    #[serde(flatten)]
    pub storage: Storage,
}

/// The machine around the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Vendor and product, or those of the hypervisor; none if unknown.
    pub product: Option<String>,
    /// The hypervisor; none if none is found.
    pub virtualisation: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// The CPUs.
    pub cpus: Cpus,
    /// Their caches, the innermost first.
    pub caches: Vec<Cache>,
    /// NUMA nodes; none if unknown.
    pub numa_nodes: Option<u32>,
    /// The memory.
    pub memory: Memory,
    /// The kernel's state of each CPU vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

/// The CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpus {
    /// The name.
    pub model: Option<String>,
    /// Sockets; none if unknown.
    pub sockets: Option<u32>,
    /// Cores of all sockets; none if unknown.
    pub cores: Option<u32>,
    /// Hardware threads of all cores; none if unknown.
    pub threads: Option<u32>,
    /// Current clock of the first CPU.
    pub clock_mhz: Option<f64>,
    /// Its maximum clock.
    pub clock_max_mhz: Option<f64>,
    /// Clock governors; several if CPUs differ.
    pub governors: Vec<String>,
}

/// A CPU cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the innermost.
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
    /// Memory of the kernel.
    pub size_bytes: Bytes,
    /// The installed modules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<MemoryModule>,
    /// Channels with modules; none if their names do not show it.
    pub channels: Option<u32>,
    /// The peak of all channels.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// The source of that figure, or why there is none.
    pub source: String,
}

/// A module of memory, from the firmware's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryModule {
    /// The names of its slot and bank.
    pub place: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// `DDR4`; none if unknown.
    pub kind: Option<String>,
    /// Configured speed in 10^6 transfers per second; none if unknown.
    pub megatransfers_per_s: Option<u32>,
    /// Bytes per transfer.
    pub width_bytes: Option<u32>,
}

impl Device {
    /// It, and every device below it.
    pub fn stack(&self) -> Vec<&Device> {
        let below = self.below.iter().chain(self.backing.iter().filter_map(|backing| backing.storage.device.as_ref()));
        std::iter::once(self).chain(below.flat_map(Device::stack)).collect()
    }
}

impl Link {
    /// Whether both ends support a higher rate.
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
