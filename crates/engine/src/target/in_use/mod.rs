//! Whether what a target would overwrite is in use. docs/SAFETY.md has the rules in one table.
//!
//! The kernel itself decides where it can: by an exclusive open of every block device that the requests reach, and by a lease on a
//! file. The tree of devices, mounts and loop devices names the user, and finds users that an exclusive open does not: loop
//! devices claim nothing below them. The checks change nothing.

mod host;
mod opened;
mod tree;

use super::error::{TargetError, held};
use crate::system::filesystem::{Mount, is_network, is_passed_on, mount_of, mounts};
pub(crate) use host::read as tree_of_host;
use opened::Others;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
pub(crate) use tree::Node;
use tree::{How, Tree};

/// Locks on the storage below a target while it is open: locked files, and exclusively opened devices, that its requests reach
/// through loop devices and overlays.
#[derive(Debug, Default)]
pub(super) struct Claims {
    files: Vec<File>,
    /// Why other users are unknown.
    unknown: Option<String>,
    /// A loop device that may lie on the target, unless the kernel reports that the target is open nowhere else.
    loop_unknown: Option<String>,
}

/// Rejects a target to be overwritten that is in use, by the facts known before it is opened, and claims the storage below.
///
/// # Errors
/// With the user and the remedy, or if the users are unknown.
pub(super) fn claim(path: &Path, facts: &Metadata) -> Result<Claims, TargetError> {
    let refuse = |reason: String| TargetError::in_use(path, reason);
    if let Some(missing) = host::missing() {
        return Err(refuse(format!(
            "{missing} is not mounted, so it is unknown whether the target is in use; mount it"
        )));
    }
    let (tree, unlisted) = host::read_whole();
    let target = Node::of(facts);
    let unlisted = unlisted.or_else(|| (!tree.knows(target)).then(|| "this device".to_owned()));
    if let Some(device) = unlisted {
        return Err(refuse(format!(
            "/sys/class/block does not show {device}, so it is unknown whether the target is in use; run where all of \
             /sys is visible"
        )));
    }
    let is_file = matches!(target, Node::File(..));
    let mut claims = Claims { loop_unknown: tree.loop_unknown.clone(), ..Claims::default() };
    let unidentified = claims.loop_unknown.clone().filter(|_| !is_file);
    if let Some(user) = tree.user_of(target).or(unidentified) {
        return Err(refuse(user));
    }
    for (node, how) in tree.reached(target) {
        let place = if node == target { Some(path) } else { tree.paths.get(&node).map(PathBuf::as_path) };
        if let (Node::File(..), Some(place)) = (node, place) {
            claims.file(place, &tree).map_err(refuse)?;
        }
        // The lease on the target itself is more exact for a file.
        if node != target || !is_file {
            claims.processes(node, tree.text(node)).map_err(refuse)?;
        }
        // The disk of a partition and the members of a stacked device are claimed by the kernel as the target is opened.
        if let (Node::Device(device), Some(How::Loop)) = (node, how) {
            claims.device(device, tree.text(node)).map_err(refuse)?;
        }
    }
    Ok(claims)
}

