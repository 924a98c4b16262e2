//! Several targets as one volume: transfers to it become transfers of another personality to its targets. Stripes cut
//! them at chunks; mirrors write to all and read from one.

use super::interface::{Completion, Granted, Personality, Setup, Transfer};
use halfpower_model::Layout;
use halfpower_model::stream::RequestKind;
use halfpower_model::workload::MirrorReads;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// The volume of one worker.
pub(crate) struct Spread<P> {
    inner: P,
    layout: Layout,
    targets: u16,
    /// Parts for the other personality, by their tag there.
    parts: Vec<Part>,
    free: Vec<u32>,
    /// The volume's transfers, by their tag.
    whole: Vec<Whole>,
    /// Waiting parts, if the other personality takes one at a time.
    waiting: Option<VecDeque<u32>>,
    /// Completed transfers that are not yet reaped.
    finished: VecDeque<Completion>,
    inner_done: Vec<Completion>,
    /// Of each target: parts outstanding, and where the last of them ended.
    queued: Vec<u32>,
    ended_at: Vec<u64>,
    next_side: u16,
}

/// A part of a transfer, on one target.
#[derive(Clone, Copy)]
struct Part {
    whole: u32,
    transfer: Transfer,
}

/// The state of a transfer of the volume.
#[derive(Clone, Copy, Default)]
struct Whole {
    length: u32,
    parts: u32,
    /// The first failure of a part: an error, or 0 for the end of a target.
    failure: Option<i32>,
}

impl<P: Personality> Personality for Spread<P> {
    const MOVES_DATA: bool = P::MOVES_DATA;

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.targets.len().max(1);
        let most_parts = match setup.workload.layout {
            Layout::Stripe { chunk } => setup.workload.request_size.0.div_ceil(chunk.0) + 1,
            _ => targets as u64,
        };
        let too_many = || io::Error::other("the chunk is too small for requests of this size; use a larger --chunk");
        let outstanding = u64::from(setup.outstanding) * most_parts.max(targets as u64);
        let outstanding = u32::try_from(outstanding).ok().filter(|number| *number <= 1 << 20).ok_or_else(too_many)?;
        let (layout, is_deep) = (setup.workload.layout, setup.workload.personality.is_deep());
        let volume_depth = setup.outstanding;
        let none = Transfer {
            tag: 0,
            length: 0,
            offset: 0,
            address: std::ptr::null_mut(),
            target: 0,
            kind: RequestKind::Read,
        };
        let (inner, granted) = P::open(Setup { outstanding, ..setup })?;
        let spread = Spread {
            inner,
            layout,
            targets: targets as u16,
            parts: vec![Part { whole: 0, transfer: none }; outstanding as usize],
            free: (0..outstanding).rev().collect(),
            whole: vec![Whole::default(); volume_depth as usize],
            waiting: (!is_deep).then(VecDeque::new),
            finished: VecDeque::with_capacity(volume_depth as usize),
            inner_done: Vec::with_capacity(outstanding as usize),
            queued: vec![0; targets],
            ended_at: vec![0; targets],
            next_side: 0,
        };
        Ok((spread, granted))
    }

    unsafe fn submit(&mut self, transfer: Transfer) {
        self.whole[transfer.tag as usize] = Whole { length: transfer.length, parts: 0, failure: None };
        match self.layout {
            Layout::Stripe { chunk } if transfer.length > 0 => self.stripe(&transfer, chunk.0),
            Layout::Mirror { reads } if transfer.kind == RequestKind::Read => {
                let target = self.side(reads, transfer.offset);
                self.add(transfer.tag, Transfer { target, ..transfer });
            }
            _ => (0..self.targets).for_each(|target| self.add(transfer.tag, Transfer { target, ..transfer })),
        }
    }

    fn start(&mut self) {
        self.inner.start();
    }

    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        while self.finished.len() < at_least as usize {
            self.feed();
            self.inner.reap(&mut self.inner_done, 1)?;
            self.take_in();
        }
        done.extend(self.finished.drain(..));
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        self.feed();
        self.inner.poll(&mut self.inner_done, at_most)?;
        self.take_in();
        done.extend(self.finished.drain(..));
        Ok(())
    }

    fn cause(&mut self) -> Option<String> {
        self.inner.cause()
    }

    fn would_block(&self) -> Option<u64> {
        self.inner.would_block()
    }
}

