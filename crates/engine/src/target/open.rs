//! A target, opened and guarded against other programs and against a workload that would measure memory.

use super::error::TargetError;
use super::facts::{Access, Devices, describe_open, kind_of};
use super::in_use::{self, Claims, Locks, Node};
use super::reopened::{OpenTarget, Opened, flags_for, leave_no_trace, open_again};
use crate::errno;
use crate::network::{self, Name, Volume};
use crate::system::levels::levels_to;
use crate::system::machine::memory;
use crate::system::{Root, filesystem, number, numbers};
use halfpower_model::{Bytes, MeasureError, TargetFacts, TargetKind, Workload};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The name of the target that takes no I/O.
pub const NULL_TARGET: &str = "null:";
/// Share of holes above which a read measures memory rather than storage.
const MAX_HOLE_SHARE: f64 = 0.01;
/// Size of the null target.
const NULL_SIZE: Bytes = Bytes(1 << 40);

/// An open target. Workers reopen it through its descriptor, so that no other file can take its name.
#[derive(Debug)]
pub struct Target {
    pub(super) facts: TargetFacts,
    pub(super) file: Option<File>,
    /// The volume of a server, to which each worker connects.
    pub(super) remote: Option<Name>,
    pub(super) access: Access,
    pub(super) devices: Devices,
    /// Locks on the storage below, as long as it is open.
    _claims: Claims,
    /// Another process of this run guards it.
    is_guarded: bool,
    /// Of a target to be overwritten: why other users are unknown.
    unknown_use: Option<String>,
    /// True once a workload has put it into another state than that of a file that holds data.
    pub(super) is_reshaped: bool,
}

/// What processes on several hosts know a target by that they share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark(String);

impl Target {
    /// Opens a file, a block device, a volume of a server or `null:`.
    ///
    /// # Errors
    /// If it cannot be used with this access; a block device in use is never opened for writing.
    pub fn open(path: &Path, access: Access) -> Result<Target, TargetError> {
        Target::open_as(path, access, false)
    }

    /// Opens for writing what another process of this run has opened so, and guards.
    ///
    /// # Errors
    /// If it is not that target.
    pub fn open_beside(path: &Path, mark: &Mark) -> Result<Target, TargetError> {
        let target = Target::open_as(path, Access::Overwrite, true)?;
        if target.mark().as_ref() != Some(mark) {
            return Err(TargetError::Rejected(format!("{} was replaced while it was being opened", path.display())));
        }
        Ok(target)
    }

