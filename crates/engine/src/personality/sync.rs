//! pread and pwrite: one transfer at a time.

use super::control::Control;
use super::interface::{Granted, Setup, Transfer};
use super::synchronous::Synchronous;
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use rustix::io::Errno;
use std::io;
use std::slice::{from_raw_parts, from_raw_parts_mut};

#[derive(Debug)]
pub(crate) struct Sync {
    targets: Vec<Opened>,
    control: Control,
}

impl Synchronous for Sync {
    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        Ok((Sync { targets: setup.own_targets()?, control: Control::of(setup.workload) }, Granted::default()))
    }

    #[inline]
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let target = &self.targets[usize::from(transfer.target)];
        // SAFETY: by the caller's word.
        unsafe { call(self.control, target, transfer) }
    }
}

/// Does a transfer by a system call; gives what its completion carries. By rustix, which makes the call itself: libc's
/// are points where a thread could be cancelled, and cost that.
///
/// # Safety
/// As for [`Personality::submit`](super::Personality::submit), until it returns.
#[inline]
pub(super) unsafe fn call(control: Control, target: &Opened, transfer: &Transfer) -> i32 {
    let (address, length, offset) = (transfer.address, transfer.length as usize, transfer.offset);
    loop {
        let moved = match transfer.kind {
            RequestKind::Read => {
                // SAFETY: the caller keeps the bytes for this transfer; they were initialised when they were made.
                rustix::io::pread(&target.file, unsafe { from_raw_parts_mut(address, length) }, offset)
            }
            RequestKind::Write => {
                // SAFETY: the same.
                rustix::io::pwrite(&target.file, unsafe { from_raw_parts(address, length) }, offset)
            }
            RequestKind::Trim | RequestKind::Flush => return control.run(target, transfer),
        };
        match moved {
            Ok(bytes) => return bytes as i32,
            Err(Errno::INTR) => {}
            Err(error) => return -error.raw_os_error(),
        }
    }
}
