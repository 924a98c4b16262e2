//! The simulated testbed: machines on a virtual clock. Seeded, no globals, no `unsafe`.

pub mod bounds;
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
pub mod resource;
pub mod shipped;
pub mod system;
pub mod table;
mod testbed;
mod unsimulated;
pub mod volume;

pub use testbed::Simulated;
