//! The requests of a trace as a stream: those of one worker in order, moved into its target.
//!
//! After the last entry it begins again, since a stream is endless; a limit of requests ends a replay.

use super::Request;
use crate::workload::trace::{Entry, Speed, Trace};
use crate::workload::{RequestKind, Workload};

/// The size of blocks that stay aligned when a trace is moved into a smaller target.
const BLOCK: u64 = 4096;
/// Entries read at a time.
const CHUNK: usize = 512;

/// A place in a trace: the next request of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    trace: Trace,
    chunk: Vec<Entry>,
    /// Number of the chunk's first entry, and of the next of this worker.
    first: u64,
    next: u64,
    workers: u64,
    /// Where requests go: this many bytes, at multiples of the step.
    span: u64,
    step: u64,
    /// Offsets beyond the target are taken modulo this: its size in whole blocks, so that requests of one offset stay together.
    around: u64,
    /// Size of the buffers, which the file may not exceed even if it changes meanwhile.
    largest: u64,
    laps: u64,
}

impl Cursor {
    /// The cursor of worker `worker`, who takes every n-th entry of n workers; none without entries.
    ///
    /// # Panics
    /// If the entries cannot be read.
    pub(crate) fn new(workload: &Workload, worker: u32) -> Option<Cursor> {
        let trace = workload.trace.clone().filter(|trace| trace.entries.is_some() && trace.contents.total() > 0)?;
        let (span, step) = (workload.span.0, workload.align.map_or(1, |align| align.0.max(1)));
        let unit = if BLOCK.is_multiple_of(step) && span >= BLOCK { BLOCK } else { step };
        let mut cursor = Cursor {
            next: u64::from(worker) % trace.contents.total(),
            trace,
            chunk: Vec::new(),
            first: 0,
            workers: workload.workers.into(),
            span,
            step,
            around: span - span % unit,
            largest: workload.request_size.0,
            laps: 0,
        };
        cursor.load();
        Some(cursor)
    }

    /// The next entry, as it is in the trace.
    #[inline]
    pub(crate) fn entry(&self) -> &Entry {
        &self.chunk[(self.next - self.first) as usize]
    }

    /// The next request, inside the target.
    #[inline]
    pub(crate) fn request(&self) -> Request {
        let Request { offset, length, kind } = self.entry().request;
        if kind == RequestKind::Flush {
            return Request { offset: 0, length: 0, kind };
        }
        let most = self.largest.min(self.span - self.span % self.step);
        let length = u64::from(length).next_multiple_of(self.step).min(most);
        let offset = offset - offset % self.step;
        let last = (self.span - length) / self.step * self.step;
        // Beyond the target: from its start again.
        let offset = if offset <= last { offset } else { (offset % self.around).min(last) };
        Request { offset, length: length as u32, kind }
    }

    /// This worker's share of the requests that were outstanding with the next one; without a limit if unknown.
    #[inline]
    pub(crate) fn outstanding_max(&self) -> u64 {
        match self.entry().outstanding {
            0 => u64::MAX,
            outstanding => u64::from(outstanding).div_ceil(self.workers),
        }
    }

    /// When it arrives, in nanoseconds from the start.
    #[inline]
    pub(crate) fn at_ns(&self) -> f64 {
        let times = if let Speed::Times(times) = self.trace.speed { times.value() } else { 1.0 };
        let lap = self.laps as f64 * self.trace.contents.duration.0 as f64;
        (self.entry().at.0 as f64 + lap) / times
    }

