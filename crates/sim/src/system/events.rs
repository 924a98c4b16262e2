//! Events in the order of time; those of one moment come in the order in which they were made.

use std::collections::VecDeque;

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A worker issues its next request.
    Issue { worker: u32 },
    /// A request's CPU time is spent: it goes to the cache, or its portions set out.
    Dispatch { request: u32 },
    /// A request has passed the page cache or the server's CPUs, and goes to its disks.
    Through { request: u32 },
    /// The lazy writer may scan.
    LazyWriter,
    /// A portion is at the controller that makes the volume.
    Launch { portion: u32 },
    /// A piece is at the controller that stores it.
    Queue { piece: u32 },
    /// A piece is at its disk: the command of a read, the bytes of a write.
    Arrive { piece: u32 },
    /// A disk's arm is free.
    Disk { disk: u32 },
    /// The bytes of a read begin to move.
    Transfer { piece: u32 },
    /// A disk has done a piece: its bytes have left it, or are in it.
    Done { piece: u32 },
    /// A piece's bytes are in memory.
    Finish { piece: u32 },
    /// A portion's are.
    Portion { portion: u32 },
    /// A request is at the server of its share.
    AtServer { request: u32 },
    /// It is on its way back.
    Answer { request: u32 },
    /// A request's bytes are transferred, and the CPU takes the interrupt.
    Interrupt { request: u32 },
    /// The program sees its request done.
    Complete { request: u32 },
}

/// Events that are to come, in their order. Few are to come at a time, and most new ones are later than all of them.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<(u64, Event)>);

impl Events {
    /// Adds an event.
    pub(super) fn put(&mut self, at_ns: u64, event: Event) {
        if self.0.back().is_none_or(|(last_ns, _)| *last_ns <= at_ns) {
            return self.0.push_back((at_ns, event));
        }
        let place = self.0.partition_point(|(before_ns, _)| *before_ns <= at_ns);
        self.0.insert(place, (at_ns, event));
    }

    /// The next event and its time.
    pub(super) fn take(&mut self) -> Option<(u64, Event)> {
        self.0.pop_front()
    }
}
