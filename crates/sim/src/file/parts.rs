//! The keys of CPUs, controllers and network shares, and what the keys of an operating system have to agree on.

use super::error::Wrong;
use crate::bounds::{Blocks, Clock, Count, LEAST_CALL, MOST_BYTES, Names, Rate, Short, Size, Word};
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::machine::{Cost, OperatingSystem, Share};
use crate::table::table;
use halfpower_model::{Bytes, BytesPerSecond};

table! { pub(super) CpuKeys {
    /// number of CPU cores
    count: Count<1, 4096>,
    /// CPU model
    model: String,
    /// clock frequency, for CPU cost in clocks per byte. The file's CPU times hold at this clock and scale with `--set
    /// cpu.clock=1466MHz`
    clock: Option<Clock>,
    /// main memory
    memory: Size<{ 1 << 20 }, MOST_BYTES>,
} }

/// Less than that has no room for what is read and what is written at the same time.
const LEAST_CACHE: Bytes = Bytes(1 << 20);

/// Checks an operating system on a machine with so much memory; `place` is where its keys are.
///
/// # Errors
/// What cannot be.
pub(super) fn check(system: &OperatingSystem, place: &[&str], memory: Bytes) -> Result<(), Wrong> {
    let Some(cache) = &system.cache else { return Ok(()) };
    let wrong = |keys: &[&str], message: String| Err(Wrong::at(&[place, &["cache"], keys].concat(), message));
    for (call, cost) in [("read", cache.read), ("write", cache.write)] {
        if cost.fixed_us * 1e3 < LEAST_CALL.0 as f64 {
            return wrong(&[call, "fixed"], format!("it has to be at least {LEAST_CALL}"));
        }
    }
    let [capacity, dirty] = cache.sizes(memory);
    if dirty > capacity {
        return wrong(&["dirty-share"], "it has to be at most share".to_owned());
    }
    if capacity < LEAST_CACHE {
        let message =
            format!("it leaves the cache {capacity}, and it needs {LEAST_CACHE}; for no cache leave the table out");
        return wrong(&["share"], message);
    }
    Ok(())
}

table! { pub(super) ControllerKeys {
    /// controller time per command
    request: Short = default,
    /// throughput limit of reads; without it: as the buses
    read_rate: Option<Rate>,
    /// the same for writes
    write_rate: Option<Rate>,
    /// `stored`: it holds all bytes before it passes them on. `through`, above a bus with `each-disk`: one port per disk, in
    /// parallel
    bytes: Word<Forwarding>,
    /// maximum number of commands at a disk; without it: unlimited
    outstanding: Option<Count<1, 65_536>>,
    /// order of waiting reads; needs `outstanding`; default `fcfs`. A write that is the oldest waiting request goes first
    order: Option<Word<Order>>,
    /// maximum size of a command merged from waiting neighbours; needs `outstanding`; without it, or with 512 B: no merging
    merge: Option<Blocks<512, { 64 << 20 }>>,
    /// CPU time that its driver adds to a read
    driver_read: Option<Cost>,
    /// the same for a write
    driver_write: Option<Cost>,
} }

impl ControllerKeys {
    /// The controller of a name.
    ///
    /// # Errors
    /// Where it has an order for what waits, or merges it, and nothing waits.
    pub(super) fn controller(&self, name: &str) -> Result<Controller, Wrong> {
        let per_byte = |rate: Option<BytesPerSecond>| rate.map_or(0.0, |rate| 1e9 / rate.0);
        let of_waiting = [("order", self.order.is_some()), ("merge", self.merge.is_some())];
        if let Some((key, _)) = of_waiting.iter().find(|(_, is_there)| *is_there && self.outstanding.is_none()) {
            let what = "it needs outstanding, because without it no command waits";
            return Err(Wrong::at(&["controller", name, key], what));
        }
        let order = self.order.unwrap_or(Order::Fcfs);
        let merge = self.merge.map_or(0, |size| size.0);
        Ok(Controller {
            name: name.to_owned(),
            request_ns: self.request.0,
            ns_per_byte: [self.read_rate, self.write_rate].map(per_byte),
            forwarding: self.bytes,
            queue: self.outstanding.map(|outstanding| Queue { outstanding, order, merge }),
            driver_read: self.driver_read.unwrap_or_default(),
            driver_write: self.driver_write.unwrap_or_default(),
        })
    }
}

table! { pub(super) ShareKeys {
    /// CPU time of the client for a read
    client_read: Cost,
    /// the same for a write
    client_write: Cost,
    /// CPU time of the server for a read, on top of a direct one
    server_read: Cost,
    /// the same for a write
    server_write: Cost,
    /// cores of the server; without it: the client's cores, and the share is local
    server_cpus: Option<Count<1, 4096>>,
    /// buses from the server's memory to the client's, each once
    wire: Names<0> = default,
    /// maximum number of outstanding writes
    write_window: Count<1, 65_536>,
} }

impl ShareKeys {
    /// Over parts whose numbers are `wire`.
    pub(super) fn share(&self, wire: Vec<usize>) -> Share {
        Share {
            client: [self.client_read, self.client_write],
            server: [self.server_read, self.server_write],
            server_cpus: self.server_cpus,
            wire,
            write_window: self.write_window,
        }
    }
}
