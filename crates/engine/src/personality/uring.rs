//! io_uring: transfers taken in go to the kernel with one call that also waits for the next completion.
//!
//! The ring is asked for with what makes it fastest (one issuer, completions run when asked for, no index array,
//! registered file and buffers) and falls back option by option; what was obtained is recorded.

use super::control::Control;
use super::{Completion, Personality, Setup, Transfer};
use crate::target::Opened;
use halfpower_model::TargetKind;
use halfpower_model::stream::RequestKind;
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::AsRawFd;

pub(crate) struct Uring {
    ring: IoUring,
    targets: Vec<Opened>,
    control: Control,
    /// Trims of block devices, which the ring cannot do: done when they were taken in.
    trimmed: Vec<Completion>,
    registered_files: bool,
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

impl Personality for Uring {
    fn unavailable() -> Option<String> {
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

    fn open(setup: Setup<'_>) -> io::Result<Self> {
        let (ring, mut obtained) = build_ring(setup.outstanding)?;
        let targets = setup.own_targets()?;
        let mut granted = |name: &str, result: io::Result<()>| {
            obtained.extend(result.is_ok().then(|| name.to_owned()));
            result.is_ok()
        };
        let submitter = ring.submitter();
        let descriptors: Vec<_> = targets.iter().map(|target| target.file.as_raw_fd()).collect();
        let registered_files = granted("registered_files", submitter.register_files(&descriptors));
        // SAFETY: the buffers outlive the personality, and so the ring.
        let registration = unsafe { submitter.register_buffers(&[setup.buffers.region()]) };
        let registered_buffers = granted("registered_buffers", registration);
        let control = Control::of(setup.workload);
        Ok(Uring { ring, targets, control, trimmed: Vec::new(), registered_files, registered_buffers, obtained })
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let Some(entry) = self.entry(&transfer) else {
            let result = self.control.run(&self.targets[usize::from(transfer.target)], &transfer);
            self.trimmed.push(Completion { tag: transfer.tag, result });
            return;
        };
        // SAFETY: whoever submitted the transfer keeps its bytes for it until it comes back. The queue has room: it is
        // as deep as the most that can be outstanding.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "the queue has an entry for each transfer");
    }

    #[inline]
    fn start(&mut self) {
        // Refused for want of memory or room, the entries stay queued and go with the next call.
        let _ = self.ring.submit();
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        done.append(&mut self.trimmed);
        while done.len() < at_least as usize {
            match self.ring.submit_and_wait(at_least as usize - done.len()) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
                Err(error) => return Err(error),
            }
            let completions = self.ring.completion();
            done.extend(completions.map(|c| Completion { tag: c.user_data() as u32, result: c.result() }));
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
        if self.registered_files {
            let _ = submitter.unregister_files();
        }
        if self.registered_buffers {
            let _ = submitter.unregister_buffers();
        }
    }
}

impl Uring {
    /// The transfer as the ring takes it; none for a trim of a block device, which it has no operation for.
    #[inline]
    fn entry(&self, transfer: &Transfer) -> Option<squeue::Entry> {
        let target = &self.targets[usize::from(transfer.target)];
        let (address, length, offset) = (transfer.address, transfer.length, transfer.offset);
        let fixed_file = types::Fixed(u32::from(transfer.target));
        let plain_file = types::Fd(target.file.as_raw_fd());
        macro_rules! on_file {
            ($file:ident => $entry:expr) => {
                if self.registered_files {
                    let $file = fixed_file;
                    $entry
                } else {
                    let $file = plain_file;
                    $entry
                }
            };
        }
        let entry = match (transfer.kind, self.registered_buffers) {
            (RequestKind::Read, true) => {
                on_file!(file => opcode::ReadFixed::new(file, address, length, 0).offset(offset).build())
            }
            (RequestKind::Read, false) => {
                on_file!(file => opcode::Read::new(file, address, length).offset(offset).build())
            }
            (RequestKind::Write, true) => {
                on_file!(file => opcode::WriteFixed::new(file, address, length, 0).offset(offset).build())
            }
            (RequestKind::Write, false) => {
                on_file!(file => opcode::Write::new(file, address, length).offset(offset).build())
            }
            (RequestKind::Flush, _) => {
                let flags = match self.control {
                    Control::Fsync => types::FsyncFlags::empty(),
                    Control::Fdatasync => types::FsyncFlags::DATASYNC,
                };
                on_file!(file => opcode::Fsync::new(file).flags(flags).build())
            }
            (RequestKind::Trim, _) if target.kind == TargetKind::BlockDevice => return None,
            (RequestKind::Trim, _) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                on_file!(file => opcode::Fallocate::new(file, u64::from(length)).offset(offset).mode(mode).build())
            }
        };
        Some(entry.user_data(u64::from(transfer.tag)))
    }
}
