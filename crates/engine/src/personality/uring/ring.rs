//! A ring: two queues in memory shared with the kernel, and the one call that submits entries and waits for answers.
//!
//! The order of reads and writes is that of io_uring(7). Of the submission queue we own the tail and release it after
//! the entries are written; the head is the kernel's. Of the completion queue the tail is the kernel's and acquired
//! before the answers are read; we own the head and release it after. Source: the manual pages, and liburing's
//! `queue.c`, also for a polling kernel thread.
//!
//! A ring belongs to the thread that made it.

use super::entry::Layout;
use super::registered::Registered;
use crate::mapping::Mapping;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io_uring as kernel;
use rustix::io_uring::{IoringEnterFlags, IoringFeatureFlags, IoringSetupFlags, IoringSqFlags, io_uring_params};
use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::time::Duration;

/// Polls of the completion queue before a wait in the kernel, if the kernel's thread submits: some tens of microseconds.
const LOOKS: u32 = 2_000;

/// Memory shared with the kernel.
fn map(descriptor: &OwnedFd, bytes: usize, offset: u64) -> io::Result<Mapping> {
    Ok(Mapping::shared(descriptor, bytes, offset, ProtFlags::READ | ProtFlags::WRITE, MapFlags::POPULATE)?)
}

/// The place `offset` bytes in, of `count` of a type.
fn at<T>(mapping: &Mapping, offset: u32, count: u32) -> NonNull<T> {
    let end = offset as usize + size_of::<T>() * count as usize;
    assert!(end <= mapping.bytes() && (offset as usize).is_multiple_of(align_of::<T>()), "inside the mapping");
    // SAFETY: just checked to lie inside the mapping.
    unsafe { mapping.base().add(offset as usize).cast() }
}

/// A number that the kernel reads or writes at any time.
fn shared(mapping: &Mapping, offset: u32) -> Shared {
    Shared(at(mapping, offset, 1))
}

/// A number in a [`Mapping`] of the ring that holds both.
struct Shared(NonNull<AtomicU32>);

impl std::ops::Deref for Shared {
    type Target = AtomicU32;

    #[inline]
    fn deref(&self) -> &AtomicU32 {
        // SAFETY: `at` checked place and alignment; the mapping is part of the same ring, so it is still there,
        // and all writers of the number, the kernel too, write it atomically.
        unsafe { self.0.as_ref() }
    }
}

/// A ring with entries `S` and answers `A`.
pub(crate) struct Ring<S, A> {
    /// Unregistered before the ring is closed.
    pub(super) registered: Registered,
    pub(super) descriptor: OwnedFd,
    /// The ring's descriptor or registered index for `io_uring_enter`, and the flag of an index.
    pub(super) enter_number: RawFd,
    pub(super) enter_flags: IoringEnterFlags,
    setup: IoringSetupFlags,
    can_time_out: bool,

    entries: NonNull<S>,
    entry_count: u32,
    submission_head: Shared,
    submission_tail: Shared,
    submission_flags: Shared,
    /// Our tail, ahead of the shared one by the entries not submitted.
    tail: u32,
    /// The kernel's head when last read.
    head_seen: u32,

    answers: NonNull<A>,
    answer_mask: u32,
    completion_head: Shared,
    completion_tail: Shared,
    head: u32,

    // The memory of the pointers above.
    _queues: Mapping,
    _entries: Mapping,
}

impl<S: Layout, A: Layout> Ring<S, A> {
    /// A ring for `outstanding` entries at a time, answers included.
    ///
    /// # Errors
    /// The kernel's; `Unsupported` from one before 5.4.
    pub(crate) fn new(outstanding: u32, setup: IoringSetupFlags) -> io::Result<Self> {
        let count = outstanding.next_power_of_two();
        let setup = setup | S::SETUP | A::SETUP;
        let mut params = io_uring_params::default();
        // No more answers than entries: an outstanding request occupies one or the other.
        params.flags = setup | IoringSetupFlags::CQSIZE;
        params.cq_entries = count;
        // SAFETY: it reads and writes the parameters, and no other ring is named.
        let descriptor = unsafe { kernel::io_uring_setup(count, &mut params)? };
        if !params.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (submission, completion) = (params.sq_off, params.cq_off);
        let has_array = !setup.contains(IoringSetupFlags::NO_SQARRAY);
        let array_bytes = if has_array { submission.array as usize + 4 * params.sq_entries as usize } else { 0 };
        let answer_bytes = completion.cqes as usize + size_of::<A>() * params.cq_entries as usize;
        let queues = map(&descriptor, array_bytes.max(answer_bytes), kernel::IORING_OFF_SQ_RING)?;
        let entries_bytes = size_of::<S>() * params.sq_entries as usize;
        let entries = map(&descriptor, entries_bytes, kernel::IORING_OFF_SQES)?;
        if has_array {
            // The array gives the kernel the index of the next entry: always the same index.
            (0..params.sq_entries)
                .for_each(|index| shared(&queues, submission.array + 4 * index).store(index, Relaxed));
        }
        Ok(Ring {
            registered: Registered::default(),
            enter_number: descriptor.as_raw_fd(),
            enter_flags: IoringEnterFlags::empty(),
            descriptor,
            setup,
            can_time_out: params.features.contains(IoringFeatureFlags::EXT_ARG),
            entries: at(&entries, 0, params.sq_entries),
            entry_count: params.sq_entries,
            submission_head: shared(&queues, submission.head),
            submission_tail: shared(&queues, submission.tail),
            submission_flags: shared(&queues, submission.flags),
            tail: 0,
            head_seen: 0,
            answers: at(&queues, completion.cqes, params.cq_entries),
            answer_mask: params.cq_entries - 1,
            completion_head: shared(&queues, completion.head),
            completion_tail: shared(&queues, completion.tail),
            head: 0,
            _queues: queues,
            _entries: entries,
        })
    }

