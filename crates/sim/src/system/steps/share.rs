//! A request of a network share, from the client to the server and back.

use crate::system::events::Event;
use crate::system::request::{Open, Origin};
use crate::system::share::Share;
use crate::system::state::System;
use halfpower_model::{Nanoseconds, Request, RequestKind};

impl System<'_> {
    /// A request leaves the client, if its window lets it.
    pub(super) fn call_server(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let Some(share) = &mut self.share else { return };
        let window = share.window(&asked);
        if let Some(under_way) = share.under_way.get_mut(asked.kind as usize) {
            if *under_way >= window {
                share.held(&asked).add(self.now_ns);
                return share.waiting[asked.kind as usize].push_back(request);
            }
            *under_way += 1;
        }
        self.over(request);
    }

    fn over(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let Some(share) = &self.share else { return };
        let there_ns = self.send(&share.model.wire, u64::from(asked.length), asked.kind);
        self.at(there_ns, Event::AtServer { request });
    }

    /// A request is at the server, whose CPUs see to it before its disks do.
    pub(super) fn at_server(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let share_of_system = 1.0 - self.machine.system.completion_share;
        let done_ns = self.on_server(&asked, share_of_system);
        self.at(done_ns, Event::Serve { request });
    }

    fn on_server(&mut self, asked: &Request, share_of_system: f64) -> u64 {
        let system_ns = self.cost_ns(asked, share_of_system);
        let now_ns = self.now_ns;
        let Some(share) = &mut self.share else { return now_ns };
        let spent_ns = Share::half_ns(share.model.server, asked) + system_ns;
        share.server.as_mut().unwrap_or(&mut self.cpus).serve(now_ns, now_ns, spent_ns)
    }

    /// The server's disks are asked: at once, or a unit at a time.
    pub(super) fn serve(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        if self.share.as_ref().is_some_and(|share| share.model.large(&asked).is_some()) {
            self.next_unit(request, asked.offset)
        } else {
            self.dispatch(request)
        }
    }

    /// The unit of a large request that begins at `offset`.
    pub(super) fn next_unit(&mut self, request: u32, offset: u64) {
        let Open { volume, asked, .. } = self.requests.all[request as usize];
        let end = asked.offset + u64::from(asked.length);
        let now_ns = self.now_ns;
        let Some(share) = &mut self.share else { return };
        let Some(large) = share.model.large(&asked) else { return };
        if offset >= end {
            return self.finish_request(request);
        }
        let length = (end - offset).min(large.unit.0);
        let Nanoseconds(wait_ns) = match large.first_wait.filter(|_| offset == asked.offset) {
            Some(first) => first,
            None if length < large.unit.0 => large.part_wait,
            None => large.wait,
        };
        let kind = asked.kind as usize;
        share.paused_ns[kind] += wait_ns;
        share.paused_until_ns[kind] = now_ns + wait_ns;
        let unit = Request { offset, length: length as u32, kind: asked.kind };
        let origin = Origin::Unit { request };
        let number = self.requests.put(Open::made(origin, volume, unit, self.now_ns));
        self.at(self.now_ns + wait_ns, Event::Dispatch { request: number });
    }

    /// The server's disks have done a request: its CPUs, and the way back.
    pub(super) fn served(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let done_ns = self.on_server(&asked, self.machine.system.completion_share);
        self.at(done_ns, Event::Answer { request });
    }

    pub(super) fn answer(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let Some(share) = &self.share else { return };
        let (wire, client_ns) = (&share.model.wire, share.client_ns(&asked));
        let bytes = if asked.kind == RequestKind::Write { 0 } else { u64::from(asked.length) };
        let back_ns = self.move_bytes(wire, bytes, asked.kind);
        let done_ns = self.cpus.serve(self.now_ns, back_ns, client_ns);
        self.at(done_ns, Event::Complete { request });
    }

    /// A request is done: the next of its kind may go.
    pub(super) fn leave_window(&mut self, kind: RequestKind) {
        let Some(share) = &mut self.share else { return };
        let Some(under_way) = share.under_way.get_mut(kind as usize) else { return };
        match share.waiting[kind as usize].pop_front() {
            Some(next) => {
                let asked = self.requests.all[next as usize].asked;
                share.held(&asked).take(self.now_ns);
                self.over(next);
            }
            None => *under_way -= 1,
        }
    }
}
