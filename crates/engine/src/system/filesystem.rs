//! Mounts and file systems, from /proc/self/mountinfo, and the numbers of their devices, from sysfs.

use super::{Root, text};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number `(major, minor)` that files on it report.
    pub device: (u32, u32),
    /// The mounted directory of the file system, `/` for all of it.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// Options of the mount and of the file system.
    pub options: String,
    /// Type of the file system.
    pub kind: String,
    /// The source: a device's path or a name.
    pub source: String,
}

/// Every mount that this process sees; empty without /proc.
pub fn mounts() -> Vec<Mount> {
    mounts_in(&Root::host())
}

/// The same below another root.
pub(crate) fn mounts_in(root: &Root) -> Vec<Mount> {
    mounts_at(&root.path("/proc/self"))
}

/// The mounts that a process sees, by its directory in /proc.
pub(crate) fn mounts_at(process: &Path) -> Vec<Mount> {
    text(process.join("mountinfo")).unwrap_or_default().lines().filter_map(parse_mount).collect()
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw,errors=continue`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.split(' ');
    let device = parse_number(left.next()?)?;
    let root = unescape(left.next()?);
    let point = unescape(left.next()?);
    let options = left.next()?;
    let kind = right.next()?.to_owned();
    let source = unescape(right.next()?);
    let more = right.next().unwrap_or_default();
    Some(Mount {
        device,
        root: PathBuf::from(root),
        point: PathBuf::from(point),
        options: [options, more].join(","),
        kind,
        source: source.to_string_lossy().into_owned(),
    })
}

/// Undoes mountinfo's `\040` for a space and the like.
pub(crate) fn unescape(text: impl AsRef<[u8]>) -> OsString {
    let mut rest = text.as_ref();
    let mut bytes = Vec::with_capacity(rest.len());
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
    OsString::from_vec(bytes)
}

/// The mount a path lies on: the longest mount point above it, the last one mounted there.
pub fn mount_of(path: &Path) -> Option<Mount> {
    mount_above(&Root::host(), &std::path::absolute(path).ok()?)
}

/// The same below another root.
pub(crate) fn mount_above(root: &Root, path: &Path) -> Option<Mount> {
    let path = root.canonical(path)?;
    let above = mounts_in(root).into_iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.point));
    above.max_by_key(|(order, mount)| (mount.point.as_os_str().len(), *order)).map(|(_, mount)| mount)
}

impl Mount {
    /// The directory in sysfs of the device that is mounted, by its name, because btrfs and others report another number.
    pub(crate) fn source_device(&self, root: &Root) -> Option<PathBuf> {
        let source = root.canonical(Path::new(&self.source).is_absolute().then_some(Path::new(&self.source))?)?;
        fs::canonicalize(root.path("/sys/class/block").join(source.file_name()?)).ok()
    }
}

/// Whether a file system of this type is on another machine.
pub(crate) fn is_network(filesystem: &str) -> bool {
    const NETWORK: [&str; 10] =
        ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.glusterfs", "lustre", "fuse.sshfs"];
    NETWORK.contains(&filesystem)
}

/// Whether such a file system passes its files on from elsewhere, or is on a disk that hosts share.
pub(crate) fn is_passed_on(filesystem: &str) -> bool {
    let is_fuse = filesystem == "fuse" || filesystem.starts_with("fuse.");
    is_fuse || matches!(filesystem, "virtiofs" | "vboxsf" | "ocfs2" | "gfs2")
}

/// Whether such a file system is virtual: the kernel generates its files when they are read.
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

/// Whether files of such a file system are kept in memory alone.
pub fn is_memory(filesystem: &str) -> bool {
    matches!(filesystem, "tmpfs" | "ramfs") || is_among_devices(filesystem)
}

/// Whether such a file system has the kernel's device nodes.
pub(crate) fn is_among_devices(filesystem: &str) -> bool {
    filesystem == "devtmpfs"
}

/// The whole disk of a partition; anything else is its own.
pub(crate) fn whole_disk(device: &Path) -> PathBuf {
    let parent = device.parent().filter(|_| device.join("partition").exists());
    parent.unwrap_or(device).to_owned()
}

/// The number of the whole disk of a device.
pub(crate) fn disk_number(device: (u32, u32)) -> Option<(u32, u32)> {
    number_of(&whole_disk(&Root::host().device(device)?))
}

/// The number of a device, by its directory in sysfs.
pub(crate) fn number_of(directory: &Path) -> Option<(u32, u32)> {
    parse_number(&text(directory.join("dev"))?)
}

/// `major:minor`.
pub(crate) fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_lines_are_read() {
        let line = r"36 35 98:0 /sub /mnt/a\040b rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.device, (98, 0));
        assert_eq!((mount.root.as_path(), mount.point.as_path()), (Path::new("/sub"), Path::new("/mnt/a b")));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mount.options, "rw,noatime,rw,errors=continue");
        assert_eq!(parse_mount("nonsense"), None);
        assert_eq!(unescape(r"a\134b\9"), r"a\b\9");
    }
}