    fn open_as(path: &Path, access: Access, is_guarded: bool) -> Result<Target, TargetError> {
        needs_proc()?;
        if network::is_remote(path) {
            return Target::of_server(path, access);
        }
        if path.as_os_str() == NULL_TARGET {
            let facts = TargetFacts::bare(NULL_TARGET, TargetKind::Null, NULL_SIZE);
            return Ok(Target::of(facts, None, Vec::new(), access));
        }
        let action = if access == Access::Overwrite { "write" } else { "read" };
        let fail = |error: io::Error| TargetError::from_io(action, path, error);
        let named = std::fs::metadata(path).map_err(fail)?;
        let kind = kind_of(path, &named)?;
        if kind == TargetKind::File {
            refuse_made_up(path)?;
        }
        in_use::refuse_leased(path, &named, access == Access::Overwrite)?;
        let mut claims = Claims::default();
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::Overwrite);
        let is_claimed = access == Access::Overwrite && !is_guarded;
        if is_claimed {
            refuse_read_only(path, &named)?;
            claims = in_use::claim(path, &named)?;
            // An exclusive open of a device fails while a mount or a stacked device claims it. The open does not wait for the
            // end of a lease on a file.
            options.custom_flags(if kind == TargetKind::BlockDevice { libc::O_EXCL } else { libc::O_NONBLOCK });
        }
        let file = options.open(path).map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN) => TargetError::in_use(path, "another program holds a lease on it; stop that first"),
            _ => fail(error),
        })?;
        leave_no_trace(&file);
        // The opened file counts, not the file that had the name before.
        let metadata = file.metadata().map_err(fail)?;
        if kind_of(path, &metadata)? != kind || Node::of(&metadata) != Node::of(&named) {
            return Err(fail(io::Error::other("it was replaced while it was being opened")));
        }
        let (facts, devices) = describe_open(path, &file, access)?;
        let mut unknown_use = None;
        if is_claimed {
            unknown_use = in_use::check_open(path, &file, Locks::of(facts.filesystem.as_deref()), &claims)?;
        }
        Ok(Target { _claims: claims, is_guarded, unknown_use, ..Target::of(facts, Some(file), devices, access) })
    }

    fn of(facts: TargetFacts, file: Option<File>, devices: Devices, access: Access) -> Target {
        Target {
            facts,
            file,
            remote: None,
            access,
            devices,
            _claims: Claims::default(),
            is_guarded: false,
            unknown_use: None,
            is_reshaped: false,
        }
    }

    /// A volume of a server. It is connected to and examined, and left again.
    fn of_server(path: &Path, access: Access) -> Result<Target, TargetError> {
        let name = Name::read(path).map_err(TargetError::Rejected)?;
        let Volume { size, alignment, server } = network::examine(&name, access).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::ConnectionRefused => "; start the server, or correct its address and port",
                _ => "",
            };
            TargetError::Rejected(format!("cannot use {}: {error}{remedy}", path.display()))
        })?;
        if let Some(why) = server.read_only.as_ref().filter(|_| access == Access::Overwrite) {
            let path = path.display();
            return Err(TargetError::Rejected(format!("{path} cannot be overwritten: {why}; leave --overwrite out")));
        }
        let root = Root::host();
        let facts = TargetFacts {
            levels: levels_to(&root, &server.address, &memory(&root)),
            direct_alignment_bytes: Some(alignment),
            transport: Some("network".to_owned()),
            server: Some(server),
            ..TargetFacts::bare(path.display().to_string(), TargetKind::Remote, size)
        };
        Ok(Target { remote: Some(name), ..Target::of(facts, None, Vec::new(), access) })
    }

    /// A test file, open for reading and writing.
    pub(crate) fn of_file(path: &Path, file: File) -> Result<Target, TargetError> {
        let (facts, devices) = describe_open(path, &file, Access::Overwrite)?;
        // It has no other user yet; the lock shows other runs that it is being written.
        in_use::keep_from(&file, Locks::of(facts.filesystem.as_deref()), true);
        Ok(Target::of(facts, Some(file), devices, Access::Overwrite))
    }

    /// The same open target, for a workload beside others. The first one keeps other programs away.
    ///
    /// # Errors
    /// The kernel's.
    pub fn again(&self) -> io::Result<Target> {
        let file = self.file.as_ref().map(File::try_clone).transpose()?;
        Ok(Target {
            is_reshaped: self.is_reshaped,
            remote: self.remote.clone(),
            ..Target::of(self.facts.clone(), file, self.devices.clone(), self.access)
        })
    }

    /// The target with new facts, after it has grown.
    ///
    /// # Errors
    /// The kernel's.
    pub fn examined_again(self) -> Result<Target, TargetError> {
        let Some(file) = &self.file else { return Ok(self) };
        let (facts, devices) = describe_open(Path::new(&self.facts.path), file, self.access)?;
        Ok(Target { facts, devices, ..self })
    }

    /// What a process on any host knows it by; none where that cannot be told.
    pub fn mark(&self) -> Option<Mark> {
        if self.remote.is_some() {
            return Some(Mark(format!("server {}", self.facts.path)));
        }
        let facts = self.file.as_ref()?.metadata().ok()?;
        if self.facts.kind == TargetKind::BlockDevice {
            let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            return Some(Mark(format!("device {} {}", facts.rdev(), boot.trim())));
        }
        // Of files on two hosts all of these agree only if they are one, by a shared file system.
        let (changed_s, changed_ns) = (facts.ctime(), facts.ctime_nsec());
        Some(Mark(format!("file {} {} {changed_s}.{changed_ns:09}", facts.ino(), facts.size())))
    }

    /// Gives a file that may be overwritten a mark that no copy of it has: its times are set to now.
    ///
    /// # Errors
    /// The kernel's.
    pub fn mark_anew(&self) -> io::Result<()> {
        let is_file = self.facts.kind == TargetKind::File && self.may_be_written();
        let Some(file) = self.file.as_ref().filter(|_| is_file) else { return Ok(()) };
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        Ok(rustix::fs::futimens(file, &rustix::fs::Timestamps { last_access: now, last_modification: now })?)
    }

    /// Whether it may be written.
    pub fn may_be_written(&self) -> bool {
        self.access == Access::Overwrite
    }

    /// Its facts.
    pub fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    /// Why other users of a target to be overwritten are unknown; none if they are known.
    pub fn unknown_use(&self) -> Option<&str> {
        self.unknown_use.as_deref()
    }

    /// Whether another program locks a target that is only read, and so may be writing it.
    pub(crate) fn is_written_by_others(&self) -> bool {
        let locks = Locks::of(self.facts.filesystem.as_deref());
        let file = self.file.as_ref().filter(|_| self.access == Access::Read);
        file.is_some_and(|file| in_use::is_being_written(file, locks))
    }

    /// Locks it against runs that write, as long as it is open, and the devices that share storage with it, until the result
    /// is dropped.
    ///
    /// # Errors
    /// With the program that writes one of them.
    pub(crate) fn keep_from_writers(&self) -> Result<Vec<File>, String> {
        let Some(file) = self.file.as_ref().filter(|_| !self.is_guarded) else { return Ok(Vec::new()) };
        if !in_use::keep_from(file, Locks::of(self.facts.filesystem.as_deref()), false) {
            return Err(format!("another program holds an exclusive lock on {}", self.facts.path));
        }
        let facts = file.metadata().map_err(|error| format!("{} cannot be examined ({error})", self.facts.path))?;
        in_use::keep_others_from_writers(&facts)
    }

    /// The open target; none for `null:`.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Opens it again with the workload's buffering.
    pub(crate) fn reopen(&self, workload: &Workload) -> Result<Option<OpenTarget>, MeasureError> {
        if let Some(name) = &self.remote {
            return Ok(Some(OpenTarget::Remote(name.clone())));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let flags = flags_for(workload.operation.destroys(), workload.buffering);
        let file = open_again(file, flags).map_err(|source| {
            let remedy = errno::limit_remedy(&source).map(|remedy| format!("; {remedy}")).unwrap_or_default();
            MeasureError::System { action: "open", subject: format!("{}{remedy}", self.facts.path), source }
        })?;
        let (kind, size) = (self.facts.kind, self.facts.size_bytes);
        Ok(Some(OpenTarget::File(Opened { file, kind, size, flags: flags.bits() })))
    }

    /// Whether it is a file of full length without holes.
    pub fn is_filled(&self) -> bool {
        let size = self.facts.size_bytes;
        let length = self.file.as_ref().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
        length >= Some(size.0) && self.hole_share(size) == 0.0
    }

    /// Rejects reads of holes, which would measure memory, not storage. Returns the share of holes.
    ///
    /// # Errors
    /// If more than a hundredth of the first `span` bytes are holes, with the remedy.
    pub fn refuse_holes(&self, span: Bytes) -> Result<f64, MeasureError> {
        let hole_share = self.hole_share(span);
        if hole_share <= MAX_HOLE_SHARE {
            return Ok(hole_share);
        }
        let path = &self.facts.path;
        Err(MeasureError::Unsupported(format!(
            "{path} is sparse: {:.0} % of what would be read is holes, so it would measure memory; \
             name a copy without holes (`cp --sparse=never FILE COPY`), or another file",
            hole_share * 100.0,
        )))
    }

    /// The share of holes and unwritten extents in the first `span` bytes.
    pub(crate) fn hole_share(&self, span: Bytes) -> f64 {
        let Some(file) = &self.file else { return 0.0 };
        if self.facts.kind != TargetKind::File || span.0 == 0 {
            return 0.0;
        }
        // A file truncated since it was opened has no hole there: its requests will fail.
        let end = file.metadata().map_or(span.0, |metadata| metadata.len().min(span.0));
        hole_bytes(file, end) as f64 / span.0 as f64
    }
}

