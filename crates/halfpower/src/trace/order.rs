//! Puts the requests of a source into the order of their times, with what followed from others: latency from completions,
//! and how many were outstanding. Its memory is constant.

use halfpower_model::Nanoseconds;
use halfpower_model::stream::{Request, RequestKind};
use halfpower_model::trace::Entry;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Requests that are held back until their completion.
const PENDING: usize = 1 << 16;
/// Requests among which the order is restored.
const WINDOW: usize = 1 << 12;

/// What a source says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was issued at a time in ns, and took so long if that is known.
    Issued { at_ns: u64, request: Request, latency_ns: Option<u64> },
    /// This part of the device was done at a time in ns.
    Completed { at_ns: u64, request: Request },
    /// The request like it that was issued last was not taken, and will be issued again.
    Refused { at_ns: u64, request: Request },
}

/// A request whose completion is awaited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at_ns: u64,
    request: Request,
    latency_ns: Option<u64>,
    /// Bytes not completed.
    left: u64,
    is_done: bool,
    is_refused: bool,
}

/// Takes events roughly in the order of their times, and gives entries in that order.
#[derive(Debug, Default)]
pub(crate) struct Ordering {
    pending: VecDeque<Pending>,
    /// Number of the first pending one.
    first: u64,
    /// Numbers of pending requests by their first byte.
    open: BTreeMap<(u64, u64), u64>,
    window: VecDeque<Entry>,
    /// Ends of the requests that were given.
    ends: BinaryHeap<Reverse<u64>>,
    began_ns: Option<u64>,
    last: Nanoseconds,
    /// Requests so far out of order that their time was changed.
    pub(crate) moved: u64,
    /// Whether the source has completions.
    has_completions: bool,
    /// The longest request that was pending.
    longest: u64,
}

impl Event {
    /// Its time in ns.
    pub(crate) fn at_ns(&self) -> u64 {
        let (Event::Issued { at_ns, .. } | Event::Completed { at_ns, .. } | Event::Refused { at_ns, .. }) = self;
        *at_ns
    }
}

impl Ordering {
    /// Takes an event; `give` receives the entries that are then certain.
    pub(crate) fn take(&mut self, event: Event, give: &mut impl FnMut(Entry)) {
        match event {
            Event::Issued { at_ns, request, latency_ns } => {
                let is_done = latency_ns.is_some() || request.kind == RequestKind::Flush;
                let number = self.first + self.pending.len() as u64;
                if self.has_completions && !is_done {
                    self.open.insert((request.offset, number), number);
                    self.longest = self.longest.max(request.length.into());
                }
                let left = request.length.into();
                let is_refused = false;
                self.pending.push_back(Pending { at_ns, request, latency_ns, left, is_done, is_refused });
            }
            Event::Refused { request, .. } => {
                let is_it = |one: &&mut Pending| one.request == request && !one.is_done;
                if let Some(last) = self.pending.iter_mut().rev().find(is_it) {
                    (last.is_done, last.is_refused) = (true, true);
                }
            }
            Event::Completed { at_ns, request } => self.complete(at_ns, &request),
        }
        while self.pending.front().is_some_and(|front| front.is_done || !self.has_completions)
            || self.pending.len() > PENDING
        {
            self.release(give);
        }
    }

    /// The source has completions, so that requests wait for theirs.
    pub(crate) fn await_completions(&mut self) {
        self.has_completions = true;
    }

    /// Counts a completed part against the requests in it. One request may be completed in parts, several at once.
    fn complete(&mut self, at_ns: u64, done: &Request) {
        // Of several that are alike, the last: the completion of an earlier one may not have been seen.
        let alike = self.open.range((done.offset, 0)..(done.offset + 1, 0)).rev().map(|(key, number)| (*key, *number));
        for (key, number) in alike {
            let pending = &mut self.pending[(number - self.first) as usize];
            if pending.request == *done && !pending.is_done && pending.left == u64::from(done.length) {
                (pending.is_done, pending.latency_ns) = (true, Some(at_ns.saturating_sub(pending.at_ns)));
                self.open.remove(&key);
                return;
            }
        }
        let end = done.offset + u64::from(done.length);
        let mut overlapping: Vec<(u64, u64)> = Vec::new();
        for (key, number) in self.open.range(..(end, 0)).rev() {
            let pending = &mut self.pending[(number - self.first) as usize];
            let Request { offset, length, kind } = pending.request;
            let its_end = offset + u64::from(length);
            if kind == done.kind && its_end > done.offset {
                pending.left = pending.left.saturating_sub(its_end.min(end) - offset.max(done.offset));
                if pending.left == 0 {
                    (pending.is_done, pending.latency_ns) = (true, Some(at_ns.saturating_sub(pending.at_ns)));
                    overlapping.push(*key);
                }
            }
            // Those before it cannot reach that far.
            if offset + self.longest < done.offset {
                break;
            }
        }
        for key in &overlapping {
            self.open.remove(key);
        }
    }

