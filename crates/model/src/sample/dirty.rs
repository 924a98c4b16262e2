//! Memory that was written and is not stored yet: what a sample that writes through the file cache found of it.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Dirty memory of the whole machine, at the start and the end of the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dirty {
    /// Written by programs and not stored yet, at the start.
    pub before_bytes: Bytes,
    /// The same at the end.
    pub after_bytes: Bytes,
    /// From here on the kernel writes back by itself.
    pub background_bytes: Bytes,
    /// More than this it does not let programs make dirty; halfway from the background on it makes them wait.
    pub limit_bytes: Bytes,
    /// Of the looks at it, some 50 ms apart, those at which it made programs wait; none where nobody looked in between.
    pub braked_share: Option<f64>,
}

impl Dirty {
    /// From here on the kernel makes those who write wait (balance_dirty_pages: the middle of the two).
    pub fn wait_from_bytes(&self) -> Bytes {
        Bytes(self.background_bytes.0.midpoint(self.limit_bytes.0))
    }
}
