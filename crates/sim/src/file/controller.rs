//! The keys of a controller.

use super::bounds::{Blocks, Count, Named, Rate, Short, Word};
use super::error::Wrong;
use super::host::CostKeys;
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::machine::Cost;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ControllerKeys {
    /// Time of its processor for a command.
    #[serde(default)]
    pub(super) request: Short,
    /// Bytes a second through it, of reads; none: as fast as the buses.
    pub(super) read_rate: Option<Rate>,
    /// The same of writes.
    pub(super) write_rate: Option<Rate>,
    /// through, or stored: it has all bytes before they go on. Above a bus that each disk has for itself (`each-disk`), bytes
    /// that go through do so by a port for each disk, all at the same time.
    pub(super) bytes: Word<Forwarding>,
    /// How many commands are at a disk at the most; none: all.
    pub(super) outstanding: Option<Count<1, 65_536>>,
    /// Which of those that wait is next: fcfs, c-look, fscan.
    pub(super) order: Option<Word<Order>>,
    /// How much of those that wait and go on with one another becomes one command at the most; none: each is one.
    pub(super) merge: Option<Blocks<512, { 64 << 20 }>>,
    /// Processor time that its driver adds to a read.
    pub(super) driver_read: Option<CostKeys>,
    /// The same of a write.
    pub(super) driver_write: Option<CostKeys>,
}

impl Named for Forwarding {
    const WORDS: &'static [(&'static str, Self)] = &[("through", Forwarding::Through), ("stored", Forwarding::Stored)];
}

impl Named for Order {
    const WORDS: &'static [(&'static str, Self)] = &Order::WORDS;
}

impl ControllerKeys {
    /// The controller of a name.
    ///
    /// # Errors
    /// Where it has an order for what waits, or merges it, and nothing waits.
    pub(super) fn controller(&self, name: &str) -> Result<Controller, Wrong> {
        let per_byte = |rate: Option<Rate>| rate.map_or(0.0, |rate| 1e9 / rate.0.0);
        let of_waiting = [("order", self.order.is_some()), ("merge", self.merge.is_some())];
        if let Some((key, _)) = of_waiting.iter().find(|(_, is_there)| *is_there && self.outstanding.is_none()) {
            let what = "it is of commands that wait, and without outstanding none do";
            return Err(Wrong::at(&["controller", name, key], what));
        }
        let order = self.order.unwrap_or_default().0;
        let merge = self.merge.map_or(0, |size| size.0.0);
        let cost = |keys: Option<CostKeys>| keys.map_or(Cost::default(), CostKeys::cost);
        Ok(Controller {
            name: name.to_owned(),
            request_ns: self.request.0.0,
            read_ns_per_byte: per_byte(self.read_rate),
            write_ns_per_byte: per_byte(self.write_rate),
            forwarding: self.bytes.0,
            queue: self.outstanding.map(|outstanding| Queue { outstanding: outstanding.0, order, merge }),
            driver_read: cost(self.driver_read),
            driver_write: cost(self.driver_write),
        })
    }
}
