//! Memory to measure: new pages from the kernel, huge ones if possible.

use crate::mapping::Mapping;
use std::io;

/// Anonymous memory that begins at the start of a huge page.
#[derive(Debug)]
pub(super) struct Buffer(Mapping);

impl Buffer {
    /// Zeros.
    ///
    /// # Errors
    /// If the kernel denies it.
    pub(super) fn new(length: usize) -> io::Result<Buffer> {
        Ok(Buffer(Mapping::zeros(length)?))
    }

    /// All of it.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is readable, writable and initialised by the kernel; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.base().as_ptr(), self.0.bytes()) }
    }

    /// Share of it in huge pages now; none if unknown.
    pub(super) fn huge_page_share(&self) -> Option<f64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        huge_bytes(&maps, self.0.base().addr().get()).map(|bytes| (bytes as f64 / self.0.bytes() as f64).min(1.0))
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
