//! Entries and answers of a ring in the kernel's layout (linux/io_uring.h): entries of 64 bytes, or 128 for commands to devices,
//! and answers of 16, or 32.

use super::super::interface::Completion;
use rustix::io_uring::{IoringOp, IoringSetupFlags, IoringSqeFlags, io_uring_sqe};
use std::mem::offset_of;

/// An entry of the submission or the completion queue.
///
/// # Safety
/// It has the kernel's layout for a ring set up with the flags; and any bytes are a valid answer.
pub(crate) unsafe trait Layout: Copy {
    /// The setup flags of a ring with entries of this size.
    const SETUP: IoringSetupFlags;
}

/// The part that all transfers of one kind on a file share, written at once because it is as wide as a register.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    operation: u8,
    flags: u8,
    priority: u16,
    file: i32,
}

/// `struct io_uring_sqe`, with the names of a transfer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) head: Head,
    /// First byte in the file, or a command's number.
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) length: u32,
    pub(crate) operation_flags: u32,
    /// Returned with the answer.
    pub(crate) user_data: u64,
    /// Index of the registered buffer.
    pub(crate) buffer: u16,
    pub(crate) personality: u16,
    pub(crate) file_index: u32,
    /// A third address, or the first bytes of a command.
    pub(crate) more: [u8; 16],
}

// Where the kernel looks; the rest follows from the order.
const _: () = {
    assert!(size_of::<Entry>() == 64 && size_of::<io_uring_sqe>() == 64);
    assert!(offset_of!(Entry, offset) == offset_of!(io_uring_sqe, off_or_addr2));
    assert!(offset_of!(Entry, length) == offset_of!(io_uring_sqe, len));
    assert!(offset_of!(Entry, user_data) == offset_of!(io_uring_sqe, user_data));
    assert!(offset_of!(Entry, buffer) == offset_of!(io_uring_sqe, buf));
    assert!(offset_of!(Entry, file_index) == offset_of!(io_uring_sqe, splice_fd_in_or_file_index_or_addr_len));
    assert!(offset_of!(Entry, more) == offset_of!(io_uring_sqe, addr3_or_cmd));
    assert!(size_of::<Entry128>() == 128 && size_of::<Done>() == 16 && size_of::<Done32>() == 32);
};

// SAFETY: the layout is checked above.
unsafe impl Layout for Entry {
    const SETUP: IoringSetupFlags = IoringSetupFlags::empty();
}

impl Entry {
    /// One of an operation on a file.
    #[inline]
    pub(crate) fn new(operation: IoringOp, file: FileName) -> Self {
        Entry { head: Head::new(operation, file), ..Entry::default() }
    }
}

impl Head {
    /// Of an operation on a file: a descriptor, or a number among the registered ones.
    #[inline]
    pub(crate) fn new(operation: IoringOp, file: FileName) -> Self {
        let (file, flags) = match file {
            FileName::Descriptor(descriptor) => (descriptor, IoringSqeFlags::empty()),
            FileName::Registered(index) => (i32::from(index), IoringSqeFlags::FIXED_FILE),
        };
        Head { operation: operation as u8, flags: flags.bits(), priority: 0, file }
    }
}

/// How an entry names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileName {
    Descriptor(i32),
    Registered(u16),
}

/// An entry with room for a command to a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry128 {
    pub(crate) entry: Entry,
    more: [u8; 64],
}

// SAFETY: the layout is checked above.
unsafe impl Layout for Entry128 {
    const SETUP: IoringSetupFlags = IoringSetupFlags::SQE128;
}

impl Entry128 {
    /// A command's number and its bytes, which are 80 at most, in an entry that is for [`IoringOp::UringCmd`].
    pub(crate) fn command(entry: Entry, number: u32, bytes: &[u8; 80]) -> Self {
        let (first, rest) = bytes.split_at(16);
        let mut made = Entry128 { entry: Entry { offset: u64::from(number), ..entry }, more: [0; 64] };
        made.entry.more.copy_from_slice(first);
        made.more.copy_from_slice(rest);
        made
    }
}

/// `struct io_uring_cqe`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) user_data: u64,
    pub(crate) result: i32,
    pub(crate) flags: u32,
}

// SAFETY: the size is checked above, the order is the kernel's, and numbers take any bytes.
unsafe impl Layout for Done {
    const SETUP: IoringSetupFlags = IoringSetupFlags::empty();
}

impl From<Done> for Completion {
    #[inline]
    fn from(done: Done) -> Completion {
        Completion { tag: done.user_data as u32, result: done.result }
    }
}

/// The same with the further results of a command.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done32 {
    pub(crate) done: Done,
    pub(crate) more: [u64; 2],
}

// SAFETY: as of `Done`.
unsafe impl Layout for Done32 {
    const SETUP: IoringSetupFlags = IoringSetupFlags::CQE32;
}
