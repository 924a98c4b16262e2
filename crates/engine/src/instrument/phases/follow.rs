//! Follows requests of the block layer from tracepoint to tracepoint, and sums up the time between them.

use halfpower_model::Histogram;
use halfpower_model::sample::{Latency, Phases};
use std::collections::HashMap;

/// Tracepoints (include/trace/events/block.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// A request was created and is queued.
    Queued,
    /// It was issued to the driver.
    Issued,
    /// The driver completed it.
    Completed,
    /// The driver returned it, to be issued again.
    Requeued,
    /// A submission was too large for one request.
    Split,
    /// A submission was merged into a queued request.
    Merged,
    /// A submission would have had to wait, and is submitted again by who asked not to.
    Refused,
}

impl Point {
    /// What of its events is meant, as a filter of the kernel; none for all.
    pub(super) fn filter(self) -> Option<&'static str> {
        // EAGAIN.
        (self == Point::Refused).then_some("error == -11")
    }

    /// The points of a recording: requests as programs issue them, and their completion.
    pub(super) const OF_REQUESTS: [(Point, &'static str); 3] = [
        (Point::Queued, "block_bio_queue"),
        (Point::Completed, "block_rq_complete"),
        (Point::Refused, "block_bio_complete"),
    ];

    /// The points of the phases, with the names of their events.
    pub(super) const OF_PHASES: [(Point, &'static str); 7] = [
        (Point::Queued, "block_getrq"),
        (Point::Issued, "block_rq_issue"),
        (Point::Completed, "block_rq_complete"),
        (Point::Requeued, "block_rq_requeue"),
        (Point::Split, "block_split"),
        (Point::Merged, "block_bio_backmerge"),
        (Point::Merged, "block_bio_frontmerge"),
    ];
}

/// An event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: u64,
    pub(super) point: Point,
    /// The kernel's number of the device, and the request's first sector: together they identify it.
    pub(super) device: u32,
    pub(super) sector: u64,
    /// Number of sectors, and the kernel's letters for the kind; 0 where the event has none.
    pub(super) sectors: u32,
    pub(super) letters: [u8; 4],
}

/// When a request was queued and issued, in ns.
#[derive(Clone, Copy)]
struct Life {
    queued_at: u64,
    issued_at: Option<u64>,
}

/// The phases of all requests followed so far.
#[derive(Default)]
pub(super) struct Follower {
    queued: Histogram,
    device: Histogram,
    figures: Phases,
}

impl Follower {
    /// Follows the requests of one observation. Those that begin in its second half are left out: only the fast ones of them
    /// would end in time, which would bias the figures.
    pub(super) fn look(&mut self, events: &mut [Event]) {
        events.sort_by_key(|event| event.at_ns);
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        let half = first.at_ns + (last.at_ns - first.at_ns) / 2;
        let mut lives: HashMap<(u32, u64), Life> = HashMap::new();
        for event in events.iter() {
            let which = (event.device, event.sector);
            match event.point {
                Point::Queued => {
                    // A request that is already there was merged or ended unseen.
                    lives.remove(&which);
                    if event.at_ns <= half {
                        lives.insert(which, Life { queued_at: event.at_ns, issued_at: None });
                    }
                }
                Point::Issued => {
                    if let Some(life) = lives.get_mut(&which) {
                        life.issued_at = Some(event.at_ns);
                    }
                }
                Point::Completed => {
                    if let Some(Life { queued_at, issued_at: Some(issued_at) }) = lives.remove(&which) {
                        self.queued.record(issued_at - queued_at);
                        self.device.record(event.at_ns - issued_at);
                    }
                }
                // It waits again and will be issued again.
                Point::Requeued => self.figures.requeued += 1,
                Point::Split => self.figures.split += 1,
                Point::Merged => self.figures.merged += 1,
                // Not among the points of the phases.
                Point::Refused => {}
            }
        }
        self.figures.unfinished += lives.values().filter(|life| life.issued_at.is_some()).count() as u64;
    }

    /// The result, observed during this share of the time.
    pub(super) fn figures(&self, looked_share: f64) -> Phases {
        let (queued, device) = (self.queued.sum(), self.device.sum());
        Phases {
            followed: self.device.count(),
            queued_ns: Latency::of(&self.queued),
            device_ns: Latency::of(&self.device),
            queued_share: (queued + device > 0.0).then(|| queued / (queued + device)),
            looked_share,
            ..self.figures.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: u32 = 254 << 20;

    fn event(at_ns: u64, point: Point, sector: u64) -> Event {
        Event { at_ns, point, device: DEVICE, sector, sectors: 8, letters: *b"R\0\0\0" }
    }

    #[test]
    fn a_request_is_followed_from_the_queue_to_its_end() {
        let mut follower = Follower::default();
        follower.look(&mut [
            // It began before the observation, so its end says nothing.
            event(50, Point::Completed, 8),
            event(100, Point::Queued, 16),
            event(110, Point::Merged, 24),
            event(400, Point::Issued, 16),
            event(1000, Point::Queued, 800),
            event(1500, Point::Issued, 800),
            event(1600, Point::Requeued, 800),
            event(2000, Point::Issued, 800),
            event(2400, Point::Completed, 16),
            event(4000, Point::Completed, 800),
            // In the second half.
            event(4100, Point::Queued, 900),
            event(4200, Point::Issued, 900),
            event(4300, Point::Completed, 900),
            event(5000, Point::Split, 1000),
        ]);
        let figures = follower.figures(0.1);
        assert_eq!((figures.followed, figures.merged, figures.split, figures.requeued), (2, 1, 1, 1));
        // 300 and 1000 ns queued, 2000 and 2000 ns at the device.
        assert_eq!((figures.queued_ns.min, figures.queued_ns.max), (Some(300), Some(1000)));
        assert_eq!(figures.device_ns.mean, Some(2000.0));
        assert!((figures.queued_share.unwrap() - 1300.0 / 5300.0).abs() < 1e-9);
        assert_eq!(figures.unfinished, 0);
    }

    #[test]
    fn requests_of_two_devices_are_two_requests() {
        let mut follower = Follower::default();
        let other = |at_ns, point| Event { device: DEVICE + 1, ..event(at_ns, point, 8) };
        follower.look(&mut [
            event(0, Point::Queued, 8),
            other(1, Point::Queued),
            event(2, Point::Issued, 8),
            other(3, Point::Issued),
            other(5, Point::Completed),
            event(1000, Point::Queued, 16),
        ]);
        let figures = follower.figures(1.0);
        assert_eq!((figures.followed, figures.unfinished), (1, 1));
        assert_eq!(figures.device_ns.max, Some(2));
        assert_eq!(Follower::default().figures(0.0).queued_share, None);
    }
}
