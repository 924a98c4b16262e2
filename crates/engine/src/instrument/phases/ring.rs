//! The kernel's events of one CPU, through a ring buffer (perf_event_open(2)).

use super::follow::Event;
use super::tracepoint::Tracepoint;
use crate::instrument::perf::{self, Attributes, Whose};
use crate::mapping::Mapping;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::CString;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u32 = 2;
/// PERF_SAMPLE_TIME and PERF_SAMPLE_RAW.
const TIME_AND_RAW: u64 = 1 << 2 | 1 << 10;
/// `disabled`: counts nothing until it is enabled.
const DISABLED: u64 = 1;
/// PERF_RECORD_LOST and _SAMPLE.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// PERF_EVENT_IOC_ENABLE, _DISABLE, _SET_OUTPUT, _SET_FILTER (linux/perf_event.h).
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const SET_OUTPUT: libc::c_ulong = 0x2405;
const SET_FILTER: libc::c_ulong = 0x4008_2406;

/// The end of `struct perf_event_mmap_page`, which lies 1024 bytes into the first page.
#[repr(C)]
struct Heads {
    before: [u8; 1024],
    /// Bytes the kernel has written since the start, and bytes we have read.
    head: AtomicU64,
    tail: AtomicU64,
}

const _: () = assert!(offset_of!(Heads, head) == 1024);

/// The events of one CPU.
#[derive(Debug)]
pub(super) struct Ring {
    /// The first has the ring; the others write to it too.
    events: Vec<OwnedFd>,
    mapping: Mapping,
    data_offset: usize,
    data_bytes: usize,
}

impl Ring {
    /// Opens the events of a CPU with a filter in the kernel's syntax, and a ring of so many bytes, a power of two: an event
    /// takes about 90.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn open(cpu: u32, tracepoints: &[Tracepoint], filter: &str, data_bytes: usize) -> io::Result<Ring> {
        let mut events: Vec<OwnedFd> = Vec::new();
        for tracepoint in tracepoints {
            let filter = match tracepoint.point.filter() {
                Some(only) => format!("({filter}) && {only}"),
                None => filter.to_owned(),
            };
            let filter = CString::new(filter)?;
            let event = open(cpu, tracepoint.number)?;
            // SAFETY: the kernel reads the text up to its end.
            check(unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) })?;
            events.push(event);
        }
        let first = events.first().ok_or(io::ErrorKind::InvalidInput)?;
        let page = rustix::param::page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mapping = Mapping::shared(first, page + data_bytes, 0, access, MapFlags::empty())?;
        // The data begin after the first page.
        let ring = Ring { events, mapping, data_offset: page, data_bytes };
        for event in &ring.events[1..] {
            // SAFETY: both are descriptors of events; no memory is named.
            check(unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, ring.events[0].as_raw_fd()) })?;
        }
        Ok(ring)
    }

    /// Enables or disables the events.
    pub(super) fn enable(&self, on: bool) {
        let what = if on { ENABLE } else { DISABLE };
        for event in &self.events {
            // SAFETY: no memory is named. It fails for no event that was opened.
            let _ = unsafe { libc::ioctl(event.as_raw_fd(), what, 0) };
        }
    }

    /// Share of the ring that is full.
    pub(super) fn fill(&self) -> f64 {
        let heads = self.heads();
        heads.head.load(Acquire).wrapping_sub(heads.tail.load(Acquire)) as f64 / self.data_bytes as f64
    }

    /// Reads the ring; returns the number of events that found no room in it.
    pub(super) fn take(&self, tracepoints: &[Tracepoint], events: &mut Vec<Event>) -> u64 {
        let heads = self.heads();
        // Acquired: the kernel moves its head after it wrote the records.
        let head = heads.head.load(Acquire);
        let mut tail = heads.tail.load(Acquire);
        let (mut record, mut lost) = (Vec::new(), 0);
        while head.wrapping_sub(tail) >= 8 {
            self.copy(tail, 8, &mut record);
            let (kind, length) = (word32(&record, 0), usize::from(word16(&record, 6)));
            // An impossible length ends the readable part.
            if length < 8 || length as u64 > head.wrapping_sub(tail) {
                tail = head;
                break;
            }
            if kind == SAMPLE && length >= 20 {
                self.copy(tail, length, &mut record);
                let at_ns = u64::from(word32(&record, 8)) | u64::from(word32(&record, 12)) << 32;
                let raw = &record[20..];
                let number = raw.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
                let tracepoint = tracepoints.iter().find(|tracepoint| Some(tracepoint.number) == number);
                events.extend(tracepoint.and_then(|tracepoint| tracepoint.event(at_ns, raw)));
            }
            if kind == LOST {
                self.copy(tail, length, &mut record);
                lost += u64::from(word32(&record, 16)) | u64::from(word32(&record, 20)) << 32;
            }
            tail = tail.wrapping_add(length as u64);
        }
        // Released: the records were read before the kernel may write over them.
        heads.tail.store(tail, Release);
        lost
    }

    /// Copies bytes of the ring, which wraps around.
    fn copy(&self, from: u64, length: usize, into: &mut Vec<u8>) {
        into.clear();
        let start = from as usize % self.data_bytes;
        let first = length.min(self.data_bytes - start);
        for (start, length) in [(start, first), (0, length - first)] {
            // SAFETY: inside the data of the mapping; the kernel does not write between the tail and the head.
            into.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.mapping.base().as_ptr().add(self.data_offset + start), length)
            });
        }
    }

    fn heads(&self) -> &Heads {
        // SAFETY: the first page of the mapping, which begins so and lives as long as `self`.
        unsafe { self.mapping.base().cast::<Heads>().as_ref() }
    }
}

fn open(cpu: u32, number: u16) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: TRACEPOINT,
        config: u64::from(number),
        sample_period: 1,
        sample_type: TIME_AND_RAW,
        flags: DISABLED,
        ..Attributes::default()
    };
    perf::open(attributes, Whose::Cpu(cpu))
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A number of a record; zero past its end.
fn word32(record: &[u8], at: usize) -> u32 {
    record.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

fn word16(record: &[u8], at: usize) -> u16 {
    record.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_ne_bytes(*bytes))
}
