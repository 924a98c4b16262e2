//! The negotiation: from the server's greeting to the size and flags of an export.

use super::REQUEST_MAX;
use crate::network::Socket;
use halfpower_model::Bytes;
use std::io;

const GREETING: u64 = 0x4e42_444d_4147_4943;
const OPTION: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const OLD_STYLE: u64 = 0x0000_4202_8186_1253;

/// Flags of the greeting and of its answer: newstyle whose options have replies, and no zeros behind an export's flags.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

const OPTION_EXPORT_NAME: u32 = 1;
const OPTION_LIST: u32 = 3;
const OPTION_GO: u32 = 7;

const REPLY_ACKNOWLEDGED: u32 = 1;
const REPLY_SERVER: u32 = 2;
const REPLY_INFO: u32 = 3;
const REPLY_ERROR: u32 = 1 << 31;
const ERROR_UNSUPPORTED: u32 = REPLY_ERROR | 1;
const ERROR_POLICY: u32 = REPLY_ERROR | 2;
const ERROR_TLS: u32 = REPLY_ERROR | 5;
const ERROR_UNKNOWN: u32 = REPLY_ERROR | 6;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// More is no reply to an option: names have 4096 bytes at most.
const REPLY_MAX: u32 = 64 << 10;
/// Replies to one option. A server lists its exports one by one.
const REPLIES_MAX: usize = 4096;
/// Exports that an error names.
const LISTED: usize = 8;

/// An export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size: Bytes,
    pub(super) flags: Flags,
    pub(super) block_min: Bytes,
    pub(super) request_max: Bytes,
}

/// What an export can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u16);

impl Flags {
    pub(super) fn is_read_only(self) -> bool {
        self.has(1)
    }

    pub(super) fn can_flush(self) -> bool {
        self.has(2)
    }

    pub(super) fn can_write_through(self) -> bool {
        self.has(3)
    }

    pub(super) fn can_trim(self) -> bool {
        self.has(5)
    }

    /// Whether a flush on one connection is of the writes on all.
    pub(super) fn is_one_for_all_connections(self) -> bool {
        self.has(8)
    }

    /// A flag counts where the server says that it sends flags.
    fn has(self, bit: u32) -> bool {
        self.0 & 1 != 0 && self.0 & (1 << bit) != 0
    }
}

/// Negotiates an export.
///
/// # Errors
/// If the server does not have it or speaks something else, with the remedy.
pub(super) fn negotiate(socket: &Socket, export: &str) -> io::Result<Export> {
    if number(socket)? != GREETING {
        return Err(io::Error::other("it is no NBD server; is the port right?"));
    }
    match number(socket)? {
        OPTION => {}
        OLD_STYLE => {
            return Err(io::Error::other("the server negotiates in the old style only; start it with an export name"));
        }
        _ => return Err(io::Error::other("it is no NBD server; is the port right?")),
    }
    let greeting = u16::from_be_bytes(bytes(socket)?);
    if greeting & FIXED_NEWSTYLE == 0 {
        return Err(io::Error::other("the server does not negotiate options (fixed newstyle); use a newer one"));
    }
    socket.send_all(&u32::from(greeting & (FIXED_NEWSTYLE | NO_ZEROES)).to_be_bytes())?;
    match go(socket, export)? {
        Some(found) => Ok(found),
        None => by_name_alone(socket, export, greeting & NO_ZEROES == 0),
    }
}

/// NBD_OPT_GO; none if the server does not know it.
fn go(socket: &Socket, export: &str) -> io::Result<Option<Export>> {
    let mut data = (export.len() as u32).to_be_bytes().to_vec();
    data.extend(export.as_bytes());
    data.extend(1_u16.to_be_bytes());
    data.extend(INFO_BLOCK_SIZE.to_be_bytes());
    send_option(socket, OPTION_GO, &data)?;
    let mut found = None;
    let (mut block_min, mut request_max) = (Bytes(1), REQUEST_MAX);
    for _ in 0..REPLIES_MAX {
        let (kind, data) = reply(socket, OPTION_GO)?;
        match (kind, data.split_first_chunk::<2>()) {
            (REPLY_ACKNOWLEDGED, _) => {
                let (size, flags) = found.ok_or_else(|| broken("it acknowledged an export without its size"))?;
                return Ok(Some(Export { size, flags, block_min, request_max }));
            }
            (REPLY_INFO, Some((kind, rest))) => match (u16::from_be_bytes(*kind), rest) {
                (INFO_EXPORT, rest) => found = Some(size_and_flags(rest)?),
                (INFO_BLOCK_SIZE, sizes) => {
                    let at = |index: usize| Some(u32::from_be_bytes(*sizes.get(4 * index..)?.first_chunk()?));
                    let (least, most) = at(0).zip(at(2)).ok_or_else(|| broken("it sent no block sizes"))?;
                    // An export without the largest sends all ones.
                    block_min = Bytes(u64::from(least.max(1)));
                    request_max = Bytes(u64::from(most).min(REQUEST_MAX.0)).max(block_min);
                }
                _ => {}
            },
            (ERROR_UNSUPPORTED, _) => return Ok(None),
            (kind, _) if kind & REPLY_ERROR != 0 => return Err(refusal(socket, kind, export, &data)),
            _ => {}
        }
    }
    Err(broken("it does not end its replies"))
}

