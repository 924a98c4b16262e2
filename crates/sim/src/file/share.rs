//! The keys of a network share.

use super::bounds::{Blocks, Count, Long, Names, Size};
use super::host::CostKeys;
use crate::machine::{LargeRequests, Share};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ShareKeys {
    /// Processor time of the client for a read.
    pub(super) client_read: CostKeys,
    /// For a write.
    pub(super) client_write: CostKeys,
    /// Processor time of the server for a read, beside that of a direct request.
    pub(super) server_read: CostKeys,
    /// For a write.
    pub(super) server_write: CostKeys,
    /// The server's processors; none: they are the client's, and the share is local.
    pub(super) server_processors: Option<Count<1, 4096>>,
    /// From the server's memory to the client's: buses, in their order; those of the volume's path are the same.
    #[serde(default)]
    pub(super) wire: Names<0>,
    /// How many writes may be under way.
    pub(super) write_window: Count<1, 65_536>,
    /// Reads that go one at a time, in units that are done before the next; none: there are none such.
    pub(super) large_reads: Option<LargeKeys>,
    /// The same of writes.
    pub(super) large_writes: Option<LargeKeys>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LargeKeys {
    /// The longest that are not concerned.
    pub(super) above: Size<0, { 1 << 30 }>,
    /// Bytes of a unit.
    pub(super) unit: Blocks<512, { 1 << 30 }>,
    /// Before the first unit; none: as before others.
    pub(super) first_wait: Option<Long>,
    /// Before each unit.
    pub(super) wait: Long,
    /// Before what is less than a unit.
    pub(super) part_wait: Long,
}

impl ShareKeys {
    /// Over parts whose numbers are `wire`.
    pub(super) fn share(&self, wire: Vec<usize>) -> Share {
        Share {
            client: [self.client_read.cost(), self.client_write.cost()],
            server: [self.server_read.cost(), self.server_write.cost()],
            server_processors: self.server_processors.map(|count| count.0),
            wire,
            write_window: self.write_window.0,
            large: [self.large_reads, self.large_writes].map(|keys| keys.map(LargeKeys::large)),
        }
    }
}

impl LargeKeys {
    fn large(self) -> LargeRequests {
        LargeRequests {
            above: self.above.0,
            unit: self.unit.0,
            first_wait_ns: self.first_wait.map(|wait| wait.0.0),
            wait_ns: self.wait.0.0,
            part_wait_ns: self.part_wait.0.0,
        }
    }
}
