//! What the page cache holds: pages in frames, which of them nobody has written out yet, and which go out next.
//!
//! A frame is the unit of read-ahead and write-behind. Frames leave in the order in which they came, as Windows trims a
//! working set; those that are not written out stay. What is dirty goes out a scan at a time: all that is dirty then, in
//! the order of its place from where the last was. So random writes leave sorted, and a stream of reads is left alone
//! between scans.

use super::frames::{FrameSet, Table};
use halfpower_model::Bytes;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Pages of a frame.
const PAGES: u64 = 16;
/// Bytes of a frame.
pub(crate) const FRAME: u64 = PAGE * PAGES;

/// Frames of a volume are numbered from here times its number.
const FRAMES_OF_A_VOLUME: u64 = 1 << 40;

/// A bit for each page.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    present: u16,
    dirty: u16,
    /// On their way out.
    leaving: u16,
}

/// Bytes of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Which target.
    pub(crate) volume: u32,
    /// From its first byte.
    pub(crate) bytes: Range<u64>,
}

impl Run {
    /// Its bytes.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// The cache's pages.
#[derive(Debug)]
pub(crate) struct Pages {
    frames: Table<Frame>,
    /// Pages that are on their way in, of frames that have some.
    arriving: Table<u16>,
    /// In the order in which they came.
    order: VecDeque<u64>,
    /// Present, and how many may be.
    pages: u64,
    most_pages: u64,
    /// Dirty or leaving, and how many may be before writers wait.
    dirty_pages: u64,
    most_dirty_pages: u64,
    /// Dirty frames of this scan, in the order of their place.
    due: FrameSet,
    /// Those of the next, as they came, each once: a dirty frame is in one of both.
    fresh: Vec<u64>,
}

/// Who writes out: to all targets, or to one of them.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// The frames of its targets.
    keys: Range<u64>,
    /// What it last took.
    last: u64,
    /// How many of its requests are under way.
    pub(crate) writing: u32,
}

impl Lane {
    /// To these targets.
    pub(crate) fn to(volumes: Range<u64>) -> Lane {
        let keys = volumes.start * FRAMES_OF_A_VOLUME..volumes.end * FRAMES_OF_A_VOLUME;
        Lane { last: keys.start, keys, writing: 0 }
    }

    /// Whether it writes to a target.
    pub(crate) fn serves(&self, volume: u32) -> bool {
        self.keys.contains(&(u64::from(volume) * FRAMES_OF_A_VOLUME))
    }
}

fn bits(pages: Range<u64>) -> u16 {
    (((1_u32 << (pages.end - pages.start)) - 1) << pages.start) as u16
}

/// The lowest pages of a mask that lie side by side.
fn lowest(mask: u16) -> Range<u64> {
    let start = mask.trailing_zeros();
    let length = (u32::from(mask) >> start).trailing_ones();
    u64::from(start)..u64::from(start + length)
}

/// The frames that bytes lie in, and which of their pages.
fn frames_of(run: &Run) -> impl Iterator<Item = (u64, u16)> + use<> {
    let pages = run.bytes.start / PAGE..run.bytes.end.div_ceil(PAGE);
    let first = u64::from(run.volume) * FRAMES_OF_A_VOLUME;
    (pages.start / PAGES..pages.end.div_ceil(PAGES)).map(move |frame| {
        let start = pages.start.max(frame * PAGES) - frame * PAGES;
        let end = pages.end.min((frame + 1) * PAGES) - frame * PAGES;
        (first + frame, bits(start..end))
    })
}

fn run_of(key: u64, pages: Range<u64>) -> Run {
    let (volume, frame) = (key / FRAMES_OF_A_VOLUME, key % FRAMES_OF_A_VOLUME);
    let byte = |page: u64| frame * FRAME + page * PAGE;
    Run { volume: volume as u32, bytes: byte(pages.start)..byte(pages.end) }
}

