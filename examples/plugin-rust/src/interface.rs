//! `include/halfpower_personality.h` in Rust. What the members mean is said there.

use std::ffi::{c_char, c_void};

pub const ABI_VERSION: u32 = 1;

pub const READ: u32 = 0;
pub const WRITE: u32 = 1;
pub const TRIM: u32 = 2;
pub const FLUSH: u32 = 3;

#[repr(C)]
pub struct Target {
    pub path: *const c_char,
    pub size_bytes: u64,
    pub descriptor: i32,
    pub kind: u32,
}

#[repr(C)]
pub struct Setup {
    pub size: u32,
    pub transfer_size: u32,
    pub target_size: u32,
    pub targets_count: u32,
    pub targets: *const *const Target,
    pub options: *const c_char,
    pub span_bytes: u64,
    pub buffers: *mut c_void,
    pub buffers_bytes: u64,
    pub outstanding: u32,
    pub request_size: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Transfer {
    pub tag: u32,
    pub kind: u32,
    pub target: u32,
    pub length: u32,
    pub offset: u64,
    pub address: *mut c_void,
}

#[repr(C)]
pub struct Completion {
    pub tag: u32,
    pub result: i32,
}

#[repr(C)]
pub struct Personality {
    pub abi_version: u32,
    pub size: u32,
    pub open: unsafe extern "C" fn(*const Setup, *mut *mut c_void, *mut c_char, usize) -> i32,
    pub submit: unsafe extern "C" fn(*mut c_void, *const Transfer),
    pub start: Option<unsafe extern "C" fn(*mut c_void)>,
    pub reap: unsafe extern "C" fn(*mut c_void, *mut Completion, u32, u32, *mut c_char, usize) -> i32,
    pub poll: Option<unsafe extern "C" fn(*mut c_void, *mut Completion, u32, u64, *mut c_char, usize) -> i32>,
    pub close: unsafe extern "C" fn(*mut c_void),
    pub describe: unsafe extern "C" fn(*mut c_void) -> *const c_char,
}
