//! Read-ahead: a read that continues a stream finds its data in the buffer.
//!
//! A read that continues another makes a stream of it: the drive then keeps `size` bytes beyond it on their way. It knows a few
//! streams; a new one replaces the least recently read. Read-ahead takes time of the units, and random reads cause none.

use super::array::Came;
use super::drive::ReadAhead;
use crate::disk::geometry::BLOCK_BYTES;
use halfpower_model::Bytes;
use std::collections::VecDeque;

/// A stream, or a read that may become one.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Where it goes on.
    next: u64,
    /// The parts that were read ahead: the block behind each, and when it comes.
    coming: VecDeque<(u64, Came)>,
}

/// The streams, the most recently read last.
#[derive(Clone, Debug)]
pub struct Ahead {
    habits: ReadAhead,
    /// Blocks of a page of the flash.
    page: u64,
    streams: VecDeque<Stream>,
}

impl Ahead {
    /// No stream yet.
    pub fn new(habits: ReadAhead, page: Bytes) -> Ahead {
        let streams = vec![Stream::default(); habits.streams as usize].into();
        Ahead { habits, page: (page.0 / BLOCK_BYTES).max(1), streams }
    }

    /// A read of blocks; `read` asks the flash.
    pub fn read(&mut self, block: u64, count: u64, read: &mut impl FnMut(u64, u64) -> Came) -> Came {
        let end = block + count;
        let known = self.streams.iter().rposition(|stream| stream.next == block && block > 0);
        // There is at least one.
        let Some(mut stream) = self.streams.remove(known.unwrap_or(0)) else { return read(block, count) };
        if known.is_none() {
            stream.coming.clear();
        }
        let mut came = Came { begins_ns: u64::MAX, ends_ns: 0 };
        let mut have = block;
        while let Some((behind, part)) = stream.coming.front().copied().filter(|_| have < end) {
            if have == block {
                came.begins_ns = part.begins_ns;
            }
            came.ends_ns = came.ends_ns.max(part.ends_ns);
            have = behind.min(end);
            if behind <= end {
                stream.coming.pop_front();
            }
        }
        if have < end {
            let rest = read(have, end - have);
            came = Came { begins_ns: came.begins_ns.min(rest.begins_ns), ends_ns: came.ends_ns.max(rest.ends_ns) };
        }
        if known.is_some() {
            let mut from = stream.coming.back().map_or(end, |(behind, _)| *behind);
            let until = end + self.habits.size.0 / BLOCK_BYTES;
            // In parts of the size of the request, and in whole pages: a part of a page takes its unit as long.
            while from < until {
                let behind = (from + count.min(until - from)).next_multiple_of(self.page);
                stream.coming.push_back((behind, read(from, behind - from)));
                from = behind;
            }
        }
        stream.next = end;
        self.streams.push_back(stream);
        came
    }

    /// Blocks are overwritten or trimmed: what was read ahead of them is stale.
    pub fn forget(&mut self, block: u64, count: u64) {
        for stream in &mut self.streams {
            let behind = stream.coming.back().map_or(stream.next, |(behind, _)| *behind);
            if block < behind && stream.next < block + count {
                stream.coming.clear();
            }
        }
    }
}
