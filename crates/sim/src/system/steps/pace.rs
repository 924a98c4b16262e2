//! When a worker issues its next request.

use crate::system::events::Event;
use crate::system::state::System;

impl System<'_> {
    /// A worker begins, with nothing outstanding.
    pub(super) fn set_to_work(&mut self, worker: u32) {
        let depth = self.workload.depth;
        match &mut self.paces[worker as usize] {
            None => (0..depth).for_each(|_| self.at(0, Event::Issue { worker })),
            Some(pace) => {
                pace.idle = depth;
                self.wake(worker);
            }
        }
    }

    /// A worker has room for one more request.
    pub(super) fn go_on(&mut self, worker: u32) {
        match &mut self.paces[worker as usize] {
            None => self.issue(worker),
            Some(pace) => {
                pace.idle += 1;
                self.wake(worker);
            }
        }
    }

    /// A worker that waits looks again when its next request may go.
    fn wake(&mut self, worker: u32) {
        let now_ns = self.now_ns;
        let Some(pace) = self.paces[worker as usize].as_mut().filter(|pace| !pace.is_awake && pace.idle > 0) else {
            return;
        };
        pace.is_awake = true;
        let at_ns = pace.next_ns.max(now_ns);
        self.at(at_ns, Event::Issue { worker });
    }

    /// What may go now goes, as far as there is room.
    pub(super) fn issue_due(&mut self, worker: u32) {
        let (now_ns, until_ns, number) = (self.now_ns, self.arrivals_until_ns(), worker as usize);
        let Some(pace) = &mut self.paces[number] else { return self.issue(worker) };
        pace.is_awake = false;
        pace.count_backlog(until_ns, self.workload.request_size.0 as u32);
        while let Some(pace) = self.paces[number].as_mut().filter(|pace| pace.next_ns <= now_ns && pace.idle > 0) {
            pace.idle -= 1;
            self.issue(worker);
        }
        if let Some(pace) = self.paces[number].as_mut().filter(|_| self.marks.begun) {
            pace.backlog_max = pace.backlog_max.max(pace.backlog);
        }
        self.wake(worker);
    }

    /// A worker's request goes now; gives when it was to go.
    pub(super) fn arrived_ns(&mut self, worker: u32, length: u32) -> u64 {
        let now_ns = self.now_ns;
        let Some(pace) = &mut self.paces[worker as usize] else { return now_ns };
        let intended_ns = pace.take(length, now_ns);
        if let Some(open) = self.outcome.open_loop.as_mut().filter(|_| self.marks.begun) {
            open.late.record(now_ns - intended_ns);
        }
        intended_ns
    }

    /// Up to when arrivals count: what arrives just at the end is no part of it.
    fn arrivals_until_ns(&self) -> u64 {
        self.now_ns.min(self.ends_ns.saturating_sub(1))
    }

    /// The run is over: what had arrived and did not go, of what was asked for.
    pub(super) fn count_backlogs(&mut self) {
        let until_ns = self.arrivals_until_ns();
        let Some(open) = &mut self.outcome.open_loop else { return };
        let most = self.workload.limits.requests.map_or(u64::MAX, |most| most.saturating_sub(self.issued));
        for pace in self.paces.iter_mut().flatten() {
            pace.count_backlog(until_ns, self.workload.request_size.0 as u32);
            open.backlog_at_end += pace.backlog.min(most);
            open.backlog_max += pace.backlog_max.max(pace.backlog).min(most.saturating_add(self.issued));
        }
    }
}
