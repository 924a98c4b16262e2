//! The instruments: commands that measure or show one part of this host, each a folder.
//!
//! An instrument has a command (`mod.rs`), which makes a [`Reading`](crate::reading::Reading), and a [`page::Page`] of it, from which both
//! the text on the terminal and the HTML page are made.

pub(crate) mod command;
pub(crate) mod drop_cache;
pub(crate) mod files;
pub(crate) mod idle;
pub(crate) mod inspect;
pub(crate) mod link;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod show;
#[cfg(test)]
mod tests;
