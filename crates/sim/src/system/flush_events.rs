//! What happens to flushes.

use super::flush::{Flushes, Worker};
use super::rows::Rows;
use super::state::System;

impl System<'_> {
    /// Whether a worker has to flush before its next request, which then waits.
    pub(super) fn holds(&mut self, worker: u32) -> bool {
        let now_ns = self.now_ns;
        let Flushes { every: Some(every), workers, .. } = &mut self.flushes else { return false };
        let worker = &mut workers[worker as usize];
        if worker.writes < *every {
            return false;
        }
        worker.held += 1;
        if worker.open == 0 && worker.since_ns.is_none() {
            worker.since_ns = Some(now_ns);
            self.count_outstanding();
            self.flushes.waiting += 1;
            self.write_out();
            self.empty_rows();
        }
        true
    }

    /// Whether every byte that was written is on its medium.
    fn is_safe(&self) -> bool {
        self.cache.as_ref().is_none_or(|cache| cache.pages.is_clean())
            && self.rows.as_ref().is_none_or(Rows::is_empty)
            && self.devices.iter().all(|device| device.is_flushed())
    }

    /// Counts a flush at each disk that has something to empty.
    fn count_emptying(&mut self) {
        for disk in 0..self.devices.len() {
            let device = &mut self.devices[disk];
            let (is, was) = (!device.is_flushed(), &mut self.flushes.emptying[disk]);
            // A controller's volume is one device to the system.
            let place = &mut self.at_devices[disk.min(self.machine.devices_seen() - 1)];
            match (std::mem::replace(was, is), is) {
                (false, true) => {
                    device.await_flush(self.now_ns);
                    place.add(self.now_ns);
                    self.hear(disk);
                }
                (true, false) => place.take(self.now_ns),
                _ => {}
            }
        }
    }

    /// Lets workers go on whose flush is over.
    pub(super) fn see_to_flushes(&mut self) {
        if !self.flushes.press() {
            return;
        }
        self.count_emptying();
        if self.flushes.waiting == 0 || !self.is_safe() {
            return;
        }
        self.count_outstanding();
        self.flushes.waiting = 0;
        for number in 0..self.flushes.workers.len() {
            let worker = &mut self.flushes.workers[number];
            let Some(since_ns) = worker.since_ns else { continue };
            let held = worker.held;
            *worker = Worker::default();
            if self.marks.begun {
                self.flushes.took.record(self.now_ns - since_ns);
            }
            (0..held).for_each(|_| self.go_on(number as u32));
        }
    }

    /// Whether the run is over: all was asked for and is done, and on its medium where that counts.
    pub(super) fn is_done(&mut self) -> bool {
        let is_over = self.is_over();
        if !is_over || self.open_requests > 0 && (self.flushes.at_end || !self.is_used_up()) {
            return false;
        }
        if !self.flushes.at_end {
            return true;
        }
        if self.flushes.ending_ns.is_none() {
            self.flushes.ending_ns = Some(self.now_ns);
            self.count_emptying();
            self.write_out();
            self.empty_rows();
        }
        self.is_safe()
    }
}
