//! A network share: a volume of another machine, or of this one through the network's layers.
//!
//! ```text
//! program → client's CPUs → wire → server's CPUs → disks → server's CPUs → wire → client's CPUs
//! ```
//!
//! The bytes of a request occupy all parts of the wire at once. The server's disks use its bus too, so that bus carries them
//! twice. A local share has no wire, and both ends use the same CPUs. A window limits the outstanding writes. Client
//! caching is not modelled, nor is the drop of large requests to a few MB/s: the study blames buffering and serialisation
//! without a mechanism.
//!
//! Source: Chung, Gray, Worthington and Horst (2000), section 7.

use super::outcome::LONG;
use super::outstanding::Outstanding;
use crate::machine::{self, Machine};
use crate::resource::Resource;
use halfpower_model::Request;
use halfpower_model::sample::{Part, WaitFor};
use std::collections::VecDeque;

/// A share at work.
#[derive(Debug)]
pub(super) struct Share<'a> {
    pub(super) model: &'a machine::Share,
    /// The server's CPUs; none: the client's.
    pub(super) server: Option<Resource>,
    /// Outstanding writes.
    pub(super) writes: u32,
    /// Writes that wait for the window, and how long some did.
    pub(super) waiting: VecDeque<u32>,
    pub(super) held: Outstanding,
}

impl<'a> Share<'a> {
    pub(super) fn of(machine: &'a Machine) -> Option<Share<'a>> {
        let model = machine.share.as_ref()?;
        let server = model.server_cpus.map(Resource::new);
        Some(Share { model, server, writes: 0, waiting: VecDeque::new(), held: Outstanding::default() })
    }

    /// CPU time of one end for one half of a request, there or back.
    pub(super) fn half_ns(read: machine::Cost, write: machine::Cost, asked: &Request) -> u64 {
        [read, write][asked.kind as usize].ns(u64::from(asked.length)) / 2
    }

    /// The client's.
    pub(super) fn client_ns(&self, asked: &Request) -> u64 {
        Share::half_ns(self.model.client_read, self.model.client_write, asked)
    }
}

/// The wait for the window.
pub(super) fn wait() -> Part {
    Part::wait("write-window", WaitFor::Share, LONG, "writes", "for earlier writes to complete")
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    const COST: Cost = Cost { fixed_us: 100.0, marginal_us_per_kib: 4.0 };

    fn shared(server_cpus: Option<u32>, wire: Vec<usize>) -> Machine {
        let mut machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
        machine.parts.push(bus("ethernet", 125e6));
        let (client_read, client_write, server_read, server_write) = (COST, COST, COST, COST);
        let share = crate::machine::Share {
            client_read,
            client_write,
            server_read,
            server_write,
            server_cpus,
            wire: Vec::new(),
            write_window: 2,
        };
        (machine.share, machine.wire) = (Some(share), wire);
        machine
    }

    fn course(machine: &Machine, operation: Operation, kib: u64, depth: u32) -> Outcome {
        let sequential = workload(Pattern::Sequential, kib << 10, depth, machine);
        super::super::tests::course(machine, &Workload { operation, limits: of_requests(300), ..sequential })
    }

    #[test]
    fn both_ends_cost_their_cpus() {
        let us = |machine: &Machine| cpu_us(&course(machine, Operation::Read, 8, 1));
        // 132 µs at each end, and 32 of the server's direct request.
        assert!((us(&shared(None, Vec::new())) / 296.0 - 1.0).abs() < 0.01);
        assert!((us(&shared(Some(2), vec![1, 2])) / 132.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_server_s_bus_carries_every_byte_twice() {
        let outcome = course(&shared(Some(2), vec![1, 2]), Operation::Read, 64, 8);
        let ratio = busy(&outcome, "pci") / busy(&outcome, "ethernet");
        assert!((ratio / (2.0 * 125.0 / 133.0) - 1.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn the_window_holds_writes_alone() {
        let held = |operation, depth| busy(&course(&shared(None, Vec::new()), operation, 8, depth), "write-window");
        assert!(held(Operation::Write, 32) > 0.99);
        assert_eq!([held(Operation::Write, 2), held(Operation::Read, 32)], [0.0; 2]);
    }
}