impl Claims {
    /// Rejects a file in a layer of an overlay, and a file on an overlay whose copy in the upper layer is in use; claims that copy.
    fn file(&mut self, path: &Path, tree: &Tree) -> Result<(), String> {
        let path = std::fs::canonicalize(path).unwrap_or_default();
        let facts = |path: &Path| std::fs::metadata(path).map(|facts| Node::of(&facts)).ok();
        for place in std::iter::once(path.clone()).chain(elsewhere(&path)) {
            if let Some(layer) = tree.use_of_directory(place.ancestors().skip(1).filter_map(facts)) {
                return Err(layer);
            }
        }
        if let Some(point) = &tree.overlay_unknown {
            self.unknown =
                Some(format!("{} may be in a layer of the overlay on {point}, which cannot be found", path.display()));
        }
        let Some(mount) = mount_of(&path) else { return Ok(()) };
        let Some(upper) = host::upper_layer(&mount) else { return Ok(()) };
        if !upper.is_absolute() || !upper.is_dir() {
            let unknown = format!(
                "{} is on an overlay whose layers cannot be seen here: another program may use it there",
                path.display()
            );
            self.unknown = Some(unknown);
            return Ok(());
        }
        let within = mount.root.join(path.strip_prefix(&mount.point).unwrap_or(&path));
        let real = upper.join(within.strip_prefix("/").unwrap_or(&within));
        // A file of a lower layer is copied before it is written.
        let Ok(facts) = std::fs::metadata(&real) else { return Ok(()) };
        let user = tree.user_of(Node::of(&facts)).or_else(|| opened::lease(&facts, true).map(holds_a_lease));
        if let Some(user) = user {
            return Err(user);
        }
        let options = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&real);
        let file = options.map_err(|error| format!("{} below it cannot be opened ({error})", real.display()))?;
        if let Some(user) = user_of_open(&file, Locks::OfHost)? {
            self.unknown = Some(user);
        }
        self.files.push(file);
        Ok(())
    }

    /// Rejects a file or device that a process has open.
    fn processes(&mut self, node: Node, name: &str) -> Result<(), String> {
        let processes = opened::processes_with(node, None);
        if processes.some_unseen {
            self.unknown =
                Some(format!("some processes cannot be examined here, and one of them may have {name} open"));
        }
        processes.first.map_or(Ok(()), |process| Err(format!("{process} has {name} open; stop that first")))
    }

    /// Claims a block device below a loop device.
    fn device(&mut self, device: u64, name: &str) -> Result<(), String> {
        let file = host::open_device(device, name, libc::O_EXCL).map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => held(name),
            _ => {
                let what = format!("{name}, which it rests on, cannot be opened to see whether it is in use ({error})");
                format!("{what}; run as a user who has permission")
            }
        })?;
        if !opened::lock(&file, true) {
            return Err(format!("another program holds a lock on {name} (flock); stop that first"));
        }
        self.files.push(file);
        Ok(())
    }
}

/// The paths of the same file on other mounts of its file system: a bind mount has other directories above the file.
fn elsewhere(path: &Path) -> Vec<PathBuf> {
    let Some(own) = mount_of(path) else { return Vec::new() };
    let within = own.root.join(path.strip_prefix(&own.point).unwrap_or(path));
    let others = mounts().into_iter().filter(|mount| mount.device == own.device && mount.point != own.point);
    let there = |mount: Mount| Some(mount.point.join(within.strip_prefix(&mount.root).ok()?));
    let node = |path: &Path| std::fs::metadata(path).map(|facts| Node::of(&facts)).ok();
    let file = node(path);
    others.filter_map(there).filter(|place| file.is_some() && node(place) == file).collect()
}

/// Rejects a file with a lease of another program, because opening it would break the lease.
///
/// # Errors
/// With the program.
pub(super) fn refuse_leased(path: &Path, facts: &Metadata, to_write: bool) -> Result<(), TargetError> {
    let verb = if to_write { "written" } else { "read" };
    let refuse = |holder| format!("{} is not {verb}: {}", path.display(), holds_a_lease(holder));
    opened::lease(facts, to_write).map_or(Ok(()), |holder| Err(TargetError::Rejected(refuse(holder))))
}

fn holds_a_lease(holder: String) -> String {
    format!("{holder} holds a lease on it; stop that first")
}

/// Locks the devices that share storage with a target against runs that write, until the result is dropped.
///
/// # Errors
/// With the program that writes one of them.
pub(super) fn keep_others_from_writers(facts: &Metadata) -> Result<Vec<File>, String> {
    let tree = host::read();
    let target = Node::of(facts);
    let mut locked = Vec::new();
    for node in tree.sharing(target) {
        let Node::Device(device) = node else { continue };
        // The target itself is locked already. A device that cannot be opened here is checked by /proc alone.
        if node != target
            && let Ok(file) = host::open_device(device, tree.text(node), libc::O_NONBLOCK)
        {
            if !opened::lock(&file, false) {
                return Err(format!("another program holds an exclusive lock on {}", tree.text(node)));
            }
            locked.push(file);
        }
        if let Some(process) = opened::processes_with(node, None).first {
            return Err(format!("{process} has {} open for writing", tree.text(node)));
        }
    }
    Ok(locked)
}

