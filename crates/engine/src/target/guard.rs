//! Refuses to write to a block device that is in use: itself, its partitions, what is stacked on it, or what it is
//! stacked on. The exclusive open that follows is the kernel's own check; this one can say who uses it.

use super::TargetError;
use super::filesystem::{self, Mount, sysfs_device, whole_disk};
use crate::system::device::backing_file;
use rustix::fs::{major, minor};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Refuses a block device somebody uses.
///
/// # Errors
/// [`TargetError::InUse`] naming the user, or that it cannot be told.
pub(super) fn refuse_if_in_use(path: &Path) -> Result<(), TargetError> {
    let refuse = |reason: String| TargetError::InUse { path: path.display().to_string(), reason };
    let number = fs::metadata(path).map_err(|error| TargetError::from_io("examine", path, error))?.rdev();
    let Some(device) = sysfs_device((major(number), minor(number))) else {
        return Err(refuse("sysfs does not know it, so nobody can tell whether it is in use; mount /sys".to_owned()));
    };
    // Another loop device may lie on the same file.
    if let Some(backing) = backing_file(&device) {
        refuse_if_backing(&backing)?;
    }
    let users = Users { mounts: filesystem::mounts(), swaps: swap_devices() };
    match users.of_family(&device) {
        None => Ok(()),
        Some(reason) => Err(refuse(reason)),
    }
}

/// Refuses a swap file, and a file or device that something in use lies on by way of loop devices, however many of them
/// are stacked: writing to it writes to what is mounted there.
///
/// # Errors
/// [`TargetError::InUse`] naming the device and its user.
pub(super) fn refuse_if_backing(path: &Path) -> Result<(), TargetError> {
    let facts = fs::metadata(path).map_err(|error| TargetError::from_io("examine", path, error))?;
    let users = Users { mounts: filesystem::mounts(), swaps: swap_devices() };
    let is_swap = users.swaps.iter().any(|swap| is_same(swap, &facts));
    let reason = is_swap.then(|| "it is swap space; run swapoff first".to_owned());
    match reason.or_else(|| users.of_loops_on(&facts, &loops(), 0)) {
        None => Ok(()),
        Some(reason) => Err(TargetError::InUse { path: path.display().to_string(), reason }),
    }
}

/// Refuses a file that another program holds a lock on (fcntl(2)), as databases and virtual machines do with theirs.
/// Where the file system knows no locks, nobody holds one.
///
/// # Errors
/// [`TargetError::InUse`] naming the process, where the kernel does.
pub(super) fn refuse_if_locked(path: &Path, file: &File) -> Result<(), TargetError> {
    // SAFETY: a plain structure of numbers, for which zeros are a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and the structure outlives the call, which takes no lock.
    let told = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if told != 0 || lock.l_type == libc::F_UNLCK as libc::c_short {
        return Ok(());
    }
    let holder = if lock.l_pid > 0 { format!("process {}", lock.l_pid) } else { "another program".to_owned() };
    let reason = format!("{holder} holds a lock on it; stop that first");
    Err(TargetError::InUse { path: path.display().to_string(), reason })
}

/// Every loop device that has a file, and that file.
fn loops() -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let backed = |device: PathBuf| Some((fs::canonicalize(&device).ok()?, backing_file(&device)?));
    entries.flatten().filter_map(|entry| backed(entry.path())).collect()
}

/// Whether a path leads to the file or device of these facts.
pub(super) fn is_same(path: &Path, facts: &fs::Metadata) -> bool {
    let device = |facts: &fs::Metadata| facts.file_type().is_block_device().then(|| facts.rdev());
    fs::metadata(path).is_ok_and(|other| match (device(&other), device(facts)) {
        (None, None) => (other.dev(), other.ino()) == (facts.dev(), facts.ino()),
        (other, facts) => other == facts,
    })
}

/// What uses devices on this host.
struct Users {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
}

impl Users {
    /// Who uses the device, its partitions, its parents or what it is stacked on.
    fn of_family(&self, device: &Path) -> Option<String> {
        self.of_device(device)
            .or_else(|| partitions(device).iter().find_map(|partition| self.of_device(partition)))
            .or_else(|| self.of_parents(device, 0))
    }

