//! SCSI commands straight to the disk, by SG_IO: past the page cache, the block layer's scheduler and its merging. One
//! transfer at a time. Needs a whole SCSI or SATA disk, requests of whole blocks and no larger than a command may be:
//! none is split, so that a request is a command.
//!
//! SG_IO goes to the block device's own descriptor, which is open, claimed and checked already, so that no other node has to
//! be found for it (Linux, scsi/sg.h and scsi_ioctl.c).

mod command;
mod outcome;

use super::device::{self, Blocks, DeviceError, Geometry, WriteDone, not_writable};
use super::interface::{Granted, Setup, Transfer};
use super::synchronous::Synchronous;
use command::{CAPACITY_BYTES, Command, UNMAP_LIST_BYTES, block_bytes, unmap_list};
use halfpower_model::stream::RequestKind;
use outcome::{Answer, Outcome, SENSE_BYTES};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

#[derive(Debug)]
pub(crate) struct Sg {
    disks: Vec<Disk>,
    write_done: WriteDone,
    cause: Option<String>,
}

impl Synchronous for Sg {
    fn unavailable() -> Option<String> {
        let mut disks = std::fs::read_dir("/sys/class/scsi_disk").into_iter().flatten();
        disks.next().is_none().then(|| "this host has no SCSI or SATA disk; attach one, or use io_uring".to_owned())
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let disks = targets.into_iter().map(|target| Disk::of(target.file)).collect::<io::Result<Vec<_>>>()?;
        disks.iter().try_for_each(|disk| disk.geometry.check(setup.workload))?;
        Ok((Sg { disks, write_done: WriteDone::of(setup.workload), cause: None }, Granted::default()))
    }

    #[inline]
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        match self.perform(transfer) {
            Ok(moved) => moved as i32,
            Err(error) => {
                self.cause = Some(error.cause);
                -error.errno
            }
        }
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }
}

impl Sg {
    #[inline]
    fn perform(&self, transfer: &Transfer) -> Result<u32, DeviceError> {
        let disk = &self.disks[usize::from(transfer.target)];
        let of = |direction| Data { direction, address: transfer.address, length: transfer.length };
        let (command, data) = match transfer.kind {
            RequestKind::Read => (Command::read(disk.blocks(transfer)?), of(Direction::FromDevice)),
            RequestKind::Write | RequestKind::Trim if !disk.is_writable => return Err(not_writable()),
            RequestKind::Write => (Command::write(disk.blocks(transfer)?, self.write_done), of(Direction::ToDevice)),
            RequestKind::Trim => return trim(disk, transfer),
            RequestKind::Flush => (Command::synchronize_cache(), Data::none()),
        };
        // SAFETY: the caller of `transfer` keeps its bytes until it returns.
        unsafe { disk.run(&command, data) }
    }
}

fn trim(disk: &Disk, transfer: &Transfer) -> Result<u32, DeviceError> {
    let mut list = unmap_list(disk.blocks(transfer)?);
    let data = Data { direction: Direction::ToDevice, address: list.as_mut_ptr(), length: UNMAP_LIST_BYTES as u32 };
    // SAFETY: the data are the list's bytes, which are borrowed nowhere else.
    unsafe { disk.run(&Command::unmap(), data) }
}

const SG_IO: libc::Ioctl = 0x2285;
/// Time after which the kernel resets the device, in ms; the kernel's default for its own commands.
const TIMEOUT_MS: u32 = 60_000;
/// Attempts of a command: a device reports unit attention once or twice before it carries out a command.
const TRIES: u32 = 4;

/// `struct sg_io_hdr`.
#[repr(C)]
#[derive(Default)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_room: u8,
    pieces: u16,
    data_length: u32,
    /// Addresses are numbers, as wide as pointers.
    data: usize,
    command: usize,
    sense: usize,
    timeout_ms: u32,
    flags: u32,
    pack: i32,
    user: usize,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    not_moved: i32,
    duration_ms: u32,
    info: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88, "as the kernel's");

/// Direction of a command's data, by the kernel's numbers.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
enum Direction {
    None = -1,
    ToDevice = -2,
    FromDevice = -3,
}

/// The memory of a command's data.
#[derive(Clone, Copy, Debug)]
struct Data {
    direction: Direction,
    address: *mut u8,
    length: u32,
}

