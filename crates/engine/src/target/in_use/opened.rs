//! Whether another program has a file or device open, or a lock or lease on it.
//!
//! The kernel grants a write lease on a file (fcntl(2), F_SETLEASE) only while the file has no other open, in any container and by
//! any name, of a process, a loop device or a file system mounted from it. /proc names the process.

use super::host::{processes, program};
use super::tree::Node;
use crate::mapping::Mapping;
use crate::system::{entries, name_of, text};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, StatxFlags, major, makedev, minor, statx};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Some programs open a file or device for a moment, as udev does after every write to a device, and an ended process releases its
/// files somewhat later. So a check is repeated.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Whether a file has other users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// It is open nowhere else.
    None,
    /// It is open elsewhere.
    Some,
    /// The kernel does not report it: a network file system, or a file of another user.
    Unknown,
}

/// Whether a file that is open here for reading and writing stays open elsewhere.
pub(super) fn others(file: &File) -> Others {
    for _ in 1..TRIES {
        match others_now(file) {
            Others::Some => std::thread::sleep(BETWEEN_TRIES),
            found => return found,
        }
    }
    others_now(file)
}

fn others_now(file: &File) -> Others {
    /// Which signal a broken lease sends (asm-generic/fcntl.h).
    const F_SETSIG: libc::c_int = 10;
    let descriptor = file.as_raw_fd();
    // If another program opens the file now, the kernel sends a signal; the default one would end this program.
    // SAFETY: an open descriptor and a number.
    unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) };
    // SAFETY: an open descriptor and a number.
    let taken = unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_WRLCK) };
    let error = io::Error::last_os_error().raw_os_error();
    if taken == 0 {
        // SAFETY: an open descriptor and a number.
        unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) };
        return Others::None;
    }
    if error == Some(libc::EAGAIN) { Others::Some } else { Others::Unknown }
}

/// Whether a file is swap space: the kernel rejects writable mappings of it (ETXTBSY). Nothing is written.
pub(super) fn is_swap(file: &File) -> bool {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let mapping = Mapping::shared(file, rustix::param::page_size(), 0, access, MapFlags::empty());
    mapping.is_err_and(|error| error == rustix::io::Errno::TXTBSY)
}

/// The process that holds a lock of fcntl(2) against writes, as databases and virtual machines do.
pub(super) fn record_lock(file: &File) -> Option<String> {
    // SAFETY: a plain structure of numbers, for which zeros are a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and the structure outlives the call, which takes no lock.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if result != 0 || lock.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    Some(if lock.l_pid > 0 {
        program(Path::new(&format!("/proc/{}", lock.l_pid)))
    } else {
        "another program".to_owned()
    })
}

/// Takes a lock of flock(2) that lasts as long as the file is open: exclusive to write, shared to verify, so that no two runs
/// write one target, and none verifies a target that another writes. False if a lock of another program conflicts. On a file
/// system without locks, there are no conflicts.
pub(super) fn lock(file: &File, exclusive: bool) -> bool {
    let operation =
        if exclusive { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
    let is_taken = || rustix::fs::flock(file, operation) == Err(rustix::io::Errno::WOULDBLOCK);
    for _ in 1..TRIES {
        if !is_taken() {
            return true;
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    !is_taken()
}

/// Whether another program holds an exclusive lock on a file that is open here. The lock taken for the test is released: it would
/// block other programs during a run that only reads.
pub(super) fn is_locked(file: &File) -> bool {
    let taken = lock(file, false);
    // The lock is released; there is no remedy if that fails.
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
    !taken
}

/// Processes that have a file or device open.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// One of them, in words.
    pub(super) first: Option<String>,
    /// Whether some cannot be examined: those of other users, or outside of this container.
    pub(super) some_unseen: bool,
}

/// The processes that have a file open or mapped, or a device open for writing or mapped, except by `own`.
pub(super) fn processes_with(node: Node, own: Option<&File>) -> Processes {
    /// The number of the host's own namespace of processes (linux/proc_ns.h, PROC_PID_INIT_INO).
    const HOST: &str = "pid:[4026531836]";
    let is_host = fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == HOST);
    let mut found = Processes { first: None, some_unseen: !is_host };
    let own = own
        .map(|file| Path::new("/proc").join(std::process::id().to_string()).join(format!("fd/{}", file.as_raw_fd())));
    for process in processes() {
        let has =
            |path: &PathBuf, may_write: bool| Some(path) != own.as_ref() && may_write && node_at(path) == Some(node);
        let is_file = matches!(node, Node::File(..));
        let opens = |path: &PathBuf| has(path, is_file || may_write(path));
        match fs::read_dir(process.join("fd")) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found.some_unseen = true,
            Err(_) => continue,
            Ok(_) => {}
        }
        let mut descriptors = entries(&process.join("fd"));
        if descriptors.is_empty() {
            // Its first thread has ended, and others still run.
            let threads = entries(&process.join("task"));
            descriptors = threads.iter().flat_map(|thread| entries(&thread.join("fd"))).collect();
        }
        let maps = || entries(&process.join("map_files")).iter().any(|path| has(path, true));
        if descriptors.iter().any(opens) || maps() {
            found.first = Some(program(&process));
            return found;
        }
    }
    found
}

