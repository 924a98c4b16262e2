//! What the figures of instruments come to, where that takes statistics.

pub mod burst;
pub mod zones;