/// Rejects a target that is open here for reading and writing and is open or locked elsewhere. Locks it. Returns why other users
/// are unknown, if they are.
///
/// # Errors
/// With the user and the remedy.
pub(super) fn check_open(
    path: &Path,
    file: &File,
    locks: Locks,
    claims: &Claims,
) -> Result<Option<String>, TargetError> {
    let refuse = |reason: String| TargetError::in_use(path, reason);
    match user_of_open(file, locks).map_err(refuse)? {
        Some(_) if claims.loop_unknown.is_some() => Err(refuse(claims.loop_unknown.clone().unwrap_or_default())),
        Some(unknown) => Ok(Some(format!("{}: {unknown}", path.display()))),
        None => Ok(claims.unknown.clone()),
    }
}

/// The other user of a file that is open here for reading and writing, as an error with the remedy; else why other users are
/// unknown, if they are. Locks it.
fn user_of_open(file: &File, locks: Locks) -> Result<Option<String>, String> {
    let facts = file.metadata().map_err(|error| format!("it cannot be examined ({error})"))?;
    let is_device = facts.file_type().is_block_device();
    if !is_device && opened::is_swap(file) {
        return Err("it is swap space; run swapoff first".to_owned());
    }
    if let Some(holder) = opened::record_lock(file) {
        return Err(format!("{holder} holds a lock on it; stop that first"));
    }
    let others = match (is_device, locks) {
        (true, _) => Others::None,
        // NFS and CIFS grant leases by the promises of their server, not by the open files.
        (_, Locks::OfNetwork | Locks::Mandatory) => Others::Unknown,
        _ => opened::others(file),
    };
    if others == Others::Some {
        return Err(opened::processes_with(Node::of(&facts), Some(file)).first.map_or_else(
            || "it is open, but not in a process that is visible here: the kernel may have a file system mounted from it, or \
                a process in another container; stop that first"
                .to_owned(),
            |process| format!("{process} has it open; stop that first"),
        ));
    }
    if !keep_from(file, locks, true) {
        return Err("another program holds a lock on it (flock); stop that first".to_owned());
    }
    Ok((others == Others::Unknown || locks == Locks::PassedOn)
        .then(|| "the kernel cannot say whether another program uses it".to_owned()))
}

/// Whether another program holds an exclusive lock on a file open here for reading, and so probably writes it.
pub(super) fn is_being_written(file: &File, locks: Locks) -> bool {
    locks != Locks::Mandatory && opened::is_locked(file)
}

/// Locks a file against other runs as long as it is open here: exclusively, or against runs that write. False if another program
/// holds a lock on it.
pub(super) fn keep_from(file: &File, locks: Locks, exclusive: bool) -> bool {
    locks == Locks::Mandatory || opened::lock(file, exclusive)
}

/// The meaning of locks and leases on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locks {
    /// As in fcntl(2) and flock(2).
    OfHost,
    /// Locks are the server's, and leases do not cover other hosts.
    OfNetwork,
    /// As in fcntl(2) and flock(2) on this host. The same data may be used elsewhere: FUSE and virtiofs pass requests on to other
    /// files, and cluster file systems share their disk.
    PassedOn,
    /// A lock keeps out every other open of the file, the workers' among them: CIFS.
    Mandatory,
}

impl Locks {
    /// Of a file system's type; none of a device.
    pub(super) fn of(filesystem: Option<&str>) -> Locks {
        match filesystem {
            Some("cifs" | "smb3") => Locks::Mandatory,
            Some(kind) if is_network(kind) => Locks::OfNetwork,
            Some(kind) if is_passed_on(kind) => Locks::PassedOn,
            _ => Locks::OfHost,
        }
    }
}

/// Whether a path leads to the file or device of these facts.
pub(super) fn is_same(path: &Path, facts: &Metadata) -> bool {
    std::fs::metadata(path).is_ok_and(|other| Node::of(&other) == Node::of(facts))
}
