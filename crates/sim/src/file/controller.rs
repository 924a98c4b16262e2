//! The keys of a controller.

use super::bounds::{Blocks, Count, Rate, Short, Word};
use super::error::Wrong;
use super::host::CostKeys;
use super::table::table;
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::machine::Cost;

table! { ControllerKeys {
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
    /// order of waiting reads; needs `outstanding`; default `fcfs`. A read that has waited for 1 s goes first, with the next 16
    /// in order. Writes are first come, first served; if both wait, they alternate in groups of 16
    order: Option<Word<Order>>,
    /// maximum size of a command merged from waiting neighbours; needs `outstanding`; without it, or with 512 B: no merging
    merge: Option<Blocks<512, { 64 << 20 }>>,
    /// CPU time that its driver adds to a read
    driver_read: Option<CostKeys>,
    /// the same for a write
    driver_write: Option<CostKeys>,
} }

impl ControllerKeys {
    /// The controller of a name.
    ///
    /// # Errors
    /// Where it has an order for what waits, or merges it, and nothing waits.
    pub(super) fn controller(&self, name: &str) -> Result<Controller, Wrong> {
        let per_byte = |rate: Option<Rate>| rate.map_or(0.0, |rate| 1e9 / rate.0.0);
        let of_waiting = [("order", self.order.is_some()), ("merge", self.merge.is_some())];
        if let Some((key, _)) = of_waiting.iter().find(|(_, is_there)| *is_there && self.outstanding.is_none()) {
            let what = "it needs outstanding, because without it no command waits";
            return Err(Wrong::at(&["controller", name, key], what));
        }
        let order = self.order.unwrap_or_default().0;
        let merge = self.merge.map_or(0, |size| size.0.0);
        let cost = |keys: &Option<CostKeys>| keys.as_ref().map_or(Cost::default(), CostKeys::cost);
        Ok(Controller {
            name: name.to_owned(),
            request_ns: self.request.0.0,
            read_ns_per_byte: per_byte(self.read_rate),
            write_ns_per_byte: per_byte(self.write_rate),
            forwarding: self.bytes.0,
            queue: self.outstanding.map(|outstanding| Queue { outstanding: outstanding.0, order, merge }),
            driver_read: cost(&self.driver_read),
            driver_write: cost(&self.driver_write),
        })
    }
}