    /// Who uses a loop device that lies on this file or device or on a partition of it, or on one that lies on those.
    fn of_loops_on(&self, facts: &fs::Metadata, loops: &[(PathBuf, PathBuf)], level: u32) -> Option<String> {
        let own = facts.file_type().is_block_device().then(|| (major(facts.rdev()), minor(facts.rdev())));
        let parts = own.and_then(sysfs_device).map(|device| partitions(&device)).unwrap_or_default();
        let nodes = parts.iter().filter_map(|part| fs::metadata(node(part)?).ok());
        let beneath: Vec<fs::Metadata> = std::iter::once(facts.clone()).chain(nodes).collect();
        let lies_on = |backing: &Path| beneath.iter().any(|facts| is_same(backing, facts));
        loops.iter().filter(|(_, backing)| lies_on(backing)).find_map(|(device, _)| {
            let further = || {
                // Deeper stacks than this do not exist; a loop in sysfs must not hang us.
                let facts = node(device).filter(|_| level < 16).and_then(|node| fs::metadata(node).ok())?;
                self.of_loops_on(&facts, loops, level + 1)
            };
            self.of_family(device).or_else(further)
        })
    }

    /// A partition's disk, and the devices a stacked one lies on: they must not be mounted themselves. (Their other
    /// partitions and their being held by `device` are no harm.)
    fn of_parents(&self, device: &Path, level: u32) -> Option<String> {
        let mut parents = links(&device.join("slaves"));
        let disk = whole_disk(device);
        if disk != device {
            parents.push(disk);
        }
        parents.iter().find_map(|parent| {
            // Deeper stacks than this do not exist; a loop in sysfs must not hang us.
            let above = (level < 16).then(|| self.of_parents(parent, level + 1)).flatten();
            self.mounted_or_swap(parent).or(above)
        })
    }

    fn of_device(&self, device: &Path) -> Option<String> {
        if let Some(holder) = links(&device.join("holders")).first() {
            return Some(format!("{} is part of {}; stop that first", name(device), name(holder)));
        }
        self.mounted_or_swap(device)
    }

    fn mounted_or_swap(&self, device: &Path) -> Option<String> {
        let node = node(device)?;
        let number = fs::read_to_string(device.join("dev")).ok();
        let is_it = |mount: &&Mount| {
            let (major, minor) = mount.device;
            number.as_deref().map(str::trim) == Some(&format!("{major}:{minor}"))
                || fs::canonicalize(&mount.source).is_ok_and(|source| source == node)
        };
        if let Some(mount) = self.mounts.iter().find(is_it) {
            return Some(format!("{} is mounted on {}; unmount it first", name(device), mount.point.display()));
        }
        self.swaps.contains(&node).then(|| format!("{} is swap space; run swapoff first", name(device)))
    }
}

/// The node of a device of sysfs.
fn node(device: &Path) -> Option<PathBuf> {
    Some(Path::new("/dev").join(device.file_name()?))
}

fn name(device: &Path) -> String {
    device.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The devices a sysfs directory of links leads to.
fn links(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect()
}

fn partitions(device: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(device) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.join("partition").exists()).collect()
}

fn swap_devices() -> Vec<PathBuf> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let devices = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    devices.filter_map(|device| fs::canonicalize(device).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_program_has_locked_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let again = || File::options().read(true).write(true).open(file.path()).unwrap();
        let holder = again();
        assert!(refuse_if_locked(file.path(), &again()).is_ok());
        // SAFETY: a plain structure of numbers, for which zeros are a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_RDLCK as libc::c_short;
        // SAFETY: the descriptor is open, and the structure outlives the call.
        let taken = unsafe { libc::fcntl(holder.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) };
        assert_eq!(taken, 0, "{}", std::io::Error::last_os_error());
        let message = refuse_if_locked(file.path(), &again()).unwrap_err().to_string();
        assert!(message.contains("another program holds a lock"), "{message}");
        drop(holder);
        assert!(refuse_if_locked(file.path(), &again()).is_ok());
    }

    #[test]
    fn the_disk_below_root_is_refused() {
        let root = filesystem::mounts().into_iter().rfind(|mount| mount.point == Path::new("/"));
        let Some(root) = root.filter(|mount| sysfs_device(mount.device).is_some()) else {
            eprintln!("skipped: the root file system is not on a block device");
            return;
        };
        let device = sysfs_device(root.device).unwrap();
        let users = Users { mounts: filesystem::mounts(), swaps: swap_devices() };
        for device in [&device, &whole_disk(&device)] {
            let reason = users.of_family(device).unwrap_or_default();
            assert!(reason.contains("mounted on") || reason.contains("part of"), "{device:?}: {reason}");
        }
    }
}