impl<P: Personality> Spread<P> {
    /// Cuts a transfer at the chunks.
    fn stripe(&mut self, transfer: &Transfer, chunk: u64) {
        let mut from = 0;
        while from < transfer.length {
            let at = transfer.offset + u64::from(from);
            let (number, within) = (at / chunk, at % chunk);
            let length = (transfer.length - from).min((chunk - within).min(u64::from(u32::MAX)) as u32);
            let target = (number % u64::from(self.targets)) as u16;
            let offset = number / u64::from(self.targets) * chunk + within;
            let address = transfer.address.wrapping_add(if P::MOVES_DATA { from as usize } else { 0 });
            self.add(transfer.tag, Transfer { length, offset, address, target, ..*transfer });
            from += length;
        }
    }

    /// The side of a mirror that a read goes to.
    fn side(&mut self, reads: MirrorReads, offset: u64) -> u16 {
        let sides = 0..self.targets;
        let next = self.next_side;
        // Among equal sides, the next of the round-robin.
        let turn = |side: &u16| (side + self.targets - next) % self.targets;
        let side = match reads {
            MirrorReads::RoundRobin => None,
            MirrorReads::ShortestQueue => sides.min_by_key(|side| (self.queued[usize::from(*side)], turn(side))),
            MirrorReads::Nearest => {
                sides.min_by_key(|side| (self.ended_at[usize::from(*side)].abs_diff(offset), turn(side)))
            }
        };
        self.next_side = (next + 1) % self.targets;
        side.unwrap_or(next)
    }

    /// Adds a part to the transfer `whole`.
    fn add(&mut self, whole: u32, transfer: Transfer) {
        let Some(tag) = self.free.pop() else { unreachable!("there is a tag for every part") };
        self.whole[whole as usize].parts += 1;
        self.queued[usize::from(transfer.target)] += 1;
        self.parts[tag as usize] = Part { whole, transfer: Transfer { tag, ..transfer } };
        self.hand_over(tag);
    }

    fn hand_over(&mut self, tag: u32) {
        match &mut self.waiting {
            Some(waiting) => waiting.push_back(tag),
            // SAFETY: a part of a transfer whose bytes the caller keeps until its completion.
            None => unsafe { self.inner.submit(self.parts[tag as usize].transfer) },
        }
    }

    /// Submits the next part, if the other personality takes one at a time.
    fn feed(&mut self) {
        if let Some(tag) = self.waiting.as_mut().and_then(VecDeque::pop_front) {
            // SAFETY: as above.
            unsafe { self.inner.submit(self.parts[tag as usize].transfer) };
        }
    }

    /// Takes completed parts, continues short ones, and completes transfers without outstanding parts.
    fn take_in(&mut self) {
        let mut done = std::mem::take(&mut self.inner_done);
        for completion in &done {
            let Part { whole: tag, transfer } = self.parts[completion.tag as usize];
            let moves_bytes = matches!(transfer.kind, RequestKind::Read | RequestKind::Write);
            let moved = u32::try_from(completion.result).unwrap_or(0);
            if moves_bytes && moved > 0 && moved < transfer.length {
                self.parts[completion.tag as usize].transfer = Transfer {
                    length: transfer.length - moved,
                    offset: transfer.offset + u64::from(moved),
                    address: transfer.address.wrapping_add(if P::MOVES_DATA { moved as usize } else { 0 }),
                    ..transfer
                };
                self.hand_over(completion.tag);
                continue;
            }
            let target = usize::from(transfer.target);
            self.queued[target] -= 1;
            self.ended_at[target] = transfer.offset + u64::from(transfer.length);
            self.free.push(completion.tag);
            let whole = &mut self.whole[tag as usize];
            if completion.result < 0 || (moves_bytes && moved == 0) {
                whole.failure.get_or_insert(completion.result);
            }
            whole.parts -= 1;
            if whole.parts == 0 {
                self.finished.push_back(Completion { tag, result: whole.failure.unwrap_or(whole.length as i32) });
            }
        }
        done.clear();
        self.inner_done = done;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use halfpower_model::{Bytes, Personality as Name, Workload};

    /// Keeps its transfers until they are reaped, and moves at most this many bytes of each.
    struct Kept(Vec<Transfer>, i32);

    impl Personality for Kept {
        fn open(_: Setup<'_>) -> io::Result<(Self, Granted)> {
            Ok((Kept(Vec::new(), i32::MAX), Granted::default()))
        }

        unsafe fn submit(&mut self, transfer: Transfer) {
            self.0.push(transfer);
        }

        fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
            let most = self.1;
            done.extend(self.0.drain(..).map(|t| Completion { tag: t.tag, result: (t.length as i32).min(most) }));
            Ok(())
        }
    }

