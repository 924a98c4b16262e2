//! SCSI commands straight to the disk, by SG_IO: past the file cache, the block layer's scheduler and its merging. One
//! transfer at a time. Needs a whole SCSI or SATA disk, requests of whole blocks and no larger than a command may be:
//! none is split, so that a request is a command.

mod command;
mod disk;
mod outcome;

use super::device::{DeviceError, WriteDone, not_writable};
use super::{Completion, Personality, Setup, Transfer};
use crate::worker::buffers::Buffers;
use command::Command;
use disk::{Data, Direction as Way, Disk};
use halfpower_model::stream::Direction;
use std::io;

#[derive(Debug)]
pub(crate) struct Sg {
    disk: Disk,
    buffers: Buffers,
    write_done: WriteDone,
    taken: Option<Transfer>,
    cause: Option<String>,
}

/// Why it does not work here, with the remedy; none when it does.
pub(crate) fn unavailable() -> Option<String> {
    let mut disks = std::fs::read_dir("/sys/class/scsi_disk").into_iter().flatten();
    disks.next().is_none().then(|| "this host has no SCSI or SATA disk; attach one, or use io_uring".to_owned())
}

impl Personality for Sg {
    fn open(setup: Setup<'_>) -> io::Result<Self> {
        let disk = Disk::of(setup.file()?)?;
        disk.geometry.check(setup.workload.request_size)?;
        let write_done = WriteDone::asked_by(setup.workload);
        Ok(Sg { disk, buffers: setup.buffers, write_done, taken: None, cause: None })
    }

    #[inline]
    fn submit(&mut self, transfer: Transfer) {
        self.taken = Some(transfer);
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(transfer) = self.taken.take() else { return Ok(()) };
        let result = match self.perform(&transfer) {
            Ok(moved) => moved as i32,
            Err(error) => {
                self.cause = Some(error.cause);
                -error.errno
            }
        };
        done.push(Completion { slot: transfer.slot, result });
        Ok(())
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }
}

impl Sg {
    #[inline]
    fn perform(&mut self, transfer: &Transfer) -> Result<u32, DeviceError> {
        let blocks = self.disk.geometry.blocks(transfer.offset, transfer.length)?;
        let (command, direction) = match transfer.direction {
            Direction::Read => (Command::read(blocks), Way::FromDevice),
            Direction::Write if !self.disk.is_writable => return Err(not_writable()),
            Direction::Write => (Command::write(blocks, self.write_done), Way::ToDevice),
        };
        let buffer =
            &mut self.buffers.slot_mut(transfer.slot as usize, transfer.from as usize)[..transfer.length as usize];
        let data = Data { direction, address: buffer.as_mut_ptr(), length: transfer.length };
        // SAFETY: the data are a slot's bytes, borrowed for the length of the call.
        unsafe { self.disk.run(&command, data) }
    }
}