    /// Puts an entry into the queue; false when there is no room: see [`Ring::make_room`].
    ///
    /// # Safety
    /// The memory and files of the entry stay valid until its answer arrives, and the memory has no other use.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn push(&mut self, entry: S) -> bool {
        if self.tail.wrapping_sub(self.head_seen) == self.entry_count {
            // Acquired: the kernel has read an entry before it moves its head past it, and we write only then.
            self.head_seen = self.submission_head.load(Acquire);
            if self.tail.wrapping_sub(self.head_seen) == self.entry_count {
                return false;
            }
        }
        let index = self.tail & (self.entry_count - 1);
        // SAFETY: the index is below the number of entries, all of which are mapped, and the kernel does not read this one:
        // it is not between its head and the tail released to it.
        unsafe { self.entries.add(index as usize).write(entry) };
        self.tail = self.tail.wrapping_add(1);
        true
    }

    /// Submits the entries of the queue.
    ///
    /// # Errors
    /// The kernel's. Entries that it did not take stay in the queue.
    #[inline]
    pub(crate) fn submit(&mut self) -> io::Result<()> {
        match self.publish() {
            0 => Ok(()),
            _ if self.has_poller() => self.wake_poller(),
            queued => self.enter(queued, 0, IoringEnterFlags::empty()),
        }
    }

    /// Submits the entries of the queue and waits for `at_least` answers, or until a signal.
    ///
    /// # Errors
    /// The kernel's, except temporary ones.
    #[inline]
    pub(crate) fn submit_and_wait(&mut self, at_least: u32) -> io::Result<()> {
        let queued = self.publish();
        if self.has_poller() {
            self.wake_poller()?;
            if (0..LOOKS).any(|_| self.look(at_least)) {
                return Ok(());
            }
            return passing(self.enter(0, at_least, IoringEnterFlags::GETEVENTS));
        }
        if queued == 0 && self.ready() >= at_least {
            return Ok(());
        }
        passing(self.enter(queued, at_least, IoringEnterFlags::GETEVENTS))
    }

    /// Submits the entries of the queue, lets the kernel run deferred work, and waits for an answer, up to `at_most` and the time
    /// of a wake-up. A polled ring does not wait.
    ///
    /// # Errors
    /// The kernel's, except temporary ones.
    pub(crate) fn submit_and_poll(&mut self, at_most: Duration) -> io::Result<()> {
        let mut queued = self.publish();
        if self.has_poller() {
            self.wake_poller()?;
            queued = 0;
        }
        if queued == 0 && self.ready() > 0 {
            return Ok(());
        }
        // The kernel ignores the limit while it polls the device, so it polls once per call.
        if at_most.is_zero() || !self.can_time_out || self.is_polled() {
            return passing(self.enter(queued, 0, IoringEnterFlags::GETEVENTS));
        }
        let span = rustix::time::Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let arguments = kernel::io_uring_getevents_arg {
            ts: kernel::io_uring_ptr::new((&raw const span).cast_mut().cast::<c_void>()),
            ..Default::default()
        };
        let flags = self.enter_flags | IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG;
        // SAFETY: as in `enter`; the arguments and the span they point to live through the call.
        let entered = unsafe { kernel::io_uring_enter_arg(self.enter_name(), queued, 1, flags, Some(&arguments)) };
        passing(entered.map(drop).map_err(io::Error::from))
    }

    /// Puts an entry into the queue, which may be full.
    ///
    /// # Errors
    /// The kernel's, when it takes nothing.
    ///
    /// # Safety
    /// As of [`Ring::push`].
    #[inline]
    pub(crate) unsafe fn push_with_room(&mut self, entry: S) -> io::Result<()> {
        // SAFETY: the caller's promise.
        while !unsafe { self.push(entry) } {
            self.make_room()?;
        }
        Ok(())
    }

    /// Submits one entry and returns its answer, converted by `made`.
    ///
    /// # Errors
    /// The kernel's; the entry may then still be outstanding.
    ///
    /// # Safety
    /// As of [`Ring::push`].
    pub(crate) unsafe fn once<T>(&mut self, entry: S, made: impl Fn(A) -> T) -> io::Result<T> {
        // SAFETY: the caller's promise.
        unsafe { self.push_with_room(entry)? };
        let mut answers = Vec::new();
        loop {
            self.submit_and_wait(1)?;
            self.take(&mut answers, &made);
            if let Some(answer) = answers.pop() {
                return Ok(answer);
            }
        }
    }

    /// Makes room in a queue that is full.
    ///
    /// # Errors
    /// The kernel's, when it takes nothing.
    #[cold]
    pub(crate) fn make_room(&mut self) -> io::Result<()> {
        if !self.has_poller() {
            return self.submit();
        }
        self.publish();
        self.wake_poller()?;
        // The kernel's thread moves its head at the end of a batch, when some of it may have been answered already.
        self.enter(0, 0, IoringEnterFlags::SQ_WAIT)
    }

    /// Takes the available answers, each converted by `made`.
    #[inline]
    pub(crate) fn take<T>(&mut self, into: &mut Vec<T>, mut made: impl FnMut(A) -> T) {
        // Acquired: the kernel moves its tail after it wrote the answers.
        let count = self.ready();
        // A spinning caller mostly finds none, and does not write the cache line that the kernel reads.
        if count == 0 {
            return;
        }
        let (head, answers, mask) = (self.head, self.answers, self.answer_mask);
        into.extend((0..count).map(|next| {
            let index = head.wrapping_add(next) & mask;
            // SAFETY: the index is below the number of answers, all of which are mapped; this one is between our head
            // and the kernel's tail, so it was written and will not be written again before the head has passed it.
            made(unsafe { answers.add(index as usize).read() })
        }));
        self.head = head.wrapping_add(count);
        // Released: the answers were read before the kernel may write over them.
        self.completion_head.store(self.head, Release);
    }

    /// Number of available answers.
    #[inline]
    fn ready(&self) -> u32 {
        self.completion_tail.load(Acquire).wrapping_sub(self.head)
    }

    #[inline]
    fn look(&self, at_least: u32) -> bool {
        std::hint::spin_loop();
        self.ready() >= at_least
    }

    /// Publishes the entries of the queue; returns the number that the kernel has not taken.
    #[inline]
    fn publish(&mut self) -> u32 {
        // Released: the entries are written before the kernel sees a tail past them.
        self.submission_tail.store(self.tail, Release);
        self.tail.wrapping_sub(self.submission_head.load(Acquire))
    }

    #[inline]
    fn has_poller(&self) -> bool {
        self.setup.contains(IoringSetupFlags::SQPOLL)
    }

    /// Whether a waiting call polls the device.
    fn is_polled(&self) -> bool {
        self.setup.contains(IoringSetupFlags::IOPOLL) && !self.has_poller()
    }

    /// Wakes the kernel's thread if it sleeps.
    fn wake_poller(&self) -> io::Result<()> {
        // It sets its flag and then reads the tail; we write the tail and then read its flag. Only a full fence orders a write
        // before a later read, so that at least one of the two sees the other's write.
        fence(SeqCst);
        let flags = IoringSqFlags::from_bits_retain(self.submission_flags.load(Relaxed));
        if flags.contains(IoringSqFlags::NEED_WAKEUP) {
            return passing(self.enter(0, 0, IoringEnterFlags::SQ_WAKEUP));
        }
        Ok(())
    }

    #[inline]
    fn enter(&self, queued: u32, at_least: u32, flags: IoringEnterFlags) -> io::Result<()> {
        // SAFETY: the caller of `push` promised that memory and files of the entries stay valid.
        unsafe { kernel::io_uring_enter(self.enter_name(), queued, at_least, flags | self.enter_flags)? };
        Ok(())
    }

    #[inline]
    fn enter_name(&self) -> BorrowedFd<'_> {
        // SAFETY: it is our descriptor, or, with the flag that says so, its number among this thread's registered rings,
        // which only the kernel interprets; both are valid as long as the ring.
        unsafe { BorrowedFd::borrow_raw(self.enter_number) }
    }
}

/// Ignores the errors of a call that the caller repeats: signals, lack of memory or room, a timeout.
#[inline]
fn passing(entered: io::Result<()>) -> io::Result<()> {
    match entered {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN | libc::ETIME)) => {
            Ok(())
        }
        entered => entered,
    }
}