    fn spread<P: Personality>(layout: &str) -> Spread<P> {
        let personality = Name::IoUring;
        let request_size = Bytes(256 << 10);
        let workload = Workload { layout: layout.parse().unwrap(), personality, request_size, ..Workload::default() };
        let buffers = Buffers::new(1, 1).unwrap();
        // Three targets, which these personalities do not look at.
        let (mut spread, _) =
            Spread::<P>::open(Setup { targets: &[], buffers: &buffers, outstanding: 8, workload: &workload }).unwrap();
        spread.targets = 3;
        (spread.queued, spread.ended_at) = (vec![0; 3], vec![0; 3]);
        spread
    }

    fn transfer(tag: u32, kind: RequestKind, offset: u64, length: u32) -> Transfer {
        Transfer { tag, kind, offset, length, address: std::ptr::null_mut(), target: 0 }
    }

    fn parts(spread: &Spread<Kept>) -> Vec<(u16, u64, u32, usize)> {
        spread.inner.0.iter().map(|t| (t.target, t.offset, t.length, t.address as usize)).collect()
    }

    #[test]
    fn a_stripe_cuts_at_its_chunks() {
        let mut spread = spread::<Kept>("stripe=64KiB");
        // SAFETY: nobody looks at the bytes.
        unsafe { spread.submit(transfer(5, RequestKind::Write, 60 << 10, 200 << 10)) };
        let kib = 1 << 10;
        let expected = [
            (0, 60 * kib, 4 << 10, 0),
            (1, 0, 64 << 10, 4 << 10),
            (2, 0, 64 << 10, 68 << 10),
            (0, 64 * kib, 64 << 10, 132 << 10),
            (1, 64 * kib, 4 << 10, 196 << 10),
        ];
        assert_eq!(parts(&spread), expected);
        let mut done = Vec::new();
        spread.reap(&mut done, 1).unwrap();
        assert_eq!(done.iter().map(|c| (c.tag, c.result)).collect::<Vec<_>>(), [(5, 200 << 10)]);
    }

    #[test]
    fn short_parts_continue_and_a_failed_part_fails_the_whole() {
        let mut spread = spread::<Kept>("stripe=64KiB");
        spread.inner.1 = 3 << 10;
        // SAFETY: as above.
        unsafe { spread.submit(transfer(0, RequestKind::Read, 0, 65 << 10)) };
        let mut done = Vec::new();
        spread.reap(&mut done, 1).unwrap();
        assert_eq!(done[0].result, 65 << 10, "in parts of 3 KiB");
        spread.inner.1 = -libc::EIO;
        // SAFETY: as above.
        unsafe { spread.submit(transfer(0, RequestKind::Read, 0, 65 << 10)) };
        done.clear();
        spread.reap(&mut done, 1).unwrap();
        assert_eq!(done[0].result, -libc::EIO);
        assert_eq!(spread.free.len(), spread.parts.len(), "every tag is free again");
    }

    #[test]
    fn a_mirror_writes_to_all_and_reads_from_one() {
        let mut mirror = spread::<Kept>("mirror");
        // SAFETY: as above.
        unsafe { mirror.submit(transfer(0, RequestKind::Write, 8192, 4096)) };
        assert_eq!(parts(&mirror), [0, 1, 2].map(|target| (target, 8192, 4096, 0)));
        let mut done = Vec::new();
        mirror.reap(&mut done, 1).unwrap();
        // SAFETY: as above.
        (0..4).for_each(|tag| unsafe { mirror.submit(transfer(tag, RequestKind::Read, 0, 4096)) });
        assert_eq!(parts(&mirror).iter().map(|part| part.0).collect::<Vec<_>>(), [0, 1, 2, 0]);
    }

    #[test]
    fn a_mirror_reads_from_the_shortest_queue_or_the_nearest_place() {
        let side = |mirror: &mut Spread<Kept>, offset| {
            // SAFETY: as above.
            unsafe { mirror.submit(transfer(0, RequestKind::Read, offset, 4096)) };
            parts(mirror).last().unwrap().0
        };
        let mut mirror = spread::<Kept>("mirror=shortest_queue");
        mirror.queued = vec![2, 0, 1];
        assert_eq!([side(&mut mirror, 0), side(&mut mirror, 0), side(&mut mirror, 0)], [1, 1, 2]);
        let mut mirror = spread::<Kept>("mirror=nearest");
        mirror.ended_at = vec![0, 1 << 30, 1 << 20];
        assert_eq!([side(&mut mirror, 1 << 21), side(&mut mirror, 900 << 20), side(&mut mirror, 0)], [2, 1, 0]);
    }
}