    /// Goes to the worker's next entry.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.next += self.workers;
        if self.next - self.first >= self.chunk.len() as u64 {
            let total = self.trace.contents.total();
            self.laps += self.next / total;
            self.next %= total;
            self.load();
        }
    }

    /// Reads the chunk of the next entry.
    #[cold]
    fn load(&mut self) {
        let left = self.trace.contents.total() - self.next;
        self.first = self.next;
        self.chunk.resize(CHUNK.min(usize::try_from(left).unwrap_or(CHUNK)), Entry::default());
        let read = self.trace.entries.as_ref().map(|entries| entries.read(self.first, &mut self.chunk));
        if let Some(Err(error)) = read {
            panic!("the trace {} cannot be read: {error}", self.trace.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::ArrivalStream;
    use crate::stream::RequestStream;
    use crate::units::{Bytes, Nanoseconds};
    use crate::workload::tests_support::workload;
    use crate::workload::trace::{Contents, Entries};
    use crate::workload::{Arrivals, Rate};
    use std::io;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Listed(Vec<Entry>);

    impl Entries for Listed {
        fn read(&self, first: u64, into: &mut [Entry]) -> io::Result<()> {
            into.copy_from_slice(&self.0[first as usize..][..into.len()]);
            Ok(())
        }
    }

    /// Reads of 4 KiB each millisecond, each 8 KiB after the one before, every third a write.
    fn trace(count: u64, speed: &str) -> Trace {
        let entry = |number: u64| {
            let kind = if number % 3 == 2 { RequestKind::Write } else { RequestKind::Read };
            let request = Request { offset: number * 8192, length: 4096, kind };
            Entry { at: Nanoseconds(number * 1_000_000), request, latency: None, outstanding: 1 }
        };
        let entries: Vec<Entry> = (0..count).map(entry).collect();
        let mut contents = Contents::default();
        entries.iter().for_each(|entry| contents.add(entry));
        let entries = Some(Arc::new(Listed(entries)) as Arc<dyn Entries>);
        Trace { name: "t".into(), digest: "d".into(), contents, speed: speed.parse().unwrap(), entries }
    }

    fn replay(count: u64, speed: &str) -> Workload {
        let align = Some(Bytes(4096));
        Workload { trace: Some(trace(count, speed)), align, arrivals: Arrivals::Recorded, ..workload() }
    }

    #[test]
    fn the_contents_are_those_of_the_entries() {
        let contents = trace(1000, "1").contents;
        assert_eq!((contents.requests, contents.bytes), ([667, 333, 0, 0], [667 * 4096, 333 * 4096, 0, 0]));
        assert_eq!(
            (contents.largest, contents.grain, contents.end),
            (Bytes(4096), Bytes(4096), Bytes(999 * 8192 + 4096))
        );
        assert_eq!(contents.duration, Nanoseconds(999_000_000));
    }

    #[test]
    fn a_stream_is_the_trace_and_begins_again_after_it() {
        let replay = Workload { span: Bytes(16 << 20), rate: Some(Rate::Requests(1000)), ..replay(1000, "2") };
        let mut requests = vec![Request::default(); 1001];
        RequestStream::new(&replay, 0, None).fill(&mut requests);
        assert_eq!(requests[999], Request { offset: 999 * 8192, length: 4096, kind: RequestKind::Read });
        assert_eq!(requests[1000], Request { offset: 0, length: 4096, kind: RequestKind::Read });
        let mut arrivals = ArrivalStream::new(&replay, 0).unwrap();
        for number in 0..1002 {
            // The second lap begins where the first ended.
            let at_ms = if number < 1000 { number } else { number - 1 };
            assert_eq!(arrivals.next_ns(), at_ms * 500_000, "{number}");
            arrivals.advance(4096);
        }
    }

    #[test]
    fn workers_take_turns() {
        let replay = Workload { workers: 2, span: Bytes(16 << 20), ..replay(1000, "1") };
        let mut requests = [[Request::default(); 500]; 2];
        for (worker, requests) in (0..).zip(&mut requests) {
            RequestStream::new(&replay, worker, None).fill(requests);
        }
        let places: Vec<u64> = requests[1].iter().map(|request| request.offset / 8192).collect();
        assert_eq!(places, (0..500).map(|number| 2 * number + 1).collect::<Vec<_>>());
    }

    #[test]
    fn requests_beyond_the_target_begin_at_its_start_again() {
        // 25 places of 4 KiB.
        let replay = Workload { span: Bytes(100 << 10), ..replay(1000, "1") };
        let mut requests = vec![Request::default(); 1000];
        RequestStream::new(&replay, 0, None).fill(&mut requests);
        assert!(requests.iter().all(|request| request.offset + 4096 <= 100 << 10));
        let places: Vec<u64> = requests[..30].iter().map(|request| request.offset / 4096).collect();
        assert_eq!(places, (0..30).map(|number| 2 * number % 25).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_at_one_place_stays_there() {
        let mut replay = Workload { span: Bytes(1 << 20), align: Some(Bytes(512)), ..replay(1, "1") };
        replay.request_size = Bytes(64 << 10);
        let at = |offset: u64, length: u32| {
            let request = Request { offset, length, kind: RequestKind::Read };
            let mut replay = replay.clone();
            replay.trace.as_mut().unwrap().entries =
                Some(Arc::new(Listed(vec![Entry { request, ..Entry::default() }])));
            Cursor::new(&replay, 0).unwrap().request().offset
        };
        for place in [5 << 20, (7 << 20) + 8192, 3 << 20] {
            assert_eq!((at(place, 65536), at(place, 4096)), (place % (1 << 20), place % (1 << 20)));
        }
        assert_eq!(at((2 << 20) - 4096, 65536), (1 << 20) - 65536, "before the end");
    }

    #[test]
    fn offsets_and_sizes_are_rounded_to_the_step() {
        let mut replay = replay(1, "1");
        let request = Request { offset: 5000, length: 700, kind: RequestKind::Write };
        let entries = vec![Entry { request, ..Entry::default() }];
        replay.trace.as_mut().unwrap().entries = Some(Arc::new(Listed(entries)));
        let rounded = Cursor::new(&replay, 0).unwrap().request();
        assert_eq!(rounded, Request { offset: 4096, length: 4096, kind: RequestKind::Write });
    }

    #[test]
    fn speeds_have_bounds() {
        for text in ["1", "0.5", "1000", "max"] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
        }
        for text in ["0", "-1", "1001", "", "fast"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }
}
