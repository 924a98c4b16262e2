//! Pages that the page cache holds, in frames: which are dirty, on their way in or on their way out.
//!
//! A frame is the unit of read-ahead and write-behind. Frames leave in the order in which they came, as Windows trims a working
//! set; dirty ones stay. A scan takes all frames that are dirty at its start, in the order of their addresses from where the last
//! one ended. So random writes leave sorted, and a stream of reads has the disk between scans.

use halfpower_model::Bytes;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Pages of a frame.
const PAGES: u64 = 16;
/// Bytes of a frame.
pub(crate) const FRAME: u64 = PAGE * PAGES;

/// Frames of a target are numbered from here times its number.
const FRAMES_OF_A_TARGET: u64 = 1 << 40;

/// A bit for each page.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    present: u16,
    arriving: u16,
    dirty: u16,
    leaving: u16,
}

/// Bytes of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index of the target.
    pub(crate) volume: u32,
    /// From its first byte.
    pub(crate) bytes: Range<u64>,
}

/// Dirty frames of a target. Each is in one of the two lists, once.
#[derive(Debug, Default)]
struct Dirty {
    /// Those of this scan, in order.
    due: VecDeque<u64>,
    /// Those of the next.
    fresh: Vec<u64>,
    /// The last that went out.
    last: u64,
}

/// The cache's pages.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Looked up alone: in the order of a map courses would differ.
    frames: HashMap<u64, Frame>,
    /// Frames with pages, in the order in which they came.
    order: VecDeque<u64>,
    pages: u64,
    most_pages: u64,
    /// Dirty or leaving pages; above the maximum writers wait.
    dirty_pages: u64,
    most_dirty_pages: u64,
    targets: Vec<Dirty>,
}

fn bits(pages: Range<u64>) -> u16 {
    (((1_u32 << (pages.end - pages.start)) - 1) << pages.start) as u16
}

/// The lowest contiguous pages of a mask.
fn lowest(mask: u16) -> Range<u64> {
    let start = mask.trailing_zeros();
    let length = (u32::from(mask) >> start).trailing_ones();
    u64::from(start)..u64::from(start + length)
}

/// The frames of some bytes, and their pages in each.
fn frames_of(run: &Run) -> impl Iterator<Item = (u64, u16)> + use<> {
    let pages = run.bytes.start / PAGE..run.bytes.end.div_ceil(PAGE);
    let first = u64::from(run.volume) * FRAMES_OF_A_TARGET;
    (pages.start / PAGES..pages.end.div_ceil(PAGES)).map(move |frame| {
        let start = pages.start.max(frame * PAGES) - frame * PAGES;
        let end = pages.end.min((frame + 1) * PAGES) - frame * PAGES;
        (first + frame, bits(start..end))
    })
}

fn run_of(key: u64, pages: Range<u64>) -> Run {
    let (volume, frame) = (key / FRAMES_OF_A_TARGET, key % FRAMES_OF_A_TARGET);
    let byte = |page: u64| frame * FRAME + page * PAGE;
    Run { volume: volume as u32, bytes: byte(pages.start)..byte(pages.end) }
}

impl Pages {
    /// An empty cache for so many targets.
    pub(crate) fn new(capacity: Bytes, dirty_limit: Bytes, targets: u64) -> Pages {
        Pages {
            frames: HashMap::default(),
            order: VecDeque::new(),
            pages: 0,
            most_pages: capacity.0 / PAGE,
            dirty_pages: 0,
            most_dirty_pages: dirty_limit.0 / PAGE,
            targets: (0..targets).map(|_| Dirty::default()).collect(),
        }
    }

    /// The first page of these bytes that is not present.
    pub(crate) fn missing(&self, run: &Run) -> Option<u64> {
        frames_of(run).find_map(|(key, asked)| {
            let missing = asked & !self.frames.get(&key).map_or(0, |frame| frame.present);
            (missing != 0).then(|| run_of(key, lowest(missing)).bytes.start)
        })
    }