impl Pages {
    /// An empty cache.
    pub(crate) fn new(capacity: Bytes, dirty_limit: Bytes) -> Pages {
        Pages {
            frames: Table::default(),
            arriving: Table::default(),
            order: VecDeque::new(),
            pages: 0,
            most_pages: capacity.0 / PAGE,
            dirty_pages: 0,
            most_dirty_pages: dirty_limit.0 / PAGE,
            due: FrameSet::default(),
            fresh: Vec::new(),
        }
    }

    /// The first pages of these bytes that are not there, as far as they lie side by side in one frame.
    pub(crate) fn missing(&self, run: &Run) -> Option<Run> {
        frames_of(run).find_map(|(key, asked)| {
            let missing = asked & !self.frames.get(&key).map_or(0, |frame| frame.present);
            (missing != 0).then(|| run_of(key, lowest(missing)))
        })
    }

    /// Of pages of a frame those that are neither there nor on their way.
    fn absent(&self, key: u64, asked: u16) -> u16 {
        let present = self.frames.get(&key).map_or(0, |frame| frame.present);
        asked & !present & !self.arriving.get(&key).unwrap_or(&0)
    }

    /// What to ask for of these bytes: the first pages that are neither there nor on their way, as far as they lie side by side: in one
    /// frame, or in more where `most` is that much.
    pub(crate) fn to_ask(&self, run: &Run, most: u64) -> Option<Run> {
        let absent = frames_of(run).map(|(key, asked)| (key, self.absent(key, asked)));
        let mut absent = absent.skip_while(|(_, pages)| *pages == 0);
        let (key, pages) = absent.next()?;
        let mut found = run_of(key, lowest(pages));
        for (_, pages) in absent {
            let room = most.saturating_sub(found.length()) / PAGE;
            if room == 0 || !found.bytes.end.is_multiple_of(FRAME) || pages & 1 == 0 {
                break;
            }
            found.bytes.end += lowest(pages).end.min(room) * PAGE;
        }
        Some(found)
    }

    /// These bytes' pages are asked for.
    pub(crate) fn ask(&mut self, run: &Run) {
        frames_of(run).for_each(|(key, asked)| *self.arriving.entry(key).or_default() |= asked);
    }

