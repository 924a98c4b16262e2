//! An NVMe namespace that takes commands: the generic character device (`/dev/ng0n1`) beside the block device that the
//! user named, found by the number of the open device, never by the given name.

use super::command::{Command, Data, IDENTIFY_BYTES, Namespace};
use super::outcome::Status;
use crate::personality::device::{self, Geometry};
use crate::system::filesystem::parse_number;
use crate::system::numbers;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const NVME_IOCTL_ID: libc::Ioctl = 0x4e40;
const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xc048_4e41;

/// The reason and the remedy if the kernel rejects a user's commands.
pub(super) const NOT_ALLOWED: &str = "this user may not send NVMe commands; run as root (CAP_SYS_ADMIN)";

/// A namespace, open.
#[derive(Debug)]
pub(super) struct Generic {
    /// The character device.
    pub(super) file: File,
    /// The namespace's number at its controller.
    pub(super) namespace: u32,
    /// Its directory in sysfs.
    directory: PathBuf,
    pub(super) geometry: Geometry,
    pub(super) is_writable: bool,
}

impl Generic {
    /// The namespace of the block device that a file is open on.
    ///
    /// # Errors
    /// If it is no namespace, cannot be opened or does not answer; the message names the remedy.
    pub(super) fn beside(block: &File) -> io::Result<Generic> {
        let directory = device::disk_of(block)?;
        let is_writable = device::is_writable(block)?;
        let (generic, file) = open_beside(&directory, is_writable)?;
        // SAFETY: the call takes no argument and answers with the number.
        let namespace = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID) };
        let namespace = u32::try_from(namespace).map_err(|_| io::Error::last_os_error())?;
        let identified = identify(&file, namespace)?;
        if identified.metadata_bytes > 0 {
            return Err(io::Error::other(format!(
                "each block has {} bytes of metadata; format the namespace without metadata, or use another --personality",
                identified.metadata_bytes
            )));
        }
        if identified.blocks * u64::from(identified.block_bytes)
            != rustix::fs::seek(block, rustix::fs::SeekFrom::End(0))?
        {
            return Err(io::Error::other(
                "the block device has another size than the namespace; rescan the controller",
            ));
        }
        let geometry = Geometry::new(identified.block_bytes, device::largest_transfer(&directory)?)?;
        Ok(Generic { file, namespace, directory: generic, geometry, is_writable })
    }

    /// Whether the device was removed meanwhile.
    pub(super) fn is_gone(&self) -> bool {
        !self.directory.exists()
    }
}

/// Opens the generic device that lies beside a block device in sysfs; returns its directory there too.
fn open_beside(directory: &Path, is_writable: bool) -> io::Result<(PathBuf, File)> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(number) = name.strip_prefix("nvme") else {
        let message = format!("{name} is not an NVMe namespace; name one, or use another --personality");
        return Err(io::Error::other(message));
    };
    let generic = format!("ng{number}");
    let beside = directory.with_file_name(&generic);
    let number_beside = fs::read_to_string(beside.join("dev"))
        .map_err(|_| io::Error::other(format!("the kernel has no {generic} for {name}; use Linux 5.13 or later")))?;
    let path = Path::new("/dev").join(&generic);
    let file = OpenOptions::new().read(true).write(is_writable).open(&path).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot open {}: {error}; run as root", path.display()))
    })?;
    let facts = file.metadata()?;
    if !facts.file_type().is_char_device() || parse_number(number_beside.trim()) != Some(numbers(facts.rdev())) {
        let message = format!("{} is not the device that belongs to {name}; let udev create it again", path.display());
        return Err(io::Error::other(message));
    }
    Ok((beside, file))
}

fn identify(file: &File, namespace: u32) -> io::Result<Namespace> {
    let mut answer = Box::new([0; IDENTIFY_BYTES]);
    let data = Data { address: answer.as_mut_ptr() as u64, length: IDENTIFY_BYTES as u32 };
    let mut command = Command::identify(namespace, data);
    // SAFETY: the command is the kernel's structure, and the data it names are the box's bytes, which live on.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) };
    if status < 0 {
        let error = io::Error::last_os_error();
        let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied;
        return Err(if is_forbidden { io::Error::other(NOT_ALLOWED) } else { error });
    }
    if let Some(error) = Status::decode(status as u16).failure() {
        return Err(io::Error::other(format!("the namespace does not answer Identify: {}", error.cause)));
    }
    Namespace::decode(&answer).ok_or_else(|| io::Error::other("the namespace answers Identify with zero blocks"))
}
