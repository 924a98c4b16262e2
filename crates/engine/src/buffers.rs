//! The memory of requests: one region per worker, with a page-aligned slot for each request that can be outstanding, filled
//! before the measurement.

use crate::mapping::Mapping;
use halfpower_model::random::Random;
use halfpower_model::{Data, HugePages};
use std::io;

/// Alignment of every slot, in bytes; enough for any O_DIRECT.
pub(crate) const SLOT_ALIGNMENT: usize = 4096;

/// A worker's buffers.
#[derive(Debug)]
pub(crate) struct Buffers {
    mapping: Mapping,
    slot_bytes: usize,
    stride: usize,
    slots: usize,
}

impl Buffers {
    /// A region of `slots` buffers of `slot_bytes` each, mapped and touched; those of several pages in huge pages if possible.
    ///
    /// # Errors
    /// The kernel's, when there is not enough memory.
    pub(crate) fn new(slots: usize, slot_bytes: usize) -> io::Result<Self> {
        Self::in_pages(slots, slot_bytes, HugePages::On)
    }

    /// The same, with the choice of pages.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn in_pages(slots: usize, slot_bytes: usize, pages: HugePages) -> io::Result<Self> {
        let too_much = || io::Error::new(io::ErrorKind::OutOfMemory, "more buffer memory than an address can name");
        let stride = slot_bytes.checked_next_multiple_of(SLOT_ALIGNMENT).ok_or_else(too_much)?;
        let bytes = stride.checked_mul(slots).ok_or_else(too_much)?;
        let mapping = match pages {
            // A request of one page is in one piece anyway.
            HugePages::On if stride > SLOT_ALIGNMENT => Mapping::zeros(bytes)?,
            _ => Mapping::small_pages(bytes)?,
        };
        let mut buffers = Buffers { mapping, slot_bytes, stride, slots };
        (0..slots).for_each(|slot| buffers.slot_mut(slot, 0).fill(0));
        Ok(buffers)
    }

    /// Fills every slot with data of a kind.
    pub(crate) fn fill(&mut self, data: &Data, seed: u64) {
        let mut random = Random::new(seed);
        (0..self.slots).for_each(|slot| data.fill(self.slot_mut(slot, 0), &mut random));
    }

    /// Address of byte `from` of a slot. The caller is responsible for both: beyond the slot it is invalid.
    #[inline]
    pub(crate) fn address(&self, slot: usize, from: usize) -> *mut u8 {
        debug_assert!(slot < self.slots && from < self.slot_bytes);
        self.mapping.base().as_ptr().wrapping_add(slot * self.stride + from)
    }

    /// The bytes of a slot from byte `from` on.
    #[inline]
    pub(crate) fn slot_mut(&mut self, slot: usize, from: usize) -> &mut [u8] {
        assert!(slot < self.slots && from < self.slot_bytes, "inside a slot");
        // SAFETY: the range is inside the mapping, as was asserted, initialised by the kernel, and borrowed mutably with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot, from), self.slot_bytes - from) }
    }

    /// The regions to register with io_uring: one of all slots if it has at most `most` bytes, else one per slot, up to the
    /// next.
    pub(crate) fn regions(&self, most: usize) -> Vec<libc::iovec> {
        if self.region().iov_len <= most {
            return vec![self.region()];
        }
        let slot = |slot| libc::iovec { iov_base: self.address(slot, 0).cast(), iov_len: self.stride };
        (0..self.slots).map(slot).collect()
    }

    /// The whole region.
    pub(crate) fn region(&self) -> libc::iovec {
        libc::iovec { iov_base: self.mapping.base().as_ptr().cast(), iov_len: self.mapping.bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_aligned_and_filled() {
        let mut buffers = Buffers::new(3, 5000).unwrap();
        buffers.fill(&Data::Incompressible, 1);
        for slot in 0..3 {
            assert_eq!(buffers.address(slot, 0) as usize % SLOT_ALIGNMENT, 0);
            let zeros = buffers.slot_mut(slot, 0).iter().filter(|byte| **byte == 0).count();
            assert!(zeros < 60, "random bytes are seldom zero: {zeros} of 5000");
        }
        buffers.slot_mut(0, 0).fill(7);
        assert!(buffers.slot_mut(1, 0).iter().any(|byte| *byte != 7));
        assert_eq!(buffers.slot_mut(2, 4990).len(), 10);
    }
}
