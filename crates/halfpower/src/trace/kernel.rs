//! Traces of the kernel's block layer: what blkparse prints, and blktrace's own records.
//!
//! A request is taken where it enters the block layer (Q), else where it goes to the driver (D), so that it is as the program
//! issued it. Sources: blkparse(1), and include/uapi/linux/blktrace_api.h.

use super::order::Event;
use halfpower_model::stream::{Request, RequestKind};
use std::io::{self, BufRead, Read};

const SECTOR: u64 = 512;
const FLUSH: Request = Request { offset: 0, length: 0, kind: RequestKind::Flush };

/// Which events are requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Issue {
    /// Q: it entered the block layer.
    Queued,
    /// D: it went to the driver.
    Driver,
}

impl Issue {
    /// The events that a text has: those of the queue if there are any.
    pub(super) fn of(text: &str) -> Issue {
        let is_queued = |line: &str| line.split_whitespace().nth(5) == Some("Q");
        if text.lines().any(is_queued) { Issue::Queued } else { Issue::Driver }
    }
}

/// The device and the event of a line of blkparse; none for other events. `Err` for a line that is none of blkparse's.
pub(super) fn parsed(line: &str, issue: Issue) -> Result<Option<(&str, Event)>, ()> {
    let mut words = line.split_whitespace();
    let mut next = || words.next();
    let (Some(device), Some(_), Some(_), Some(time), Some(_), Some(action), Some(letters)) =
        (next(), next(), next(), next(), next(), next(), next())
    else {
        return Err(());
    };
    let is_numbers = device.split_once(',').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if !is_numbers {
        return Err(());
    }
    let is_issue = matches!((action, issue), ("Q", Issue::Queued) | ("D", Issue::Driver));
    let (Some(kind), true) = (RequestKind::of_letters(letters.as_bytes()), is_issue || action == "C") else {
        return Ok(None);
    };
    let at_ns = super::columns::decimal(time.as_bytes(), 1_000_000_000).ok_or(())?;
    let Some(sector) = next() else { return Ok(None) };
    // A flush has no place; the name of the process follows.
    if is_issue && letters.starts_with('F') && sector.starts_with('[') {
        return Ok(Some((device, Event::Issued { at_ns, request: FLUSH, latency_ns: None })));
    }
    let (sector, plus, count) = (sector.parse::<u64>(), next(), next().map(str::parse::<u64>));
    let (Ok(sector), Some("+"), Some(Ok(count))) = (sector, plus, count) else { return Ok(None) };
    let length = count.checked_mul(SECTOR).and_then(|bytes| u32::try_from(bytes).ok()).ok_or(())?;
    let offset = sector.checked_mul(SECTOR).ok_or(())?;
    let request = Request { offset, length, kind: if length == 0 { RequestKind::Flush } else { kind } };
    let event = match is_issue {
        true => Event::Issued { at_ns, request, latency_ns: None },
        false => Event::Completed { at_ns, request },
    };
    Ok(Some((device, event)))
}

/// The first bytes of a record of blktrace, without the version.
const MAGIC: u32 = 0x6561_7400;
/// Bytes of a record before its own data.
const RECORD: usize = 48;

/// Whether a file begins as blktrace's do.
pub(super) fn is_binary(begin: &[u8]) -> bool {
    begin.first_chunk().is_some_and(|magic| u32::from_ne_bytes(*magic) & !0xff == MAGIC)
}

/// The device and the event of every record of a request.
#[derive(Debug)]
pub(super) struct Records<R> {
    source: R,
    /// Records read so far.
    number: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(source: R) -> Self {
        Records { source, number: 0 }
    }

