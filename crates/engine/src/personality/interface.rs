//! What a personality is: the trait, what it is opened with, and what goes in and comes out.

use crate::buffers::Buffers;
use crate::target::Opened;
use halfpower_model::Workload;
use halfpower_model::stream::RequestKind;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// Bytes to be moved between memory and a target: a request, or the part of it that one target holds or that an
/// earlier, short transfer left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Comes back with the completion; below [`Setup::outstanding`], and never used twice at a time.
    pub(crate) tag: u32,
    /// Number of bytes; 0 for a flush.
    pub(crate) length: u32,
    /// First byte in the target.
    pub(crate) offset: u64,
    /// Where the bytes are or go to: `length` of them, inside the worker's buffers.
    pub(crate) address: *mut u8,
    /// Which of the targets.
    pub(crate) target: u16,
    /// What to do.
    pub(crate) kind: RequestKind,
}

/// A transfer that came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// Its tag.
    pub(crate) tag: u32,
    /// Bytes moved (of a trim or a flush, which are done whole, whatever is not negative), or a negative error number, as
    /// the kernel gives it.
    pub(crate) result: i32,
}

/// What a personality is opened with.
pub(crate) struct Setup<'a> {
    /// The targets, opened as the buffering asks; none for `null:`.
    pub(crate) targets: &'a [Opened],
    /// The worker's buffers: every transfer's address lies in them. They outlive the personality.
    pub(crate) buffers: &'a Buffers,
    /// The most transfers outstanding at a time.
    pub(crate) outstanding: u32,
    /// Everything else.
    pub(crate) workload: &'a Workload,
}

impl Setup<'_> {
    /// Descriptors of the personality's own for the targets.
    pub(super) fn own_targets(&self) -> io::Result<Vec<Opened>> {
        if self.targets.is_empty() {
            return Err(io::Error::other("null: works with the null personality only"));
        }
        self.targets.iter().map(Opened::reopen).collect()
    }
}

/// What came of the options of a personality.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Granted {
    /// Those it has.
    pub(crate) obtained: Vec<String>,
    /// Those that were asked for and refused, with the reason.
    pub(crate) refused: Vec<String>,
}

/// A way to do I/O, of one worker. Dropping it closes it; nothing is outstanding then.
pub(crate) trait Personality: Sized {
    /// Whether bytes go into the buffers; where they do not, none are made.
    const MOVES_DATA: bool = true;

    /// Whether a transfer is done when [`transfer`](Personality::transfer) returns: one at a time, and no waiting.
    const SYNCHRONOUS: bool = false;

    /// Why it does not work on this host, with the remedy; none when it does.
    fn unavailable() -> Option<String> {
        None
    }

    /// Makes it ready. Called on the worker's own thread.
    ///
    /// # Errors
    /// The kernel's, or what it cannot do, with the remedy.
    fn open(setup: Setup<'_>) -> io::Result<Self>;

    /// Takes a transfer in; it may start now or when the next completions are awaited.
    ///
    /// # Safety
    /// The address leads to as many bytes as the transfer is long, inside the worker's buffers. Until it comes back they stay
    /// mapped, and nobody else writes them, nor reads them where the transfer writes them.
    unsafe fn submit(&mut self, transfer: Transfer);

    /// Starts what was taken in, where that is worth a call of its own. What cannot start now starts with [`reap`].
    ///
    /// [`reap`]: Personality::reap
    fn start(&mut self) {}

    /// Starts what was taken in, waits until `at_least` transfers have come back (there are as many, and at least one)
    /// and adds all that have to `done`, which has room for them.
    ///
    /// # Errors
    /// When the waiting itself fails; a failed transfer is a completion.
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()>;

    /// The same, but waits for one transfer and no longer than `at_most`: a hint that a personality may round to zero.
    /// One that works transfer by transfer does the one it has.
    ///
    /// # Errors
    /// As [`reap`](Personality::reap).
    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        let _ = at_most;
        self.reap(done, 1)
    }

    /// Does a transfer at once, with nothing else outstanding; gives what a completion carries. Called only of a
    /// personality that is [`SYNCHRONOUS`](Personality::SYNCHRONOUS), and then in place of the others.
    ///
    /// # Safety
    /// As for [`submit`](Personality::submit).
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let _ = transfer;
        -libc::ENOSYS
    }

    /// Why the transfer that failed last did, in words; none where its error number says it all.
    fn cause(&mut self) -> Option<String> {
        None
    }

    /// What came of the options that were asked for.
    fn granted(&self) -> Granted {
        Granted::default()
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

/// What a system call that moves bytes came to, as completions carry it.
pub(crate) fn moved(bytes: isize) -> i32 {
    if bytes < 0 { failed(&io::Error::last_os_error()) } else { bytes as i32 }
}