/// Rejects writes to a read-only block device.
fn refuse_read_only(path: &Path, facts: &std::fs::Metadata) -> Result<(), TargetError> {
    let device = Root::host().device(numbers(facts.rdev())).filter(|_| facts.file_type().is_block_device());
    match device.and_then(|device| number::<u8>(device.join("ro"))) {
        Some(1) => Err(TargetError::Rejected(format!(
            "{path} is a read-only device; use reads only, or make it writable (blockdev --setrw {path})",
            path = path.display()
        ))),
        _ => Ok(()),
    }
}

/// Rejects files of the kernel's virtual file systems.
pub(super) fn refuse_made_up(path: &Path) -> Result<(), TargetError> {
    match filesystem::mount_of(path).filter(|mount| filesystem::is_made_up(&mount.kind)) {
        None => Ok(()),
        Some(mount) => Err(TargetError::Rejected(format!(
            "{} is not storage: {} is a virtual file system of the kernel; name a path on a disk",
            path.display(),
            mount.kind
        ))),
    }
}

/// Rejects a host without /proc, because workers open targets through /proc/self/fd.
pub(super) fn needs_proc() -> Result<(), TargetError> {
    let text = "/proc is not mounted, and targets are opened through it; mount it (mount -t proc proc /proc)";
    if Path::new("/proc/self/fd").is_dir() { Ok(()) } else { Err(TargetError::Rejected(text.to_owned())) }
}