impl Data {
    /// No data.
    fn none() -> Data {
        Data { direction: Direction::None, address: std::ptr::null_mut(), length: 0 }
    }
}

/// A disk, open.
#[derive(Debug)]
struct Disk {
    file: File,
    geometry: Geometry,
    is_writable: bool,
}

impl Disk {
    /// The disk that a file is open on.
    ///
    /// # Errors
    /// If it takes no SCSI commands, or does not answer; the message names the remedy.
    fn of(file: File) -> io::Result<Disk> {
        let directory = device::disk_of(&file)?;
        // Stacked devices pass SG_IO on to the device below, and other SCSI devices are no disks.
        if !directory.join("device/scsi_disk").is_dir() {
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let message = format!("{name} is not a SCSI or SATA disk; name one, or use another --personality");
            return Err(io::Error::other(message));
        }
        let largest = device::largest_transfer(&directory)?;
        let is_writable = device::is_writable(&file)?;
        let mut disk = Disk { file, geometry: Geometry::new(512, largest)?, is_writable };
        disk.geometry = Geometry::new(disk.block_bytes()?, largest)?;
        Ok(disk)
    }

    /// The blocks of a transfer.
    #[inline]
    fn blocks(&self, transfer: &Transfer) -> Result<Blocks, DeviceError> {
        self.geometry.blocks(transfer.offset, transfer.length)
    }

    fn block_bytes(&self) -> io::Result<u32> {
        let mut answer = [0; CAPACITY_BYTES];
        let data =
            Data { direction: Direction::FromDevice, address: answer.as_mut_ptr(), length: CAPACITY_BYTES as u32 };
        // SAFETY: the data are the array's bytes, which are borrowed nowhere else.
        unsafe { self.run(&Command::read_capacity(), data) }
            .map_err(|error| io::Error::other(format!("it does not report its capacity: {}", error.cause)))?;
        block_bytes(&answer).ok_or_else(|| io::Error::other("it reports an impossible capacity"))
    }

    /// Sends a command and waits for its end; returns the bytes moved.
    ///
    /// # Errors
    /// Of the device, the adapter or the kernel.
    ///
    /// # Safety
    /// `data` is memory of the caller's without another use meanwhile, and writable if the command fills it.
    #[inline]
    unsafe fn run(&self, command: &Command, data: Data) -> Result<u32, DeviceError> {
        for _ in 0..TRIES {
            let mut sense = [0_u8; SENSE_BYTES];
            let mut header = Header {
                interface: i32::from(b'S'),
                direction: data.direction as i32,
                command_length: command.bytes().len() as u8,
                sense_room: SENSE_BYTES as u8,
                data_length: data.length,
                data: data.address as usize,
                command: command.bytes().as_ptr() as usize,
                sense: sense.as_mut_ptr() as usize,
                timeout_ms: TIMEOUT_MS,
                ..Header::default()
            };
            // SAFETY: the header is the kernel's structure, and what it points to lives until the call is over: the
            // command, the sense bytes, and the data by the caller's promise.
            if unsafe { libc::ioctl(self.file.as_raw_fd(), SG_IO, &raw mut header) } < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(refused(&error));
            }
            let answer = Answer {
                status: header.status,
                host_status: header.host_status,
                driver_status: header.driver_status,
                sense: &sense[..usize::from(header.sense_length).min(SENSE_BYTES)],
            };
            match answer.outcome() {
                Outcome::Done => return Ok(data.length.saturating_sub(header.not_moved.max(0) as u32)),
                Outcome::Again => {}
                Outcome::Failed(error) => return Err(error),
            }
        }
        Err(DeviceError {
            errno: libc::EIO,
            cause: "the device keeps reporting unit attention and does nothing".to_owned(),
        })
    }
}

/// The kernel's refusal to send a command.
#[cold]
fn refused(error: &io::Error) -> DeviceError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let cause = match errno {
        libc::EPERM | libc::EACCES => "this user may not send SCSI commands; run as root (CAP_SYS_RAWIO)".to_owned(),
        libc::ENODEV | libc::ENXIO => "the device is gone; was it removed?".to_owned(),
        _ => format!("the kernel did not send the command: {error}"),
    };
    DeviceError { errno, cause }
}
