//! Opens an event of the kernel: a counter or a tracepoint (perf_event_open(2), linux/perf_event.h).

use rustix::fd::{FromRawFd, OwnedFd};
use std::io;

/// `struct perf_event_attr` in its first version (PERF_ATTR_SIZE_VER0); opening sets its size.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    pub(crate) size: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    /// Bits: `disabled` is the first, `inherit` the second, `exclude_hv` the seventh.
    pub(crate) flags: u64,
    pub(crate) wakeup_events: u32,
    pub(crate) breakpoint: u32,
    pub(crate) config_1: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);

/// The scope of events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// The calling thread, on any CPU.
    ThisThread,
    /// All threads on one CPU.
    Cpu(u32),
}

/// Opens an event.
///
/// # Errors
/// The kernel's.
pub(crate) fn open(attributes: Attributes, whose: Whose) -> io::Result<OwnedFd> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    let (thread, cpu): (libc::pid_t, libc::c_int) = match whose {
        Whose::ThisThread => (0, -1),
        Whose::Cpu(number) => (-1, i32::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?),
    };
    let no_group: libc::c_int = -1;
    // PERF_FLAG_FD_CLOEXEC.
    let close_on_exec: libc::c_ulong = 8;
    // SAFETY: the structure has the size it says and outlives the call, which only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, cpu, no_group, close_on_exec)
    };
    let descriptor = i32::try_from(result).ok().filter(|number| *number >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