/// Bytes of holes before `end`; extrapolated for a file with very many.
fn hole_bytes(file: &File, end: u64) -> u64 {
    const SEGMENTS: usize = 10_000;
    let seek = |place| rustix::fs::seek(file, place).ok();
    let mut at = 0;
    let mut holes = 0;
    for _ in 0..SEGMENTS {
        if at >= end {
            return holes;
        }
        // No data from here on is an error (ENXIO): the rest is a hole.
        let data = seek(rustix::fs::SeekFrom::Data(at)).unwrap_or(end).min(end);
        holes += data - at;
        if data == end {
            return holes;
        }
        // A file system without holes returns the end.
        at = seek(rustix::fs::SeekFrom::Hole(data)).unwrap_or(end);
    }
    (holes as f64 / at as f64 * end as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::directory::DirectoryFacts;
    use std::io::Write;

    #[test]
    fn holes_are_counted() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.as_file().set_len(4 << 20).unwrap();
        file.as_file().sync_all().unwrap();
        let target = Target::open(file.path(), Access::Read).unwrap();
        assert_eq!(target.facts().size_bytes, Bytes(4 << 20));
        assert!((target.hole_share(Bytes(4 << 20)) - 0.75).abs() < 0.01);
        assert!(target.hole_share(Bytes(1 << 20)) < 0.01);
    }

    #[test]
    fn other_files_are_rejected_as_targets() {
        let directory = tempfile::tempdir().unwrap();
        let message = |path: &Path| Target::open(path, Access::Read).unwrap_err().to_string();
        assert!(message(directory.path()).contains("is a directory"));
        assert!(message(&directory.path().join("none")).contains("does not exist"));
        assert!(message(Path::new("/dev/zero")).contains("character device"));
    }

    #[test]
    fn virtual_file_systems_are_no_storage() {
        for path in ["/proc/meminfo", "/sys/devices/system/cpu/online"] {
            let message = Target::open(Path::new(path), Access::Read).unwrap_err().to_string();
            assert!(message.contains(&format!("{path} is not storage")), "{message}");
        }
        let message = DirectoryFacts::of(Path::new("/proc")).unwrap_err().to_string();
        assert!(message.contains("proc is a virtual file system of the kernel; name a path on a disk"), "{message}");
    }
}
