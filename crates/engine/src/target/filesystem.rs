//! What lies below a path: file system, mount, disk. From /proc/self/mountinfo and sysfs; what they do not say stays
//! unknown.

use halfpower_model::{Bytes, TargetFacts, TargetKind};
use std::fs;
use std::path::{Path, PathBuf};

/// A line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` of the device files on it report.
    pub device: (u32, u32),
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of the mount and of the file system.
    pub options: String,
    /// Type of the file system.
    pub kind: String,
    /// What is mounted: a device's path or a name.
    pub source: String,
}

/// Every mount this process sees; empty where /proc is not there.
pub fn mounts() -> Vec<Mount> {
    fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines().filter_map(parse_mount).collect()
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw,errors=continue`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.split(' ');
    let (major, minor) = left.next()?.split_once(':')?;
    let point = unescape(left.nth(1)?);
    let options = left.next()?;
    let kind = right.next()?.to_owned();
    let source = unescape(right.next()?);
    let more = right.next().unwrap_or_default();
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        point: PathBuf::from(point),
        options: [options, more].join(","),
        kind,
        source,
    })
}

/// Undoes mountinfo's `\040` for a space and the like.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount a path lies on: the longest mount point above it, the last one mounted there.
pub fn mount_of(path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    let above = mounts().into_iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.point));
    above.max_by_key(|(order, mount)| (mount.point.as_os_str().len(), *order)).map(|(_, mount)| mount)
}

/// Fills in what lies below `path`, whose device number (its own for a device, its file system's for a file) is
/// `number`. Gives the number of the device whose counters tell of it.
pub(crate) fn describe(facts: &mut TargetFacts, path: &Path, number: (u32, u32)) -> Option<(u32, u32)> {
    let mut device = sysfs_device(number);
    if facts.kind == TargetKind::File
        && let Some(mount) = mount_of(path)
    {
        // btrfs and others report a number of their own; the mount's source names the device.
        if device.is_none() && mount.source.starts_with('/') {
            device = fs::canonicalize(&mount.source)
                .ok()
                .and_then(|source| fs::canonicalize(Path::new("/sys/class/block").join(source.file_name()?)).ok());
        }
        facts.transport = network_kind(&mount.kind);
        facts.filesystem = Some(mount.kind);
        facts.mount_options = Some(mount.options);
    }
    let device = device?;
    let disk = whole_disk(&device);
    describe_disk(facts, &disk);
    let text = fs::read_to_string(device.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn network_kind(filesystem: &str) -> Option<String> {
    const NETWORK: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs"];
    NETWORK.contains(&filesystem).then(|| "network".to_owned())
}

/// Whether the files of such a file system are the kernel's own answers, made as they are read.
pub(crate) fn is_made_up(filesystem: &str) -> bool {
    const MADE_UP: [&str; 14] = [
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "securityfs",
        "configfs",
        "efivarfs",
        "bpf",
        "pstore",
        "devpts",
        "fusectl",
        "binfmt_misc",
    ];
    MADE_UP.contains(&filesystem)
}

/// The directory of a block device in sysfs.
pub(crate) fn sysfs_device((major, minor): (u32, u32)) -> Option<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
}

/// The whole disk of a partition; anything else is its own.
pub(crate) fn whole_disk(device: &Path) -> PathBuf {
    let parent = device.parent().filter(|_| device.join("partition").exists());
    parent.unwrap_or(device).to_owned()
}

fn describe_disk(facts: &mut TargetFacts, disk: &Path) {
    let read = |name: &str| fs::read_to_string(disk.join(name)).ok().map(|text| text.trim().to_owned());
    let number = |name: &str| read(name).and_then(|text| text.parse::<u64>().ok());
    facts.device = disk.file_name().map(|name| name.to_string_lossy().into_owned());
    facts.model = read("device/model").filter(|model| !model.is_empty());
    facts.rotational = number("queue/rotational").map(|value| value == 1);
    facts.scheduler = read("queue/scheduler").map(|text| chosen(&text));
    facts.read_ahead_bytes = number("queue/read_ahead_kb").map(|kib| Bytes(kib * 1024));
    facts.logical_block_bytes = number("queue/logical_block_size").map(Bytes);
    facts.transport = facts.transport.take().or_else(|| transport(disk));
}

/// The word in brackets of `none [mq-deadline] bfq`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text, |(word, _)| word).to_owned()
}

/// How a disk is attached, from its place in sysfs and its name.
fn transport(disk: &Path) -> Option<String> {
    let name = disk.file_name()?.to_str()?;
    let by_name = [
        ("nvme", "nvme"),
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
    let by_place = [("/usb", "usb"), ("/ata", "sata"), ("/virtio", "virtio"), ("/vmbus", "hyper-v"), ("/host", "scsi")];
    let place = disk.to_str()?;
    by_name
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .or_else(|| by_place.iter().find(|(part, _)| place.contains(part)))
        .map(|(_, transport)| (*transport).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_lines_are_read() {
        let line = r"36 35 98:0 /sub /mnt/a\040b rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.device, (98, 0));
        assert_eq!(mount.point, Path::new("/mnt/a b"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mount.options, "rw,noatime,rw,errors=continue");
        assert_eq!(parse_mount("nonsense"), None);
        assert_eq!(unescape(r"a\134b\9"), r"a\b\9");
    }

    #[test]
    fn the_scheduler_in_brackets_is_chosen() {
        assert_eq!(chosen("none [mq-deadline] bfq"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn root_is_mounted() {
        assert!(mount_of(Path::new("/")).is_some());
    }
}
