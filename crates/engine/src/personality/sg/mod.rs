//! SCSI commands straight to the disk, by SG_IO: past the page cache, the block layer's scheduler and its merging. One
//! transfer at a time. Needs a whole SCSI or SATA disk, requests of whole blocks and no larger than a command may be:
//! none is split, so that a request is a command.

mod command;
mod disk;
mod outcome;

use super::device::{DeviceError, WriteDone, not_writable};
use super::interface::{Granted, Setup, Transfer};
use super::synchronous::Synchronous;
use command::{Command, UNMAP_LIST_BYTES, unmap_list};
use disk::{Data, Direction, Disk};
use halfpower_model::stream::RequestKind;
use std::io;

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
        Ok((Sg { disks, write_done: WriteDone::asked_by(setup.workload), cause: None }, Granted::default()))
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
        // SAFETY: whoever submitted the transfer keeps its bytes for it until it comes back.
        unsafe { disk.run(&command, data) }
    }
}

fn trim(disk: &Disk, transfer: &Transfer) -> Result<u32, DeviceError> {
    let mut list = unmap_list(disk.blocks(transfer)?);
    let data = Data { direction: Direction::ToDevice, address: list.as_mut_ptr(), length: UNMAP_LIST_BYTES as u32 };
    // SAFETY: the data are the list's bytes, which nobody else has.
    unsafe { disk.run(&Command::unmap(), data) }
}
