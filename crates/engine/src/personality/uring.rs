//! io_uring: transfers taken in go to the kernel with one call that also waits for the next completion.
//!
//! The ring is asked for with what makes it fastest (one issuer, completions run when asked for, no index array,
//! registered file and buffers) and falls back option by option; what was obtained is recorded.

use super::{Completion, Personality, Setup, Transfer};
use crate::worker::buffers::Buffers;
use halfpower_model::stream::Direction;
use io_uring::{IoUring, opcode, squeue, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

pub(crate) struct Uring {
    // Dropped first, so that the kernel has let go of the buffers when they are unmapped.
    ring: IoUring,
    buffers: Buffers,
    file: File,
    registered_file: bool,
    registered_buffers: bool,
    obtained: Vec<String>,
}

/// A set of ring options: its name and how it is asked for.
type RingOptions = (&'static str, fn(&mut io_uring::Builder));

/// Sets of ring options, best first.
const RINGS: [RingOptions; 3] = [
    ("single_issuer defer_taskrun no_sqarray", |builder| {
        builder.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    }),
    ("single_issuer defer_taskrun", |builder| {
        builder.setup_single_issuer().setup_defer_taskrun();
    }),
    ("", |_| {}),
];

fn build_ring(entries: u32) -> io::Result<(IoUring, Vec<String>)> {
    let mut failure = None;
    for (options, apply) in RINGS {
        let mut builder = IoUring::builder();
        apply(&mut builder);
        match builder.build(entries.next_power_of_two()) {
            Ok(ring) => return Ok((ring, options.split_whitespace().map(str::to_owned).collect())),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::from(io::ErrorKind::Unsupported)))
}

/// Why io_uring does not work here, with the remedy; none when it does.
pub(crate) fn unavailable() -> Option<String> {
    let error = IoUring::new(2).err()?;
    Some(match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring; Linux 5.1 or later has".to_owned(),
        Some(libc::EPERM) => "forbidden here; allow it with sysctl kernel.io_uring_disabled=0, \
             or in the container's seccomp profile"
            .to_owned(),
        Some(libc::ENOMEM) => "the limit on locked memory is too low; raise ulimit -l".to_owned(),
        _ => format!("the kernel refused it: {error}"),
    })
}

impl Personality for Uring {
    fn open(setup: Setup<'_>) -> io::Result<Self> {
        let (ring, mut obtained) = build_ring(setup.workload.depth)?;
        let file = setup.file()?;
        let mut granted = |name: &str, result: io::Result<()>| {
            obtained.extend(result.is_ok().then(|| name.to_owned()));
            result.is_ok()
        };
        let submitter = ring.submitter();
        let registered_file = granted("registered_file", submitter.register_files(&[file.as_raw_fd()]));
        // SAFETY: the region stays mapped and in place until after the ring is dropped: field order sees to it.
        let registration = unsafe { submitter.register_buffers(&[setup.buffers.region()]) };
        let registered_buffers = granted("registered_buffers", registration);
        Ok(Uring { ring, buffers: setup.buffers, file, registered_file, registered_buffers, obtained })
    }

    #[inline]
    fn submit(&mut self, transfer: Transfer) {
        let entry = self.entry(&transfer);
        // SAFETY: the entry's buffer is the slot's, which is not used by another transfer until this one completes,
        // and outlives the ring. The queue has room: it is as deep as there are slots.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "the queue has an entry for each slot");
    }

    #[inline]
    fn start(&mut self) {
        // Refused for want of memory or room, the entries stay queued and go with the next call.
        let _ = self.ring.submit();
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        while done.is_empty() {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
                Err(error) => return Err(error),
            }
            let completions = self.ring.completion();
            done.extend(completions.map(|c| Completion { slot: c.user_data() as u32, result: c.result() }));
        }
        Ok(())
    }

    fn obtained(&self) -> Vec<String> {
        self.obtained.clone()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The kernel tears a ring down some time after it is closed; until then it would keep the target busy.
        let submitter = self.ring.submitter();
        if self.registered_file {
            let _ = submitter.unregister_files();
        }
        if self.registered_buffers {
            let _ = submitter.unregister_buffers();
        }
    }
}

impl Uring {
    #[inline]
    fn entry(&self, transfer: &Transfer) -> squeue::Entry {
        let address = self.buffers.address(transfer.slot as usize, transfer.from as usize);
        let fixed_file = types::Fixed(0);
        let plain_file = types::Fd(self.file.as_raw_fd());
        macro_rules! build {
            ($fixed:ident, $plain:ident) => {
                match (self.registered_buffers, self.registered_file) {
                    (true, true) => {
                        opcode::$fixed::new(fixed_file, address, transfer.length, 0).offset(transfer.offset).build()
                    }
                    (true, false) => {
                        opcode::$fixed::new(plain_file, address, transfer.length, 0).offset(transfer.offset).build()
                    }
                    (false, true) => {
                        opcode::$plain::new(fixed_file, address, transfer.length).offset(transfer.offset).build()
                    }
                    (false, false) => {
                        opcode::$plain::new(plain_file, address, transfer.length).offset(transfer.offset).build()
                    }
                }
            };
        }
        let entry = match transfer.direction {
            Direction::Read => build!(ReadFixed, Read),
            Direction::Write => build!(WriteFixed, Write),
        };
        entry.user_data(u64::from(transfer.slot))
    }
}
