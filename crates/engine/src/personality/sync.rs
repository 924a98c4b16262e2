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
        // SAFETY: the caller's promise.
        unsafe { call(self.control, target, transfer) }
    }
}

/// Does a transfer by a system call; returns the result of its completion. By rustix, which makes the call directly: libc's
/// functions are cancellation points, which costs time.
///
/// # Safety
/// As for [`Personality::submit`](super::Personality::submit), until it returns.
#[inline]
pub(super) unsafe fn call(control: Control, target: &Opened, transfer: &Transfer) -> i32 {
    let (address, length, offset) = (transfer.address, transfer.length as usize, transfer.offset);
    loop {
        let moved = match transfer.kind {
            RequestKind::Read => {
                // SAFETY: the caller keeps the bytes for this transfer; they are initialised.
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
