//! NBD, the network block device protocol: fixed newstyle negotiation, simple replies.
//!
//! Not spoken: TLS, structured replies (a client that asks for none gets none) and the older negotiation. Source: NetworkBlockDevice/nbd,
//! doc/proto.md.

mod handshake;
#[cfg(test)]
pub(crate) mod server;
#[cfg(test)]
mod tests;

use super::{Answer, Name, Protocol, Refusal, Socket, Volume};
use crate::personality::interface::{Granted, Transfer};
use crate::target::Access;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Bytes, Personality, Server, Workload};
use handshake::Export;
use std::io;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
/// Bytes of a reply before its data.
const REPLY_BYTES: usize = 16;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
/// Flag of a request: done once the medium has it.
const UNIT_ACCESS: u16 = 1;

/// A connection to an export.
#[derive(Debug)]
pub(crate) struct Nbd {
    export: Export,
    /// Flags of a write.
    write_flags: u16,
}

impl Protocol for Nbd {
    fn connect(name: &Name, _: Access) -> io::Result<(Self, Socket, Volume)> {
        let socket = Socket::connect(&name.place)?;
        let export = handshake::negotiate(&socket, &name.export)?;
        let volume = Volume {
            size: export.size,
            alignment: export.block_min,
            server: Server {
                read_only: export.flags.is_read_only().then(|| "the server exports it for reading only".to_owned()),
                protocol: Personality::Nbd,
                address: socket.address.clone(),
                agreed: export.agreed(socket.round_trip.is_some()),
                request_max_bytes: export.request_max,
                round_trip: socket.round_trip,
                segment_max_bytes: socket.segment_max,
            },
        };
        Ok((Nbd { export, write_flags: 0 }, socket, volume))
    }

    fn accept(&mut self, _: &Socket, workload: &Workload) -> io::Result<Granted> {
        let flags = self.export.flags;
        let refuse = |message: &str| Err(io::Error::other(message.to_owned()));
        if workload.operation.has(RequestKind::Trim) && !flags.can_trim() {
            return refuse("the server takes no trims of this export; leave them out of --operation");
        }
        if workload.durability.every().is_some() && !flags.can_flush() {
            return refuse("the server takes no flushes of this export; leave --durability out");
        }
        if workload.operation.writes() && workload.buffering.is_through() {
            if !flags.can_write_through() {
                return refuse("the server cannot write this export through (FUA); use --buffering direct");
            }
            self.write_flags = UNIT_ACCESS;
        }
        Ok(Granted::default())
    }

    #[inline]
    fn ask(&mut self, transfer: &Transfer, head: &mut Vec<u8>) -> Result<(), Refusal> {
        let flags = self.export.flags;
        let unsupported = |cause: &str| Err(Refusal { errno: libc::EOPNOTSUPP, cause: cause.to_owned() });
        let command = match transfer.kind {
            RequestKind::Write if flags.is_read_only() => {
                return Err(Refusal { errno: libc::EPERM, cause: "the server exports it for reading only".to_owned() });
            }
            RequestKind::Trim if !flags.can_trim() => return unsupported("the server takes no trims of this export"),
            RequestKind::Flush if !flags.can_flush() => {
                return unsupported("the server takes no flushes of this export");
            }
            RequestKind::Read => READ,
            RequestKind::Write => WRITE,
            RequestKind::Trim => TRIM,
            RequestKind::Flush => FLUSH,
        };
        let request_flags = if command == WRITE { self.write_flags } else { 0 };
        head.extend(request(request_flags, command, u64::from(transfer.tag), transfer.offset, transfer.length));
        Ok(())
    }

    #[inline]
    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Answer>, String> {
        let Some(reply) = bytes.first_chunk::<REPLY_BYTES>() else { return Ok(None) };
        let word = |from: usize| u32::from_be_bytes([reply[from], reply[from + 1], reply[from + 2], reply[from + 3]]);
        if word(0) != REPLY_MAGIC {
            return Err(format!("a reply begins with {:#010x}", word(0)));
        }
        let tag = u64::from(word(8)) << 32 | u64::from(word(12));
        Ok(Some(Answer::Final { length: REPLY_BYTES, tag, errno: errno_of(word(4)), moved: None }))
    }

    fn farewell(&self) -> Vec<u8> {
        request(0, DISCONNECT, 0, 0, 0).to_vec()
    }
}

/// A request, as it is sent.
#[inline]
fn request(flags: u16, command: u16, tag: u64, offset: u64, length: u32) -> [u8; 28] {
    let mut bytes = [0; 28];
    bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&flags.to_be_bytes());
    bytes[6..8].copy_from_slice(&command.to_be_bytes());
    bytes[8..16].copy_from_slice(&tag.to_be_bytes());
    bytes[16..24].copy_from_slice(&offset.to_be_bytes());
    bytes[24..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The protocol's error numbers are Linux's, as far as it has them.
fn errno_of(error: u32) -> i32 {
    match i32::try_from(error) {
        Ok(0) => 0,
        Ok(errno @ (libc::EPERM | libc::EIO | libc::ENOMEM | libc::EINVAL | libc::ENOSPC | libc::EOVERFLOW)) => errno,
        Ok(libc::ENOTSUP) => libc::EOPNOTSUPP,
        Ok(libc::ESHUTDOWN) => libc::ESHUTDOWN,
        // Others are read as an invalid request, says the protocol.
        _ => libc::EINVAL,
    }
}

impl Export {
    /// What was agreed, in words.
    fn agreed(&self, is_tcp: bool) -> Vec<String> {
        let flags = self.flags;
        let blocks = format!("blocks of {} to {}", self.block_min, self.request_max);
        let abilities = [
            (is_tcp, "TCP_NODELAY"),
            (flags.is_read_only(), "read only"),
            (flags.can_flush(), "flush"),
            (flags.can_write_through(), "FUA"),
            (flags.can_trim(), "trim"),
            (flags.is_one_for_all_connections(), "several connections"),
        ];
        let had = abilities.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_owned());
        [blocks].into_iter().chain(had).collect()
    }
}

/// The largest request where the server names none: "the client SHOULD NOT" send more.
const REQUEST_MAX: Bytes = Bytes(32 << 20);
