//! Records of instruments that other crates read as well: the analysis reads what memory does, the engine finds the path
//! to a device for its samples too. The other records are with their instruments.

pub mod inspect;
mod memory;
mod rounds;

pub use inspect::{Inspected, InspectedTarget};
pub use memory::{Bandwidth, Cache, Kernel, LoadLatency, MemorySpeed, StudySpeed, StudyTest, Vectors};
pub use rounds::Rounds;
