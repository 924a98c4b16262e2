//! pread and pwrite: one transfer at a time.

use super::{Completion, Personality, Setup, Transfer};
use crate::worker::buffers::Buffers;
use halfpower_model::stream::Direction;
use rustix::io::Errno;
use std::fs::File;
use std::io;

#[derive(Debug)]
pub(crate) struct Sync {
    file: File,
    buffers: Buffers,
    taken: Option<Transfer>,
}

impl Personality for Sync {
    fn open(setup: Setup<'_>) -> io::Result<Self> {
        Ok(Sync { file: setup.file()?, buffers: setup.buffers, taken: None })
    }

    #[inline]
    fn submit(&mut self, transfer: Transfer) {
        self.taken = Some(transfer);
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(transfer) = self.taken.take() else { return Ok(()) };
        let buffer = self.buffers.slot_mut(transfer.slot as usize, transfer.from as usize);
        let buffer = &mut buffer[..transfer.length as usize];
        let moved = loop {
            let moved = match transfer.direction {
                Direction::Read => rustix::io::pread(&self.file, &mut *buffer, transfer.offset),
                Direction::Write => rustix::io::pwrite(&self.file, buffer, transfer.offset),
            };
            if moved != Err(Errno::INTR) {
                break moved;
            }
        };
        let result = moved.map_or_else(|errno| -errno.raw_os_error(), |bytes| bytes as i32);
        done.push(Completion { slot: transfer.slot, result });
        Ok(())
    }
}
