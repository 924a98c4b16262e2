//! What a target is and what lies below it: file system, mount, disk. What the kernel does not say stays unknown.

use super::error::{TargetError, a_directory};
use super::open::Access;
use super::reopened::{flags_for, open_again};
use crate::system::Root;
use crate::system::device::{self, size_of};
use crate::system::filesystem::{self, is_network, mount_of, number_of, whole_disk};
use crate::system::levels::{levels, limits};
use crate::system::machine::memory;
use halfpower_model::{Buffering, Bytes, TargetFacts, TargetKind};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Facts of an open file or device, and the number of the device whose counters tell of it. `path` is what it is
/// called, and for a file without a name the directory it is in.
pub(super) fn describe_open(
    path: &Path,
    file: &File,
    access: Access,
) -> Result<(TargetFacts, Option<(u32, u32)>), TargetError> {
    let action = if access == Access::Overwrite { "write" } else { "read" };
    let fail = |error: io::Error| TargetError::from_io(action, path, error);
    let metadata = file.metadata().map_err(fail)?;
    let kind = kind_of(path, &metadata)?;
    let size = match kind {
        TargetKind::BlockDevice => rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(io::Error::from),
        _ => Ok(metadata.len()),
    };
    let mut facts = TargetFacts::bare(path.display().to_string(), kind, Bytes(size.map_err(fail)?));
    let number = if kind == TargetKind::BlockDevice { metadata.rdev() } else { metadata.dev() };
    facts.allocated_bytes = (kind == TargetKind::File).then_some(Bytes(metadata.blocks() * 512));
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = describe(&mut facts, path, number);
    facts.direct_alignment_bytes = direct_alignment(file, &facts).map_err(fail)?;
    Ok((facts, device))
}

/// Facts of a file, a directory or a block device that is not opened: what it lies on is everybody's to see.
///
/// # Errors
/// When it is not there, or nothing that could be a target.
pub(crate) fn facts_unopened(path: &Path) -> Result<TargetFacts, TargetError> {
    let metadata = std::fs::metadata(path).map_err(|error| TargetError::from_io("examine", path, error))?;
    // A file that would be made in a directory lies on the same storage.
    let kind = if metadata.is_dir() { TargetKind::File } else { kind_of(path, &metadata)? };
    let number = if kind == TargetKind::BlockDevice { metadata.rdev() } else { metadata.dev() };
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    let size = match kind {
        TargetKind::BlockDevice => filesystem::sysfs_device(number).map(|device| size_of(&device)).unwrap_or_default(),
        _ if metadata.is_dir() => Bytes(0),
        _ => Bytes(metadata.len()),
    };
    let mut facts = TargetFacts::bare(path.display().to_string(), kind, size);
    facts.allocated_bytes = metadata.is_file().then_some(Bytes(metadata.blocks() * 512));
    describe(&mut facts, path, number);
    Ok(facts)
}

pub(super) fn kind_of(path: &Path, metadata: &std::fs::Metadata) -> Result<TargetKind, TargetError> {
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

/// The multiple direct I/O must keep to; none where it is refused. The kernel says (statx, Linux 6.1), else a device's
/// logical block, else what a read of the file shows. Other errors are no refusal: a limit on open
/// files, or a medium that is damaged.
fn direct_alignment(file: &File, facts: &TargetFacts) -> io::Result<Option<Bytes>> {
    // They take O_DIRECT since Linux 6.6 and still read from memory.
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

/// Fills in what lies below `path`, whose device number (its own for a device, its file system's for a file) is
/// `number`. Gives the number of the device whose counters tell of it.
fn describe(facts: &mut TargetFacts, path: &Path, number: (u32, u32)) -> Option<(u32, u32)> {
    let root = Root::host();
    let mut device = root.device(number);
    if let Ok(path) = std::path::absolute(path) {
        let storage = device::storage_of(&root, &path);
        facts.levels = levels(&storage, &memory(&root));
        facts.limits = limits(&storage);
    }
    if facts.kind == TargetKind::File
        && let Some(mount) = mount_of(path)
    {
        device = device.or_else(|| mount.source_device(&root));
        facts.transport = is_network(&mount.kind).then(|| "network".to_owned());
        facts.filesystem = Some(mount.kind);
        facts.mount_options = Some(mount.options);
    }
    let device = device?;
    let disk = whole_disk(&device);
    describe_disk(facts, &disk);
    number_of(&device)
}

/// The numbers of a file system's devices: the one that is mounted, and what it lies on beside that.
pub(super) fn members(device: (u32, u32)) -> Vec<(u32, u32)> {
    let root = Root::host();
    let beside = root.device(device).map(|directory| device::members_beside(&root, &directory));
    std::iter::once(device).chain(beside.unwrap_or_default().iter().filter_map(|member| number_of(member))).collect()
}

fn describe_disk(facts: &mut TargetFacts, disk: &Path) {
    let queue = device::queue(disk);
    facts.device = disk.file_name().map(|name| name.to_string_lossy().into_owned());
    facts.model = device::model(disk);
    facts.firmware = device::firmware(disk);
    facts.write_cache = queue.write_cache;
    facts.rotational = queue.rotational;
    facts.scheduler = queue.scheduler;
    facts.read_ahead_bytes = queue.read_ahead_bytes;
    facts.logical_block_bytes = queue.logical_block_bytes;
    facts.transport = facts.transport.take().or_else(|| device::transport(disk));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_tells_what_can_change_beneath_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let disk = directory.path().join("sda");
        for (file, text) in
            [("device/rev", "SN05 \n"), ("queue/write_cache", "write back\n"), ("queue/scheduler", "none [bfq]\n")]
        {
            std::fs::create_dir_all(disk.join(file).parent().unwrap()).unwrap();
            std::fs::write(disk.join(file), text).unwrap();
        }
        let mut facts = TargetFacts::bare("file", halfpower_model::TargetKind::File, halfpower_model::Bytes(1));
        describe_disk(&mut facts, &disk);
        let found = [facts.device, facts.firmware, facts.write_cache, facts.scheduler].map(Option::unwrap_or_default);
        assert_eq!(found, ["sda", "SN05", "write back", "bfq"]);
    }
}
