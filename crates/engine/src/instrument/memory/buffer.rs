//! Memory to measure: new pages from the kernel, huge ones if possible.

use crate::mapping::Mapping;
use std::io;
use std::ptr::NonNull;

/// The size of a huge page on x86-64 and most arm64; another size costs only some address space.
const HUGE_PAGE: usize = 2 << 20;

/// Anonymous memory that begins at the start of a huge page.
#[derive(Debug)]
pub(super) struct Buffer {
    _mapping: Mapping,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and its bytes are reached through it alone.
unsafe impl Send for Buffer {}
// SAFETY: a shared reference gives shared access to plain bytes.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeros; the first thread to touch them gets pages of its NUMA node.
    ///
    /// # Errors
    /// If the kernel denies it.
    pub(super) fn new(length: usize) -> io::Result<Buffer> {
        let mapping = Mapping::small_pages(length + HUGE_PAGE)?;
        let lead = mapping.base().addr().get().next_multiple_of(HUGE_PAGE) - mapping.base().addr().get();
        // The rest has small pages: the kernel would report two buffers that touch as one mapping.
        mapping.use_huge_pages(lead, length);
        // SAFETY: less than a huge page from the start, and the mapping is longer than that.
        let start = unsafe { mapping.base().add(lead) };
        Ok(Buffer { _mapping: mapping, start, length })
    }

    /// All of it.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `length` bytes from `start` on, readable, writable and initialised by the kernel; the
        // borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Share of it in huge pages now; none if unknown.
    pub(super) fn huge_page_share(&self) -> Option<f64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        huge_bytes(&maps, self.start.addr().get()).map(|bytes| (bytes as f64 / self.length as f64).min(1.0))
    }
}

/// `AnonHugePages` of the mapping that an address lies in (Linux, Documentation/filesystems/proc.rst).
fn huge_bytes(maps: &str, address: usize) -> Option<u64> {
    let holds = |line: &str| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'))?;
        let (low, high) = (usize::from_str_radix(range.0, 16).ok()?, usize::from_str_radix(range.1, 16).ok()?);
        Some((low..high).contains(&address))
    };
    let mut lines = maps.lines().skip_while(|line| holds(line) != Some(true)).skip(1);
    let line =
        lines.by_ref().take_while(|line| holds(line).is_none()).find(|line| line.starts_with("AnonHugePages:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_those_of_the_mapping_at_an_address() {
        let maps = "1000-3000 rw-p 0 0:0 0\nSize: 8 kB\nAnonHugePages:  4 kB\nVmFlags: rd\n\
                    3000-9000 rw-p 0 0:0 0 [heap]\nAnonHugePages:  8 kB\n9000-a000 rw-p 0 0:0 0\nSize: 4 kB\n";
        assert_eq!(huge_bytes(maps, 0x2fff), Some(4096));
        assert_eq!(huge_bytes(maps, 0x3000), Some(8192));
        assert_eq!(huge_bytes(maps, 0x9000), None);
        assert_eq!(huge_bytes(maps, 0xb000), None);
    }
}
