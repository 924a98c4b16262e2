//! Sets and tables of frames, by their numbers: made for millions of them that lie anywhere.
//!
//! A tree of single numbers costs a walk through memory that no cache holds for each; here a number is a bit among those
//! of its neighbours, and the tree has a branch for 4096.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// Something for each frame.
pub(super) type Table<T> = HashMap<u64, T, BuildHasherDefault<Spread>>;

/// A number spread over all bits, the same on every host: nobody who could choose the numbers gains by making them meet.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // Both halves of the product: volumes differ in the upper bits of a number, neighbours in the lower. The multiplier is
        // that of Knuth's multiplicative hash.
        let product = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// How many frames a branch has.
const BRANCH: u64 = 64 * 64;

/// Frames side by side: a bit for each, and one for each word that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Branch {
    words: [u64; 64],
    some: u64,
}

impl Branch {
    const EMPTY: Branch = Branch { words: [0; 64], some: 0 };

    /// The first from a place on.
    fn first(&self, from: u64) -> Option<u64> {
        let word = from / 64;
        let here = self.words[word as usize] & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word * 64 + u64::from(here.trailing_zeros()));
        }
        let beyond = self.some & u64::MAX.checked_shl(word as u32 + 1).unwrap_or(0);
        let next = beyond.trailing_zeros();
        self.words.get(next as usize).map(|word| u64::from(next * 64 + word.trailing_zeros()))
    }
}

/// A set of frames, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameSet {
    branches: BTreeMap<u64, Box<Branch>>,
}

impl FrameSet {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Whether it has one.
    pub(super) fn contains(&self, frame: u64) -> bool {
        self.first(frame..frame + 1).is_some()
    }

    /// The lowest of some.
    pub(super) fn first(&self, among: Range<u64>) -> Option<u64> {
        let numbers = among.start / BRANCH..among.end.div_ceil(BRANCH);
        let found = self.branches.range(numbers).find_map(|(number, branch)| {
            let start = number * BRANCH;
            Some(start + branch.first(among.start.saturating_sub(start))?)
        });
        found.filter(|frame| *frame < among.end)
    }

    /// One more.
    pub(super) fn insert(&mut self, frame: u64) {
        let branch = self.branches.entry(frame / BRANCH).or_insert_with(|| Box::new(Branch::EMPTY));
        let word = frame % BRANCH / 64;
        branch.words[word as usize] |= 1 << (frame % 64);
        branch.some |= 1 << word;
    }

    /// One less.
    pub(super) fn remove(&mut self, frame: u64) {
        let Some(branch) = self.branches.get_mut(&(frame / BRANCH)) else { return };
        let word = frame % BRANCH / 64;
        branch.words[word as usize] &= !(1 << (frame % 64));
        if branch.words[word as usize] == 0 {
            branch.some &= !(1 << word);
        }
        if branch.some == 0 {
            self.branches.remove(&(frame / BRANCH));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Near a boundary of words and of branches, far away, and all over.
    fn frame() -> impl Strategy<Value = u64> {
        prop_oneof![50_u64..80, 4080_u64..4200, (1_u64 << 40)..(1 << 40) + 200, 0_u64..1 << 42]
    }

    proptest! {
        #[test]
        fn it_is_a_set_in_order(
            changes in prop::collection::vec((frame(), 0_u8..3), 0..300), asked in prop::collection::vec((frame(), frame()), 20)
        ) {
            let (mut set, mut plain) = (FrameSet::default(), BTreeSet::new());
            for (frame, what) in changes {
                let there = plain.range(frame..).next().copied();
                prop_assert_eq!(set.first(frame..u64::MAX), there);
                // The last takes away what there is, so that words and branches become empty.
                match (what, there) {
                    (0, _) => {
                        set.insert(frame);
                        plain.insert(frame);
                    }
                    (1, _) => {
                        set.remove(frame);
                        plain.remove(&frame);
                    }
                    (_, Some(there)) => {
                        set.remove(there);
                        plain.remove(&there);
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(set.is_empty(), plain.is_empty());
            for (start, end) in asked {
                let (start, end) = (start.min(end), start.max(end));
                prop_assert_eq!(set.first(start..end), plain.range(start..end).next().copied());
                prop_assert_eq!(set.contains(start), plain.contains(&start));
            }
        }
    }
}
