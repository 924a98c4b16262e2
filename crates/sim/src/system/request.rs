//! Requests under way, and who made them.

use halfpower_model::Request;

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A worker of the program.
    Program { worker: u32 },
    /// The page cache, for a read or to fill a page.
    PageIn,
    /// The page cache, to write dirty pages.
    PageOut,
    /// The file system, to fill the gap before a write.
    Fill { request: u32 },
}

/// An outstanding request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) origin: Origin,
    /// Index of the target.
    pub(super) volume: u32,
    pub(super) asked: Request,
    pub(super) issued_ns: u64,
    /// Its intended arrival.
    pub(super) arrived_ns: u64,
    pub(super) portions_left: u32,
}

impl Open {
    pub(super) fn made(origin: Origin, volume: u32, asked: Request, now_ns: u64) -> Open {
        Open { origin, volume, asked, issued_ns: now_ns, arrived_ns: now_ns, portions_left: 0 }
    }
}

/// A slab: items with small indices, which are reused.
#[derive(Debug)]
pub(super) struct Slots<T> {
    pub(super) all: Vec<T>,
    pub(super) free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(super) fn put(&mut self, thing: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = thing;
            return slot;
        }
        self.all.push(thing);
        self.all.len() as u32 - 1
    }

    pub(super) fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.all[slot as usize]
    }

    /// The items in use.
    pub(super) fn taken(&self) -> impl Iterator<Item = &T> {
        let mut is_free = vec![false; self.all.len()];
        self.free.iter().for_each(|slot| is_free[*slot as usize] = true);
        self.all.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(thing, _)| thing)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { all: Vec::new(), free: Vec::new() }
    }
}