    /// They have come.
    pub(crate) fn arrive(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            let Some(arriving) = self.arriving.get_mut(&key) else { continue };
            *arriving &= !asked;
            if *arriving == 0 {
                self.arriving.remove(&key);
            }
        }
        self.keep(run);
    }

    /// These bytes' pages are there; older frames may have to leave.
    pub(crate) fn keep(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            let frame = self.frames.entry(key).or_insert_with(|| {
                self.order.push_back(key);
                Frame::default()
            });
            self.pages += u64::from((asked & !frame.present).count_ones());
            frame.present |= asked;
        }
        for _ in 0..self.order.len() {
            if self.pages <= self.most_pages {
                break;
            }
            let Some(key) = self.order.pop_front() else { break };
            match self.frames.get(&key) {
                Some(frame) if frame.dirty | frame.leaving != 0 => self.order.push_back(key),
                Some(frame) => {
                    self.pages -= u64::from(frame.present.count_ones());
                    self.frames.remove(&key);
                }
                None => {}
            }
        }
    }

    /// Whether so many bytes may be written before others have gone out.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.dirty_pages == 0 || self.dirty_pages + bytes.div_ceil(PAGE) <= self.most_dirty_pages
    }

    /// These bytes are written.
    pub(crate) fn write(&mut self, run: &Run) {
        self.keep(run);
        for (key, asked) in frames_of(run) {
            let Some(frame) = self.frames.get_mut(&key) else { continue };
            if frame.dirty == 0 {
                self.fresh.push(key);
            }
            self.dirty_pages += u64::from((asked & !frame.dirty).count_ones());
            frame.dirty |= asked;
        }
    }

    /// A scan begins: all that is dirty now is to go out. Whether there is anything.
    pub(crate) fn scan(&mut self) -> bool {
        // In their order they cost a sixth of what they do one by one as they come.
        self.fresh.sort_unstable();
        self.fresh.drain(..).for_each(|key| self.due.insert(key));
        !self.due.is_empty()
    }

    /// Whether a scan is not over.
    pub(crate) fn is_scanning(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes what a lane writes out next in this scan: dirty pages that lie side by side: in one frame, or in more where `most` is
    /// that much.
    pub(crate) fn take(&mut self, lane: &mut Lane, most: u64) -> Option<Run> {
        loop {
            let after = self.due.first(lane.last..lane.keys.end);
            let key = after.or_else(|| self.due.first(lane.keys.clone()))?;
            lane.last = key;
            let Some(pages) = self.leave(key, u16::MAX) else {
                // It leaves already and was written again meanwhile: the next scan's.
                self.due.remove(key);
                self.fresh.push(key);
                continue;
            };
            let mut run = run_of(key, pages);
            while run.bytes.end.is_multiple_of(FRAME) && self.due.contains(lane.last + 1) {
                let room = (most.saturating_sub(run.length()) / PAGE).min(PAGES);
                if !self.begins(lane.last + 1) {
                    break;
                }
                let Some(pages) = self.leave(lane.last + 1, bits(0..room)) else { break };
                lane.last += 1;
                run.bytes.end += pages.end * PAGE;
            }
            return Some(run);
        }
    }

    /// Whether the first page of a frame may leave.
    fn begins(&self, key: u64) -> bool {
        self.frames.get(&key).is_some_and(|frame| frame.dirty & !frame.leaving & 1 != 0)
    }

    /// The first dirty pages of a frame, side by side and among some, that do not leave already: they leave.
    fn leave(&mut self, key: u64, among: u16) -> Option<Range<u64>> {
        let frame = self.frames.get_mut(&key)?;
        let pages = lowest(frame.dirty & !frame.leaving & among);
        let taken = bits(pages.clone());
        frame.dirty &= !taken;
        frame.leaving |= taken;
        if frame.dirty == 0 {
            self.due.remove(key);
        }
        (taken != 0).then_some(pages)
    }

    /// What was taken is out.
    pub(crate) fn is_out(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            if let Some(frame) = self.frames.get_mut(&key) {
                frame.leaving &= !asked;
            }
        }
        self.dirty_pages -= run.length() / PAGE;
    }

    /// Whether everything is out.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty_pages == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn pages(capacity: u64, dirty_limit: u64) -> Pages {
        Pages::new(Bytes(capacity), Bytes(dirty_limit))
    }

    fn run(kib: Range<u64>) -> Run {
        Run { volume: 1, bytes: kib.start * KIB..kib.end * KIB }
    }

    /// What goes out next, a frame at most.
    fn take(cache: &mut Pages, lane: &mut Lane) -> Option<Run> {
        cache.take(lane, 0)
    }

    #[test]
    fn what_is_missing_is_told_by_runs_of_a_frame() {
        let mut cache = pages(1 << 20, 1 << 20);
        cache.keep(&run(8..20));
        assert_eq!(cache.missing(&run(8..20)), None);
        assert_eq!(cache.missing(&run(6..24)), Some(run(4..8)), "whole pages");
        assert_eq!(cache.missing(&run(10..200)), Some(run(20..64)), "up to the end of the frame");
        assert_eq!(cache.missing(&Run { volume: 0, bytes: 8 * KIB..9 * KIB }).unwrap().volume, 0, "another volume's");
    }

    #[test]
    fn frames_leave_in_the_order_in_which_they_came_but_for_dirty_ones() {
        let mut cache = pages(128 * KIB, 128 * KIB);
        cache.write(&run(0..64));
        cache.keep(&run(64..128));
        cache.keep(&run(128..192));
        assert_eq!(cache.missing(&run(0..64)), None, "nobody wrote it out");
        assert_eq!(cache.missing(&run(64..192)), Some(run(64..128)));
    }

    #[test]
    fn a_scan_takes_what_is_dirty_then_in_the_order_of_its_place() {
        let (mut cache, mut lane) = (pages(1 << 20, 256 * KIB), Lane::to(0..2));
        assert!(!cache.scan());
        for at in [640, 128, 136, 384] {
            cache.write(&run(at..at + 8));
        }
        assert_eq!(take(&mut cache, &mut lane), None, "before the scan");
        assert!(cache.scan());
        cache.write(&run(256..264));
        let mut taken = || {
            let run = take(&mut cache, &mut lane)?;
            cache.is_out(&run);
            Some(run.bytes.start / KIB..run.bytes.end / KIB)
        };
        assert_eq!([taken(), taken(), taken(), taken()], [Some(128..144), Some(384..392), Some(640..648), None]);
        assert!(cache.scan() && !cache.is_clean());
    }

    #[test]
    fn what_is_written_while_it_leaves_is_dirty_again() {
        let (mut cache, mut lane) = (pages(1 << 20, 64 * KIB), Lane::to(0..2));
        cache.write(&run(0..60));
        assert!(cache.has_room(4 * KIB) && !cache.has_room(8 * KIB) && cache.scan());
        let leaving = take(&mut cache, &mut lane).unwrap();
        cache.write(&run(0..4));
        cache.is_out(&leaving);
        assert!(!cache.is_clean() && cache.has_room(60 * KIB) && !cache.has_room(64 * KIB) && cache.scan());
        assert_eq!(take(&mut cache, &mut lane), Some(run(0..4)));
    }

    #[test]
    fn what_lies_side_by_side_is_one_request_where_it_may_be_long() {
        let (mut cache, mut lane) = (pages(1 << 20, 1 << 20), Lane::to(1..2));
        for (kib, most, asked) in [(60..300, 0, 60..64), (60..300, 1 << 20, 60..300), (60..300, 100 * KIB, 60..160)] {
            assert_eq!(cache.to_ask(&run(kib), most), Some(run(asked)));
        }
        cache.keep(&run(128..132));
        cache.ask(&run(0..64));
        assert_eq!(cache.to_ask(&run(0..300), 1 << 20), Some(run(64..128)), "the first are on their way");
        cache.arrive(&run(0..64));
        assert_eq!((cache.missing(&run(0..64)), cache.to_ask(&run(0..64), 1 << 20)), (None, None));
        for kib in [20..180, 192..200, 320..324] {
            cache.write(&run(kib));
        }
        assert!(cache.scan());
        let mut elsewhere = Lane::to(0..1);
        assert_eq!(cache.take(&mut elsewhere, 1 << 20), None, "another target's");
        for asked in [20..120, 120..180, 192..200, 320..324] {
            assert_eq!(cache.take(&mut lane, 100 * KIB), Some(run(asked)));
        }
    }

    #[test]
    fn a_page_that_leaves_does_not_leave_a_second_time_before_it_is_out() {
        let (mut cache, mut lane) = (pages(1 << 20, 1 << 20), Lane::to(1..2));
        cache.write(&run(0..4));
        cache.write(&run(8..12));
        assert!(cache.scan());
        assert_eq!(cache.take(&mut lane, 1 << 20), Some(run(0..4)));
        cache.write(&run(0..4));
        assert_eq!(cache.take(&mut lane, 1 << 20), Some(run(8..12)));
        assert_eq!(cache.take(&mut lane, 1 << 20), None);
        [0..4, 8..12].into_iter().for_each(|kib| cache.is_out(&run(kib)));
        assert!(!cache.is_scanning() && cache.scan());
        assert_eq!(cache.take(&mut lane, 1 << 20), Some(run(0..4)));
    }
}
