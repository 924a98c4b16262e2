//! io_uring: transfers taken in go to the kernel with one call that also waits for the next completions.
//!
//! Every option of the ring is a setting (`options`); each is asked of the kernel, and what was obtained is recorded. A
//! ring that polls the device (`iopoll`) is made only where a polled read of the target succeeds. What a ring cannot do
//! is done at once by plain calls when it is taken in: trims of block devices before Linux 6.12, and trims and flushes
//! where the device is polled, since there the kernel takes reads and writes only.

pub(crate) mod entry;
mod operations;
pub(crate) mod options;
mod polling;
pub(crate) mod registered;
pub(crate) mod ring;
#[cfg(test)]
mod tests;

use super::interface::{Completion, Granted, Personality, Setup, Transfer, failed};
use entry::{Done, Entry};
use halfpower_model::stream::RequestKind;
use halfpower_model::{RingOption, Wish};
use operations::Operations;
use options::{Prepared, is_wanted};
use registered::LARGEST_REGION;
use ring::Ring;
use rustix::fd::AsRawFd;
use rustix::io_uring::IoringSetupFlags;
use std::io;
use std::time::Duration;

pub(crate) struct Uring {
    // First, so that it has let go of the targets when they are closed.
    ring: Ring<Entry, Done>,
    operations: Operations,
    /// What the ring cannot do: done when it was taken in.
    done_at_once: Vec<Completion>,
}

impl Personality for Uring {
    fn unavailable() -> Option<String> {
        let error = Ring::<Entry, Done>::new(2, IoringSetupFlags::empty()).err()?;
        Some(match error.raw_os_error() {
            Some(libc::EPERM) => "forbidden here; allow it with sysctl kernel.io_uring_disabled=0, \
                 or in the container's seccomp profile"
                .to_owned(),
            Some(libc::ENOMEM) => "the limit on locked memory is too low; raise ulimit -l".to_owned(),
            None | Some(libc::ENOSYS | libc::EINVAL) => {
                "this kernel has no io_uring, or an early one; Linux 5.6 or later has".to_owned()
            }
            _ => format!("the kernel refused it: {error}"),
        })
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let (mut wished, mut unpolled) = (setup.workload.ring, None);
        if is_wanted(wished, RingOption::Iopoll)
            && let Err(why) = targets.iter().try_for_each(|target| polling::probe(target, setup.workload))
        {
            (wished, unpolled) = (wished.with(RingOption::Iopoll, Wish::Declined), Some(why));
        }
        let mut prepared = Prepared::new(setup.outstanding, wished)?;
        let descriptors: Vec<_> = targets.iter().map(|target| target.file.as_raw_fd()).collect();
        let files = prepared.files(&descriptors);
        // As one region: what the kernel keeps of it stays near, where a description for each slot would be fetched from
        // afar at every request.
        let slots = prepared.buffers(&setup.buffers.regions(LARGEST_REGION));
        let Prepared { ring, mut granted, .. } = prepared;
        granted.refused.extend(unpolled.map(|why| format!("{}: {why}", RingOption::Iopoll)));
        let is_polled = granted.obtained.iter().any(|option| option == RingOption::Iopoll.word());
        let operations = Operations::new(&ring, targets, files, slots, is_polled, setup.workload)?;
        granted.obtained.extend(operations.has_discard().then(|| "discard_command".to_owned()));
        let done_at_once = Vec::with_capacity(setup.outstanding as usize);
        Ok((Uring { ring, operations, done_at_once }, granted))
    }

    #[inline(always)]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let is_control = matches!(transfer.kind, RequestKind::Trim | RequestKind::Flush);
        // SAFETY: whoever submitted the transfer keeps its bytes for it until it comes back, and the targets are ours.
        if is_control || !unsafe { self.ring.push(self.operations.transfer(&transfer)) } {
            self.submit_otherwise(transfer);
        }
    }

    #[inline]
    fn start(&mut self) {
        // Refused for want of memory or room, the entries stay queued and go with the next call.
        let _ = self.ring.submit();
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        done.append(&mut self.done_at_once);
        while done.len() < at_least as usize {
            self.ring.submit_and_wait(at_least - done.len() as u32)?;
            self.ring.take(done, Completion::from);
        }
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        done.append(&mut self.done_at_once);
        let at_most = if done.is_empty() { at_most } else { Duration::ZERO };
        self.ring.submit_and_poll(at_most)?;
        self.ring.take(done, Completion::from);
        Ok(())
    }
}

impl Uring {
    /// What is not a read or a write, or finds the queue full.
    #[cold]
    fn submit_otherwise(&mut self, transfer: Transfer) {
        let entry = match transfer.kind {
            RequestKind::Read | RequestKind::Write => self.operations.transfer(&transfer),
            RequestKind::Trim | RequestKind::Flush => match self.operations.control(&transfer) {
                Ok(entry) => entry,
                Err(completion) => return self.done_at_once.push(completion),
            },
        };
        // SAFETY: as in `submit`.
        if let Err(error) = unsafe { self.ring.push_with_room(entry) } {
            self.done_at_once.push(Completion { tag: transfer.tag, result: failed(&error) });
        }
    }
}
