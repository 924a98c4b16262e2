//! Copies to and from a mapping of a file that may have been truncated, or whose device fails: the kernel then sends SIGBUS,
//! which ends a program without a handler.
//!
//! One handler for the process, installed when the first target is mapped. It maps a page of zeros over the missing page, sets a
//! flag, and lets the copy continue; [`copy`] returns false, and its caller maps the file again. It does so only for the bytes
//! that this thread is copying. Every other SIGBUS goes to the earlier handler. It takes no lock and allocates nothing: a system
//! call, and atomics of the thread.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};

/// The copy of a thread.
struct Copying {
    /// First and last address of the mapped side; both 0 without a copy.
    first: AtomicUsize,
    last: AtomicUsize,
    /// Whether a page of it was missing.
    struck: AtomicBool,
}

thread_local! {
    // Exists as long as the thread, because a signal handler may read it at any time.
    static COPYING: Copying = const {
        Copying { first: AtomicUsize::new(0), last: AtomicUsize::new(0), struck: AtomicBool::new(false) }
    };
}

/// The earlier handler of SIGBUS; set before ours is installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Copies `length` bytes, of which those at `mapped` (`from` or `to`) lie in a mapping of a file. False where zeros stand in the
/// mapping for at least one page of it.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`], but that the file under the mapping may change or end. [`install`] was called.
#[inline]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, length: usize, mapped: *const u8) -> bool {
    COPYING.with(|copying| {
        copying.first.store(mapped as usize, Relaxed);
        copying.last.store(mapped as usize + length.saturating_sub(1), Relaxed);
        // The handler runs in this thread, so the compiler's order of these stores suffices.
        compiler_fence(SeqCst);
        // SAFETY: both ranges are valid by the caller's promise; the handler replaces a missing page.
        unsafe { ptr::copy_nonoverlapping(from, to, length) };
        compiler_fence(SeqCst);
        copying.first.store(0, Relaxed);
        copying.last.store(0, Relaxed);
        let struck = copying.struck.load(Relaxed);
        if struck {
            copying.struck.store(false, Relaxed);
        }
        !struck
    })
}

/// Installs the handler, once for the process.
///
/// # Errors
/// The kernel's.
pub(super) fn install() -> io::Result<()> {
    static RESULT: OnceLock<Result<(), i32>> = OnceLock::new();
    RESULT.get_or_init(install_first).map_err(io::Error::from_raw_os_error)
}

fn install_first() -> Result<(), i32> {
    // Looked up now, the handler finds it without a system call.
    rustix::param::page_size();
    // SAFETY: zeros are a valid value: the default action, no flags, an empty mask.
    let mut before: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: it writes the current action to the address given.
    checked(unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) })?;
    BEFORE.get_or_init(|| before);
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
    // On the thread's own signal stack where it has one, as the standard library's handler expects.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe: a system call, and atomics.
    checked(unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) })
}

fn checked(result: c_int) -> Result<(), i32> {
    if result < 0 { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)) } else { Ok(()) }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO the address of its account.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // Codes above 0 are the kernel's; a signal of another process has no address.
    if code > 0 && replace(address) {
        COPYING.with(|copying| copying.struck.store(true, Relaxed));
    } else {
        hand_back(signal, code);
    }
}

/// Puts a page of zeros over the page of an address that is being copied; false where it is not, or cannot be.
fn replace(address: usize) -> bool {
    let page_bytes = rustix::param::page_size();
    let page = |address: usize| address / page_bytes;
    let ours = COPYING.with(|copying| {
        let (first, last) = (copying.first.load(Relaxed), copying.last.load(Relaxed));
        last != 0 && (page(first)..=page(last)).contains(&page(address))
    });
    if !ours {
        return false;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let place = (page(address) * page_bytes) as *mut c_void;
    // SAFETY: location of the error number of this thread, which the interrupted code may be about to read.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *errno };
    // SAFETY: the page lies in a mapping of ours, which its owner restores. (A plain system call in every C library.)
    let mapped = unsafe { libc::mmap(place, page_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *errno = kept };
    mapped != libc::MAP_FAILED
}

/// Restores the earlier handler of SIGBUS; without one, the program ends by the signal.
fn hand_back(signal: c_int, code: c_int) {
    let Some(before) = BEFORE.get() else { return };
    // Returning repeats the access, now with the earlier action. A signal of another process is raised again.
    // SAFETY: it installs an action that the kernel reported.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const *before, ptr::null_mut()) };
    if code <= 0 {
        // SAFETY: a call that touches no memory and sends to this thread.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

    /// A mapping of one page of a file that holds none.
    fn beyond_the_end() -> *mut u8 {
        let file = tempfile::tempfile().unwrap();
        // SAFETY: a new mapping at a place the kernel chooses.
        unsafe { mmap(ptr::null_mut(), 4096, ProtFlags::READ, MapFlags::SHARED, &file, 0) }.unwrap().cast()
    }

    #[test]
    fn a_page_that_is_not_there_is_zeros_and_reported() {
        install().unwrap();
        let mapped = beyond_the_end();
        let mut bytes = [7; 4096];
        for expected in [false, true] {
            // SAFETY: both sides are that long, and the mapped one may miss its page.
            let copied = unsafe { copy(mapped, bytes.as_mut_ptr(), 4096, mapped) };
            assert_eq!(copied, expected, "zeros stand there after the first");
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
        // SAFETY: the mapping made above.
        unsafe { munmap(mapped.cast(), 4096) }.unwrap();
    }

    #[test]
    fn a_fault_outside_of_a_copy_ends_the_program() {
        install().unwrap();
        let mapped = beyond_the_end();
        // SAFETY: the child does nothing but touch the page, which allocates nothing and takes no lock.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the page is mapped; that its file has none is the point. Surviving it is an exit status.
            unsafe {
                ptr::read_volatile(mapped);
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: it writes to the address given.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGBUS, "{status:#x}");
    }
}
