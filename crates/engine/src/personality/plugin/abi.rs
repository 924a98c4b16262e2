//! `include/halfpower_personality.h` in Rust, member by member. The header documents them.

use std::ffi::{c_char, c_void};

pub(super) const ABI_VERSION: u32 = 1;

pub(super) const FILE: u32 = 0;
pub(super) const BLOCK_DEVICE: u32 = 1;

#[repr(C)]
pub(super) struct Target {
    pub(super) path: *const c_char,
    pub(super) size_bytes: u64,
    pub(super) descriptor: i32,
    pub(super) kind: u32,
}

#[repr(C)]
pub(super) struct Setup {
    pub(super) size: u32,
    pub(super) transfer_size: u32,
    pub(super) target_size: u32,
    pub(super) targets_count: u32,
    pub(super) targets: *const *const Target,
    pub(super) options: *const c_char,
    pub(super) span_bytes: u64,
    pub(super) buffers: *mut c_void,
    pub(super) buffers_bytes: u64,
    pub(super) outstanding: u32,
    pub(super) request_size: u32,
}

#[repr(C)]
pub(super) struct Transfer {
    pub(super) tag: u32,
    /// The number of the `RequestKind`, as in the header.
    pub(super) kind: u32,
    pub(super) target: u32,
    pub(super) length: u32,
    pub(super) offset: u64,
    pub(super) address: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Completion {
    pub(super) tag: u32,
    pub(super) result: i32,
}

pub(super) type Open = unsafe extern "C" fn(*const Setup, *mut *mut c_void, *mut c_char, usize) -> i32;
pub(super) type Submit = unsafe extern "C" fn(*mut c_void, *const Transfer);
pub(super) type Start = unsafe extern "C" fn(*mut c_void);
pub(super) type Reap = unsafe extern "C" fn(*mut c_void, *mut Completion, u32, u32, *mut c_char, usize) -> i32;
pub(super) type Poll = unsafe extern "C" fn(*mut c_void, *mut Completion, u32, u64, *mut c_char, usize) -> i32;
pub(super) type Close = unsafe extern "C" fn(*mut c_void);
pub(super) type Describe = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// As the plug-in returns it: any function may be missing.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Personality {
    pub(super) abi_version: u32,
    pub(super) size: u32,
    pub(super) open: Option<Open>,
    pub(super) submit: Option<Submit>,
    pub(super) start: Option<Start>,
    pub(super) reap: Option<Reap>,
    pub(super) poll: Option<Poll>,
    pub(super) close: Option<Close>,
    pub(super) describe: Option<Describe>,
}

/// The one function that is exported.
pub(super) type Entry = unsafe extern "C" fn(u32) -> *const Personality;
