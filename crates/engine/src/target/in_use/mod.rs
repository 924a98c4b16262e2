//! Whether what a target would overwrite is in use. docs/SAFETY.md has the rules in one table.
//!
//! Asked are the kernel's own answers where there are any: an exclusive open of every block device that the requests
//! reach, and a lease on a file. The tree of devices, mounts and loop devices tells who the user is, and what no exclusive
//! open tells: loop devices claim nothing below them. Nothing is changed by asking.

mod host;
mod opened;
mod tree;

use super::TargetError;
use super::filesystem::is_network;
pub(crate) use host::read as tree_of_host;
use opened::Others;
use std::fs::{File, Metadata};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
pub(crate) use tree::Node;

/// What keeps others from the storage below a target while it is open: block devices that its requests reach by way of
/// loop devices, opened exclusively.
#[derive(Debug, Default)]
pub(super) struct Claims(#[expect(dead_code, reason = "open as long as the target")] Vec<File>);

/// Refuses a target to be overwritten that is in use, by what is known before it is opened, and claims what lies below.
///
/// # Errors
/// [`TargetError::InUse`] with the user and the remedy, or that it cannot be told.
pub(super) fn claim(path: &Path, facts: &Metadata) -> Result<Claims, TargetError> {
    let refuse = |reason: String| TargetError::InUse { path: path.display().to_string(), reason };
    if let Some(missing) = host::missing() {
        let reason =
            format!("{missing} is not mounted, and without it nobody can tell whether the target is in use; mount it");
        return Err(refuse(reason));
    }
    let tree = host::read();
    let target = Node::of(facts);
    let canonical = std::fs::canonicalize(path).unwrap_or_default();
    let above =
        canonical.ancestors().skip(1).filter_map(|directory| Some(Node::of(&std::fs::metadata(directory).ok()?)));
    let is_file = matches!(target, Node::File(..));
    let layer = || tree.use_of_directory(above).filter(|_| is_file);
    if let Some(user) = tree.user_of(target).or_else(layer) {
        return Err(refuse(user));
    }
    let mut claims = Vec::new();
    for node in tree.same_bytes(target) {
        // Of a file that is opened itself, the kernel says more.
        let is_opened_file = node == target && is_file;
        if let Some(process) = opened::process_with(node, None).filter(|_| !is_opened_file) {
            return Err(refuse(format!("{process} has {} open; stop that first", tree.text(node))));
        }
        let Node::Device(device) = node else { continue };
        if node == target {
            continue;
        }
        let name = tree.text(node);
        match host::open_device(device, name, libc::O_EXCL) {
            Ok(file) => claims.push(file),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Err(refuse(held(name))),
            Err(error) => {
                let reason =
                    format!("{name}, which it rests on, cannot be opened to see whether it is in use ({error})");
                return Err(refuse(format!("{reason}; run as a user who may")));
            }
        }
    }
    Ok(Claims(claims))
}

/// Refuses a target that is open here for reading and writing and that somebody else has open, or a lock on. Keeps others
/// from it that mind locks. Gives what cannot be told.
///
/// # Errors
/// [`TargetError::InUse`] with the user and the remedy.
pub(super) fn check_open(path: &Path, file: &File, locks: Locks) -> Result<Option<String>, TargetError> {
    let refuse = |reason: String| TargetError::InUse { path: path.display().to_string(), reason };
    let facts = file.metadata().map_err(|error| TargetError::from_io("examine", path, error))?;
    let is_device = facts.file_type().is_block_device();
    if !is_device && opened::is_swap(file) {
        return Err(refuse("it is swap space; run swapoff first".to_owned()));
    }
    if let Some(holder) = opened::record_lock(file) {
        return Err(refuse(format!("{holder} holds a lock on it; stop that first")));
    }
    let others = match (is_device, locks) {
        (true, _) => Others::None,
        // NFS and CIFS grant leases by what their server has promised, not by who has the file open.
        (_, Locks::OfNetwork | Locks::Mandatory) => Others::Unknown,
        _ => opened::others(file),
    };
    if others == Others::Some {
        let user = opened::process_with(Node::of(&facts), Some(file)).map_or_else(
            || "somebody has it open who is not seen from here: the kernel, for a file system that is mounted from it, or a \
                process in another container; stop that first".to_owned(),
            |process| format!("{process} has it open; stop that first"),
        );
        return Err(refuse(user));
    }
    if !keep_from_runs(file, locks) {
        return Err(refuse("another program holds a lock on it (flock); stop that first".to_owned()));
    }
    let unknown = || format!("the kernel cannot say whether another program uses {}", path.display());
    Ok((others == Others::Unknown).then(unknown))
}

/// Whether another program holds an exclusive lock on what is open here for reading: it is likely to write it.
pub(super) fn is_being_written(file: &File, locks: Locks) -> bool {
    locks != Locks::Mandatory && opened::is_locked(file)
}

/// Keeps other runs from a file as long as it is open here for writing; false where another program holds a lock on it.
pub(super) fn keep_from_runs(file: &File, locks: Locks) -> bool {
    locks == Locks::Mandatory || opened::lock(file, true)
}

/// Keeps runs that write from a file as long as it is open here; false where one is under way.
pub(super) fn keep_from_writers(file: &File, locks: Locks) -> bool {
    locks == Locks::Mandatory || opened::lock(file, false)
}

/// What a lock means on a file system, and whether a lease means anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locks {
    /// As fcntl(2) and flock(2) have it.
    OfHost,
    /// Locks are the server's, and leases say nothing of other hosts.
    OfNetwork,
    /// A lock keeps out every other open of the file, the workers' among them: CIFS.
    Mandatory,
}

impl Locks {
    /// Of a file system's type; none of a device.
    pub(super) fn of(filesystem: Option<&str>) -> Locks {
        match filesystem {
            Some("cifs" | "smb3") => Locks::Mandatory,
            Some(kind) if is_network(kind) => Locks::OfNetwork,
            _ => Locks::OfHost,
        }
    }
}

/// What to say of a device that cannot be opened exclusively, of which the tree names no user.
pub(super) fn held(device: &str) -> String {
    format!(
        "{device} is held exclusively: by a mount in another container, the journal or log of a file system, a volume \
         manager, or another program; stop that first"
    )
}

/// Whether a path leads to the file or device of these facts.
pub(super) fn is_same(path: &Path, facts: &Metadata) -> bool {
    std::fs::metadata(path).is_ok_and(|other| Node::of(&other) == Node::of(facts))
}
