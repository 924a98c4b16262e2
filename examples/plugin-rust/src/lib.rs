//! A plug-in for Halfpower: each transfer a positioned read or write of the target, done when the program waits for it.
//!
//! Several may be outstanding; they are done one after the other, the longest waiting first. It takes no options.
//!
//! The functions below the line are called by the program and keep to what it promises in the header; those above know
//! nothing of pointers. None of them panics: that would end the program.

mod interface;

use interface::{ABI_VERSION, Completion, FLUSH, Personality, READ, Setup, TRIM, Target, Transfer, WRITE};
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::slice;

/// Linux's numbers; std has no names for them.
const EIO: i32 = 5;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

/// A worker.
struct Worker {
    /// The program's descriptors, which are not ours to close.
    targets: Vec<ManuallyDrop<File>>,
    waiting: VecDeque<Transfer>,
}

impl Worker {
    fn new(descriptors: impl Iterator<Item = i32>, outstanding: u32) -> Worker {
        // SAFETY: they are open until the worker is closed, and never dropped.
        let file = |descriptor| ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
        Worker { targets: descriptors.map(file).collect(), waiting: VecDeque::with_capacity(outstanding as usize) }
    }

    /// Does what has waited longest; none when nothing has.
    fn next(&mut self) -> Option<Completion> {
        let transfer = self.waiting.pop_front()?;
        let result = match self.run(&transfer) {
            Ok(bytes) => bytes as i32,
            Err(error) => -error.raw_os_error().unwrap_or(EIO),
        };
        Some(Completion { tag: transfer.tag, result })
    }

    fn run(&self, transfer: &Transfer) -> io::Result<usize> {
        let target = self.targets.get(transfer.target as usize).ok_or(io::Error::from_raw_os_error(EINVAL))?;
        let (address, length) = (transfer.address.cast::<u8>(), transfer.length as usize);
        loop {
            // SAFETY: while a transfer is outstanding its bytes are the plug-in's.
            let result = match transfer.kind {
                READ => target.read_at(unsafe { slice::from_raw_parts_mut(address, length) }, transfer.offset),
                // SAFETY: the same.
                WRITE => target.write_at(unsafe { slice::from_raw_parts(address, length) }, transfer.offset),
                FLUSH => target.sync_all().map(|()| 0),
                TRIM => Err(io::Error::from_raw_os_error(EOPNOTSUPP)),
                _ => Err(io::Error::from_raw_os_error(EINVAL)),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------

static POSITIONED: Personality = Personality {
    abi_version: ABI_VERSION,
    size: size_of::<Personality>() as u32,
    open,
    submit,
    // Everything is done when it is waited for.
    start: None,
    reap,
    poll: None,
    close,
    describe,
};

/// What the program looks for.
#[unsafe(no_mangle)]
pub extern "C" fn halfpower_personality(abi_version: u32) -> *const Personality {
    if abi_version == ABI_VERSION { &POSITIONED } else { ptr::null() }
}

unsafe extern "C" fn open(setup: *const Setup, worker: *mut *mut c_void, error: *mut c_char, room: usize) -> i32 {
    // SAFETY: the program passes a setup that lasts until this returns.
    let setup = unsafe { &*setup };
    // SAFETY: a text with a zero at its end.
    if !unsafe { CStr::from_ptr(setup.options) }.is_empty() {
        // SAFETY: the program passes room for a sentence.
        return unsafe { refuse(c"this plug-in takes no options; leave them out", error, room) };
    }
    if setup.targets_count == 0 {
        // SAFETY: the same.
        return unsafe { refuse(c"this plug-in is for files and devices; name one in place of null:", error, room) };
    }
    // SAFETY: there are as many pointers, and each leads to a target.
    let targets: &[*const Target] = unsafe { slice::from_raw_parts(setup.targets, setup.targets_count as usize) };
    // SAFETY: the same.
    let descriptors = targets.iter().map(|target| unsafe { (**target).descriptor });
    let opened = Box::new(Worker::new(descriptors, setup.outstanding));
    // SAFETY: the program passes where to put it.
    unsafe { worker.write(Box::into_raw(opened).cast()) };
    0
}

/// # Safety
/// `error` is room for that many bytes, one at least.
unsafe fn refuse(why: &CStr, error: *mut c_char, room: usize) -> i32 {
    let text = why.to_bytes();
    let length = text.len().min(room - 1);
    // SAFETY: no more than there is room for, the zero included.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), error, length);
        error.add(length).write(0);
    }
    -EINVAL
}

unsafe extern "C" fn submit(worker: *mut c_void, transfer: *const Transfer) {
    // SAFETY: what `open` gave, used by one thread at a time, and a transfer that lasts until this returns.
    unsafe { (*worker.cast::<Worker>()).waiting.push_back(*transfer) };
}

unsafe extern "C" fn reap(
    worker: *mut c_void,
    done: *mut Completion,
    room: u32,
    at_least: u32,
    _: *mut c_char,
    _: usize,
) -> i32 {
    // SAFETY: what `open` gave, used by one thread at a time.
    let worker = unsafe { &mut *worker.cast::<Worker>() };
    let mut given = 0;
    while given < at_least.min(room)
        && let Some(completion) = worker.next()
    {
        // SAFETY: there is room for `room` of them.
        unsafe { done.add(given as usize).write(completion) };
        given += 1;
    }
    given as i32
}

unsafe extern "C" fn close(worker: *mut c_void) {
    // SAFETY: what `open` gave, closed once.
    drop(unsafe { Box::from_raw(worker.cast::<Worker>()) });
}

unsafe extern "C" fn describe(_: *mut c_void) -> *const c_char {
    concat!("positioned ", env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
