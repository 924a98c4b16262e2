//! The kernel's older asynchronous I/O (io_submit(2), Linux 2.6) by its system calls, without the library of that name.
//!
//! Accepted transfers go to the kernel with one io_submit. Completions are read from the ring that the kernel shares with the
//! program (`struct aio_ring` of fs/aio.c), as fio and libaio do, so only waiting takes a call. Buffered requests complete
//! inside io_submit, one after the other; the sample has a warning. Trims, for which it has no operation, and flushes that it
//! rejects are carried out at submission.

use super::control::Control;
use super::interface::{Completion, Granted, Personality, Setup, Transfer, failed};
use crate::system::number;
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

pub(crate) struct Libaio {
    context: Context,
    targets: Vec<Opened>,
    control: Control,
    /// One for each transfer that can be outstanding, by its tag.
    blocks: Vec<Iocb>,
    /// Accepted and not yet submitted.
    waiting: Vec<*const Iocb>,
    /// Completions without the ring.
    settled: Vec<Completion>,
    /// Submitted and not yet completed.
    in_kernel: usize,
    events: Vec<IoEvent>,
}

/// A request (`struct iocb` of linux/aio_abi.h), a cache line each.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    address: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

/// A completion (`struct io_event`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct IoEvent {
    data: u64,
    request: u64,
    result: i64,
    result_more: i64,
}

/// The head of the ring of completions (`struct aio_ring`); the context's number is its address.
#[repr(C)]
struct Ring {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32 && size_of::<Ring>() == 32);

const RING_MAGIC: u32 = 0xa10a_10a1;
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// An open context, destroyed when dropped.
struct Context {
    id: libc::c_ulong,
    /// None if it has another layout than [`Ring`].
    ring: Option<NonNull<Ring>>,
}

impl Personality for Libaio {
    fn unavailable() -> Option<String> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel rejects a context without room, if it has the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, 0, &raw mut id) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            _ if result >= 0 => None,
            Some(libc::ENOSYS) => Some("this kernel was built without CONFIG_AIO".to_owned()),
            Some(libc::EPERM) => Some("the container forbids it; allow it in the seccomp profile".to_owned()),
            _ => limit_reached(1),
        }
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let context = Context::new(setup.outstanding)?;
        let outstanding = setup.outstanding as usize;
        let obtained = context.ring.map(|_| "user_space_reaping");
        let libaio = Libaio {
            context,
            targets,
            control: Control::of(setup.workload),
            blocks: vec![Iocb::default(); outstanding],
            waiting: Vec::with_capacity(outstanding),
            settled: Vec::with_capacity(outstanding),
            in_kernel: 0,
            events: vec![IoEvent::default(); outstanding],
        };
        Ok((libaio, Granted::of(obtained)))
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let target = &self.targets[usize::from(transfer.target)];
        let (opcode, address, length, offset) = match transfer.kind {
            RequestKind::Read => (PREAD, transfer.address as u64, transfer.length, transfer.offset),
            RequestKind::Write => (PWRITE, transfer.address as u64, transfer.length, transfer.offset),
            RequestKind::Flush if self.control == Control::Fdatasync => (FDSYNC, 0, 0, 0),
            RequestKind::Flush => (FSYNC, 0, 0, 0),
            RequestKind::Trim => {
                let result = self.control.run(target, &transfer);
                self.settled.push(Completion { tag: transfer.tag, result });
                return;
            }
        };
        let block = Iocb {
            data: u64::from(transfer.tag),
            opcode,
            descriptor: target.file.as_raw_fd() as u32,
            address,
            length: u64::from(length),
            offset: offset as i64,
            ..Iocb::default()
        };
        debug_assert!((transfer.tag as usize) < self.blocks.len());
        // SAFETY: tags are below the maximum of outstanding transfers, and there are as many blocks. No reference to them
        // is ever made, so the addresses stay valid.
        let place = unsafe { self.blocks.as_mut_ptr().add(transfer.tag as usize) };
        // SAFETY: the same; a tag is not used again before its transfer came back.
        unsafe { place.write(block) };
        self.waiting.push(place);
    }

    #[inline]
    fn start(&mut self) {
        let mut begun = 0;
        while begun < self.waiting.len() {
            let rest = &self.waiting[begun..];
            // SAFETY: the blocks have the kernel's layout, and the caller of `submit` keeps the bytes of each transfer until its
            // completion.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context.id, rest.len(), rest.as_ptr()) };
            if taken > 0 {
                begun += taken as usize;
                self.in_kernel += taken as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel lacks room: they are submitted after the next completion.
                Some(libc::EAGAIN) if self.in_kernel > 0 => break,
                _ => {
                    self.settle(begun, &error);
                    begun += 1;
                }
            }
        }
        self.waiting.drain(..begun);
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        let enough = done.len() + at_least as usize;
        loop {
            self.start();
            self.collect(done);
            if done.len() >= enough {
                return Ok(());
            }
            // Every accepted transfer is in the kernel, settled, or waits for room there, so the kernel has at least one.
            let wanted = (enough - done.len()).min(self.in_kernel);
            self.wait(done, wanted, None)?;
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        self.start();
        self.collect(done);
        if done.is_empty() && self.in_kernel > 0 { self.wait(done, 1, Some(at_most)) } else { Ok(()) }
    }
}