/// The file or device of a link in /proc, without waiting for a server that does not answer.
fn node_at(path: &Path) -> Option<Node> {
    let facts = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE | StatxFlags::INO).ok()?;
    let is_device = FileType::from_raw_mode(u32::from(facts.stx_mode)) == FileType::BlockDevice;
    Some(match is_device {
        true => Node::Device(makedev(facts.stx_rdev_major, facts.stx_rdev_minor)),
        false => Node::File(makedev(facts.stx_dev_major, facts.stx_dev_minor), facts.stx_ino),
    })
}

/// The process that keeps a lease on a file which an open would break: any lease for writing, a write lease for reading. It is
/// found without opening the file, because the kernel would send the process a signal. [`others`] of another run holds one for
/// a moment, perhaps on a file with the same inode number in another tmpfs.
pub(super) fn lease(facts: &Metadata, to_write: bool) -> Option<String> {
    for _ in 1..TRIES {
        lease_now(facts, to_write)?;
        std::thread::sleep(BETWEEN_TRIES);
    }
    lease_now(facts, to_write)
}

fn lease_now(facts: &Metadata, to_write: bool) -> Option<String> {
    let (major, minor) = (major(facts.dev()), minor(facts.dev()));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    locks.lines().find_map(|line| {
        // `1: LEASE  ACTIVE    WRITE 4711 fe:00:12345 0 EOF`
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "LEASE" | "DELEG", _, kind, process, file, ..] = words[..] else { return None };
        let mut numbers = file.split(':');
        let mut hexadecimal = || u32::from_str_radix(numbers.next()?, 16).ok();
        let device = (hexadecimal()?, hexadecimal()?);
        let inode: u64 = numbers.next()?.parse().ok()?;
        // A btrfs has another number here than in stat(2).
        let is_it = inode == facts.ino() && (device == (major, minor) || major == 0);
        let breaks = to_write || kind == "WRITE";
        (is_it && breaks).then(|| program(&Path::new("/proc").join(process)))
    })
}

/// Whether a descriptor of a process is open for writing.
fn may_write(descriptor: &Path) -> bool {
    let process = descriptor.parent().and_then(Path::parent).unwrap_or(descriptor);
    let flags = text(process.join("fdinfo").join(name_of(descriptor))).and_then(|info| {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        libc::c_int::from_str_radix(flags.trim(), 8).ok()
    });
    flags.is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn a_lease_counts_only_if_it_is_kept() {
        let path = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap().into_temp_path();
        let own = again(&path);
        // SAFETY: an open descriptor and a number.
        if unsafe { libc::fcntl(own.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) } != 0 {
            eprintln!("skipped: this file system has no leases");
            return;
        }
        let facts = own.metadata().unwrap();
        assert!(lease(&facts, true).is_some_and(|holder| holder.contains(&std::process::id().to_string())));
        let ends = std::thread::spawn(move || {
            std::thread::sleep(BETWEEN_TRIES);
            drop(own);
        });
        assert_eq!(lease(&facts, true), None, "it ended meanwhile");
        ends.join().unwrap();
    }

    #[test]
    fn other_opens_of_a_file_are_found() {
        let path = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap().into_temp_path();
        let own = again(&path);
        if others(&own) == Others::Unknown {
            eprintln!("skipped: this file system has no leases");
            return;
        }
        assert_eq!(others_now(&own), Others::None);
        let reader = File::open(&path).unwrap();
        assert_eq!(others(&own), Others::Some);
        drop(reader);
        assert_eq!(others(&own), Others::None);
        let link = path.with_extension("link");
        fs::hard_link(&path, &link).unwrap();
        let writer = again(&link);
        fs::remove_file(&link).unwrap();
        assert_eq!(others(&own), Others::Some);
        drop(writer);
        assert!(!is_swap(&own));
    }

    #[test]
    fn locks_of_others_are_found() {
        let path = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap().into_temp_path();
        let holder = again(&path);
        assert_eq!(record_lock(&again(&path)), None);
        // SAFETY: a plain structure of numbers, for which zeros are a value.
        let mut read: libc::flock = unsafe { std::mem::zeroed() };
        read.l_type = libc::F_RDLCK as libc::c_short;
        // SAFETY: the descriptor is open, and the structure outlives the call.
        let taken = unsafe { libc::fcntl(holder.as_raw_fd(), libc::F_OFD_SETLK, &raw mut read) };
        assert_eq!(taken, 0, "{}", io::Error::last_os_error());
        assert_eq!(record_lock(&again(&path)).as_deref(), Some("another program"));
        drop(holder);
        assert_eq!(record_lock(&again(&path)), None);

        let [reader, other_reader, writer] = [(); 3].map(|()| again(&path));
        assert!(lock(&reader, false) && lock(&other_reader, false));
        assert!(!lock(&writer, true));
        drop((reader, other_reader));
        assert!(lock(&writer, true));
        assert!(!lock(&again(&path), false));
    }
}