    /// The next record; none for one of another event, and `Ok(None)` outside at the end.
    fn record(&mut self) -> io::Result<Option<Option<(u32, Event)>>> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        let fault = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("record {number} {what}"));
        let mut record = [0; RECORD];
        self.source.read_exact(&mut record).map_err(|_| fault("is cut short"))?;
        let short = |from: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|index| record[from + index]));
        let long = |from: usize| u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|index| record[from + index]));
        if short(0) & !0xff != MAGIC {
            return Err(fault("is none of blktrace's"));
        }
        let (at_ns, sector, length, action, device) = (long(8), long(16), short(24), short(28), short(36));
        let data = u64::from(u16::from_ne_bytes([record[46], record[47]]));
        io::copy(&mut self.source.by_ref().take(data), &mut io::sink())?;
        // In the upper half: read, write, flush, …, notify (10), discard (13).
        let has = |bit: u32| action >> 16 & 1 << bit != 0;
        let kind = match (has(13), has(1), has(0)) {
            (true, ..) => RequestKind::Trim,
            (_, true, _) => RequestKind::Write,
            (.., true) => RequestKind::Read,
            _ if has(2) => RequestKind::Flush,
            _ => return Ok(Some(None)),
        };
        let request = Request { offset: sector.saturating_mul(SECTOR), length, kind };
        let event = match action & 0xffff {
            1 if has(2) && length == 0 => Some(Event::Issued { at_ns, request: FLUSH, latency_ns: None }),
            _ if has(10) || length == 0 => None,
            1 => Some(Event::Issued { at_ns, request, latency_ns: None }),
            8 => Some(Event::Completed { at_ns, request }),
            _ => None,
        };
        Ok(Some(event.map(|event| (device, event))))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = io::Result<(u32, Event)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.record() {
                Ok(Some(None)) => {}
                Ok(Some(Some(event))) => return Some(Ok(event)),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_blkparse_are_read() {
        let line = "  8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]";
        let request = Request { offset: 223490 * 512, length: 4096, kind: RequestKind::Write };
        let expected = Event::Issued { at_ns: 9_507_758, request, latency_ns: None };
        assert_eq!(parsed(line, Issue::Queued), Ok(Some(("8,0", expected))));
        assert_eq!(parsed(line, Issue::Driver), Ok(None));
        let flush = Event::Issued { at_ns: 9_507_758, request: FLUSH, latency_ns: None };
        let without_data = line.replace("  W 223490 + 8", "FWS");
        assert_eq!(parsed(&without_data, Issue::Queued), Ok(Some(("8,0", flush))));
        let done = "8,0 1 12 0.0101 0 C WS 223490 + 8 [0]";
        assert_eq!(parsed(done, Issue::Queued), Ok(Some(("8,0", Event::Completed { at_ns: 10_100_000, request }))));
        assert_eq!(parsed("8,0 1 12 0.0101 0 m N cfq workload slice:300", Issue::Queued), Ok(None));
        assert_eq!(parsed("CPU0 (8,0):", Issue::Queued), Err(()));
        assert_eq!(parsed("8,0 1 12 0.0101 0 C WS 0 + 18446744073709551615 [0]", Issue::Queued), Err(()));
        assert_eq!(parsed(" Reads Queued:  0, 0KiB Writes Queued: 1", Issue::Queued), Err(()));
    }

    #[test]
    fn kinds_are_by_letter() {
        let kinds =
            ["R", "RA", "WS", "FWFS", "DS", "FN", "N"].map(|letters| RequestKind::of_letters(letters.as_bytes()));
        use RequestKind::{Flush, Read, Trim, Write};
        assert_eq!(kinds, [Some(Read), Some(Read), Some(Write), Some(Write), Some(Trim), Some(Flush), None]);
    }

    #[test]
    fn records_of_blktrace_are_read() {
        let record = |at: u64, action: u32, length: u32| {
            let mut record = Vec::new();
            record.extend((MAGIC | 7).to_ne_bytes());
            record.extend(1_u32.to_ne_bytes());
            record.extend(at.to_ne_bytes());
            record.extend(2048_u64.to_ne_bytes());
            for word in [length, action, 55, 8 << 20, 0] {
                record.extend(word.to_ne_bytes());
            }
            record.extend(0_u16.to_ne_bytes());
            record.extend(2_u16.to_ne_bytes());
            record.extend([1, 2]);
            record
        };
        let file = [(5, 1 << 16 | 1, 4096), (6, 1 << 18 | 1, 0), (7, 1 << 26 | 1, 4096), (9, 1 << 16 | 8, 4096)];
        let file = file.map(|(at, action, length)| record(at, action, length)).concat();
        assert!(is_binary(&file));
        let events: Vec<_> = Records::new(file.as_slice()).map(Result::unwrap).collect();
        let request = Request { offset: 1 << 20, length: 4096, kind: RequestKind::Read };
        let issued = Event::Issued { at_ns: 5, request, latency_ns: None };
        let flush = Event::Issued { at_ns: 6, request: FLUSH, latency_ns: None };
        assert_eq!(events, [(8 << 20, issued), (8 << 20, flush), (8 << 20, Event::Completed { at_ns: 9, request })]);
        let cut = Records::new(&file[..40]).next().unwrap();
        assert!(cut.unwrap_err().to_string().contains("record 1 is cut short"));
    }
}