    /// The first contiguous pages that are neither present nor arriving: within one frame, or up to `most` bytes.
    pub(crate) fn absent(&self, run: &Run, most: u64) -> Option<Run> {
        let absent = frames_of(run).map(|(key, asked)| {
            let here = self.frames.get(&key).map_or(0, |frame| frame.present | frame.arriving);
            (key, asked & !here)
        });
        let mut absent = absent.skip_while(|(_, pages)| *pages == 0);
        let (key, pages) = absent.next()?;
        let mut found = run_of(key, lowest(pages));
        for (_, pages) in absent {
            let room = most.saturating_sub(found.bytes.end - found.bytes.start) / PAGE;
            if room == 0 || !found.bytes.end.is_multiple_of(FRAME) || pages & 1 == 0 {
                break;
            }
            found.bytes.end += lowest(pages).end.min(room) * PAGE;
        }
        Some(found)
    }

    /// These pages were asked for.
    pub(crate) fn ask(&mut self, run: &Run) {
        frames_of(run).for_each(|(key, asked)| self.frames.entry(key).or_default().arriving |= asked);
    }

    /// These pages are present. Older clean frames leave if there is no room.
    pub(crate) fn keep(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            let frame = self.frames.entry(key).or_default();
            if frame.present == 0 {
                self.order.push_back(key);
            }
            self.pages += u64::from((asked & !frame.present).count_ones());
            frame.present |= asked;
            frame.arriving &= !asked;
        }
        for _ in 0..self.order.len() {
            if self.pages <= self.most_pages {
                break;
            }
            let Some(key) = self.order.pop_front() else { break };
            let Some(frame) = self.frames.get_mut(&key) else { continue };
            if frame.dirty | frame.leaving != 0 {
                self.order.push_back(key);
                continue;
            }
            self.pages -= u64::from(frame.present.count_ones());
            frame.present = 0;
            if frame.arriving == 0 {
                self.frames.remove(&key);
            }
        }
    }

    /// Whether a write of so many bytes need not wait.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.dirty_pages == 0 || self.dirty_pages + bytes.div_ceil(PAGE) <= self.most_dirty_pages
    }

    /// These bytes are written.
    pub(crate) fn write(&mut self, run: &Run) {
        self.keep(run);
        for (key, asked) in frames_of(run) {
            let Some(frame) = self.frames.get_mut(&key) else { continue };
            if frame.dirty == 0 {
                self.targets[run.volume as usize].fresh.push(key);
            }
            self.dirty_pages += u64::from((asked & !frame.dirty).count_ones());
            frame.dirty |= asked;
        }
    }

    /// A scan begins with all that is dirty now.
    pub(crate) fn scan(&mut self) {
        for Dirty { due, fresh, last } in &mut self.targets {
            due.extend(fresh.drain(..));
            due.make_contiguous().sort_unstable();
            due.rotate_left(due.partition_point(|key| key < last));
        }
    }

    /// Whether a scan is not over.
    pub(crate) fn is_scanning(&self) -> bool {
        self.targets.iter().any(|target| !target.due.is_empty())
    }

    /// Takes the next dirty pages of a target in this scan: contiguous ones of one frame, or up to `most` bytes.
    pub(crate) fn take(&mut self, volume: u32, most: u64) -> Option<Run> {
        let Dirty { due, fresh, last } = &mut self.targets[volume as usize];
        let mut run: Option<Run> = None;
        while let Some(key) = due.front().copied() {
            let start = run_of(key, 0..0).bytes.start;
            let room = match &run {
                Some(run) if run.bytes.end != start => break,
                Some(run) => (most.saturating_sub(run.bytes.end - run.bytes.start) / PAGE).min(PAGES),
                None => PAGES,
            };
            let Some(frame) = self.frames.get_mut(&key) else { break };
            let pages = lowest(frame.dirty & !frame.leaving & bits(0..room));
            if pages.is_empty() && run.is_none() {
                // It leaves already and was written again meanwhile: the next scan's.
                due.pop_front();
                fresh.push(key);
                continue;
            }
            if pages.is_empty() || run.is_some() && pages.start > 0 {
                break;
            }
            let taken = bits(pages.clone());
            frame.dirty &= !taken;
            frame.leaving |= taken;
            *last = key;
            run.get_or_insert_with(|| run_of(key, pages.start..pages.start)).bytes.end = start + pages.end * PAGE;
            if frame.dirty != 0 {
                break;
            }
            due.pop_front();
        }
        run
    }

    /// What was taken is on the disk.
    pub(crate) fn is_out(&mut self, run: &Run) {
        for (key, asked) in frames_of(run) {
            if let Some(frame) = self.frames.get_mut(&key) {
                frame.leaving &= !asked;
            }
        }
        self.dirty_pages -= (run.bytes.end - run.bytes.start) / PAGE;
    }

    /// Whether nothing is dirty or on its way out.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty_pages == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn pages(capacity_kib: u64, dirty_kib: u64) -> Pages {
        Pages::new(Bytes(capacity_kib * KIB), Bytes(dirty_kib * KIB), 2)
    }

    fn run(kib: Range<u64>) -> Run {
        Run { volume: 1, bytes: kib.start * KIB..kib.end * KIB }
    }

    /// What goes out until nothing is due: start and end in KiB.
    fn taken(cache: &mut Pages, most_kib: u64) -> Vec<(u64, u64)> {
        let runs = std::iter::from_fn(|| cache.take(1, most_kib * KIB));
        runs.map(|run| (run.bytes.start / KIB, run.bytes.end / KIB)).collect()
    }

    #[test]
    fn absent_pages_are_asked_for_by_frame_or_in_long_runs() {
        let mut cache = pages(1024, 1024);
        cache.keep(&run(128..132));
        assert_eq!([run(128..132), run(120..200)].map(|run| cache.missing(&run)), [None, Some(120 * KIB)]);
        for (most, asked) in [(0, 60..64), (1024, 60..128), (40, 60..100)] {
            assert_eq!(cache.absent(&run(60..300), most * KIB), Some(run(asked)));
        }
        cache.ask(&run(0..64));
        assert_eq!(cache.absent(&run(0..300), 1024 * KIB), Some(run(64..128)), "the first are on their way");
        assert_eq!(cache.missing(&run(0..300)), Some(0));
        cache.keep(&run(0..64));
        assert_eq!(cache.missing(&run(0..64)), None);
    }

    #[test]
    fn clean_frames_leave_in_the_order_in_which_they_came() {
        let mut cache = pages(128, 128);
        cache.write(&run(0..64));
        cache.keep(&run(64..128));
        cache.keep(&run(128..192));
        assert_eq!([run(0..64), run(64..192)].map(|run| cache.missing(&run)), [None, Some(64 * KIB)]);
    }

    #[test]
    fn a_scan_takes_what_is_dirty_then_by_address_from_the_last_on() {
        let mut cache = pages(1024, 1024);
        for at in [640, 128, 136, 384] {
            cache.write(&run(at..at + 8));
        }
        assert_eq!(taken(&mut cache, 0), [], "before the scan");
        cache.scan();
        assert_eq!(cache.take(0, 0), None, "another target");
        assert_eq!(cache.take(1, 0), Some(run(128..144)));
        cache.write(&run(256..264));
        assert_eq!(taken(&mut cache, 0), [(384, 392), (640, 648)]);
        for at in [0, 704] {
            cache.write(&run(at..at + 8));
        }
        cache.scan();
        assert_eq!(taken(&mut cache, 0), [(704, 712), (0, 8), (256, 264)]);
    }

    #[test]
    fn neighbours_leave_together() {
        let mut cache = pages(1024, 1024);
        [20..180, 192..200, 320..324].into_iter().for_each(|kib| cache.write(&run(kib)));
        cache.scan();
        assert_eq!(taken(&mut cache, 100), [(20, 120), (120, 180), (192, 200), (320, 324)]);
    }

    #[test]
    fn pages_written_while_they_leave_leave_again_later() {
        let mut cache = pages(1024, 64);
        [0..4, 8..60].into_iter().for_each(|kib| cache.write(&run(kib)));
        assert!(cache.has_room(8 * KIB) && !cache.has_room(12 * KIB));
        cache.scan();
        assert_eq!(cache.take(1, 0), Some(run(0..4)));
        cache.write(&run(0..4));
        assert_eq!(taken(&mut cache, 0), [(8, 60)], "not before the first time is over");
        [0..4, 8..60].into_iter().for_each(|kib| cache.is_out(&run(kib)));
        assert!(!cache.is_scanning() && !cache.is_clean());
        cache.scan();
        assert_eq!(taken(&mut cache, 0), [(0, 4)]);
    }
}
