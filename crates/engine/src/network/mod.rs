//! Volumes of servers, without this host's kernel knowing them: names, connections, and a protocol each.
//!
//! A protocol says how a transfer is asked for and what an answer means; [`Exchange`] moves the bytes. There is no thread and no
//! runtime: a worker sends what it has with one call and waits for answers with another.

mod connection;
mod exchange;
pub(crate) mod name;
pub(crate) mod nbd;

pub(crate) use connection::{Socket, silence, wait};
pub(crate) use exchange::{Ended, Exchange};
pub(crate) use name::Name;
pub use name::is_remote;

use crate::personality::interface::Transfer;
use halfpower_model::{Bytes, Personality, Server, Workload};
use std::io;
use std::time::Duration;

/// How long a connection may take, and how long a server with requests outstanding may send nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a server says of a volume, and what may be asked of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Volume {
    /// Its size.
    pub(crate) size: Bytes,
    /// Of offsets and lengths.
    pub(crate) alignment: Bytes,
    /// Why it cannot be written; none if it can.
    pub(crate) read_only: Option<&'static str>,
    /// The server and what was agreed.
    pub(crate) server: Server,
}

/// A protocol, on one connection.
pub(crate) trait Protocol: Sized {
    /// Connects and negotiates.
    ///
    /// # Errors
    /// The kernel's or the server's, with the remedy.
    fn connect(name: &Name) -> io::Result<(Self, Socket, Volume)>;

    /// Refuses a workload that the server cannot carry out.
    ///
    /// # Errors
    /// With the remedy.
    fn accept(&mut self, workload: &Workload) -> io::Result<()>;

    /// Appends the request of a transfer to `head`; the data of a write follow it. Or the error of a transfer that cannot be asked for.
    fn ask(&mut self, transfer: &Transfer, head: &mut Vec<u8>) -> Result<(), Refusal>;

    /// Reads the start of an answer; none if `bytes` do not hold it yet.
    ///
    /// # Errors
    /// What makes the rest of the stream unreadable.
    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Answer>, String>;

    /// The bytes that end the connection in order.
    fn farewell(&self) -> Vec<u8>;
}

/// The start of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its bytes, before any data.
    pub(crate) length: usize,
    /// The tag of its transfer, as the server sent it.
    pub(crate) tag: u64,
    /// An error number; 0 for success, which for a read is followed by its data.
    pub(crate) errno: i32,
}

/// Why a transfer cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: i32,
    pub(crate) cause: String,
}

/// What a server says of a volume.
///
/// # Errors
/// If it cannot be reached, or has no such volume, with the remedy.
pub(crate) fn examine(name: &Name) -> io::Result<Volume> {
    match name.protocol {
        Personality::Nbd => Exchange::<nbd::Nbd>::connect(name).map(|(_, volume)| volume),
        other => Err(io::Error::other(format!("{other} has no servers"))),
    }
}

/// Has a server write to its medium what it holds of a volume.
///
/// # Errors
/// As [`examine`], or the server's answer.
pub(crate) fn flush(name: &Name) -> io::Result<()> {
    match name.protocol {
        Personality::Nbd => Exchange::<nbd::Nbd>::connect(name)?.0.flush(),
        other => Err(io::Error::other(format!("{other} has no servers"))),
    }
}
