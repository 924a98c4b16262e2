//! The levels of a target, from memory to device, and the peak of each, from its storage.
//!
//! If a stack has several disks, each has its channel at every level; a shared link has one channel. A file system without a disk
//! ends at its network, or at the memory.

use super::{Root, network};
use halfpower_model::environment::DeviceLimit;
use halfpower_model::reading::inspect::{Device, DeviceKind, Limit, Link, Memory, Network, Storage};
use halfpower_model::{BytesPerSecond, Channel, Level, LevelName};

/// The levels of a target on this storage. The kernel does not know a device's own peak.
pub(crate) fn levels(storage: &Storage, memory: &Memory) -> Vec<Level> {
    let mut levels = vec![memory_level(memory)];
    let bottom = bottom(storage);
    let stack: Vec<&Device> = storage.devices().flat_map(Device::stack).collect();
    for name in [LevelName::ReadLimit, LevelName::WriteLimit] {
        if stack.iter().any(|device| limit_of(device, name).is_some()) {
            let mut channels = Vec::new();
            storage.devices().for_each(|top| limit_channels(top, None, name, &mut channels));
            levels.push(Level::of(name, channels));
        }
    }
    let is_leaf = |device: &&&Device| device.below.is_empty() && device.backing.is_none();
    let disks: Vec<&Device> =
        stack.iter().filter(is_leaf).filter(|device| device.kind == DeviceKind::Disk).copied().collect();
    if disks.is_empty() {
        if let Some(mount) = bottom.filesystem.as_ref()
            && let Some(network) = &mount.network
        {
            levels.extend(network_levels(&mount.source, network));
        }
        return levels;
    }
    let bus: Vec<Channel> = disks.iter().flat_map(|disk| bus(&disk.links)).collect();
    if !bus.is_empty() {
        levels.push(Level::of(LevelName::Bus, bus));
    }
    let link = |disk: &&Device| match disk.links.last() {
        Some(link) => last(link),
        None => channel(&disk.name, None, "the kernel does not report how it is attached"),
    };
    levels.push(Level::of(LevelName::Link, disks.iter().map(link)));
    let device = |disk: &&Device| channel(&disk.name, None, "a device does not report its own peak");
    levels.push(Level::of(LevelName::Device, disks.iter().map(device)));
    levels
}

/// The levels of a volume of a server at this address, which may be the path of a local socket.
pub(crate) fn levels_to(root: &Root, server: &str, memory: &Memory) -> Vec<Level> {
    let mut levels = vec![memory_level(memory)];
    levels.extend(network_levels(server, &network::to_server(root, server)));
    levels
}

fn memory_level(memory: &Memory) -> Level {
    Level::of(LevelName::Memory, [channel("memory", memory.pap_bytes_per_s, &memory.source)])
}

/// The bus and the link to a network, whose source is named where its link is unknown.
fn network_levels(source: &str, network: &Network) -> impl Iterator<Item = Level> {
    let bus = bus(&network.links);
    let why = network.unknown.as_deref().unwrap_or("a network does not report its bandwidth");
    let link = network.links.last().map_or_else(|| channel(source, None, why), last);
    let bus = (!bus.is_empty()).then(|| Level::of(LevelName::Bus, bus));
    bus.into_iter().chain([Level::of(LevelName::Link, [link])])
}

/// Limits of control groups on every device below.
pub(crate) fn limits(storage: &Storage) -> Vec<DeviceLimit> {
    let of = |device: &Device| {
        let named = |limit: &Limit| DeviceLimit { device: device.name.clone(), limit: limit.clone() };
        device.limits.iter().map(named).collect::<Vec<_>>()
    };
    storage.devices().flat_map(Device::stack).flat_map(of).collect()
}

/// The storage that the last loop device of a stack lies on, or the storage itself.
fn bottom(storage: &Storage) -> &Storage {
    let stack = storage.devices().flat_map(Device::stack);
    stack.filter_map(|device| device.backing.as_ref()).last().map_or(storage, |backing| &backing.storage)
}

fn channel(at: &str, pap_bytes_per_s: Option<BytesPerSecond>, source: &str) -> Channel {
    Channel { at: at.to_owned(), through: None, pap_bytes_per_s, source: source.to_owned() }
}

/// The last link of all: the device's or the network's own.
fn last(link: &Link) -> Channel {
    channel(&link.at, link.pap_bytes_per_s, &link.source)
}

/// The links above the last, each through the one above it.
fn bus(links: &[Link]) -> Vec<Channel> {
    let Some((_, above)) = links.split_last() else { return Vec::new() };
    let through = |index: usize| index.checked_sub(1).map(|upper: usize| above[upper].at.clone());
    let one = |(index, link): (usize, &Link)| Channel {
        through: through(index),
        ..channel(&link.at, link.pap_bytes_per_s, &link.source)
    };
    above.iter().enumerate().map(one).collect()
}

