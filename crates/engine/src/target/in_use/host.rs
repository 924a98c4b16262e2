//! Reads devices, loop devices, mounts and swap of this host as a [`Tree`].
//!
//! From sysfs and procfs, and for loop devices from `LOOP_GET_STATUS64`, which gives the numbers of the file below: the
//! path in sysfs may be hidden, renamed, removed, in another mount namespace, or contain any byte.

use super::tree::{How, Node, Tree};
use crate::system::filesystem::{Mount, mounts_at, number_of, unescape};
use crate::system::{Root, entries, is_numbered, links_in, name_of, number, text};
use rustix::fs::{major, makedev, minor};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// This process, in /proc.
const SELF: &str = "/proc/self";
/// The file system type of sysfs (linux/magic.h).
const SYSFS_MAGIC: u64 = 0x6265_6572;

impl Node {
    /// The file or device of these facts.
    pub(crate) fn of(facts: &Metadata) -> Node {
        match facts.file_type().is_block_device() {
            true => Node::Device(facts.rdev()),
            false => Node::File(facts.dev(), facts.ino()),
        }
    }
}

/// Which of the two file systems that a [`Tree`] is read from is missing; none when both are there.
pub(super) fn missing() -> Option<&'static str> {
    let proc = is_of("/proc", rustix::fs::PROC_SUPER_MAGIC as u64) && Path::new("/proc/self/mountinfo").exists();
    match (proc, is_of("/sys", SYSFS_MAGIC)) {
        (false, _) => Some("/proc"),
        (_, false) => Some("/sys"),
        _ => None,
    }
}

/// Whether a path is on a file system of this type.
fn is_of(path: impl AsRef<Path>, magic: u64) -> bool {
    rustix::fs::statfs(path.as_ref()).is_ok_and(|found| found.f_type as u64 == magic)
}

/// The tree now.
pub(crate) fn read() -> Tree {
    read_whole().0
}

/// The same, with the name of a device that sysfs hides, if there is one.
pub(super) fn read_whole() -> (Tree, Option<String>) {
    let root = Root::host();
    let mut tree = Tree::default();
    let devices = root.path("/sys/class/block");
    let mut hidden = (!is_of(&devices, SYSFS_MAGIC)).then(|| "any device".to_owned());
    for link in entries(&devices) {
        let is_shown = fs::canonicalize(&link).is_ok_and(|directory| add_device(&mut tree, &directory));
        // A missing one was removed just now.
        if !is_shown && link.symlink_metadata().is_ok() {
            hidden.get_or_insert_with(|| name_of(&link));
        }
    }
    for (process, mount) in mounts_everywhere() {
        let point = mount.point.display();
        let seen_by = if process == Path::new(SELF) { String::new() } else { format!(" in {}", program(&process)) };
        if mount.device.0 != 0 {
            let device = Node::Device(makedev(mount.device.0, mount.device.1));
            tree.used(device, format!("is mounted on {point}{seen_by}; unmount it first"));
        }
        for layer in layers(&mount) {
            match located(&process, &layer) {
                Some(node) => {
                    tree.name(node, layer.to_string_lossy());
                    tree.used(node, format!("is a layer of the overlay on {point}{seen_by}; name the file there"));
                }
                // As a layer, it means the whole machine.
                None if layer == Path::new("/") => {}
                None => {
                    tree.overlay_unknown.get_or_insert_with(|| format!("{point}{seen_by}"));
                }
            }
        }
        for image in images(&mount) {
            if let Some(node) = located(&process, &image) {
                tree.used(node, format!("is mounted on {point}{seen_by}; unmount it first"));
            }
        }
    }
    for file_system in entries(&root.path("/sys/fs/btrfs")) {
        for member in links_in(&file_system.join("devices")) {
            if let Some(node) = node_of(&member) {
                tree.used(node, "is part of a btrfs that is mounted; unmount it first");
            }
        }
    }
    for swap in swaps() {
        if let Ok(facts) = fs::metadata(swap) {
            tree.used(Node::of(&facts), "is swap space; run swapoff first");
        }
    }
    (tree, hidden)
}

/// The node of a device by its directory in sysfs.
fn node_of(directory: &Path) -> Option<Node> {
    number_of(directory).map(|(major, minor)| Node::Device(makedev(major, minor)))
}

