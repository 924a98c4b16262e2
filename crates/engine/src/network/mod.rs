//! Volumes of servers, without this host's kernel knowing them: names, connections, and a protocol each.
//!
//! A protocol says how a transfer is asked for and what an answer means; [`Exchange`] moves the bytes. There is no thread and no
//! runtime: a worker sends what it has with one call and waits for answers with another.

mod connection;
pub(crate) mod credentials;
mod exchange;
pub(crate) mod name;
pub(crate) mod nbd;
pub(crate) mod s3;
pub(crate) mod smb;
mod tls;

pub(crate) use connection::{Socket, silence, wait};
pub(crate) use exchange::{Ended, Exchange};
pub use name::is_remote;
pub(crate) use name::{Name, Place};

use crate::personality::interface::{Granted, Transfer};
use crate::target::Access;
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
    /// The server and what was agreed.
    pub(crate) server: Server,
}

/// A protocol, on one connection.
pub(crate) trait Protocol: Sized {
    /// Connects and negotiates.
    ///
    /// # Errors
    /// The kernel's or the server's, with the remedy.
    fn connect(name: &Name, access: Access) -> io::Result<(Self, Socket, Volume)>;

    /// Connects to a volume that was examined before.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    fn again(name: &Name, access: Access) -> io::Result<(Self, Socket)> {
        Self::connect(name, access).map(|(protocol, socket, _)| (protocol, socket))
    }

    /// Connections of a worker that share its queue depth, where the user names no number.
    fn connections(workload: &Workload) -> u32 {
        let _ = workload;
        1
    }

    /// Prepares for a workload; what the server grants and does not.
    ///
    /// # Errors
    /// If the server cannot carry it out, with the remedy.
    fn accept(&mut self, socket: &Socket, workload: &Workload) -> io::Result<Granted>;

    /// Whether a transfer may be asked for now; one that may not waits for an answer to another.
    fn can_ask(&self, transfer: &Transfer) -> bool {
        let _ = transfer;
        true
    }

    /// Appends the request of a transfer to `head`; the data of a write follow it. Or the error of a transfer that cannot be asked for.
    fn ask(&mut self, transfer: &Transfer, head: &mut Vec<u8>) -> Result<(), Refusal>;

    /// Reads the start of an answer; none if `bytes` do not hold it yet.
    ///
    /// # Errors
    /// What makes the rest of the stream unreadable.
    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Answer>, String>;

    /// The data of the last answer are there.
    ///
    /// # Errors
    /// As for `answer`.
    fn arrived(&mut self, data: &[u8]) -> Result<(), String> {
        let _ = data;
        Ok(())
    }

    /// Why the last answer was an error, where its number alone does not explain it.
    fn cause(&mut self) -> Option<String> {
        None
    }

    /// The bytes that end the connection in order.
    fn farewell(&self) -> Vec<u8>;
}

/// The start of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Of so many bytes, that ends no transfer.
    Interim(usize),
    /// That ends one.
    Final {
        /// Its bytes, before any data.
        length: usize,
        /// The tag of its transfer, as the server sent it.
        tag: u64,
        /// An error number; 0 for success, which for a read is followed by its data.
        errno: i32,
        /// Bytes that were moved; none for all that were asked for.
        moved: Option<u32>,
    },
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
pub(crate) fn examine(name: &Name, access: Access) -> io::Result<Volume> {
    match name.protocol {
        Personality::Nbd => Exchange::<nbd::Nbd>::connect(name, access).map(|(_, volume)| volume),
        Personality::Smb => Exchange::<smb::Smb>::connect(name, access).map(|(_, volume)| volume),
        Personality::S3 => Exchange::<s3::S3>::connect(name, access).map(|(_, volume)| volume),
        other => Err(io::Error::other(format!("{other} has no servers"))),
    }
}

/// Has a server write to its medium what it holds of a volume.
///
/// # Errors
/// As [`examine`], or the server's answer.
pub(crate) fn flush(name: &Name) -> io::Result<()> {
    match name.protocol {
        Personality::Nbd => Exchange::<nbd::Nbd>::connect(name, Access::Overwrite)?.0.flush(),
        Personality::Smb => Exchange::<smb::Smb>::connect(name, Access::Overwrite)?.0.flush(),
        // An object is stored when the server answers.
        Personality::S3 => Ok(()),
        other => Err(io::Error::other(format!("{other} has no servers"))),
    }
}
