//! What happens to writes of a growing file.

use super::events::Event;
use super::state::{Open, Origin, System};
use halfpower_model::{Request, RequestKind};

/// How much of a gap is filled at a time.
const FILL_BYTES: u64 = 64 << 10;

impl System<'_> {
    /// Up to where a target held data before its write that is under way.
    pub(super) fn valid(&self, volume: u32) -> u64 {
        self.growth.as_ref().map_or(u64::MAX, |growth| growth.files[volume as usize].valid)
    }

    /// A write of a file that grows waits for the one before.
    pub(super) fn extend(&mut self, request: u32) {
        let Open { volume, .. } = self.requests.all[request as usize];
        let Some(growth) = &mut self.growth else { return };
        let file = &mut growth.files[volume as usize];
        if file.busy_since_ns.is_some() {
            return file.waiting.push_back(request);
        }
        file.busy_since_ns = Some(self.now_ns);
        self.fill(request);
    }

    /// Fills the gap before a write, and lets it go.
    pub(super) fn fill(&mut self, request: u32) {
        let Open { volume, asked, .. } = self.requests.all[request as usize];
        let valid = self.valid(volume);
        if asked.offset <= valid {
            return self.pass(request);
        }
        let length = FILL_BYTES.min(asked.offset - valid) as u32;
        let zeros = Request { offset: valid, length, kind: RequestKind::Write };
        let origin = Origin::Fill { request };
        let open = Open::made(origin, volume, zeros, self.now_ns);
        let spent_ns = self.cost_ns(&zeros, 1.0 - self.machine.system.completion_share);
        let done_ns = self.cpus.serve(self.now_ns, self.now_ns, spent_ns);
        let number = self.requests.put(open);
        self.at(done_ns, Event::Dispatch { request: number });
    }

    /// A write is on the disk or in the cache: the file holds data up to its end.
    pub(super) fn grow(&mut self, volume: u32, asked: &Request) {
        let Some(growth) = &mut self.growth else { return };
        let file = &mut growth.files[volume as usize];
        file.valid = file.valid.max(asked.offset + u64::from(asked.length));
    }

    /// A write of the program is done: the next may go.
    pub(super) fn extended(&mut self, volume: u32, asked: &Request) {
        self.grow(volume, asked);
        let Some(growth) = &mut self.growth else { return };
        let file = &mut growth.files[volume as usize];
        match file.waiting.pop_front() {
            Some(next) => self.fill(next),
            None => file.busy_ns += self.now_ns - file.busy_since_ns.take().unwrap_or(self.now_ns),
        }
    }
}