/// Adds a device by its directory in sysfs; false if the directory is hidden.
fn add_device(tree: &mut Tree, directory: &Path) -> bool {
    // A path of NVMe multipath has neither a number nor a node, so it cannot be opened.
    let Some(node) = node_of(directory) else { return number::<u8>(directory.join("hidden")) == Some(1) };
    // The kernel writes `!` for a slash.
    tree.name(node, name_of(directory).replace('!', "/"));
    let parent = directory.parent().filter(|_| directory.join("partition").exists());
    if let Some(disk) = parent
        && let Some(whole) = node_of(disk)
    {
        tree.rests(node, How::Partition, whole);
        for other in overlapping(directory, disk) {
            tree.rests(node, How::Overlap, other);
        }
    }
    for member in links_in(&directory.join("slaves")).iter().filter_map(|member| node_of(member)) {
        tree.rests(node, How::Member, member);
    }
    if directory.join("loop").is_dir() && parent.is_none() {
        add_loop(tree, node, directory);
    }
    true
}

/// Partitions of a disk that overlap one of them.
fn overlapping(partition: &Path, disk: &Path) -> Vec<Node> {
    let sectors = |directory: &Path| {
        let start = number::<u64>(directory.join("start"))?;
        Some(start..start.saturating_add(number(directory.join("size"))?))
    };
    let Some(own) = sectors(partition) else { return Vec::new() };
    let others = entries(disk).into_iter().filter(|other| other != partition && other.join("partition").exists());
    let meets = |other: &PathBuf| sectors(other).is_some_and(|other| other.start < own.end && own.start < other.end);
    others.filter(meets).filter_map(|other| node_of(&other)).collect()
}

/// Adds the file or device below a loop device. If the loop device cannot be opened, for lack of permission, the path in sysfs is
/// used if it leads to a file; otherwise the device may lie on any file.
fn add_loop(tree: &mut Tree, node: Node, directory: &Path) {
    let Node::Device(device) = node else { return };
    let path = fs::read(directory.join("loop/backing_file")).unwrap_or_default();
    let path = Path::new(OsStr::from_bytes(path.strip_suffix(b"\n").unwrap_or(&path)));
    let found = fs::metadata(path).map(|facts| Node::of(&facts));
    let below = match open_device(device, &name_of(directory), libc::O_NONBLOCK) {
        Ok(file) => loop_status(&file),
        Err(_) => {
            if found.is_err() {
                tree.loop_unknown.get_or_insert_with(|| format!(
                    "it may be the backing file of {}, a device that cannot be opened here; run as root, with the devices in \
                     /dev",
                    name_of(directory)
                ));
            }
            found.as_ref().ok().copied()
        }
    };
    if let Some(below) = below {
        if found.is_ok_and(|found| found == below) {
            tree.paths.insert(below, path.to_owned());
        }
        tree.rests(node, How::Loop, below);
    }
}

/// The file or device below a loop device; none if it is detached.
fn loop_status(file: &File) -> Option<Node> {
    /// `LOOP_GET_STATUS64` of linux/loop.h.
    const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
    /// `struct loop_info64` of linux/loop.h.
    #[repr(C)]
    struct LoopInfo64 {
        device: u64,
        inode: u64,
        rdevice: u64,
        rest: [u64; 26],
    }
    const _: () = assert!(size_of::<LoopInfo64>() == 232);
    let mut info = LoopInfo64 { device: 0, inode: 0, rdevice: 0, rest: [0; 26] };
    // SAFETY: the descriptor is open, and the structure has the size that the kernel writes and outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    if result != 0 {
        return None;
    }
    // The kernel's encoding of 64 bits (huge_encode_dev), which is that of stat.
    let is_device = info.rdevice != 0;
    Some(if is_device { Node::Device(info.rdevice) } else { Node::File(info.device, info.inode) })
}

/// Opens a block device by its number, for reading.
///
/// # Errors
/// The kernel's; [`std::io::ErrorKind::NotFound`] if /dev has no node with the number.
pub(super) fn open_device(device: u64, name: &str, flags: libc::c_int) -> std::io::Result<File> {
    let by_number = format!("/dev/block/{}:{}", major(device), minor(device));
    let mut error = std::io::Error::from(std::io::ErrorKind::NotFound);
    for path in [Path::new("/dev").join(name.replace('!', "/")), PathBuf::from(by_number)] {
        if !fs::metadata(&path).is_ok_and(|facts| Node::of(&facts) == Node::Device(device)) {
            continue;
        }
        match File::options().read(true).custom_flags(flags).open(&path) {
            Ok(file) if Node::of(&file.metadata()?) == Node::Device(device) => return Ok(file),
            Ok(_) => {}
            Err(found) => error = found,
        }
    }
    Err(error)
}