impl Libaio {
    /// Completes a transfer that io_submit rejected: a flush by fsync if libaio has no operation for it, any other as failed.
    #[cold]
    fn settle(&mut self, index: usize, error: &io::Error) {
        // SAFETY: it points to one of the blocks.
        let block = unsafe { *self.waiting[index] };
        let flush = matches!(block.opcode, FSYNC | FDSYNC) && error.raw_os_error() == Some(libc::EINVAL);
        let target = self.targets.iter().find(|target| target.file.as_raw_fd() as u32 == block.descriptor);
        let result = match target {
            Some(target) if flush => self.control.flush(target),
            _ => failed(error),
        };
        self.settled.push(Completion { tag: block.data as u32, result });
    }

    /// Takes the completions, without a call if the ring can be read.
    #[inline]
    fn collect(&mut self, done: &mut Vec<Completion>) {
        if !self.settled.is_empty() {
            done.append(&mut self.settled);
        }
        let Some(ring) = self.context.ring else { return };
        let before = done.len();
        // SAFETY: the kernel keeps the ring mapped as long as the context is there.
        let header = unsafe { ring.as_ref() };
        let tail = header.tail.load(Acquire);
        let mut head = header.head.load(Relaxed);
        while head != tail {
            // SAFETY: the events follow the header, `entries` of them; those from head to tail are written.
            let event = unsafe { *ring.as_ptr().add(1).cast::<IoEvent>().add(head as usize) };
            done.push(event.completion());
            head = if head + 1 == header.entries { 0 } else { head + 1 };
        }
        header.head.store(head, Release);
        self.in_kernel -= done.len() - before;
    }

    /// Waits in the kernel for `at_least` completions, up to `at_most`, and takes the completions.
    fn wait(&mut self, done: &mut Vec<Completion>, at_least: usize, at_most: Option<Duration>) -> io::Result<()> {
        let mut limit = at_most.map(|span| libc::timespec {
            tv_sec: span.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(span.subsec_nanos() as i32),
        });
        let timeout = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        let (id, events, room) = (self.context.id, self.events.as_mut_ptr(), self.events.len());
        // SAFETY: there is room for as many events as can be outstanding.
        let got = unsafe { libc::syscall(libc::SYS_io_getevents, id, at_least, room, events, timeout) };
        if got < 0 {
            let error = io::Error::last_os_error();
            // A caller that waits for more calls again.
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error) };
        }
        let got = got as usize;
        self.in_kernel -= got;
        done.extend(self.events[..got].iter().map(IoEvent::completion));
        Ok(())
    }
}

impl IoEvent {
    #[inline]
    fn completion(&self) -> Completion {
        Completion { tag: self.data as u32, result: self.result as i32 }
    }
}

impl Context {
    fn new(entries: u32) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: it writes the context's number to the address given.
        if unsafe { libc::syscall(libc::SYS_io_setup, entries, &raw mut id) } < 0 {
            let error = io::Error::last_os_error();
            let sentence = (error.raw_os_error() == Some(libc::EAGAIN)).then(|| limit_reached(entries)).flatten();
            return Err(sentence.map_or(error, io::Error::other));
        }
        // On a kernel without the ring, the number would be no address.
        let ring = NonNull::new(id as *mut Ring).filter(|ring| {
            // SAFETY: the number of a context is the address of its ring: fs/aio.c, and libaio relies on it.
            let header = unsafe { ring.as_ref() };
            let known = header.magic == RING_MAGIC && header.incompatible == 0;
            known && header.header_bytes as usize == size_of::<Ring>()
        });
        Ok(Context { id, ring })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let id = self.id;
        let destroy = move || {
            // SAFETY: the context made in `new`, destroyed once; nothing is outstanding.
            unsafe { libc::syscall(libc::SYS_io_destroy, id) };
        };
        // The kernel waits there 30 ms for its other CPUs, which is no part of closing a target.
        if std::thread::Builder::new().spawn(destroy).is_err() {
            destroy();
        }
    }
}

/// The message if the kernel's limit leaves no room for `wanted` requests.
fn limit_reached(wanted: u32) -> Option<String> {
    let (used, most) = (number::<u64>("/proc/sys/fs/aio-nr")?, number::<u64>("/proc/sys/fs/aio-max-nr")?);
    // For one context alone, the kernel compares twice its size with the limit.
    let full = used + u64::from(wanted) > most || 2 * u64::from(wanted) > most;
    full.then(|| {
        format!(
            "the kernel allows {most} asynchronous requests on this host, {used} are in use and {wanted} more are              needed; raise the limit (sysctl fs.aio-max-nr=1048576), or use a smaller --depth or fewer workers"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_names_the_remedy() {
        let most = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse::<u32>();
        let (Some(most), None) = (most.ok().filter(|most| *most < 1 << 24), Libaio::unavailable()) else {
            eprintln!("skipped: this host has no limit to reach");
            return;
        };
        let message = Context::new(most + 1).err().unwrap().to_string();
        assert!(message.contains("sysctl fs.aio-max-nr") && message.contains(&most.to_string()), "{message}");
        assert_eq!(limit_reached(1), None);
    }

    #[test]
    fn contexts_are_given_back() {
        if let Some(reason) = Libaio::unavailable() {
            eprintln!("skipped: libaio {reason}");
            return;
        }
        let context = Context::new(32).unwrap();
        assert!(context.ring.is_some(), "else every reap takes a system call");
        let id = context.id;
        drop(context);
        let mut event = IoEvent::default();
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: there is room for one event; a context that is gone gives none.
        let mut is_gone =
            || unsafe { libc::syscall(libc::SYS_io_getevents, id, 0, 1, &raw mut event, &raw mut now) } < 0;
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while !is_gone() {
            assert!(std::time::Instant::now() < until, "it is still there");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
