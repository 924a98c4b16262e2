//! The shortest form of the loop, for personalities that do a transfer at once: request, transfer, clock, record. It
//! runs inside the plain form and hands back to it whatever is out of the ordinary: the end of the window, a stop, a
//! transfer that failed or was short.

use super::{Slot, Surroundings, Worker};
use crate::personality::interface::{Completion, Personality, Transfer};
use std::sync::atomic::Ordering::Relaxed;

impl<P: Personality, const FULL: bool> Worker<'_, P, FULL> {
    /// Runs until the tick `until` or something out of the ordinary, all of it measured; gives the present tick.
    #[inline(never)]
    pub(super) fn run_synchronous(&mut self, mut now: u64, until: u64) -> u64 {
        let Surroundings { record, stop, clock, .. } = self.around;
        let address = self.buffers.address(0, 0);
        let mut submitted = 0;
        while now < until && submitted < self.remaining && !stop.load(Relaxed) {
            let request = self.next_request();
            submitted += 1;
            let transfer = Transfer {
                tag: 0,
                length: request.length,
                offset: request.offset,
                address,
                target: 0,
                kind: request.kind,
            };
            // SAFETY: the one slot is this request's until it is done, and the buffers outlive the personality.
            let result = unsafe { self.personality.transfer(&transfer) };
            let end = clock.tick();
            if result as u32 != request.length || request.length == 0 || end > until {
                self.free.clear();
                self.slots[0] = Slot { request, submitted_at: now, done: 0 };
                self.done.push(Completion { tag: 0, result });
                now = end;
                break;
            }
            let latency_ns = clock.nanoseconds(end - now);
            record.kinds[request.kind as usize].record(latency_ns, u64::from(request.length));
            record.counted_until.store(end, Relaxed);
            now = end;
        }
        self.outcome.submitted += submitted;
        self.remaining -= submitted;
        // One was always outstanding.
        self.depth_ticks += now.saturating_sub(self.depth_until);
        self.depth_until = now;
        now
    }
}