/// The mounts of every mount namespace with a visible process, each with the directory of that process.
fn mounts_everywhere() -> Vec<(PathBuf, Mount)> {
    let namespace = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut found = Vec::new();
    for process in std::iter::once(PathBuf::from(SELF)).chain(processes()) {
        if namespace(&process).is_some_and(|namespace| seen.insert(namespace)) {
            found.extend(mounts_at(&process).into_iter().map(|mount| (process.clone(), mount)));
        }
    }
    found
}

/// The layers of an overlay, which must not be written while it is mounted (Documentation/filesystems/overlayfs.rst): they do not
/// show files opened through the overlay.
fn layers(mount: &Mount) -> Vec<PathBuf> {
    if mount.kind != "overlay" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for option in mount.options.split(',') {
        match option.split_once('=') {
            Some(("lowerdir", layers)) => found.extend(split_layers(&unescape(layers))),
            Some(("upperdir" | "lowerdir+" | "datadir+", layer)) => found.push(PathBuf::from(unescape(layer))),
            _ => {}
        }
    }
    found
}

/// The upper layer of an overlay, which takes its writes; none if it is read-only.
pub(super) fn upper_layer(mount: &Mount) -> Option<PathBuf> {
    let is_overlay = mount.kind == "overlay";
    let upper = mount.options.split(',').find_map(|option| option.strip_prefix("upperdir=")).filter(|_| is_overlay)?;
    Some(PathBuf::from(unescape(upper)))
}

/// Splits layers at colons; a colon in a name follows a backslash.
fn split_layers(text: &OsStr) -> Vec<PathBuf> {
    let mut layers = vec![Vec::new()];
    let mut bytes = text.as_bytes().iter();
    while let Some(byte) = bytes.next() {
        let last = layers.last_mut().expect("it begins with one");
        match byte {
            b'\\' => last.extend(bytes.next()),
            b':' => layers.push(Vec::new()),
            byte => last.push(*byte),
        }
    }
    layers.into_iter().filter(|layer| !layer.is_empty()).map(|layer| PathBuf::from(OsString::from_vec(layer))).collect()
}

/// The files that an erofs is mounted from without a loop device.
fn images(mount: &Mount) -> Vec<PathBuf> {
    if mount.kind != "erofs" || mount.device.0 != 0 {
        return Vec::new();
    }
    let more = mount.options.split(',').filter_map(|option| option.strip_prefix("device="));
    std::iter::once(PathBuf::from(&mount.source)).chain(more.map(|path| PathBuf::from(unescape(path)))).collect()
}

/// The file or device at an absolute path as seen by a process; none for its root directory.
fn located(process: &Path, path: &Path) -> Option<Node> {
    let path = path.strip_prefix("/").ok().filter(|path| !path.as_os_str().is_empty())?;
    fs::metadata(process.join("root").join(path)).map(|facts| Node::of(&facts)).ok()
}

/// A process as a message names it, by its directory.
pub(super) fn program(process: &Path) -> String {
    let number = name_of(process);
    match text(process.join("comm")) {
        Some(name) => format!("process {number} ({name})"),
        None => format!("process {number}"),
    }
}

/// The directories of all processes in /proc.
pub(super) fn processes() -> Vec<PathBuf> {
    let mut found = entries(Path::new("/proc"));
    found.retain(|path| is_numbered(path, ""));
    found
}

fn swaps() -> Vec<PathBuf> {
    let text = fs::read("/proc/swaps").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split(u8::is_ascii_whitespace).next());
    names.map(|name| PathBuf::from(unescape(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_part_layers_and_stand_in_names() {
        let split = |text: &str| split_layers(OsStr::new(text));
        assert_eq!(split("/a:/b\\:c:/d\\\\e"), ["/a", "/b:c", "/d\\e"].map(PathBuf::from));
        assert_eq!(split("l/A::"), [PathBuf::from("l/A")]);
    }

    #[test]
    fn the_root_file_system_is_in_use() {
        let root = crate::system::filesystem::mounts().into_iter().rfind(|mount| mount.point == Path::new("/"));
        let Some(root) = root.filter(|mount| mount.device.0 != 0) else {
            eprintln!("skipped: the root file system is not on a block device");
            return;
        };
        let reason = read().user_of(Node::Device(makedev(root.device.0, root.device.1))).unwrap_or_default();
        assert!(reason.contains("mounted on") || reason.contains("part of"), "{reason}");
    }
}
