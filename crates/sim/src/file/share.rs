//! The keys of a network share.

use super::bounds::{Blocks, Count, Long, Names, Size};
use super::host::CostKeys;
use super::table::table;
use crate::machine::{LargeRequests, Share};

table! { ShareKeys {
    /// CPU time of the client for a read
    client_read: CostKeys,
    /// the same for a write
    client_write: CostKeys,
    /// CPU time of the server for a read, on top of a direct one
    server_read: CostKeys,
    /// the same for a write
    server_write: CostKeys,
    /// cores of the server; without it: the client's cores, and the share is local
    server_processors: Option<Count<1, 4096>>,
    /// buses from the server's memory to the client's, each once
    wire: Names<0> = default,
    /// maximum number of outstanding writes
    write_window: Count<1, 65_536>,
    /// reads that run one by one; without it: none
    large_reads: Option<LargeKeys>,
    /// the same for writes
    large_writes: Option<LargeKeys>,
} }

table! { LargeKeys {
    /// longer requests run one by one, in units that finish one after the other
    above: Size<0, { 1 << 30 }>,
    /// size of a unit
    unit: Blocks<512, { 1 << 30 }>,
    /// wait before a request's first unit; default `wait`
    first_wait: Option<Long>,
    /// wait before each unit
    wait: Long,
    /// wait before an incomplete unit
    part_wait: Long,
} }

impl ShareKeys {
    /// Over parts whose numbers are `wire`.
    pub(super) fn share(&self, wire: Vec<usize>) -> Share {
        Share {
            client: [self.client_read.cost(), self.client_write.cost()],
            server: [self.server_read.cost(), self.server_write.cost()],
            server_processors: self.server_processors.map(|count| count.0),
            wire,
            write_window: self.write_window.0,
            large: [&self.large_reads, &self.large_writes].map(|keys| keys.as_ref().map(LargeKeys::large)),
        }
    }
}

impl LargeKeys {
    fn large(&self) -> LargeRequests {
        LargeRequests {
            above: self.above.0,
            unit: self.unit.0,
            first_wait_ns: self.first_wait.map(|wait| wait.0.0),
            wait_ns: self.wait.0.0,
            part_wait_ns: self.part_wait.0.0,
        }
    }
}
