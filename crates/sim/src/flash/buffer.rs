//! The write buffer, and how it drains.
//!
//! A write completes when the buffer has room for it. The buffer drains in order, as fast as units and channels write. Faster (SLC)
//! flash takes writes first while it has room; what it holds is copied on while the drive is idle. All of it is a fluid: the time
//! when everything is written tells how full the buffer is.

use super::array::Units;
use super::drive::{FastArea, FlashDrive};
use std::sync::Arc;

/// A write on its way through the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Bytes of the host.
    pub bytes: u64,
    /// The same with the mapping table.
    pub programmed: u64,
    /// Bytes that are programmed for each of those.
    pub amplification: f64,
    /// Bytes of the drive that hold nothing.
    pub free: f64,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    drive: Arc<FlashDrive>,
    /// Bytes in the fast area.
    fast_bytes: f64,
    /// Bytes written since the last round of garbage collection, and the work of units and channels that is due at the next one.
    since: u64,
    due_ns: [f64; 2],
    /// The time to drain a full buffer of the present mix of writes.
    full_ns: f64,
    /// When the last write was in the buffer; no write overtakes another.
    last_ns: u64,
    /// How long the last page takes over its channel and into flash.
    last_page_ns: u64,
}

impl Buffer {
    /// Empty.
    pub fn new(drive: Arc<FlashDrive>) -> Buffer {
        Buffer { drive, fast_bytes: 0.0, since: 0, due_ns: [0.0; 2], full_ns: 0.0, last_ns: 0, last_page_ns: 0 }
    }

    /// When all that was written would survive a power loss. The last page is programmed as a whole, however small its share of the
    /// units' time.
    pub fn safe_ns(&self, units: &Units) -> u64 {
        units.written_ns().max(self.last_ns + self.last_page_ns)
    }

    /// Takes a write that the controller has processed at `at_ns`; returns when it is done.
    pub fn write(&mut self, now_ns: u64, at_ns: u64, passage: Passage, units: &mut Units) -> u64 {
        let Passage { bytes, programmed, amplification, .. } = passage;
        let area = self.drive.fast_area.filter(|area| self.has_room(*area, units.idle_ns(now_ns), passage));
        let plain = units.write_ns_per_byte(1.0);
        let (plain, all) = match area.map(|area| [1e9 / area.rate.0, plain[1]]) {
            Some(fast) => (fast, fast),
            None => (plain, units.write_ns_per_byte(amplification)),
        };
        self.since += bytes;
        let is_due = self.since >= self.drive.collection.0;
        let mut ns = [0.0; 2];
        for part in 0..2 {
            self.due_ns[part] += (all[part] - plain[part]) * programmed as f64;
            let due_ns = if is_due { std::mem::take(&mut self.due_ns[part]) } else { 0.0 };
            ns[part] = plain[part] * programmed as f64 + due_ns;
        }
        if is_due {
            self.since = 0;
        }
        units.write(now_ns, ns);
        let all_pages = self.drive.page.0 as f64 * f64::from(self.drive.units);
        self.last_page_ns = units.page_program_ns(area.map(|area| (all_pages * 1e9 / area.rate.0) as u64));
        let in_ns = match self.drive.buffer {
            Some(room) => {
                let full_ns = all[0].max(all[1]) * programmed as f64 / bytes as f64 * room.0 as f64;
                let weight = if self.full_ns == 0.0 { 1.0 } else { (bytes as f64 / room.0 as f64).min(1.0) };
                self.full_ns += (full_ns - self.full_ns) * weight;
                units.written_ns().saturating_sub(self.full_ns as u64).max(at_ns)
            }
            None => units.written_ns().max(at_ns + self.last_page_ns),
        };
        self.last_ns = self.last_ns.max(in_ns);
        self.last_ns
    }

    /// Whether the fast area takes a write, after what it passed on while the drive was idle.
    fn has_room(&mut self, area: FastArea, idle_ns: u64, passage: Passage) -> bool {
        let bytes = passage.programmed as f64;
        let copied = idle_ns.saturating_sub(area.rest.0) as f64 / (1e9 / area.copy_rate.0);
        let left = (self.fast_bytes - copied).max(0.0) + bytes;
        let always = area.always.unwrap_or(area.size).min(area.size).0 as f64;
        let fits = left <= always + (area.size.0 as f64 - always).min(passage.free);
        self.fast_bytes = if fits { left } else { left - bytes };
        fits
    }
}
