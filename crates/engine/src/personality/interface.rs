//! The trait of personalities, their setup, and the transfers and completions that they exchange with a worker.

use crate::buffers::Buffers;
use crate::network::Name;
use crate::target::{OpenTarget, Opened};
use halfpower_model::sample::{Acknowledgements, Connections};
use halfpower_model::stream::RequestKind;
use halfpower_model::{Advise, Workload};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// One transfer between memory and a target: a request, the part of it on one target, or the rest of a short transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Returned with the completion; below [`Setup::outstanding`], and unique among the outstanding transfers.
    pub(crate) tag: u32,
    /// Number of bytes; 0 for a flush.
    pub(crate) length: u32,
    /// First byte in the target.
    pub(crate) offset: u64,
    /// Address of the `length` bytes, inside the worker's buffers.
    pub(crate) address: *mut u8,
    /// Index of the target.
    pub(crate) target: u16,
    /// The operation.
    pub(crate) kind: RequestKind,
}

/// The completion of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// Its tag.
    pub(crate) tag: u32,
    /// Bytes moved, or a negative error number of the kernel. A trim or a flush succeeded if it is not negative.
    pub(crate) result: i32,
}

/// Everything to open a personality with.
pub(crate) struct Setup<'a> {
    /// The targets, opened with the workload's buffering; none for `null:`.
    pub(crate) targets: &'a [OpenTarget],
    /// The worker's buffers: every transfer's address lies in them. They outlive the personality.
    pub(crate) buffers: &'a Buffers,
    /// The maximum of outstanding transfers.
    pub(crate) outstanding: u32,
    /// The workload, for all other settings.
    pub(crate) workload: &'a Workload,
}

impl Setup<'_> {
    /// The targets with new descriptors, for this personality alone.
    pub(super) fn own_targets(&self) -> io::Result<Vec<Opened>> {
        if self.targets.is_empty() {
            return Err(io::Error::other("null: works with the null personality only"));
        }
        let open = |target: &OpenTarget| {
            let opened = target.file()?.reopen()?;
            if self.workload.advise == Advise::On {
                let is_ordered = self.workload.pattern.is_ordered();
                let advice = if is_ordered { rustix::fs::Advice::Sequential } else { rustix::fs::Advice::Random };
                // A file that does not take it has no read-ahead.
                let _ = rustix::fs::fadvise(&opened.file, 0, None, advice);
            }
            Ok(opened)
        };
        self.targets.iter().map(open).collect()
    }

    /// The volumes of servers that the targets are.
    pub(super) fn names(&self) -> io::Result<Vec<&Name>> {
        self.targets.iter().map(OpenTarget::name).collect()
    }
}

/// The requested options of a workload, granted and rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Granted {
    /// In effect.
    pub(crate) obtained: Vec<String>,
    /// Rejected, each with the reason.
    pub(crate) refused: Vec<String>,
}

impl Granted {
    /// Options in effect.
    pub(super) fn of<'a>(obtained: impl IntoIterator<Item = &'a str>) -> Granted {
        Granted { obtained: obtained.into_iter().map(str::to_owned).collect(), refused: Vec::new() }
    }
}

/// An I/O interface, opened by one worker. Dropping it closes it; nothing is outstanding then.
pub(crate) trait Personality: Sized {
    /// Whether it uses the worker's buffers; otherwise none are allocated.
    const MOVES_DATA: bool = true;

    /// Whether each call of [`transfer`](Personality::transfer) completes one transfer.
    const SYNCHRONOUS: bool = false;

    /// The reason why this host cannot use it, with the remedy.
    fn unavailable() -> Option<String> {
        None
    }

    /// Opens it, on the worker's own thread; returns the granted and rejected options too.
    ///
    /// # Errors
    /// The kernel's, or an unsupported combination, with the remedy.
    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)>;

    /// Accepts a transfer; it may start now or at the next wait for completions.
    ///
    /// # Safety
    /// The address leads to as many bytes as the transfer is long, inside the worker's buffers. Until it comes back they stay
    /// mapped, and nobody else writes them, nor reads them where the transfer writes them.
    unsafe fn submit(&mut self, transfer: Transfer);

    /// Starts the accepted transfers, where a separate call pays. Those that cannot start now start with [`reap`].
    ///
    /// [`reap`]: Personality::reap
    fn start(&mut self) {}

    /// Starts the accepted transfers, waits for `at_least` completions and appends all completions to `done`, which has room.
    /// At least that many transfers are outstanding, and `at_least` is not 0.
    ///
    /// # Errors
    /// When the waiting itself fails; a failed transfer is a completion.
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()>;

    /// The same for one completion, waiting up to `at_most`, which a personality may round to zero. A synchronous one carries
    /// out its transfer.
    ///
    /// # Errors
    /// As [`reap`](Personality::reap).
    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        let _ = at_most;
        self.reap(done, 1)
    }

    /// Carries out a transfer, with nothing else outstanding, and returns the result of its completion. Called only of a
    /// [`SYNCHRONOUS`](Personality::SYNCHRONOUS) personality, in place of the other functions.
    ///
    /// # Safety
    /// As for [`submit`](Personality::submit).
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let _ = transfer;
        -libc::ENOSYS
    }

    /// The cause of the last failure, where the error number alone does not explain it.
    fn cause(&mut self) -> Option<String> {
        None
    }

    /// What the connections to servers did since they were opened; none without any.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// Compares reads with delayed and with immediate acknowledgements, if answers were delayed. Nothing may be outstanding.
    fn try_acknowledgements(&mut self, bytes: usize) -> Option<Acknowledgements> {
        let _ = bytes;
        None
    }

    /// Transfers that failed with EAGAIN because the workload forbids waiting, and were repeated so that they could wait; none
    /// where waiting was allowed.
    fn would_block(&self) -> Option<u64> {
        None
    }
}

/// A negative error number, as completions carry it.
pub(crate) fn failed(error: &io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(libc::EIO)
}

/// The result of a system call that moves bytes, as completions carry it.
pub(crate) fn moved(bytes: isize) -> i32 {
    if bytes < 0 { failed(&io::Error::last_os_error()) } else { bytes as i32 }
}
