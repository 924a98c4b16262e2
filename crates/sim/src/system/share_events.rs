//! What happens to a request of a share.

use super::events::Event;
use super::share::Share;
use super::state::{Open, System};
use halfpower_model::{Request, RequestKind};

impl System<'_> {
    /// A request leaves the client; a write only within the window.
    pub(super) fn call_server(&mut self, request: u32) {
        let Open { asked, .. } = self.requests.all[request as usize];
        let Some(share) = &mut self.share else { return };
        if asked.kind == RequestKind::Write {
            if share.writes >= share.model.write_window {
                share.held.add(self.now_ns);
                return share.waiting.push_back(request);
            }
            share.writes += 1;
        }
        self.send_to_server(request, &asked);
    }

    fn send_to_server(&mut self, request: u32, asked: &Request) {
        let there_ns = self.send(&self.machine.wire, u64::from(asked.length), asked.kind);
        self.at(there_ns, Event::AtServer { request });
    }

    /// A request is at the server: its CPUs come first, then its disks.
    pub(super) fn at_server(&mut self, request: u32) {
        let done_ns = self.on_server(request, 1.0 - self.machine.system.completion_share);
        self.at(done_ns, Event::Through { request });
    }

    fn on_server(&mut self, request: u32, share_of_system: f64) -> u64 {
        let asked = self.requests.all[request as usize].asked;
        let system_ns = self.cost_ns(&asked, share_of_system);
        let now_ns = self.now_ns;
        let Some(share) = &mut self.share else { return now_ns };
        let spent_ns = Share::half_ns(share.model.server_read, share.model.server_write, &asked) + system_ns;
        share.server.as_mut().unwrap_or(&mut self.cpus).serve(now_ns, now_ns, spent_ns)
    }

    /// The server's disks have done a request: its CPUs, and the way back.
    pub(super) fn served(&mut self, request: u32) {
        let done_ns = self.on_server(request, self.machine.system.completion_share);
        self.at(done_ns, Event::Answer { request });
    }

    pub(super) fn answer(&mut self, request: u32) {
        let asked = self.requests.all[request as usize].asked;
        let Some(share) = &self.share else { return };
        let (wire, client_ns) = (&self.machine.wire, share.client_ns(&asked));
        let bytes = if asked.kind == RequestKind::Write { 0 } else { u64::from(asked.length) };
        let back_ns = self.move_bytes(wire, bytes, asked.kind);
        let done_ns = self.cpus.serve(self.now_ns, back_ns, client_ns);
        self.at(done_ns, Event::Complete { request });
    }

    /// A write is done: the next one enters the window.
    pub(super) fn leave_window(&mut self, kind: RequestKind) {
        let Some(share) = self.share.as_mut().filter(|_| kind == RequestKind::Write) else { return };
        match share.waiting.pop_front() {
            Some(next) => {
                share.held.take(self.now_ns);
                let asked = self.requests.all[next as usize].asked;
                self.send_to_server(next, &asked);
            }
            None => share.writes -= 1,
        }
    }
}
