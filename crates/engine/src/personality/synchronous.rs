//! Personalities that complete a transfer in the call that submits it. Each says how it does one transfer;
//! [`OneAtATime`] makes a personality of it.

use super::interface::{Completion, Granted, Personality, Setup, Transfer};
use std::io;

/// Does one transfer in one call. The functions are those of [`Personality`].
pub(crate) trait Synchronous: Sized {
    /// As [`Personality::unavailable`].
    fn unavailable() -> Option<String> {
        None
    }

    /// As [`Personality::open`].
    ///
    /// # Errors
    /// As there.
    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)>;

    /// Does a transfer; returns the result of its completion.
    ///
    /// # Safety
    /// As for [`Personality::submit`], until it returns.
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32;

    /// As [`Personality::cause`].
    fn cause(&mut self) -> Option<String> {
        None
    }

    /// As [`Personality::would_block`].
    fn would_block(&self) -> Option<u64> {
        None
    }
}

/// The personality: keeps a submitted transfer until it is reaped.
#[derive(Debug)]
pub(crate) struct OneAtATime<S> {
    inner: S,
    taken: Option<Transfer>,
}

impl<S: Synchronous> Personality for OneAtATime<S> {
    const SYNCHRONOUS: bool = true;

    fn unavailable() -> Option<String> {
        S::unavailable()
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        S::open(setup).map(|(inner, granted)| (OneAtATime { inner, taken: None }, granted))
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        self.taken = Some(transfer);
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
        if let Some(transfer) = self.taken.take() {
            // SAFETY: the caller of `submit` keeps the bytes of the transfer until its completion.
            let result = unsafe { self.inner.transfer(&transfer) };
            done.push(Completion { tag: transfer.tag, result });
        }
        Ok(())
    }

    #[inline]
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { self.inner.transfer(transfer) }
    }

    fn cause(&mut self) -> Option<String> {
        self.inner.cause()
    }

    fn would_block(&self) -> Option<u64> {
        self.inner.would_block()
    }
}
