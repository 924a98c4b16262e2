//! A volume of another machine, or of this one by way of the network's layers.
//!
//! ```text
//! program → client's CPUs → wire → server's CPUs → disks → server's CPUs → wire → client's CPUs
//! ```
//!
//! The bytes of a request are on all parts of the wire at once, the server's bus among them, which its disks use as well: so
//! that bus carries them twice. Where the share is local there is no wire, and both ends are the same CPUs. Requests of more than
//! a limit go one at a time, in units each of which is done before the next is asked for, after a wait: so they fall off a cliff. The
//! study blames buffering and serialisation and does not say which, so the waits are fitted. The share keeps nothing in a cache.
//!
//! Source: Chung, Gray, Worthington and Horst (2000), section 7.

use super::outcome::LONG;
use super::outstanding::Outstanding;
use crate::machine::{self, Machine};
use crate::resource::Resource;
use halfpower_model::sample::{Part, WaitFor};
use halfpower_model::{Request, RequestKind};
use std::collections::VecDeque;

/// A share at work.
#[derive(Debug)]
pub(super) struct Share<'a> {
    pub(super) model: &'a machine::Share,
    /// The server's, where they are not the client's.
    pub(super) server: Option<Resource>,
    /// Reads and writes that are under way, and those that wait for them.
    pub(super) under_way: [u32; 2],
    pub(super) waiting: [VecDeque<u32>; 2],
    /// Small writes that wait until others are done, and large reads and writes that wait for the one before.
    pub(super) held: [Outstanding; 3],
    /// What units of large reads and writes waited before they went, of each one after another,
    pub(super) paused_ns: [u64; 2],
    /// and when the last one goes.
    pub(super) paused_until_ns: [u64; 2],
}

