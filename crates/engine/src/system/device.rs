//! Block devices in sysfs: their facts, and the devices below, down to the hardware or to the file of a loop device.

use super::filesystem::{mount_above, whole_disk};
use super::limits::Groups;
use super::{Root, entries, links, links_in, name_of, network, number, numbers, text};
use halfpower_model::Bytes;
use halfpower_model::reading::inspect::{Backing, Device, DeviceKind, FileSystem, LinkKind, Queue, Storage};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Maximum depth of a stack, deeper than any real one: ends a circle in sysfs.
const DEEPEST: u32 = 16;

/// The storage of a file, a directory or a block device.
pub(crate) fn storage_of(root: &Root, path: &Path) -> Storage {
    storage_at(root, path, &Groups::read(root), 0)
}

fn storage_at(root: &Root, path: &Path, groups: &Groups, depth: u32) -> Storage {
    let Ok(metadata) = fs::metadata(root.path(path)) else { return Storage::default() };
    if metadata.file_type().is_block_device() {
        let device = root.device(numbers(metadata.rdev())).map(|directory| device(root, &directory, groups, depth));
        return Storage { filesystem: None, device, beside: Vec::new() };
    }
    let Some(mount) = mount_above(root, path) else { return Storage::default() };
    let directory = root.device(mount.device).or_else(|| mount.source_device(root));
    let beside = directory.iter().flat_map(|directory| members_beside(root, directory));
    Storage {
        beside: beside.map(|member| device(root, &member, groups, depth)).collect(),
        device: directory.as_ref().map(|directory| device(root, directory, groups, depth)),
        filesystem: Some(FileSystem {
            network: network::of(root, &mount),
            kind: mount.kind,
            mount_point: mount.point.to_string_lossy().into_owned(),
            mount_options: mount.options,
            source: mount.source,
        }),
    }
}

/// The other devices of the btrfs that is mounted from this one; none for any other file system.
fn members_beside(root: &Root, device: &Path) -> Vec<PathBuf> {
    let file_systems = entries(&root.path("/sys/fs/btrfs"));
    let mut members = file_systems.iter().map(|one| links_in(&one.join("devices")));
    let mut found = members.find(|members| members.iter().any(|member| member == device)).unwrap_or_default();
    found.retain(|member| member != device);
    found
}

/// A device by its directory, with the devices below.
fn device(root: &Root, directory: &Path, groups: &Groups, depth: u32) -> Device {
    let number_text = text(directory.join("dev")).unwrap_or_default();
    let kind = kind_of(directory);
    let below = match kind {
        _ if depth >= DEEPEST => Vec::new(),
        DeviceKind::Partition => vec![whole_disk(directory)],
        _ => links_in(&directory.join("slaves")),
    };
    let below: Vec<Device> = below.iter().map(|lower| device(root, lower, groups, depth + 1)).collect();
    let backing = backing_file(directory).filter(|_| depth < DEEPEST).map(|path| {
        let storage = storage_at(root, &path, groups, depth + 1);
        Box::new(Backing { path: path.to_string_lossy().into_owned(), storage })
    });
    let is_hardware = kind == DeviceKind::Disk && below.is_empty();
    Device {
        name: name_of(directory),
        kind,
        size_bytes: size_of(directory),
        made_as: made_as(directory, kind),
        model: first_text(directory, &["device/model", "device/name"]).filter(|_| is_hardware),
        firmware: first_text(directory, &["device/firmware_rev", "device/rev", "device/fwrev"]),
        transport: if kind == DeviceKind::Partition { None } else { transport(directory) },
        queue: (kind != DeviceKind::Partition).then(|| queue(directory)),
        holders: entries(&directory.join("holders")).iter().map(|path| name_of(path)).collect(),
        numa_node: is_hardware.then(|| numa_node(directory)).flatten(),
        links: if is_hardware { links::of(directory) } else { Vec::new() },
        limits: groups.limits_of(&number_text),
        number: number_text,
        below,
        backing,
    }
}

fn first_text(directory: &Path, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text(directory.join(name)))
}

/// A device's size; sysfs counts in 512 bytes whatever its block is.
pub(crate) fn size_of(directory: &Path) -> Bytes {
    Bytes(number::<u64>(directory.join("size")).unwrap_or_default().saturating_mul(512))
}

