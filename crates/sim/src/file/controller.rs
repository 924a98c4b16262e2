//! The keys of a controller.

use super::Said;
use super::host::CostKeys;
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::machine::Cost;
use halfpower_model::{BytesPerSecond, Nanoseconds};
use serde::Deserialize;
use std::str::FromStr;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ControllerKeys {
    /// Time of its processor for a command.
    #[serde(default)]
    pub(super) request: Said<Nanoseconds>,
    /// Bytes a second through it, of reads; none: as fast as the buses.
    pub(super) read_rate: Option<Said<BytesPerSecond>>,
    /// The same of writes.
    pub(super) write_rate: Option<Said<BytesPerSecond>>,
    /// through, or stored: it has all bytes before they go on. Above a bus that each disk has for itself (`each-disk`), bytes
    /// that go through do so by a port for each disk, all at the same time.
    pub(super) bytes: Said<Forwarding>,
    /// How many commands are at a disk at the most; none: all.
    pub(super) outstanding: Option<u32>,
    /// Which of those that wait is next: fcfs, c-look, fscan.
    pub(super) order: Option<Said<Order>>,
    /// Processor time that its driver adds to a read.
    pub(super) driver_read: Option<CostKeys>,
    /// The same of a write.
    pub(super) driver_write: Option<CostKeys>,
}

impl FromStr for Forwarding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "through" => Ok(Forwarding::Through),
            "stored" => Ok(Forwarding::Stored),
            _ => Err(format!("bytes are passed \"through\" or \"stored\", not {text:?}")),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("order", &Order::WORDS, text)
    }
}

impl ControllerKeys {
    /// None where it lets no command through, has an order and nothing to put in order, or a rate of nothing.
    pub(super) fn controller(&self, name: &str) -> Option<Controller> {
        let per_byte = |rate: Option<Said<BytesPerSecond>>| rate.map_or(0.0, |rate| 1e9 / rate.0.0);
        let (read_ns_per_byte, write_ns_per_byte) = (per_byte(self.read_rate), per_byte(self.write_rate));
        let queue = match (self.outstanding, self.order) {
            (None, None) => None,
            (Some(outstanding), order) if outstanding > 0 => {
                Some(Queue { outstanding, order: order.map_or(Order::Fcfs, |order| order.0) })
            }
            _ => return None,
        };
        let cost = |keys: Option<CostKeys>| keys.map_or(Cost::default(), CostKeys::cost);
        [read_ns_per_byte, write_ns_per_byte].into_iter().all(|per_byte| (0.0..1e9).contains(&per_byte)).then(|| {
            Controller {
                name: name.to_owned(),
                request_ns: self.request.0.0,
                read_ns_per_byte,
                write_ns_per_byte,
                forwarding: self.bytes.0,
                queue,
                driver_read: cost(self.driver_read),
                driver_write: cost(self.driver_write),
            }
        })
    }
}
