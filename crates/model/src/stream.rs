//! The request stream: kind, offset and length, generated from a workload, a seed and a worker's number, or read from a trace.
//!
//! Engine and simulator use the same stream, so runs on either are the same work and repeat exactly. Requests are generated in
//! batches, and the workload is examined once per batch, outside the loop. The seed does not decide which worker takes the next
//! request of a shared cursor.

mod places;
mod replay;

use crate::random::{Random, derive_seed};
use crate::units::Bytes;
use crate::workload::{Operation, Workload};
pub use crate::workload::{Request, RequestKind};
use places::Places;
pub(crate) use replay::Cursor;
use std::sync::atomic::AtomicU64;

/// The endless stream of one worker's requests.
#[derive(Clone, Debug)]
pub struct RequestStream<'a> {
    /// Of a replay; the rest is then unused.
    replay: Option<Cursor>,
    places: Places<'a>,
    choices: Random,
    operation: Operation,
    sizes: [Weighted; 4],
    request_size: u32,
    is_plain: bool,
    /// The trim whose bytes are to be written next.
    trimmed: Option<Request>,
}

/// Sizes of a kind with cumulative weights.
type Weighted = Vec<(u32, u64)>;

/// Parts of a worker's seed.
const PLACES: u64 = 0;
const CHOICES: u64 = 1;

impl<'a> RequestStream<'a> {
    /// The stream of worker `worker` (from 0). Where the workers share a cursor, `cursor` is that of the worker's
    /// target, 0 at first; elsewhere none.
    ///
    /// # Panics
    /// If the span has no room for one request per worker; resolving a workload checks this.
    pub fn new(workload: &Workload, worker: u32, cursor: Option<&'a AtomicU64>) -> Self {
        let seed = |part| derive_seed(workload.seed, workload.number(worker) * 2 + part);
        let weighted = |kind| {
            let mut sum = 0;
            let add = |(size, weight): &(Bytes, u32)| {
                sum += u64::from(*weight);
                (size.0 as u32, sum)
            };
            workload.sizes.of(kind).iter().map(add).collect()
        };
        RequestStream {
            replay: Cursor::new(workload, worker),
            places: Places::new(workload, worker, Random::new(seed(PLACES)), cursor),
            choices: Random::new(seed(CHOICES)),
            operation: workload.operation,
            sizes: RequestKind::ALL.map(weighted),
            request_size: workload.request_size.0 as u32,
            is_plain: workload.sizes.is_empty() && !workload.operation.has(RequestKind::Flush),
            trimmed: None,
        }
    }

    /// Number of requests that may be generated ahead: one with a shared cursor.
    pub fn look_ahead(&self) -> usize {
        if self.places.is_shared() { 1 } else { usize::MAX }
    }

    /// Overwrites `batch` with the next requests.
    ///
    /// # Panics
    /// If it replays a trace that cannot be read.
    pub fn fill(&mut self, batch: &mut [Request]) {
        if let Some(replay) = &mut self.replay {
            for request in batch {
                *request = replay.request();
                replay.advance();
            }
            return;
        }
        if self.operation == Operation::TrimWrite {
            batch.iter_mut().for_each(|request| *request = self.trim_or_write());
            return;
        }
        self.draw(batch);
    }

    fn trim_or_write(&mut self) -> Request {
        if let Some(trim) = self.trimmed.take() {
            return Request { kind: RequestKind::Write, ..trim };
        }
        let mut trim = [Request::default()];
        self.draw(&mut trim);
        self.trimmed = Some(trim[0]);
        trim[0]
    }

    fn draw(&mut self, batch: &mut [Request]) {
        match self.operation.only() {
            Some(kind) => batch.iter_mut().for_each(|request| request.kind = kind),
            None if self.operation == Operation::TrimWrite => {
                batch.iter_mut().for_each(|request| request.kind = RequestKind::Trim);
            }
            None => batch.iter_mut().for_each(|request| request.kind = draw_kind(self.operation, &mut self.choices)),
        }
        batch.iter_mut().for_each(|request| request.length = self.request_size);
        if !self.is_plain {
            self.draw_sizes(batch);
        }
        self.places.fill(batch);
    }

    fn draw_sizes(&mut self, batch: &mut [Request]) {
        for request in batch {
            let sizes = &self.sizes[request.kind as usize];
            if request.kind == RequestKind::Flush {
                request.length = 0;
            } else if let Some((_, total)) = sizes.last() {
                let drawn = self.choices.below(*total);
                let size = sizes.iter().find(|(_, up_to)| drawn < *up_to);
                request.length = size.map_or(self.request_size, |(size, _)| *size);
            }
        }
    }
}

fn draw_kind(operation: Operation, random: &mut Random) -> RequestKind {
    let mut drawn = random.below(100) as u8;
    for kind in RequestKind::ALL {
        let percent = operation.percent(kind);
        if drawn < percent {
            return kind;
        }
        drawn -= percent;
    }
    RequestKind::Read
}

#[cfg(test)]
mod tests;
