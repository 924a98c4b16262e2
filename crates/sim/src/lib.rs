//! The simulated testbed: machines on a virtual clock. Seeded, no globals, no `unsafe`.

pub mod buffer;
pub mod bus;
pub mod cloud;
pub mod command;
pub mod controller;
mod cost;
pub mod device;
pub mod disk;
pub mod file;
pub mod flash;
pub mod machine;
pub mod shipped;
pub mod station;
pub mod system;
mod testbed;
mod unsimulated;
pub mod volume;
pub mod way;
pub mod words;

pub use testbed::Simulated;