impl<'a> Share<'a> {
    pub(super) fn of(machine: &'a Machine) -> Option<Share<'a>> {
        let model = machine.share.as_ref()?;
        let server = model.server_cpus.map(Resource::new);
        Some(Share {
            model,
            server,
            under_way: [0; 2],
            waiting: Default::default(),
            held: Default::default(),
            paused_ns: [0; 2],
            paused_until_ns: [0; 2],
        })
    }

    /// CPU time of one end for one half of a request, there or back.
    pub(super) fn half_ns(costs: [machine::Cost; 2], asked: &Request) -> u64 {
        costs[asked.kind as usize].ns(u64::from(asked.length)) / 2
    }

    /// Of the client.
    pub(super) fn client_ns(&self, asked: &Request) -> u64 {
        Share::half_ns(self.model.client, asked)
    }

    /// How many of a kind may be under way for one more to go.
    pub(super) fn window(&self, asked: &Request) -> u32 {
        match asked.kind {
            _ if self.model.large(asked).is_some() => 1,
            RequestKind::Write => self.model.write_window,
            _ => u32::MAX,
        }
    }

    /// What a request that has to wait is counted with.
    pub(super) fn held(&mut self, asked: &Request) -> &mut Outstanding {
        let place = if self.model.large(asked).is_some() { 1 + asked.kind as usize } else { 0 };
        &mut self.held[place]
    }

    /// For how long up to a moment something waited, in the order of [`waits`].
    pub(super) fn waited_ns(&self, now_ns: u64) -> [u64; 5] {
        let [window, reads, writes] = self.held.map(|held| held.some_ns(now_ns));
        let paused_ns = |kind: usize| self.paused_ns[kind] - self.paused_until_ns[kind].saturating_sub(now_ns);
        [window, reads, writes, paused_ns(0), paused_ns(1)]
    }
}

/// What requests wait for, by the keys that say how long.
pub(super) fn waits() -> [Part; 5] {
    let wait = |name, from, who, until| Part::wait(name, WaitFor::Share, from, who, until);
    [
        wait("write-window", LONG, "writes", "for earlier writes to complete"),
        wait("large-reads.turn", LONG, "large reads", "for the previous one"),
        wait("large-writes.turn", LONG, "large writes", "for the previous one"),
        wait("large-reads.wait", 0.5, "large reads", "between their units"),
        wait("large-writes.wait", 0.5, "large writes", "between their units"),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;
    use crate::machine::LargeRequests;

    const COST: Cost = Cost { fixed_us: 100.0, marginal_us_per_kib: 4.0 };

    const LARGE: LargeRequests = LargeRequests {
        above: Bytes(64 << 10),
        unit: Bytes(64 << 10),
        first_wait: None,
        wait: Nanoseconds(8_000_000),
        part_wait: Nanoseconds(13_000_000),
    };

    fn shared(server_cpus: Option<u32>, wire: Vec<usize>) -> Machine {
        let mut machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
        machine.parts.push(bus("ethernet", 125e6));
        machine.share = Some(machine::Share {
            client: [COST; 2],
            server: [COST; 2],
            server_cpus,
            wire,
            write_window: 2,
            large: [
                Some(LargeRequests { first_wait: Some(Nanoseconds(0)), unit: Bytes(32 << 10), ..LARGE }),
                Some(LargeRequests { above: Bytes(16 << 10), ..LARGE }),
            ],
        });
        machine
    }

    fn course(machine: &Machine, operation: Operation, kib: u64, depth: u32, workers: u32) -> Outcome {
        let sequential = workload(Pattern::Sequential, kib << 10, depth, machine);
        let workload = Workload { operation, workers, limits: of_requests(300), ..sequential };
        super::super::tests::course(machine, &workload)
    }

    fn ms(outcome: &Outcome) -> f64 {
        outcome.elapsed_ns as f64 / 1e6 / requests(outcome) as f64
    }

    #[test]
    fn both_ends_cost_their_cpus() {
        let us = |machine: &Machine| cpu_us(&course(machine, Operation::Read, 8, 1, 1));
        // 132 us at each end, and 32 of the server's direct request.
        assert!((us(&shared(None, Vec::new())) / 296.0 - 1.0).abs() < 0.01);
        assert!((us(&shared(Some(2), vec![1, 2])) / 132.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_server_s_bus_carries_every_byte_twice() {
        let outcome = course(&shared(Some(2), vec![1, 2]), Operation::Read, 64, 8, 1);
        let busy = |name| busy(&outcome, name);
        assert!((busy("pci") / busy("ethernet") / (2.0 * 125.0 / 133.0) - 1.0).abs() < 0.05);
        assert!(busy("server's CPUs") > 0.0);
    }

    /// The wait of a first unit may be another: of reads, 128 KiB of 32 have three, 256 have seven.
    #[test]
    fn large_requests_go_one_at_a_time_in_units() {
        let machine = shared(None, Vec::new());
        let of = |operation, kib, depth| ms(&course(&machine, operation, kib, depth, 1));
        for (operation, kib, wanted_ms) in [
            (Operation::Write, 16, 0.0..2.0),
            (Operation::Write, 32, 13.0..19.0),
            (Operation::Write, 64, 8.0..18.0),
            (Operation::Read, 64, 0.0..5.0),
            (Operation::Read, 128, 24.0..34.0),
            (Operation::Read, 256, 56.0..76.0),
        ] {
            let found_ms = of(operation, kib, if operation == Operation::Write { 2 } else { 1 });
            assert!(wanted_ms.contains(&found_ms), "{operation} {kib} KiB: {found_ms}");
        }
        for operation in [Operation::Write, Operation::Read] {
            let deep = of(operation, 128, 4) / of(operation, 128, 1);
            assert!((deep - 1.0).abs() < 0.05, "one at a time: {deep}");
        }
        let units = of(Operation::Write, 128, 2) / of(Operation::Write, 64, 2);
        assert!((units - 2.0).abs() < 0.15, "{units}");
    }

    #[test]
    fn what_requests_wait_for_is_told() {
        let machine = shared(Some(2), vec![1, 2]);
        let waits = |operation, kib, depth| {
            let outcome = course(&machine, operation, kib, depth, 1);
            super::waits().map(|wait| busy(&outcome, &wait.name))
        };
        let [window, others @ ..] = waits(Operation::Write, 8, 32);
        assert!(window > 0.99 && others == [0.0; 4], "{window} {others:?}");
        assert_eq!(waits(Operation::Write, 8, 2), [0.0; 5], "none has to wait for two");
        assert_eq!(waits(Operation::Read, 8, 32), [0.0; 5], "reads have no window");
        // 13 of some 18 ms, since the disk has no write cache, one at a time; and one deep nobody waits for another.
        let [window, _, turn, of_reads, of_writes] = waits(Operation::Write, 32, 4);
        assert!(window == 0.0 && of_reads == 0.0, "{window} {of_reads}");
        assert!(turn > 0.95 && (0.65..0.75).contains(&of_writes), "{turn} {of_writes}");
        let [_, _, turn, _, of_writes] = waits(Operation::Write, 32, 1);
        assert!(turn == 0.0 && (0.65..0.75).contains(&of_writes), "{turn} {of_writes}");
        let [window, turn, _, of_reads, of_writes] = waits(Operation::Read, 128, 4);
        assert!(window == 0.0 && of_writes == 0.0, "{window} {of_writes}");
        assert!(turn > 0.95 && of_reads > 0.5, "{turn} {of_reads}");
    }

    #[test]
    fn every_request_is_done_once() {
        for (operation, kib, workers) in
            [(Operation::Write, 150, 3), (Operation::Write, 4, 3), (Operation::Read, 150, 2)]
        {
            let outcome = course(&shared(Some(1), vec![1, 2]), operation, kib, 3, workers);
            assert_eq!((requests(&outcome), outcome.bytes.iter().sum::<u64>()), (300, 300 * (kib << 10)));
        }
    }
}
