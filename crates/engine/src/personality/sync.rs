//! pread and pwrite: one transfer at a time.

use super::control::Control;
use super::{Completion, Personality, Setup, Transfer, moved};
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use std::io;
use std::os::fd::AsRawFd;

#[derive(Debug)]
pub(crate) struct Sync {
    targets: Vec<Opened>,
    control: Control,
    taken: Option<Transfer>,
}

impl Personality for Sync {
    fn open(setup: Setup<'_>) -> io::Result<Self> {
        Ok(Sync { targets: setup.own_targets()?, control: Control::of(setup.workload), taken: None })
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        self.taken = Some(transfer);
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
        let Some(transfer) = self.taken.take() else { return Ok(()) };
        let target = &self.targets[usize::from(transfer.target)];
        // SAFETY: whoever submitted the transfer keeps its bytes for it until it comes back.
        let result = unsafe { call(self.control, target, &transfer) };
        done.push(Completion { tag: transfer.tag, result });
        Ok(())
    }
}

/// Does a transfer by a system call; gives what its completion carries.
///
/// # Safety
/// As for [`Personality::submit`], until it returns.
#[inline]
pub(super) unsafe fn call(control: Control, target: &Opened, transfer: &Transfer) -> i32 {
    let descriptor = target.file.as_raw_fd();
    let (address, length) = (transfer.address.cast(), transfer.length as usize);
    let offset = transfer.offset as i64;
    loop {
        let result = match transfer.kind {
            // SAFETY: the caller answers for the bytes.
            RequestKind::Read => moved(unsafe { libc::pread64(descriptor, address, length, offset) }),
            // SAFETY: the same.
            RequestKind::Write => moved(unsafe { libc::pwrite64(descriptor, address, length, offset) }),
            RequestKind::Trim | RequestKind::Flush => control.run(target, transfer),
        };
        if result != -libc::EINTR {
            return result;
        }
    }
}