fn kind_of(directory: &Path) -> DeviceKind {
    let name = name_of(directory);
    match () {
        () if directory.join("partition").exists() => DeviceKind::Partition,
        () if directory.join("dm").is_dir() => DeviceKind::Mapped,
        () if directory.join("md").is_dir() => DeviceKind::Raid,
        () if name.starts_with("loop") => DeviceKind::Loop,
        () if name.starts_with("zram") || name.starts_with("ram") => DeviceKind::Memory,
        () => DeviceKind::Disk,
    }
}

/// The file that a loop device lies on; none for any other device.
fn backing_file(directory: &Path) -> Option<PathBuf> {
    let file = fs::read_to_string(directory.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(file.trim_end_matches('\n')))
}

fn made_as(directory: &Path, kind: DeviceKind) -> Option<String> {
    match kind {
        DeviceKind::Mapped => {
            let uuid = text(directory.join("dm/uuid")).unwrap_or_default();
            let known =
                [("CRYPT-", "encryption"), ("LVM-", "LVM volume"), ("mpath-", "multipath"), ("part", "partition")];
            let kind = known.iter().find(|(prefix, _)| uuid.starts_with(prefix)).map_or("mapping", |(_, kind)| kind);
            Some(text(directory.join("dm/name")).map_or(kind.to_owned(), |name| format!("{kind} {name}")))
        }
        DeviceKind::Raid => {
            let mut words = text(directory.join("md/level"))?;
            if let Some(disks) = number::<u32>(directory.join("md/raid_disks")) {
                words += &format!(" of {disks}");
            }
            if let Some(chunk) = number::<u64>(directory.join("md/chunk_size")).filter(|chunk| *chunk > 0) {
                words += &format!(", chunks of {}", Bytes(chunk));
            }
            if let Some(missing) = number::<u32>(directory.join("md/degraded")).filter(|missing| *missing > 0) {
                words += &format!(", {missing} missing");
            }
            Some(words)
        }
        DeviceKind::Disk => several_controllers(directory),
        _ => None,
    }
}

/// How the kernel chooses among the controllers of an NVMe disk; none where there is one.
fn several_controllers(directory: &Path) -> Option<String> {
    let count = links::controllers(directory).len();
    let policy = directory.parent().and_then(|subsystem| text(subsystem.join("iopolicy")));
    let policy = policy.map(|policy| format!(", {policy}")).unwrap_or_default();
    (count > 1).then(|| format!("disk of {count} controllers{policy}"))
}

/// A device's queue.
fn queue(directory: &Path) -> Queue {
    let read = |name: &str| text(directory.join("queue").join(name));
    let count = |name: &str| number::<u64>(directory.join("queue").join(name));
    let kib = |name: &str| count(name).map(|kib| Bytes(kib.saturating_mul(1024)));
    Queue {
        rotational: count("rotational").map(|value| value == 1),
        scheduler: read("scheduler").map(|text| chosen(&text)),
        requests_max: count("nr_requests"),
        depth_max: number(directory.join("device/queue_depth")),
        request_max_bytes: kib("max_sectors_kb"),
        segments_max: count("max_segments"),
        logical_block_bytes: count("logical_block_size").map(Bytes),
        physical_block_bytes: count("physical_block_size").map(Bytes),
        read_ahead_bytes: kib("read_ahead_kb"),
        write_cache: read("write_cache"),
        discard_bytes: count("discard_granularity").filter(|_| count("discard_max_bytes") > Some(0)).map(Bytes),
    }
}

/// The word in brackets of `none [mq-deadline] bfq`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text, |(word, _)| word).to_owned()
}

/// The node of the nearest device above that has one.
fn numa_node(directory: &Path) -> Option<u32> {
    directory.ancestors().find_map(|above| number::<i64>(above.join("numa_node"))).and_then(|node| node.try_into().ok())
}

