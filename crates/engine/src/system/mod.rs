//! Facts of this machine and of the storage below a file, from procfs, sysfs and the firmware's tables.
//!
//! Every reader takes a [`Root`], so that tests can supply other machines. Facts that the kernel does not report stay
//! unknown. Only files of these trees are opened; serial numbers and addresses are not read. Sources: Linux,
//! Documentation/ABI (sysfs-block, sysfs-bus-pci, sysfs-ata, sysfs-class-scsi…), and those each file names.

pub mod cache;
pub(crate) mod caches;
pub(crate) mod device;
pub(crate) mod disk;
mod dmi;
pub mod filesystem;
pub(crate) mod levels;
pub(crate) mod limits;
mod links;
pub(crate) mod machine;
mod network;
#[cfg(test)]
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where the trees are rooted: `/`, or a directory of a test.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// This host.
    pub(crate) fn host() -> Root {
        Root(PathBuf::from("/"))
    }

    /// An absolute path, below this root.
    pub(crate) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let path = absolute.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The canonical form of a path, below this root; none if the file does not exist.
    pub(crate) fn canonical(&self, absolute: &Path) -> Option<PathBuf> {
        let found = fs::canonicalize(self.path(absolute)).ok()?;
        let within = found.strip_prefix(fs::canonicalize(&self.0).ok()?).ok()?;
        Some(Path::new("/").join(within))
    }

    /// The directory of a block device in sysfs.
    pub(crate) fn device(&self, (major, minor): (u32, u32)) -> Option<PathBuf> {
        fs::canonicalize(self.path(format!("/sys/dev/block/{major}:{minor}"))).ok()
    }
}

/// The major and minor number of a device number of stat(2).
pub(crate) fn numbers(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// The CPUs that the calling thread may use, in order.
pub(crate) fn allowed_cpus() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    (0..rustix::thread::CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)).collect()
}

/// Pins the calling thread to a CPU.
pub(crate) fn pin(cpu: u32) -> rustix::io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set)
}

/// A file's text without blanks around it; none if it is empty or missing.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A file's number, or another type parsed from its text.
pub(crate) fn number<N: FromStr>(path: impl AsRef<Path>) -> Option<N> {
    text(path)?.parse().ok()
}

/// The targets of the links in a directory, in the order of their names.
pub(crate) fn links_in(directory: &Path) -> Vec<PathBuf> {
    let mut entries = entries(directory);
    entries.retain_mut(|entry| fs::canonicalize(&*entry).map(|found| *entry = found).is_ok());
    entries
}

/// The entries of a directory in the order of their names; empty if it does not exist.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The last part of a path.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a name is a prefix and a number, like `cpu0`.
pub(crate) fn is_numbered(path: &Path, prefix: &str) -> bool {
    let name = name_of(path);
    let number = name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The CPUs that a list of the kernel's names, such as `0-3,8`.
pub(crate) fn cpus_in(list: &str) -> Option<Vec<u32>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    let ranges: Option<Vec<_>> = list.split(',').map(range).collect();
    Some(ranges?.into_iter().flatten().collect())
}
