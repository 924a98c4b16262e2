//! Records the requests of a device, as programs issue them, and their completion.

use super::follow::{Event, Point};
use super::ring::Ring;
use super::tracepoint::Tracepoint;
use halfpower_model::stream::{Request, RequestKind};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes of a ring: about 50 000 events.
const RING_BYTES: usize = 4 << 20;
const SECTOR: u64 = 512;

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPoint {
    /// It was issued.
    Issued,
    /// This part of the device was done.
    Completed,
    /// It would have had to wait and was not taken; who issued it issues it again.
    Refused,
}

/// A request that was issued, or a part of the device that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// On a clock of the kernel's.
    pub at_ns: u64,
    /// Where, on the device.
    pub request: Request,
    /// What happened.
    pub point: BlockPoint,
}

/// Records until it is dropped.
#[derive(Debug)]
pub struct RequestRecorder {
    tracepoints: Vec<Tracepoint>,
    rings: Vec<Ring>,
    /// Events that an older one could still precede.
    held: Vec<Event>,
    /// Time of the newest event at the last reading.
    newest_ns: u64,
    /// Its bytes on the disk, which has others if it is a partition.
    bytes: Range<u64>,
}

impl RequestRecorder {
    /// Begins to record a device, or that of a file's file system.
    ///
    /// # Errors
    /// Why it cannot, with the remedy.
    pub fn start(path: &Path) -> Result<RequestRecorder, String> {
        let (disk, bytes) = disk_of(path)?;
        let (tracepoints, rings) = super::open(&[disk], &Point::OF_REQUESTS, RING_BYTES)?;
        rings.iter().for_each(|ring| ring.enable(true));
        Ok(RequestRecorder { tracepoints, rings, held: Vec::new(), newest_ns: 0, bytes })
    }

    /// Adds the events so far, in the order of their times; the last ones wait for the next call. To be called often enough
    /// that no ring overflows. Returns the number of events that were lost.
    pub fn read(&mut self, into: &mut Vec<BlockEvent>) -> u64 {
        let lost = self.rings.iter().map(|ring| ring.take(&self.tracepoints, &mut self.held)).sum();
        self.held.sort_by_key(|event| event.at_ns);
        // What a CPU recorded while the others were read may be older than what they gave.
        let certain = self.held.partition_point(|event| event.at_ns <= self.newest_ns);
        self.newest_ns = self.held.last().map_or(self.newest_ns, |event| event.at_ns);
        into.extend(self.held.drain(..certain).filter_map(|event| of(&event, &self.bytes)));
        lost
    }

    /// Ends the recording and adds the rest.
    pub fn finish(mut self, into: &mut Vec<BlockEvent>) -> u64 {
        self.rings.iter().for_each(|ring| ring.enable(false));
        let lost = self.read(into);
        self.newest_ns = u64::MAX;
        lost + self.read(into)
    }
}

/// The numbers of a device's disk, and its bytes on it.
fn disk_of(path: &Path) -> Result<((u32, u32), Range<u64>), String> {
    let shown = path.display();
    let facts = fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
        .map_err(|_| format!("{shown} is on no block device of its own; name the device, like /dev/sda"))?;
    let text =
        |path: PathBuf| fs::read_to_string(&path).map_err(|error| format!("cannot read {} ({error})", path.display()));
    let sectors = |name: &str| -> Result<u64, String> {
        text(folder.join(name))?.trim().parse().map_err(|_| format!("{} has no number", folder.join(name).display()))
    };
    if !folder.join("partition").exists() {
        return Ok(((major, minor), 0..u64::MAX));
    }
    let from = sectors("start")? * SECTOR;
    let disk = text(folder.join("../dev"))?;
    let numbers =
        disk.trim().split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    Ok((numbers.ok_or_else(|| format!("the disk of {shown} has no number"))?, from..from + sectors("size")? * SECTOR))
}

/// The event of a request to these bytes of the disk; none for kinds that are no requests.
fn of(event: &Event, bytes: &Range<u64>) -> Option<BlockEvent> {
    // An empty write with a flush before it, FWS, is a flush.
    let is_flush = event.sectors == 0 && event.letters[0] == b'F';
    let kind = RequestKind::of_letters(&event.letters).filter(|_| event.sectors > 0);
    let kind = if is_flush { RequestKind::Flush } else { kind? };
    let length = u32::try_from(u64::from(event.sectors) * SECTOR).ok()?;
    let place = event.sector.checked_mul(SECTOR).filter(|place| bytes.contains(place));
    let offset = if is_flush { 0 } else { place? - bytes.start };
    let point = match event.point {
        // A flush is done with requests of the driver's own.
        Point::Completed if is_flush => return None,
        Point::Completed => BlockPoint::Completed,
        Point::Refused => BlockPoint::Refused,
        _ => BlockPoint::Issued,
    };
    Some(BlockEvent { at_ns: event.at_ns, request: Request { offset, length, kind }, point })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_letters() {
        let event = |letters: &[u8; 4], sectors| {
            let event = Event { at_ns: 1, point: Point::Queued, device: 0, sector: 16, sectors, letters: *letters };
            of(&event, &(4096..1 << 20)).map(|event| (event.request.kind, event.request.offset, event.request.length))
        };
        assert_eq!(event(b"RA\0\0", 8), Some((RequestKind::Read, 4096, 4096)));
        assert_eq!(event(b"FWFS", 8), Some((RequestKind::Write, 4096, 4096)));
        assert_eq!(event(b"DS\0\0", 64), Some((RequestKind::Trim, 4096, 32768)));
        assert_eq!(event(b"FF\0\0", 0), Some((RequestKind::Flush, 0, 0)));
        assert_eq!(event(b"FWS\0", 0), Some((RequestKind::Flush, 0, 0)));
        assert_eq!(event(b"N\0\0\0", 0), None);
    }
}
