//! The keys of a RAM disk.

use super::error::Wrong;
use super::volume::VolumeKeys;
use crate::bounds::{Blocks, MOST_BYTES, Rate, Short};
use crate::ram::RamDisk;
use crate::table::table;

table! { pub(super) RamKeys {
    /// capacity
    size: Blocks<512, MOST_BYTES>,
    /// time from a request's last byte to its answer
    latency: Short,
    /// bytes per second of all requests together
    rate: Rate,
} }

impl RamKeys {
    /// What a volume of the machine has of it.
    ///
    /// # Errors
    /// When the volume asks for the buffers that it lacks.
    pub(super) fn volume(&self, name: &str, volume: &VolumeKeys) -> Result<RamDisk, Wrong> {
        if volume.from_buffers {
            return Err(Wrong::at(&["volume", name, "from-buffers"], "it applies to disks only"));
        }
        Ok(RamDisk { size: self.size, latency_ns: self.latency.0, ns_per_byte: 1e9 / self.rate.0 })
    }
}
