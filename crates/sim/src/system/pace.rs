//! The pace of a worker: the arrivals of an open loop, the gaps of one that is held back, or pauses.
//!
//! An open loop's requests have an intended arrival, whether anybody is free to issue them or not. None is skipped: what could
//! not go in time goes as soon as it can, and its response counts from the intended arrival. One that is held back makes up
//! for a short delay, so that its rate is kept, and not for a long one. Both as the engine does it.

use halfpower_model::arrivals::ArrivalStream;
use halfpower_model::{Arrivals, Histogram, Workload};

/// The longest delay that a loop which is held back makes up for.
pub(super) const MADE_UP_NS: u64 = 10_000_000;

/// What an open loop's requests waited, in the measured part.
#[derive(Clone, Debug, Default)]
pub struct OpenLoop {
    /// From the intended arrival to the completion.
    pub response: Histogram,
    /// From the intended arrival to the issue.
    pub late: Histogram,
    /// Most requests that had arrived and were not issued; of several workers, the sum of each one's most.
    pub backlog_max: u64,
    /// Those at the end.
    pub backlog_at_end: u64,
}

/// The pace of one worker.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) arrivals: ArrivalStream,
    /// When the next request may go.
    pub(super) next_ns: u64,
    /// Whether requests arrive whether anybody is free or not.
    pub(super) is_open: bool,
    /// Requests that it could issue.
    pub(super) idle: u32,
    /// Whether it is to look when the next may go.
    pub(super) is_awake: bool,
    /// The same arrivals, gone through up to now to see how many there were; less those that were issued.
    pub(super) due: ArrivalStream,
    pub(super) backlog: u64,
    pub(super) backlog_max: u64,
}

impl Pace {
    /// The pace of a worker; none where nothing holds it back.
    pub(super) fn of(workload: &Workload, worker: u32) -> Option<Pace> {
        let arrivals = ArrivalStream::new(workload, worker)?;
        Some(Pace {
            due: arrivals.clone(),
            next_ns: arrivals.next_ns(),
            arrivals,
            is_open: workload.arrivals != Arrivals::Closed,
            idle: 0,
            is_awake: false,
            backlog: 0,
            backlog_max: 0,
        })
    }

    /// A request of `length` bytes goes now; gives when it was to go.
    pub(super) fn take(&mut self, length: u32, now_ns: u64) -> u64 {
        let intended_ns = self.next_ns;
        if self.is_open {
            self.backlog = self.backlog.saturating_sub(1);
            self.arrivals.advance(length);
            self.next_ns = self.arrivals.next_ns();
            return intended_ns;
        }
        let gap_ns = self.arrivals.gap_ns(length) as u64;
        self.next_ns = (intended_ns + gap_ns).max(now_ns.saturating_sub(MADE_UP_NS));
        now_ns
    }

    /// Whether one more request may be outstanding, of `depth` at most.
    pub(super) fn has_room(&self, depth: u32) -> bool {
        self.idle > 0 && u64::from(depth - self.idle) < self.arrivals.outstanding_max()
    }

    /// Begins a pause that is due, if nothing is outstanding of `depth`.
    pub(super) fn begin_pause(&mut self, depth: u32, now_ns: u64) {
        if self.idle == depth
            && let Some(pause_ns) = self.arrivals.begin_pause()
        {
            self.next_ns = now_ns + pause_ns;
        }
    }