/// Every device of a stack with its limit, or none, through the one above it.
fn limit_channels(device: &Device, through: Option<&str>, name: LevelName, channels: &mut Vec<Channel>) {
    let (rate, source) = match limit_of(device, name) {
        Some((rate, group)) => (Some(rate), format!("control group {group} on {}", device.name)),
        None => (None, format!("no limit on {}", device.name)),
    };
    channels.push(Channel { through: through.map(str::to_owned), ..channel(&device.name, rate, &source) });
    let backing = device.backing.iter().flat_map(|backing| backing.storage.devices());
    device.below.iter().chain(backing).for_each(|below| limit_channels(below, Some(&device.name), name, channels));
}

/// The lowest limit of a group, and the group.
fn limit_of(device: &Device, name: LevelName) -> Option<(BytesPerSecond, &str)> {
    let rate = |limit: &Limit| match name {
        LevelName::ReadLimit => limit.read_bytes_per_s,
        _ => limit.write_bytes_per_s,
    };
    let rates = device.limits.iter().filter_map(|limit| Some((rate(limit)?, limit.group.as_str())));
    rates.min_by(|a, b| a.0.0.total_cmp(&b.0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::device::storage_of;
    use crate::system::machine::memory;
    use crate::system::tree::Tree;
    use std::path::{Path, PathBuf};

    /// Name, peak in MB/s and source of every level of a file on the device `number`.
    fn shown(tree: &Tree, number: &str) -> Vec<(LevelName, Option<f64>, String)> {
        tree.mounts(&format!(
            "30 1 {number} / / rw - ext4 /dev/disk rw\n35 31 0:36 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio"
        ));
        let found = levels(&storage_of(&tree.root(), Path::new("/")), &memory(&tree.root()));
        let peak = |level: &Level| level.pap_bytes_per_s.map(|rate| (rate.0 / 1e6).round());
        found.into_iter().map(|level| (level.name, peak(&level), level.source)).collect()
    }

    fn level(name: LevelName, megabytes: f64, source: &str) -> (LevelName, Option<f64>, String) {
        (name, Some(megabytes), source.to_owned())
    }

    fn raid(tree: &Tree, level: &str) -> [PathBuf; 2] {
        let disks = ["sda", "sdb"].map(|name| tree.sas(name));
        let raid = tree.device("devices/virtual/block/md0", "9:0", &[("md/level", level)]);
        tree.stack(&raid, &[&disks[0], &disks[1]]);
        disks
    }

    #[test]
    fn an_nvme_disk_in_its_socket_has_no_bus_beside_its_link() {
        let tree = Tree::new();
        tree.nvme("nvme0n1", "259:0");
        let found = shown(&tree, "259:0");
        let names: Vec<LevelName> = found.iter().map(|level| level.0).collect();
        assert_eq!(names, [LevelName::Memory, LevelName::Link, LevelName::Device]);
        assert_eq!(found[1], level(LevelName::Link, 7877.0, "PCIe 16 GT/s × 4, 128b/130b"));
        assert_eq!((found[0].1, found[2].1), (None, None));
    }

    #[test]
    fn disks_of_a_raid_add_up_behind_the_bus_they_share() {
        let tree = Tree::new();
        raid(&tree, "raid0");
        let found = shown(&tree, "9:0");
        assert_eq!(found[1], level(LevelName::Bus, 3938.0, "PCIe 8 GT/s × 4, 128b/130b"));
        assert_eq!(found[2], level(LevelName::Link, 2400.0, "2 × (SAS 12 Gbit/s, 8b/10b)"));
        assert_eq!(found[3].0, LevelName::Device);
    }

    #[test]
    fn a_limit_anywhere_in_the_stack_is_a_level() {
        let tree = Tree::new();
        raid(&tree, "raid0");
        tree.files("proc/self", &[("cgroup", "7:blkio:/slow")]);
        let group = "sys/fs/cgroup/blkio/slow";
        tree.files(group, &[("blkio.throttle.write_bps_device", "8:0 5000000\n8:16 7000000\n9:0 90000000")]);
        tree.files(group, &[("blkio.throttle.read_bps_device", "8:0 5000000")]);
        let found = shown(&tree, "9:0");
        // One disk alone that is held back leaves the sum open.
        assert_eq!((found[1].0, found[1].1), (LevelName::ReadLimit, None));
        let sources = "control group blkio:/slow on sda + control group blkio:/slow on sdb";
        assert_eq!(found[2], level(LevelName::WriteLimit, 12.0, sources));
    }

    #[test]
    fn memory_and_networks_end_early() {
        let tree = Tree::new();
        tree.device("devices/virtual/block/zram0", "253:0", &[]);
        let names = |found: Vec<(LevelName, Option<f64>, String)>| found.into_iter().map(|l| l.0).collect::<Vec<_>>();
        assert_eq!(names(shown(&tree, "253:0")), [LevelName::Memory]);
        tree.mounts("30 1 0:50 / / rw - nfs4 server:/export rw");
        let found = levels(&storage_of(&tree.root(), Path::new("/")), &memory(&tree.root()));
        assert_eq!(
            (found.len(), found[1].name, found[1].channels[0].at.as_str()),
            (2, LevelName::Link, "server:/export")
        );
    }
}