/// NBD_OPT_EXPORT_NAME, of servers that know no other: a server without the export ends the connection.
fn by_name_alone(socket: &Socket, export: &str, zeros_follow: bool) -> io::Result<Export> {
    send_option(socket, OPTION_EXPORT_NAME, export.as_bytes())?;
    let reply: [u8; 10] = bytes(socket).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other(format!("the server has no export {}", quoted(export))),
        _ => error,
    })?;
    if zeros_follow {
        bytes::<124>(socket)?;
    }
    let (size, flags) = size_and_flags(&reply)?;
    Ok(Export { size, flags, block_min: Bytes(1), request_max: REQUEST_MAX })
}

fn size_and_flags(bytes: &[u8]) -> io::Result<(Bytes, Flags)> {
    let short = || broken("it sent no size");
    let (size, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let flags = rest.first_chunk::<2>().ok_or_else(short)?;
    let size = u64::from_be_bytes(*size);
    if i64::try_from(size).is_err() {
        return Err(broken("it says that the export has more than 8 EiB"));
    }
    Ok((Bytes(size), Flags(u16::from_be_bytes(*flags))))
}

/// The error of an export that the server does not give.
fn refusal(socket: &Socket, kind: u32, export: &str, message: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(message).chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let said = if said.is_empty() { said } else { format!(" (it says: {said})") };
    let name = quoted(export);
    io::Error::other(match kind {
        ERROR_UNKNOWN => match exports(socket).unwrap_or_default() {
            names if names.is_empty() => format!("the server has no export {name}{said}"),
            names => format!("the server has no export {name}; it has {}", names.join(", ")),
        },
        ERROR_TLS => format!("the server gives {name} over TLS only, which is not supported; use a tunnel"),
        ERROR_POLICY => format!("the server does not give {name} to this host{said}"),
        other => format!("the server refuses {name}: error {}{said}", other & !REPLY_ERROR),
    })
}

/// The first exports of the server, quoted.
fn exports(socket: &Socket) -> io::Result<Vec<String>> {
    send_option(socket, OPTION_LIST, &[])?;
    let mut names = Vec::new();
    for _ in 0..REPLIES_MAX {
        let (kind, data) = reply(socket, OPTION_LIST)?;
        if kind != REPLY_SERVER {
            break;
        }
        let Some((length, rest)) = data.split_first_chunk::<4>() else { continue };
        let name = rest.get(..u32::from_be_bytes(*length) as usize).unwrap_or_default();
        if names.len() < LISTED {
            names.push(quoted(&String::from_utf8_lossy(name)));
        }
    }
    Ok(names)
}

fn quoted(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).take(100).collect();
    if clean.is_empty() { "\"\" (the default)".to_owned() } else { format!("\"{clean}\"") }
}

fn send_option(socket: &Socket, option: u32, data: &[u8]) -> io::Result<()> {
    let mut message = OPTION.to_be_bytes().to_vec();
    message.extend(option.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    socket.send_all(&message)
}

/// A reply to an option: its kind and data.
fn reply(socket: &Socket, option: u32) -> io::Result<(u32, Vec<u8>)> {
    if number(socket)? != OPTION_REPLY || u32::from_be_bytes(bytes(socket)?) != option {
        return Err(broken("it sent something else than the reply to an option"));
    }
    let [kind, length] = [u32::from_be_bytes(bytes(socket)?), u32::from_be_bytes(bytes(socket)?)];
    if length > REPLY_MAX {
        return Err(broken("it sent a reply that is too long"));
    }
    let mut data = vec![0; length as usize];
    socket.receive_exactly(&mut data)?;
    Ok((kind, data))
}

fn number(socket: &Socket) -> io::Result<u64> {
    Ok(u64::from_be_bytes(bytes(socket)?))
}

fn bytes<const COUNT: usize>(socket: &Socket) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    socket.receive_exactly(&mut bytes)?;
    Ok(bytes)
}

fn broken(what: &str) -> io::Error {
    io::Error::other(format!("the server does not keep to the protocol: {what}"))
}
