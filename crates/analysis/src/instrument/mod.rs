//! What the figures of instruments come to, where that takes statistics.

pub mod link;
pub mod map;
