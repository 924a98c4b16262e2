//! What the file cache holds: pages in frames, which of them nobody has written out yet, and which go out next.
//!
//! A frame is the unit of read-ahead and write-behind. Frames leave in the order in which they came, as Windows trims a
//! working set; those that are not written out stay. What is dirty goes out a scan at a time: all that is dirty then, in
//! the order of its place from where the last was. So random writes leave sorted, and a stream of reads is left alone
//! between scans.

use crate::machine::FileCache;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Range;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// Pages of a frame.
const PAGES: u64 = 16;
/// Bytes of a frame.
pub(super) const FRAME: u64 = PAGE * PAGES;

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
pub(super) struct Run {
    /// Which target.
    pub(super) volume: u32,
    /// From its first byte.
    pub(super) bytes: Range<u64>,
}

/// The cache's pages.
#[derive(Debug)]
pub(super) struct Pages {
    frames: HashMap<u64, Frame>,
    /// In the order in which they came.
    order: VecDeque<u64>,
    /// Present, and how many may be.
    pages: u64,
    most_pages: u64,
    /// Dirty or leaving, and how many may be before writers wait.
    dirty_pages: u64,
    most_dirty_pages: u64,
    /// Dirty frames of this scan, in the order of their place.
    due: BTreeSet<u64>,
    /// Those of the next.
    fresh: BTreeSet<u64>,
    last: u64,
}

fn bits(pages: Range<u64>) -> u16 {
    (((1_u32 << (pages.end - pages.start)) - 1) << pages.start) as u16
}

/// The lowest pages of a mask that lie side by side.
fn lowest(mask: u16) -> Range<u64> {
    let start = mask.trailing_zeros();
    let length = (mask >> start).trailing_ones();
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
    pub(super) fn new(cache: &FileCache) -> Pages {
        Pages {
            frames: HashMap::new(),
            order: VecDeque::new(),
            pages: 0,
            most_pages: cache.capacity.0 / PAGE,
            dirty_pages: 0,
            most_dirty_pages: cache.dirty_limit.0 / PAGE,
            due: BTreeSet::new(),
            fresh: BTreeSet::new(),
            last: 0,
        }
    }

    /// The first pages of these bytes that are not there, as far as they lie side by side in one frame.
    pub(super) fn missing(&self, run: &Run) -> Option<Run> {
        frames_of(run).find_map(|(key, asked)| {
            let missing = asked & !self.frames.get(&key).map_or(0, |frame| frame.present);
            (missing != 0).then(|| run_of(key, lowest(missing)))
        })
    }

    /// These bytes' pages are there; older frames may have to leave.
    pub(super) fn keep(&mut self, run: &Run) {
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
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.dirty_pages == 0 || self.dirty_pages + bytes.div_ceil(PAGE) <= self.most_dirty_pages
    }

    /// These bytes are written.
    pub(super) fn write(&mut self, run: &Run) {
        self.keep(run);
        for (key, asked) in frames_of(run) {
            let Some(frame) = self.frames.get_mut(&key) else { continue };
            if frame.dirty == 0 {
                self.fresh.insert(key);
            }
            self.dirty_pages += u64::from((asked & !frame.dirty).count_ones());
            frame.dirty |= asked;
        }
    }

    /// A scan begins: all that is dirty now is to go out. Whether there is anything.
    pub(super) fn scan(&mut self) -> bool {
        self.due.append(&mut self.fresh);
        !self.due.is_empty()
    }

    /// Whether a scan is not over.
    pub(super) fn is_scanning(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes what goes out next in this scan: dirty pages that lie side by side in one frame.
    pub(super) fn take(&mut self) -> Option<Run> {
        let key = *self.due.range(self.last..).next().or_else(|| self.due.first())?;
        let frame = self.frames.get_mut(&key)?;
        let pages = lowest(frame.dirty);
        let taken = bits(pages.clone());
        frame.dirty &= !taken;
        // What leaves already, and was written again meanwhile, counts once more.
        frame.leaving |= taken;
        if frame.dirty == 0 {
            self.due.remove(&key);
        }
        self.last = key;
        Some(run_of(key, pages))
    }

    /// What was taken is out.
    pub(super) fn is_out(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            if let Some(frame) = self.frames.get_mut(&key) {
                frame.leaving &= !asked;
            }
        }
        self.dirty_pages -= (run.bytes.end - run.bytes.start) / PAGE;
    }

    /// Whether everything is out.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty_pages == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Cost, Fill};
    use halfpower_model::Bytes;

    const KIB: u64 = 1024;

    fn pages(capacity: u64, dirty_limit: u64) -> Pages {
        Pages::new(&FileCache {
            read: Cost::default(),
            write: Cost::default(),
            paging_ns: 0,
            capacity: Bytes(capacity),
            dirty_limit: Bytes(dirty_limit),
            scan_ns: 0,
            fill: Fill::Page,
            slow_reads: None,
        })
    }

    fn run(kib: Range<u64>) -> Run {
        Run { volume: 1, bytes: kib.start * KIB..kib.end * KIB }
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
        let mut cache = pages(1 << 20, 256 * KIB);
        assert!(!cache.scan());
        for at in [640, 128, 136, 384] {
            cache.write(&run(at..at + 8));
        }
        assert_eq!(cache.take(), None, "before the scan");
        assert!(cache.scan());
        cache.write(&run(256..264));
        let mut taken = || {
            let run = cache.take()?;
            cache.is_out(&run);
            Some(run.bytes.start / KIB..run.bytes.end / KIB)
        };
        assert_eq!([taken(), taken(), taken(), taken()], [Some(128..144), Some(384..392), Some(640..648), None]);
        assert!(cache.scan() && !cache.is_clean());
    }

    #[test]
    fn what_is_written_while_it_leaves_is_dirty_again() {
        let mut cache = pages(1 << 20, 64 * KIB);
        cache.write(&run(0..60));
        assert!(cache.has_room(4 * KIB) && !cache.has_room(8 * KIB) && cache.scan());
        let leaving = cache.take().unwrap();
        cache.write(&run(0..4));
        cache.is_out(&leaving);
        assert!(!cache.is_clean() && cache.has_room(60 * KIB) && !cache.has_room(64 * KIB) && cache.scan());
        assert_eq!(cache.take(), Some(run(0..4)));
    }
}
