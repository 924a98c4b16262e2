//! fio's logs of requests, versions 2 and 3 (fio(1), "Trace file format").
//!
//! Version 2 has no times but waits between requests, in µs; version 3 a time in µs before each line.

use super::order::Event;
use halfpower_model::stream::{Request, RequestKind};

/// What is known while a log is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iolog {
    has_times: bool,
    now_ns: u64,
}

impl Iolog {
    /// The log of a file by its first line; none for another file.
    pub(super) fn of(first: &str) -> Option<Iolog> {
        let has_times = match first.trim_end() {
            "fio version 2 iolog" => false,
            "fio version 3 iolog" => true,
            _ => return None,
        };
        Some(Iolog { has_times, now_ns: 0 })
    }

    /// The file and the request of a further line; none for lines of other kinds. `Err` for a line that is not valid.
    pub(super) fn read<'l>(&mut self, line: &'l str) -> Result<Option<(&'l str, Event)>, ()> {
        let mut words = line.split_whitespace();
        if self.has_times {
            self.now_ns = words.next().and_then(micros).ok_or(())?;
        }
        let (Some(file), Some(action)) = (words.next(), words.next()) else { return Err(()) };
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let kind = match action {
            "read" => RequestKind::Read,
            "write" => RequestKind::Write,
            "trim" => RequestKind::Trim,
            "sync" | "datasync" => RequestKind::Flush,
            "wait" => {
                let wait_ns = number().and_then(|wait| wait.checked_mul(1000)).ok_or(())?;
                self.now_ns = self.now_ns.saturating_add(wait_ns);
                return Ok(None);
            }
            "add" | "open" | "close" => return Ok(None),
            _ => return Err(()),
        };
        let (offset, length) = match kind {
            RequestKind::Flush => (0, 0),
            _ => (number().ok_or(())?, number().and_then(|length| u32::try_from(length).ok()).ok_or(())?),
        };
        let request = Request { offset, length, kind };
        Ok(Some((file, Event::Issued { at_ns: self.now_ns, request, latency_ns: None })))
    }
}

fn micros(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(lines: &[&str]) -> Vec<(u64, u64, u32)> {
        let mut log = Iolog::of(lines[0]).unwrap();
        let events = lines[1..].iter().filter_map(|line| log.read(line).unwrap());
        let times = events.map(|(_, event)| match event {
            Event::Issued { at_ns, request, .. } => (at_ns, request.offset, request.length),
            _ => unreachable!("a log has none"),
        });
        times.collect()
    }

    #[test]
    fn both_versions_are_read() {
        let second = [
            "fio version 2 iolog",
            "/dev/a add",
            "/dev/a open",
            "/dev/a read 0 4096",
            "/dev/a wait 150",
            "/dev/a write 8192 512",
            "/dev/a sync",
            "/dev/a close",
        ];
        assert_eq!(times(&second), [(0, 0, 4096), (150_000, 8192, 512), (150_000, 0, 0)]);
        let third = ["fio version 3 iolog", "0 a add", "10 a read 0 4096", "35 a trim 4096 8192"];
        assert_eq!(times(&third), [(10_000, 0, 4096), (35_000, 4096, 8192)]);
        assert!(Iolog::of("fio version 1 iolog").is_none());
        assert_eq!(Iolog::of("fio version 2 iolog").unwrap().read("/dev/a read 0"), Err(()));
    }
}
