//! The program and the CPUs: when a worker issues a request, what it costs, when it extends a file, and when it is done.

use crate::system::events::Event;
use crate::system::state::{Open, Origin, System};
use halfpower_model::distribution::exponential_gap;
use halfpower_model::{Histogram, Request, RequestKind};

impl System<'_> {
    pub(super) fn is_over(&self) -> bool {
        let limits = &self.workload.limits;
        self.now_ns >= self.ends_ns
            || limits.requests.is_some_and(|most| self.issued >= most)
            || limits.bytes.is_some_and(|most| self.issued_bytes >= most.0)
    }

    /// Whether the workload's requests or bytes are completed.
    pub(super) fn is_used_up(&self) -> bool {
        let limits = &self.workload.limits;
        let done = || self.outcome.latency.iter().map(Histogram::count).sum::<u64>();
        limits.requests.is_some_and(|most| done() >= most)
            || limits.bytes.is_some_and(|most| self.outcome.bytes.iter().sum::<u64>() >= most.0)
    }

    pub(super) fn issue(&mut self, worker: u32) {
        if self.is_over() || self.holds(worker) {
            return;
        }
        let mut asked = [Request { offset: 0, length: 0, kind: RequestKind::Read }];
        self.streams[worker as usize].fill(&mut asked);
        let asked = asked[0];
        if self.marks.begun {
            self.issued += 1;
            self.issued_bytes += u64::from(asked.length);
        }
        self.count_outstanding();
        self.open_requests += 1;
        self.open_bytes += u64::from(asked.length);
        if asked.kind == RequestKind::Write {
            let flushing = &mut self.flushes.workers[worker as usize];
            (flushing.writes, flushing.open) = (flushing.writes + 1, flushing.open + 1);
        }
        let volume = self.workload.volume_of(worker) as u32;
        let arrived_ns = self.arrived_ns(worker, asked.length);
        let open = Open { arrived_ns, ..Open::made(Origin::Program { worker }, volume, asked, self.now_ns) };
        let spent_ns = match (&self.cache, &self.share) {
            (Some(cache), _) => cache.cost(asked.kind).ns(0),
            (None, Some(share)) => share.client_ns(&asked),
            (None, None) => self.cost_ns(&asked, 1.0 - self.machine.system.completion_share),
        };
        let done_ns = self.spend(worker, spent_ns);
        let request = self.requests.put(open);
        self.at(done_ns, Event::Dispatch { request });
    }

    /// Spends CPU time of a worker, which is one thread and uses one CPU at a time. Gives the end.
    pub(super) fn spend(&mut self, worker: u32, spent_ns: u64) -> u64 {
        let from_ns = self.now_ns.max(self.worker_free_ns[worker as usize]);
        let done_ns = self.cpus.serve(self.now_ns, from_ns, spent_ns);
        self.worker_free_ns[worker as usize] = done_ns;
        self.workers_ns += spent_ns;
        done_ns
    }

    /// CPU time of the workers up to now. Work that is booked ahead has no gaps.
    pub(super) fn threads_ns(&self) -> u64 {
        let ahead_ns: u64 = self.worker_free_ns.iter().map(|free_ns| free_ns.saturating_sub(self.now_ns)).sum();
        self.workers_ns.saturating_sub(ahead_ns)
    }

    /// A request's first CPU time is spent.
    pub(super) fn enter(&mut self, request: u32) {
        let Open { origin, asked, .. } = self.requests.all[request as usize];
        match origin {
            Origin::Program { .. } if self.share.is_some() => self.call_server(request),
            Origin::Program { .. } if self.growth.is_some() && asked.kind == RequestKind::Write => self.extend(request),
            Origin::Program { .. } => self.pass(request),
            _ => self.dispatch(request),
        }
    }

    /// Sends a request of the program to the page cache or to its disks.
    pub(super) fn pass(&mut self, request: u32) {
        match self.requests.all[request as usize].origin {
            Origin::Program { worker } if self.cache.is_some() => self.enter_cache(request, worker),
            _ => self.dispatch(request),
        }
    }

    /// A share of the CPU time of a direct request. Raw commands (`sg`) cost none.
    pub(super) fn cost_ns(&self, asked: &Request, share: f64) -> u64 {
        if self.is_raw {
            return 0;
        }
        let system = &self.machine.system;
        let cost = if asked.kind == RequestKind::Read { system.direct_read } else { system.direct_write };
        let bytes = match asked.kind {
            RequestKind::Read | RequestKind::Write => u64::from(asked.length),
            RequestKind::Trim | RequestKind::Flush => 0,
        };
        let driver = self.driver_costs[asked.kind as usize];
        ((cost.ns(bytes) + driver.ns(bytes)) as f64 * share + 0.5) as u64
    }

    /// All bytes of a request are transferred: the CPU completes it.
    pub(super) fn finish_request(&mut self, request: u32) {
        if self.share.is_some() && matches!(self.requests.all[request as usize].origin, Origin::Program { .. }) {
            return self.served(request);
        }
        let jitter_ns = self.machine.system.interrupt_jitter.0;
        let has_bytes = |asked: &Request| matches!(asked.kind, RequestKind::Read | RequestKind::Write);
        if jitter_ns == 0 || !has_bytes(&self.requests.all[request as usize].asked) {
            return self.interrupt(request);
        }
        let after_ns = exponential_gap(&mut self.random, jitter_ns as f64) as u64;
        self.at(self.now_ns + after_ns, Event::Interrupt { request });
    }

    /// The CPU takes the interrupt after the last byte.
    pub(super) fn interrupt(&mut self, request: u32) {
        let spent_ns = self.cost_ns(&self.requests.all[request as usize].asked, self.machine.system.completion_share);
        let done_ns = self.cpus.serve(self.now_ns, self.now_ns, spent_ns);
        self.outcome.interrupt_ns += spent_ns;
        self.at(done_ns, Event::Complete { request });
        if let Some(cache) = &self.cache {
            self.cpus.serve(self.now_ns, done_ns, cache.model.paging.0);
        }
    }

    /// A request is done. One of the program takes at least a nanosecond, so that time advances even without any costs.
    pub(super) fn complete(&mut self, request: u32) {
        let Open { origin, issued_ns, .. } = self.requests.all[request as usize];
        if issued_ns == self.now_ns && matches!(origin, Origin::Program { .. }) {
            return self.at(issued_ns + 1, Event::Complete { request });
        }
        let Open { origin, volume, asked, issued_ns, arrived_ns, .. } = self.requests.take(request);
        let worker = match origin {
            Origin::Program { worker } => worker,
            Origin::PageIn => return self.paged_in(volume, &asked),
            Origin::PageOut => return self.paged_out(volume, &asked),
            Origin::Fill { request } => {
                self.grow(volume, &asked);
                return self.fill(request);
            }
        };
        self.count_outstanding();
        self.open_requests -= 1;
        self.open_bytes -= u64::from(asked.length);
        if asked.kind == RequestKind::Write {
            self.flushes.workers[worker as usize].open -= 1;
            self.extended(volume, &asked);
        }
        self.leave_window(asked.kind);
        if self.is_over() && self.is_used_up() {
            // More were outstanding at the end of the warm-up than were asked for.
            return;
        }
        if self.marks.begun {
            let took_ns = self.now_ns - issued_ns;
            let kind = asked.kind as usize;
            self.outcome.latency[kind].record(took_ns);
            if let Some(open) = &mut self.outcome.open_loop {
                open.response.record(self.now_ns - arrived_ns);
            }
            self.outcome.bytes[kind] += u64::from(asked.length);
            self.outcome.add_to_course(self.now_ns - self.workload.warmup.0, u64::from(asked.length));
        } else {
            self.may_begin();
        }
        self.go_on(worker);
    }

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

    /// Wakes a waiting worker when its next request is due.
    fn wake(&mut self, worker: u32) {
        let (now_ns, depth) = (self.now_ns, self.workload.depth);
        let Some(pace) = &mut self.paces[worker as usize] else { return };
        pace.begin_pause(depth, now_ns);
        if pace.is_awake || !pace.has_room(depth) {
            return;
        }
        pace.is_awake = true;
        let at_ns = pace.next_ns.max(now_ns);
        self.at(at_ns, Event::Issue { worker });
    }

    /// Issues the requests that are due, up to the depth.
    pub(super) fn issue_due(&mut self, worker: u32) {
        let (now_ns, until_ns, number) = (self.now_ns, self.arrivals_until_ns(), worker as usize);
        let Some(pace) = &mut self.paces[number] else { return self.issue(worker) };
        pace.is_awake = false;
        pace.count_backlog(until_ns, self.workload.request_size.0 as u32);
        let depth = self.workload.depth;
        while let Some(pace) = self.paces[number].as_mut().filter(|pace| pace.next_ns <= now_ns && pace.has_room(depth))
        {
            pace.idle -= 1;
            self.issue(worker);
        }
        if let Some(pace) = self.paces[number].as_mut().filter(|_| self.marks.begun) {
            pace.backlog_max = pace.backlog_max.max(pace.backlog);
        }
        self.wake(worker);
    }

    /// A worker issues a request; gives its intended arrival.
    pub(super) fn arrived_ns(&mut self, worker: u32, length: u32) -> u64 {
        let now_ns = self.now_ns;
        let Some(pace) = &mut self.paces[worker as usize] else { return now_ns };
        let intended_ns = pace.take(length, now_ns);
        if let Some(open) = self.outcome.open_loop.as_mut().filter(|_| self.marks.begun) {
            open.late.record(now_ns - intended_ns);
        }
        intended_ns
    }

    /// Until when arrivals count. One at the very end does not.
    fn arrivals_until_ns(&self) -> u64 {
        self.now_ns.min(self.ends_ns.saturating_sub(1))
    }

    /// Counts the requests that had arrived and were not issued at the end of the run.
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
