//! End-to-end tests: the real binary on real files, a module for each risk.
//!
//! Nothing here depends on how fast the storage is. A test that needs root, a loop device or direct I/O says
//! `skipped: …` on standard error where it is not to be had.

mod attribution;
mod browser;
mod compare;
mod crash;
mod damage;
mod destructive;
mod device;
mod emit;
mod fio;
mod hostile;
mod inputs;
mod instruments;
mod interchange;
mod interrupts;
mod json;
mod names;
mod network;
mod nfs;
mod one_machine;
mod ordinary;
mod outputs;
mod plugin;
mod ranks;
mod refusal;
mod safety;
#[cfg(feature = "serve")]
mod serve;
mod sim;
mod small_files;
mod study;
mod support;
mod targets;
mod throttled;
mod trace;
mod verify;
mod what_if;