/// How a disk is attached, from its name, its links and its place in sysfs.
fn transport(disk: &Path) -> Option<String> {
    let by_name = [
        ("loop", "loop"),
        ("zram", "ram"),
        ("ram", "ram"),
        ("dm-", "device-mapper"),
        ("md", "md"),
        ("nbd", "network"),
        ("rbd", "network"),
        ("mmcblk", "mmc"),
        ("null", "null"),
    ];
    let by_place =
        [("/usb", "usb"), ("/virtio", "virtio"), ("VMBUS", "hyper-v"), ("/vmbus", "hyper-v"), ("/host", "scsi")];
    let name = name_of(disk);
    if number::<u8>(disk.join("loop/dio")) == Some(1) {
        // Its file is not in the page cache of this host.
        return Some("loop with direct I/O".to_owned());
    }
    if let Some((_, transport)) = by_name.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return Some((*transport).to_owned());
    }
    let by_link = links::of(disk).last().and_then(|link| match link.kind {
        LinkKind::Sata => Some("sata"),
        LinkKind::Ata => Some("ata"),
        LinkKind::Sas => Some("sas"),
        LinkKind::Network => Some("network"),
        _ => None,
    });
    let nvme = || name.starts_with("nvme").then_some("nvme");
    let place = disk.to_string_lossy();
    let by_place = || by_place.iter().find(|(part, _)| place.contains(part)).map(|(_, transport)| *transport);
    by_link.or_else(nvme).or_else(by_place).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tree::Tree;

    #[test]
    fn the_scheduler_in_brackets_is_chosen() {
        assert_eq!(chosen("none [mq-deadline] bfq"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn a_stack_is_followed_to_the_hardware() {
        let tree = Tree::new();
        let nvme = tree.nvme("nvme0n1", "259:0");
        let crypt = tree.device("devices/virtual/block/dm-0", "253:0", &[("dm/uuid", "CRYPT-LUKS2-0af3-home")]);
        tree.write(&crypt.join("dm/name"), "home");
        tree.stack(&crypt, &[&nvme]);
        tree.mounts("30 1 253:0 / /home rw,relatime shared:1 - ext4 /dev/mapper/home rw,discard");
        tree.write(Path::new("home/file"), "");
        let storage = storage_of(&tree.root(), Path::new("/home/file"));
        let filesystem = storage.filesystem.unwrap();
        assert_eq!((filesystem.kind.as_str(), filesystem.mount_point.as_str()), ("ext4", "/home"));
        let top = storage.device.unwrap();
        assert_eq!((top.kind, top.made_as.as_deref()), (DeviceKind::Mapped, Some("encryption home")));
        let [below] = top.below.as_slice() else { panic!("{:?}", top.below) };
        assert_eq!((below.name.as_str(), below.transport.as_deref()), ("nvme0n1", Some("nvme")));
        assert_eq!((below.model.as_deref(), below.firmware.as_deref()), (Some("ACME Fast 1TB"), Some("F1R2")));
        assert_eq!((below.holders.as_slice(), below.numa_node), (&["dm-0".to_owned()][..], Some(1)));
        assert_eq!(below.size_bytes, Bytes(2000 * 512));
        let queue = below.queue.as_ref().unwrap();
        assert_eq!((queue.rotational, queue.scheduler.as_deref()), (Some(false), Some("none")));
        assert_eq!((queue.requests_max, queue.request_max_bytes), (Some(1023), Some(Bytes(1280 << 10))));
        assert_eq!(queue.segments_max, Some(127));
        assert_eq!((queue.write_cache.as_deref(), queue.discard_bytes), (Some("write back"), Some(Bytes(512))));
    }

    #[test]
    fn a_raid_has_every_disk_below_it() {
        let tree = Tree::new();
        let disks = ["sda", "sdb"].map(|name| tree.sas(name));
        let raid =
            tree.device("devices/virtual/block/md0", "9:0", &[("md/level", "raid0"), ("md/chunk_size", "524288")]);
        tree.write(&raid.join("md/raid_disks"), "2");
        tree.stack(&raid, &[&disks[0], &disks[1]]);
        let top = device(&tree.root(), &tree.root().device((9, 0)).unwrap(), &Groups::default(), 0);
        assert_eq!((top.kind, top.made_as.as_deref()), (DeviceKind::Raid, Some("raid0 of 2, chunks of 512 KiB")));
        let below: Vec<_> = top.below.iter().map(|disk| (disk.name.as_str(), disk.transport.as_deref())).collect();
        assert_eq!(below, [("sda", Some("sas")), ("sdb", Some("sas"))]);
    }

    #[test]
    fn a_disk_of_several_controllers_says_so() {
        let tree = Tree::new();
        let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
        tree.device(&format!("{subsystem}/nvme0n1"), "259:0", &[]);
        tree.files(&format!("sys/{subsystem}"), &[("iopolicy", "round-robin")]);
        let made_as = || device(&tree.root(), &tree.root().device((259, 0)).unwrap(), &Groups::default(), 0).made_as;
        for (name, said) in [("nvme0", None), ("nvme1", Some("disk of 2 controllers, round-robin"))] {
            tree.files(&format!("sys/devices/{name}"), &[("state", "live")]);
            tree.link(&Path::new("sys").join(subsystem).join(name), &Path::new("sys/devices").join(name));
            assert_eq!(made_as().as_deref(), said);
        }
    }

    #[test]
    fn a_btrfs_lies_on_all_of_its_devices() {
        let tree = Tree::new();
        let disks = ["sda", "sdb", "sdc"].map(|name| tree.sas(name));
        let of = |uuid: &str, members: &[&PathBuf]| {
            for disk in members {
                let link = Path::new("sys/fs/btrfs").join(uuid).join("devices").join(disk.file_name().unwrap());
                tree.link(&link, disk);
            }
        };
        of("other", &[&disks[2]]);
        tree.files("sys/fs/btrfs/features", &[("raid1c34", "0")]);
        let beside = |mount: &str| {
            tree.mounts(&format!("30 1 {mount} / / rw - btrfs /dev/sda rw"));
            let storage = storage_of(&tree.root(), Path::new("/"));
            storage.beside.into_iter().map(|device| device.name).collect::<Vec<_>>()
        };
        let number = text(tree.root().path(disks[0].join("dev"))).unwrap();
        assert_eq!(beside(&number), [""; 0], "one of its own");
        of("pool", &[&disks[0], &disks[1]]);
        assert_eq!(beside(&number), ["sdb"]);
        let levels = crate::system::levels::levels(
            &storage_of(&tree.root(), Path::new("/")),
            &crate::system::machine::memory(&tree.root()),
        );
        let device = levels.iter().find(|level| level.name == halfpower_model::LevelName::Device).unwrap();
        assert_eq!(device.channels.iter().map(|disk| disk.at.as_str()).collect::<Vec<_>>(), ["sda", "sdb"]);
    }

    #[test]
    fn a_loop_device_leads_through_its_file() {
        let tree = Tree::new();
        let disk = tree.sata("sda");
        tree.device(&format!("{}/sda1", disk.strip_prefix("sys").unwrap().display()), "8:1", &[("partition", "1")]);
        tree.device("devices/virtual/block/loop0", "7:0", &[("loop/backing_file", "/images/a b.img")]);
        tree.write(Path::new("images/a b.img"), "");
        tree.mounts("30 1 8:1 / / rw - xfs /dev/sda1 rw");
        let top = device(&tree.root(), &tree.root().device((7, 0)).unwrap(), &Groups::default(), 0);
        let names: Vec<_> = top.stack().iter().map(|device| (device.name.clone(), device.kind)).collect();
        let kinds = [("loop0", DeviceKind::Loop), ("sda1", DeviceKind::Partition), ("sda", DeviceKind::Disk)];
        assert_eq!(names, kinds.map(|(name, kind)| (name.to_owned(), kind)));
        let backing = top.backing.unwrap();
        assert_eq!(
            (backing.path.as_str(), backing.storage.filesystem.unwrap().kind.as_str()),
            ("/images/a b.img", "xfs")
        );
    }

    #[test]
    fn a_circle_ends() {
        let tree = Tree::new();
        let one = tree.device("devices/virtual/block/dm-1", "253:1", &[("dm/name", "one")]);
        tree.stack(&one, &[&one]);
        let top = device(&tree.root(), &tree.root().device((253, 1)).unwrap(), &Groups::default(), 0);
        assert_eq!(top.stack().len(), DEEPEST as usize + 1);
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        let tree = Tree::new();
        assert_eq!(storage_of(&tree.root(), Path::new("/none")), Storage::default());
        tree.write(Path::new("file"), "");
        assert_eq!(storage_of(&tree.root(), Path::new("/file")), Storage::default());
    }
}