    /// Goes through what has arrived by now, requests of a byte rate being taken for `length` bytes.
    pub(super) fn count_backlog(&mut self, now_ns: u64, length: u32) {
        while self.is_open && self.due.next_ns() <= now_ns {
            self.due.advance(length);
            self.backlog += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;
    use crate::bus::Bus;
    use crate::device::BufferedDrive;
    use crate::disk::Overhead;
    use halfpower_model::workload::Rate;

    const SERVICE_NS: u64 = 100_000;

    /// One server that takes 100 µs for a request, and nothing beside it.
    fn server() -> Machine {
        let mut machine = machine(larger(Scheduler::Fcfs), 1, Volume::Each);
        let overhead = Overhead { read_hit_ns: SERVICE_NS, ..Overhead::default() };
        machine.disks[0].device = Device::Buffer(BufferedDrive { size: Bytes(1 << 30), overhead });
        machine.disks[0].near = vec![0];
        machine.parts = vec![Part { kind: PartKind::Bus(Bus::default()), ..bus("free", 1e18) }];
        machine.system.direct_read = Cost::default();
        machine
    }

    fn at_rate(arrivals: Arrivals, per_s: u64, depth: u32, seconds: u64) -> (OpenLoop, Outcome) {
        let workload = Workload {
            pattern: Pattern::Random,
            buffering: Buffering::Direct,
            request_size: Bytes(4096),
            span: Bytes(1 << 30),
            rate: Some(Rate::Requests(per_s)),
            arrivals,
            depth,
            limits: for_ms(seconds * 1000),
            ..Workload::default()
        };
        let outcome = course(&server(), &workload);
        (outcome.open_loop.clone().unwrap_or_default(), outcome)
    }

    /// The mean wait before one server of constant time, for arrivals by chance (Pollaczek and Khinchine): whoever waits, in the
    /// program or at the device, the response is the same.
    #[test]
    fn arrivals_by_chance_wait_as_queueing_theory_has_it() {
        for (per_s, depth) in [(5_000, 1), (5_000, 64), (8_000, 1), (8_000, 256)] {
            let (open, outcome) = at_rate(Arrivals::Poisson, per_s, depth, 20);
            let service_us = SERVICE_NS as f64 / 1e3;
            let load = per_s as f64 * service_us / 1e6;
            let expected_us = service_us * (1.0 + load / (2.0 * (1.0 - load)));
            let response_us = open.response.mean().unwrap() / 1e3;
            assert!((response_us / expected_us - 1.0).abs() < 0.03, "{response_us} and not {expected_us} µs");
            let parts_us = (open.late.mean().unwrap() + outcome.latency[0].mean().unwrap()) / 1e3;
            assert!((parts_us / response_us - 1.0).abs() < 0.01, "what it waited and its service: {parts_us} µs");
            if depth == 1 {
                assert!((outcome.latency[0].mean().unwrap() / SERVICE_NS as f64 - 1.0).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn even_arrivals_wait_for_nobody_until_there_are_too_many() {
        let (open, outcome) = at_rate(Arrivals::Constant, 8_000, 4, 1);
        assert_eq!((requests(&outcome), open.backlog_max, open.late.max()), (8_000, 0, Some(0)));
        // Twice as many as can be: of 20 000 a second half are done.
        let (open, outcome) = at_rate(Arrivals::Constant, 20_000, 4, 1);
        assert!((9_999..=10_000).contains(&requests(&outcome)), "{}", requests(&outcome));
        assert!((9_994..=9_998).contains(&open.backlog_at_end), "{open:?}");
        assert_eq!(open.backlog_max, open.backlog_at_end);
        assert!((open.response.max().unwrap() as f64 / 5e8 - 1.0).abs() < 0.01, "{open:?}");
    }

    /// One server, four requests, a pause: 0.4 ms of work and 1 ms without.
    #[test]
    fn pauses_come_after_the_last_request_of_each_batch() {
        let workload = Workload {
            pattern: Pattern::Random,
            buffering: Buffering::Direct,
            request_size: Bytes(4096),
            span: Bytes(1 << 30),
            think: Some("1ms/4".parse().unwrap()),
            depth: 8,
            limits: for_ms(14),
            ..Workload::default()
        };
        let outcome = course(&server(), &workload);
        assert_eq!(requests(&outcome), 40);
    }

    /// What costs nothing takes a nanosecond, so that a run comes to its end.
    #[test]
    fn time_goes_on_where_nothing_costs_any() {
        let mut machine = server();
        let overhead = Overhead::default();
        machine.disks[0].device = Device::Buffer(BufferedDrive { size: Bytes(1 << 30), overhead });
        machine.system.direct_write = Cost::default();
        for operation in [Operation::Read, Operation::Flush] {
            let workload = Workload {
                operation,
                buffering: Buffering::Direct,
                request_size: Bytes(if operation == Operation::Flush { 0 } else { 4096 }),
                span: Bytes(1 << 30),
                depth: 3,
                limits: Limits { duration: Some(Nanoseconds(1000)), ..Limits::default() },
                ..Workload::default()
            };
            let outcome = course(&machine, &workload);
            assert_eq!((requests(&outcome), outcome.elapsed_ns), (3000, 1000), "{operation}");
        }
    }

    #[test]
    fn one_that_is_held_back_makes_up_for_a_short_delay_alone() {
        let held = |worker: &mut Pace, now_ns| worker.take(4096, now_ns);
        let workload = Workload { rate: Some(Rate::Requests(1000)), ..Workload::default() };
        let mut pace = Pace::of(&workload, 0).unwrap();
        held(&mut pace, 8_000_000);
        assert_eq!(pace.next_ns, 1_000_000, "eight are due at once");
        held(&mut pace, 80_000_000);
        assert_eq!(pace.next_ns, 70_000_000, "ten, and not eighty");
    }
}
