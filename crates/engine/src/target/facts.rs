//! Facts of a target and of the storage below it: file system, mount, disk. Facts that the kernel does not report stay unknown.

use super::error::{TargetError, a_directory};
use super::reopened::{flags_for, open_again};
use crate::system::device::{size_of, storage_of};
use crate::system::filesystem::{self, parse_number};
use crate::system::levels::{levels, limits};
use crate::system::machine::memory;
use crate::system::{Root, numbers};
use halfpower_model::reading::inspect::{DeviceKind, Storage};
use halfpower_model::{Buffering, Bytes, TargetFacts, TargetKind};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, absolute};

/// Whether requests may change the target's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    Read,
    /// Reads and writes: its data is lost.
    Overwrite,
}

/// Numbers `major:minor` of the devices below a target, all those of its file system. `None` in it stands for a device that is
/// missing or unknown.
pub(super) type Devices = Vec<Option<(u32, u32)>>;

/// Facts of an open file or device, and the devices whose counters are its own. `path` is its name, or the directory of a file
/// without a name.
pub(super) fn describe_open(path: &Path, file: &File, access: Access) -> Result<(TargetFacts, Devices), TargetError> {
    let action = if access == Access::Overwrite { "write" } else { "read" };
    let fail = |error: io::Error| TargetError::from_io(action, path, error);
    let metadata = file.metadata().map_err(fail)?;
    let kind = kind_of(path, &metadata)?;
    let size = match kind {
        TargetKind::BlockDevice => rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(io::Error::from),
        _ => Ok(metadata.len()),
    };
    let (mut facts, storage) = describe(path, kind, Bytes(size.map_err(fail)?), &metadata);
    facts.direct_alignment_bytes = direct_alignment(file, &facts).map_err(fail)?;
    let top = storage.device.as_ref().map(|device| parse_number(&device.number));
    let beside = storage.beside.iter().map(|device| parse_number(&device.number)).filter(Option::is_some);
    Ok((facts, std::iter::once(top.flatten()).chain(beside).collect()))
}

/// Facts of a file, a directory or a block device, and its storage, without opening it.
///
/// # Errors
/// If it does not exist or cannot be a target.
pub(crate) fn facts_unopened(path: &Path) -> Result<(TargetFacts, Storage), TargetError> {
    let metadata = std::fs::metadata(path).map_err(|error| TargetError::from_io("examine", path, error))?;
    // A new file in a directory is on the same storage.
    let kind = if metadata.is_dir() { TargetKind::File } else { kind_of(path, &metadata)? };
    let size = match kind {
        TargetKind::BlockDevice => Root::host().device(numbers(metadata.rdev())).map(|device| size_of(&device)),
        _ => metadata.is_file().then_some(Bytes(metadata.len())),
    };
    Ok(describe(path, kind, size.unwrap_or_default(), &metadata))
}

pub(super) fn kind_of(path: &Path, metadata: &Metadata) -> Result<TargetKind, TargetError> {
    let path = path.display();
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(TargetKind::File)
    } else if kind.is_block_device() {
        Ok(TargetKind::BlockDevice)
    } else if kind.is_dir() {
        Err(TargetError::Rejected(a_directory(&path.to_string())))
    } else {
        let kind = match FileType::from_raw_mode(metadata.mode()) {
            FileType::CharacterDevice => "a character device",
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            _ => "neither a file nor a device",
        };
        Err(TargetError::Rejected(format!("{path} is {kind}; name a regular file or a block device")))
    }
}

/// Alignment of direct I/O; none if the target rejects direct I/O. From the kernel (statx, Linux 6.1), else a device's logical
/// block, else by a trial read of the file. Other errors are no rejection: a limit on open files, or a damaged medium.
fn direct_alignment(file: &File, facts: &TargetFacts) -> io::Result<Option<Bytes>> {
    // They accept O_DIRECT since Linux 6.6 and still read from memory.
    if facts.filesystem.as_deref().is_some_and(filesystem::is_memory) {
        return Ok(None);
    }
    let direct = match open_again(file, flags_for(false, Buffering::Direct)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => return Ok(None),
        opened => opened?,
    };
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    if let Ok(found) = rustix::fs::statx(CWD, path.as_str(), AtFlags::empty(), StatxFlags::DIOALIGN)
        && found.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        return Ok((found.stx_dio_offset_align > 0).then_some(Bytes(u64::from(found.stx_dio_offset_align))));
    }
    if facts.kind == TargetKind::BlockDevice {
        return Ok(facts.logical_block_bytes);
    }
    let mut memory = vec![0_u8; 8192];
    let aligned = memory.as_ptr().align_offset(4096);
    let mut is_taken =
        |size: &usize| rustix::io::pread(&direct, &mut memory[aligned..aligned + size], 0) != Err(Errno::INVAL);
    Ok([512, 4096].into_iter().find(|size| is_taken(size)).map(|size| Bytes(size as u64)))
}

/// The facts of a target, and the storage below `path`.
fn describe(path: &Path, kind: TargetKind, size: Bytes, metadata: &Metadata) -> (TargetFacts, Storage) {
    let root = Root::host();
    let storage = absolute(path).map(|path| storage_of(&root, &path)).unwrap_or_default();
    let filesystem = storage.filesystem.as_ref();
    let is_network = filesystem.is_some_and(|filesystem| filesystem.network.is_some());
    let top = storage.device.as_ref();
    let disk = top.and_then(|top| if top.kind == DeviceKind::Partition { top.below.first() } else { Some(top) });
    let queue = disk.and_then(|disk| disk.queue.clone()).unwrap_or_default();
    let segments = queue.segments_max.map(|pages| Bytes(pages.saturating_mul(rustix::param::page_size() as u64)));
    let whole = queue.request_max_bytes.zip(segments).map(|(largest, segments)| largest.min(segments));
    let facts = TargetFacts {
        allocated_bytes: metadata.is_file().then_some(Bytes(metadata.blocks() * 512)),
        levels: levels(&storage, &memory(&root)),
        limits: limits(&storage),
        filesystem: filesystem.map(|filesystem| filesystem.kind.clone()),
        mount_options: filesystem.map(|filesystem| filesystem.mount_options.clone()),
        transport: if is_network { Some("network".to_owned()) } else { disk.and_then(|disk| disk.transport.clone()) },
        device: disk.map(|disk| disk.name.clone()),
        model: disk.and_then(|disk| disk.model.clone()),
        firmware: disk.and_then(|disk| disk.firmware.clone()),
        write_cache: queue.write_cache,
        rotational: queue.rotational,
        scheduler: queue.scheduler,
        read_ahead_bytes: queue.read_ahead_bytes,
        requests_max: queue.requests_max,
        whole_request_bytes: whole.filter(|_| disk.is_some_and(|disk| disk.kind == DeviceKind::Disk)),
        logical_block_bytes: queue.logical_block_bytes,
        ..TargetFacts::bare(path.display().to_string(), kind, size)
    };
    (facts, storage)
}