    /// Lets the first pending request go on into the window.
    fn release(&mut self, give: &mut impl FnMut(Entry)) {
        let Some(pending) = self.pending.pop_front() else { return };
        self.open.remove(&(pending.request.offset, self.first));
        self.first += 1;
        if pending.is_refused {
            return;
        }
        let entry = Entry {
            at: Nanoseconds(pending.at_ns),
            request: pending.request,
            latency: pending.latency_ns.map(Nanoseconds),
            outstanding: 0,
        };
        let place = self.window.iter().rposition(|earlier| earlier.at <= entry.at).map_or(0, |place| place + 1);
        self.window.insert(place, entry);
        if self.window.len() > WINDOW {
            self.give_first(give);
        }
    }

    fn give_first(&mut self, give: &mut impl FnMut(Entry)) {
        let Some(mut entry) = self.window.pop_front() else { return };
        let began_ns = *self.began_ns.get_or_insert(entry.at.0);
        let at = Nanoseconds(entry.at.0.saturating_sub(began_ns));
        self.moved += u64::from(at < self.last || entry.at.0 < began_ns);
        entry.at = at.max(self.last);
        self.last = entry.at;
        if let Some(latency) = entry.latency {
            while self.ends.peek().is_some_and(|end| end.0 <= entry.at.0) {
                self.ends.pop();
            }
            self.ends.push(Reverse(entry.at.0 + latency.0.max(1)));
            entry.outstanding = u16::try_from(self.ends.len()).unwrap_or(u16::MAX);
        }
        give(entry);
    }

    /// The source has ended.
    pub(crate) fn finish(&mut self, give: &mut impl FnMut(Entry)) {
        while !self.pending.is_empty() {
            self.release(give);
        }
        while !self.window.is_empty() {
            self.give_first(give);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ns: u64, offset: u64, length: u32) -> Event {
        Event::Issued { at_ns, request: Request { offset, length, kind: RequestKind::Read }, latency_ns: None }
    }

    fn done(at_ns: u64, offset: u64, length: u32) -> Event {
        Event::Completed { at_ns, request: Request { offset, length, kind: RequestKind::Read } }
    }

    fn entries(has_completions: bool, events: &[Event]) -> Vec<(u64, u64, Option<u64>, u16)> {
        let mut ordering = Ordering { has_completions, ..Ordering::default() };
        let mut entries = Vec::new();
        let mut give = |entry: Entry| {
            entries.push((entry.at.0, entry.request.offset, entry.latency.map(|latency| latency.0), entry.outstanding));
        };
        events.iter().for_each(|event| ordering.take(*event, &mut give));
        ordering.finish(&mut give);
        entries
    }

    #[test]
    fn completions_give_latency_and_depth() {
        let events = [
            at(100, 0, 8192),
            at(110, 65536, 4096),
            done(150, 65536, 4096),
            at(160, 8192, 4096),
            // Both that are next to each other, as one.
            done(200, 0, 12288),
        ];
        let expected = [(0, 0, Some(100), 1), (10, 65536, Some(40), 2), (60, 8192, Some(40), 2)];
        assert_eq!(entries(true, &events), expected);
    }

    #[test]
    fn a_completion_that_was_not_seen_leaves_the_latency_unknown() {
        let events = [at(0, 0, 4096), at(9, 8192, 4096), done(20, 8192, 4096), at(1000, 0, 4096), done(1100, 0, 4096)];
        let expected = [(0, 0, None, 0), (9, 8192, Some(11), 1), (1000, 0, Some(100), 1)];
        assert_eq!(entries(true, &events), expected);
        let twice = [at(0, 0, 4096), at(10, 0, 4096), done(100, 0, 4096), done(120, 0, 4096)];
        assert_eq!(entries(true, &twice), [(0, 0, Some(120), 1), (10, 0, Some(90), 2)]);
    }

    #[test]
    fn a_request_may_be_done_in_parts() {
        let events = [at(0, 0, 8192), done(50, 4096, 4096), done(70, 0, 4096), at(80, 0, 4096)];
        assert_eq!(entries(true, &events), [(0, 0, Some(70), 1), (80, 0, None, 0)]);
    }

    #[test]
    fn what_was_refused_is_issued_once() {
        let request = Request { offset: 4096, length: 4096, kind: RequestKind::Read };
        let refused = Event::Refused { at_ns: 12, request };
        let events =
            [at(0, 0, 4096), at(10, 4096, 4096), refused, at(30, 4096, 4096), done(40, 4096, 4096), done(50, 0, 4096)];
        assert_eq!(entries(true, &events), [(0, 0, Some(50), 1), (30, 4096, Some(10), 2)]);
    }

    #[test]
    fn the_order_is_that_of_the_times() {
        let events = [at(300, 3, 1), at(100, 1, 1), at(200, 2, 1)];
        assert_eq!(entries(false, &events), [(0, 1, None, 0), (100, 2, None, 0), (200, 3, None, 0)]);
    }

    #[test]
    fn what_is_far_out_of_order_keeps_its_place() {
        let mut events: Vec<Event> = (0..10_000).map(|number| at(1_000_000 + number, number, 1)).collect();
        events.push(at(1, 7, 1));
        let entries = entries(false, &events);
        assert_eq!(entries.len(), 10_001);
        assert!(entries.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
