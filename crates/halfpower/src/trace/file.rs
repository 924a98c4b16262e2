//! The file of a trace: a line of text, then an entry of 28 bytes for each request, in the order of their times.
//!
//! Nothing in it is trusted: its sums are made anew each time it is opened. A file whose end is missing holds what is there.
//!
//! An entry, little-endian: time in ns (8 bytes), offset (7), kind (1), length (4), latency in ns or 0 for unknown (4; the
//! largest number stands for it and more), requests outstanding or 0 for unknown (2), nothing (2).

use anyhow::{Context as _, Result, bail};
use halfpower_model::Nanoseconds;
use halfpower_model::random::derive_seed;
use halfpower_model::stream::{Request, RequestKind};
use halfpower_model::trace::{Contents, Entries, Entry};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8; 32] = b"halfpower.trace/1\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
const ENTRY: usize = 28;
/// Entries read at a time.
const CHUNK: usize = 4096;
/// Nine years, which no trace takes.
const LONGEST_NS: u64 = 1 << 58;
/// Offsets have 7 bytes.
pub(super) const MAX_OFFSET: u64 = (1 << 56) - 1;

/// An open trace.
#[derive(Debug)]
pub(crate) struct TraceFile {
    file: File,
    count: u64,
    /// Whether it ends within an entry.
    is_cut: bool,
}

impl TraceFile {
    /// Takes a file that begins with [`MAGIC`].
    ///
    /// # Errors
    /// If it cannot be read or does not begin so.
    pub(crate) fn new(file: File) -> Result<TraceFile> {
        let mut magic = [0; MAGIC.len()];
        file.read_exact_at(&mut magic, 0).context("it is no trace of Halfpower")?;
        if magic != *MAGIC {
            bail!("it is a trace of another version of Halfpower; record or import it again");
        }
        let bytes = file.metadata()?.len() - MAGIC.len() as u64;
        Ok(TraceFile { file, count: bytes / ENTRY as u64, is_cut: !bytes.is_multiple_of(ENTRY as u64) })
    }

    /// Overwrites `into` with the bytes of the file, from its start.
    #[cfg(test)]
    pub(super) fn bytes(&self, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, 0)
    }

    /// Whether it ends within an entry, which is left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Number of entries.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Calls `each` with every entry in order.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry is not valid.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Entry)) -> io::Result<()> {
        let mut chunk = vec![Entry::default(); CHUNK];
        let mut first = 0;
        while first < self.count {
            let count = CHUNK.min((self.count - first) as usize);
            self.read(first, &mut chunk[..count])?;
            chunk[..count].iter().for_each(&mut each);
            first += count as u64;
        }
        Ok(())
    }

    /// Its sums and a digest.
    ///
    /// # Errors
    /// As [`for_each`](Self::for_each).
    pub(crate) fn contents(&self) -> io::Result<(Contents, String)> {
        let (mut contents, mut digest) = (Contents::default(), 0);
        self.for_each(|entry| {
            contents.add(entry);
            let Request { offset, length, kind } = entry.request;
            digest = derive_seed(derive_seed(digest ^ entry.at.0, offset), u64::from(length) << 2 | kind as u64);
        })?;
        Ok((contents, format!("{digest:016x}")))
    }
}

impl Entries for TraceFile {
    fn read(&self, first: u64, into: &mut [Entry]) -> io::Result<()> {
        let mut bytes = vec![0; into.len() * ENTRY];
        self.file.read_exact_at(&mut bytes, MAGIC.len() as u64 + first * ENTRY as u64)?;
        for (number, (entry, bytes)) in (first..).zip(into.iter_mut().zip(bytes.as_chunks::<ENTRY>().0)) {
            *entry = decode(bytes).ok_or_else(|| {
                io::Error::new(ErrorKind::InvalidData, format!("entry {number} of the trace is not valid"))
            })?;
        }
        Ok(())
    }
}

fn decode(bytes: &[u8; ENTRY]) -> Option<Entry> {
    let number = |from: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|index| bytes[from + index]));
    let short = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|index| bytes[from + index]));
    let (place, latency) = (number(8), short(20));
    let kind = *RequestKind::ALL.get((place >> 56) as usize)?;
    let request = Request { offset: place & MAX_OFFSET, length: short(16), kind };
    let is_valid = (request.length > 0 || kind == RequestKind::Flush) && number(0) < LONGEST_NS;
    is_valid.then_some(Entry {
        at: Nanoseconds(number(0)),
        request,
        latency: (latency > 0).then_some(Nanoseconds(latency.into())),
        outstanding: u16::from_le_bytes([bytes[24], bytes[25]]),
    })
}

/// Writes a trace.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    file: BufWriter<File>,
}

impl TraceWriter {
    /// Begins a trace in an empty file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(file: File) -> io::Result<TraceWriter> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(MAGIC)?;
        Ok(TraceWriter { file })
    }

    /// Adds an entry, which is not before the one before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let Request { offset, length, kind } = entry.request;
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&entry.at.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&(offset.min(MAX_OFFSET) | (kind as u64) << 56).to_le_bytes());
        bytes[16..20].copy_from_slice(&length.to_le_bytes());
        let latency = entry.latency.map_or(0, |latency| u32::try_from(latency.0.max(1)).unwrap_or(u32::MAX));
        bytes[20..24].copy_from_slice(&latency.to_le_bytes());
        bytes[24..26].copy_from_slice(&entry.outstanding.to_le_bytes());
        self.file.write_all(&bytes)
    }

    /// Ends it and opens it for reading.
    ///
    /// # Errors
    /// If it cannot be written or read.
    pub(crate) fn finish(self) -> Result<TraceFile> {
        TraceFile::new(self.file.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}
