//! Messages of SMB 2 and 3: the header, and the bodies that are sent and read. All numbers are little-endian. Source: MS-SMB2 2.2.

use super::login::utf16;
use std::ops::Range;

pub(super) const HEADER_BYTES: usize = 64;
/// Where a message has its signature.
pub(super) const SIGNATURE: Range<usize> = 48..64;

/// Commands.
pub(super) const NEGOTIATE: u16 = 0;
pub(super) const SESSION_SETUP: u16 = 1;
pub(super) const TREE_CONNECT: u16 = 3;
pub(super) const CREATE: u16 = 5;
pub(super) const FLUSH: u16 = 7;
pub(super) const READ: u16 = 8;
pub(super) const WRITE: u16 = 9;
pub(super) const ECHO: u16 = 13;

/// Flags of the header.
pub(super) const RESPONSE: u32 = 1;
pub(super) const SIGNED: u32 = 8;

/// Statuses.
pub(super) const PENDING: u32 = 0x103;
pub(super) const MORE_PROCESSING: u32 = 0xc000_0016;
pub(super) const END_OF_FILE: u32 = 0xc000_0011;

/// Where the data of a read and of a write begin in their message.
pub(super) const READ_DATA: usize = 80;
pub(super) const WRITE_DATA: usize = 112;

/// A flag of a write, and an option of an open file: done once the medium has it.
pub(super) const WRITE_THROUGH: u32 = 1;
/// Signing is possible, is required.
const SIGNING_ENABLED: u16 = 1;
pub(super) const SIGNING_REQUIRED: u16 = 2;
/// A capability: requests of more than 64 KiB.
pub(super) const LARGE_REQUESTS: u32 = 4;

/// Versions of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Smb21,
    Smb30,
    Smb302,
    Smb311,
}

impl Dialect {
    const ALL: [(Dialect, u16, &str); 4] = [
        (Dialect::Smb21, 0x210, "SMB 2.1"),
        (Dialect::Smb30, 0x300, "SMB 3.0"),
        (Dialect::Smb302, 0x302, "SMB 3.0.2"),
        (Dialect::Smb311, 0x311, "SMB 3.1.1"),
    ];

    fn of(number: u16) -> Option<Dialect> {
        Dialect::ALL.iter().find(|(_, its, _)| *its == number).map(|(dialect, ..)| *dialect)
    }

    pub(super) fn name(self) -> &'static str {
        Dialect::ALL.iter().find(|(dialect, ..)| *dialect == self).map_or("", |(.., name)| name)
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) charge: u16,
    pub(super) status: u32,
    pub(super) command: u16,
    /// Asked for in a request, granted in a response.
    pub(super) credits: u16,
    pub(super) flags: u32,
    pub(super) next: u32,
    pub(super) id: u64,
    pub(super) tree: u32,
    pub(super) session: u64,
    pub(super) signature: [u8; 16],
}

impl Header {
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(b"\xfeSMB");
        bytes[4] = HEADER_BYTES as u8;
        bytes[6..8].copy_from_slice(&self.charge.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.status.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.command.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.credits.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.flags.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.next.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.id.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.tree.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.session.to_le_bytes());
        bytes[SIGNATURE].copy_from_slice(&self.signature);
        bytes
    }

    /// Of a message; none if it is too short, or no message of SMB 2.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.first_chunk::<HEADER_BYTES>()?;
        let mut signature = [0; 16];
        signature.copy_from_slice(&bytes[SIGNATURE]);
        bytes.starts_with(b"\xfeSMB").then_some(Header {
            charge: u16_at(bytes, 6)?,
            status: u32_at(bytes, 8)?,
            command: u16_at(bytes, 12)?,
            credits: u16_at(bytes, 14)?,
            flags: u32_at(bytes, 16)?,
            next: u32_at(bytes, 20)?,
            id: u64_at(bytes, 24)?,
            tree: u32_at(bytes, 36)?,
            session: u64_at(bytes, 40)?,
            signature,
        })
    }
}

#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The part of a whole message that a field `offset, length` of 16 bits each names.
fn buffer(message: &[u8], at: usize) -> Option<&[u8]> {
    let (from, length) = (usize::from(u16_at(message, at)?), usize::from(u16_at(message, at + 2)?));
    message.get(from..from + length)
}

/// The body of a request to negotiate.
pub(super) fn negotiate(salt: &[u8; 32]) -> Vec<u8> {
    let dialects: Vec<u8> = Dialect::ALL.iter().flat_map(|(_, number, _)| number.to_le_bytes()).collect();
    let contexts_at = (HEADER_BYTES + 36 + dialects.len()).next_multiple_of(8);
    let mut body = 36_u16.to_le_bytes().to_vec();
    body.extend((Dialect::ALL.len() as u16).to_le_bytes());
    body.extend(SIGNING_ENABLED.to_le_bytes());
    body.extend([0; 2]);
    body.extend(LARGE_REQUESTS.to_le_bytes());
    // A client that never reconnects may have any identity; two with the same are one to the server.
    body.extend(&salt[..16]);
    body.extend((contexts_at as u32).to_le_bytes());
    body.extend([2, 0, 0, 0]);
    body.extend(dialects);
    body.resize(contexts_at - HEADER_BYTES, 0);
    // SHA-512 over the negotiation, then AES-CMAC as the way to sign.
    let mut context = |kind: u16, data: &[u8]| {
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend(kind.to_le_bytes());
        body.extend((data.len() as u16).to_le_bytes());
        body.extend([0; 4]);
        body.extend(data);
    };
    context(1, &[&[1, 0, 32, 0, 1, 0], &salt[..]].concat());
    context(8, &[1, 0, 1, 0]);
    body
}

/// What a server answered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Negotiated {
    pub(super) dialect: Dialect,
    pub(super) must_sign: bool,
    pub(super) takes_large: bool,
    pub(super) read_max: u32,
    pub(super) write_max: u32,
}

impl Negotiated {
    /// Of a whole message.
    ///
    /// # Errors
    /// If the server speaks no version that is understood here.
    pub(super) fn read(message: &[u8]) -> Result<Negotiated, String> {
        let body = message.get(HEADER_BYTES..).unwrap_or_default();
        let read = || {
            let (security, number) = (u16_at(body, 2)?, u16_at(body, 4)?);
            Some((security, number, u32_at(body, 24)?, u32_at(body, 32)?, u32_at(body, 36)?))
        };
        let (security, number, capabilities, read_max, write_max) = read().ok_or("its answer is too short")?;
        let dialect = Dialect::of(number)
            .ok_or_else(|| format!("it speaks version {number:#x} of SMB, and 2.1 to 3.1.1 are supported"))?;
        let must_sign = security & SIGNING_REQUIRED != 0;
        Ok(Negotiated { dialect, must_sign, takes_large: capabilities & LARGE_REQUESTS != 0, read_max, write_max })
    }
}

/// The body of a login.
pub(super) fn session_setup(token: &[u8]) -> Vec<u8> {
    let mut body = vec![25, 0, 0, SIGNING_ENABLED as u8];
    body.extend([0; 8]);
    body.extend(((HEADER_BYTES + 24) as u16).to_le_bytes());
    body.extend((token.len() as u16).to_le_bytes());
    body.extend([0; 8]);
    body.extend(token);
    body
}

/// The flags of a session (guest 1, anonymous 2, encrypted 4), and the server's token.
pub(super) fn session(message: &[u8]) -> Option<(u16, &[u8])> {
    Some((u16_at(message, HEADER_BYTES + 2)?, buffer(message, HEADER_BYTES + 4)?))
}

/// The body of a connection to a share, `\\HOST\SHARE`.
pub(super) fn tree_connect(share: &str) -> Vec<u8> {
    let name = utf16(share);
    let mut body = vec![9, 0, 0, 0];
    body.extend(((HEADER_BYTES + 8) as u16).to_le_bytes());
    body.extend((name.len() as u16).to_le_bytes());
    body.extend(name);
    body
}

/// The kind of a share (1 is a disk) and its flags.
pub(super) fn share(message: &[u8]) -> Option<(u8, u32)> {
    Some((*message.get(HEADER_BYTES + 2)?, u32_at(message, HEADER_BYTES + 4)?))
}

/// The body of an open of an existing file.
pub(super) fn create(path: &str, writes: bool) -> Vec<u8> {
    // Read data and attributes; write data and attributes.
    let access: u32 = if writes { 0x81 | 0x102 } else { 0x81 };
    let name = utf16(path);
    let mut body = vec![57, 0, 0, 0];
    body.extend(2_u32.to_le_bytes());
    body.extend([0; 16]);
    body.extend(access.to_le_bytes());
    body.extend([0; 4]);
    // Others may read, write and delete it; it must exist; and be no directory.
    for number in [7_u32, 1, 0x40] {
        body.extend(number.to_le_bytes());
    }
    body.extend(((HEADER_BYTES + 56) as u16).to_le_bytes());
    body.extend((name.len() as u16).to_le_bytes());
    body.extend([0; 8]);
    body.extend(name);
    body
}

/// The size of an opened file, and its handle.
pub(super) fn created(message: &[u8]) -> Option<(u64, [u8; 16])> {
    let handle = message.get(HEADER_BYTES + 64..)?.first_chunk()?;
    Some((u64_at(message, HEADER_BYTES + 48)?, *handle))
}

/// The body of a read.
#[inline]
pub(super) fn read(file: &[u8; 16], offset: u64, length: u32) -> [u8; 49] {
    let mut body = [0; 49];
    (body[0], body[2]) = (49, READ_DATA as u8);
    body[4..8].copy_from_slice(&length.to_le_bytes());
    body[8..16].copy_from_slice(&offset.to_le_bytes());
    body[16..32].copy_from_slice(file);
    body
}

/// The body of a write, without its data.
#[inline]
pub(super) fn write(file: &[u8; 16], offset: u64, length: u32, flags: u32) -> [u8; 48] {
    let mut body = [0; 48];
    (body[0], body[2]) = (49, WRITE_DATA as u8);
    body[4..8].copy_from_slice(&length.to_le_bytes());
    body[8..16].copy_from_slice(&offset.to_le_bytes());
    body[16..32].copy_from_slice(file);
    body[44..48].copy_from_slice(&flags.to_le_bytes());
    body
}

/// The body of a flush.
pub(super) fn flush(file: &[u8; 16]) -> [u8; 24] {
    let mut body = [0; 24];
    body[0] = 24;
    body[8..24].copy_from_slice(file);
    body
}

/// The body of an echo.
pub(super) const ECHO_BODY: [u8; 4] = [4, 0, 0, 0];

/// A status in words, with the remedy, where users meet it.
pub(super) fn meaning(status: u32) -> Option<&'static str> {
    Some(match status {
        0xc000_006d => "the server refuses this user or password",
        0xc000_0022 => {
            "the server denies access; use another user, or reads only, or a share that does not require encryption"
        }
        0xc000_0064 => "the server does not know this user",
        0xc000_006a => "the server refuses this password",
        0xc000_0071 | 0xc000_0224 => "the password has expired",
        0xc000_0072 => "the user is disabled at the server",
        0xc000_0234 => "the user is locked at the server",
        0xc000_00cc => "the server has no such share",
        0xc000_0034 => "the share has no such file; create it there first",
        0xc000_003a => "the share has no such directory",
        0xc000_0033 | 0xc000_0039 => "it is no name of a file",
        0xc000_0043 => "another program at the server keeps it for itself",
        0xc000_00ba => "it is a directory; name a file in it",
        0xc000_00bb => "the server does not support this version or request",
        0xc000_007f => "the share is full",
        0xc000_00c9 | 0xc000_0203 => "the server ended the session",
        _ => return None,
    })
}

/// The error number of a status.
pub(super) fn errno_of(status: u32) -> i32 {
    match status {
        0 => 0,
        0xc000_0022 => libc::EACCES,
        0xc000_000d | 0xc000_0010 => libc::EINVAL,
        0xc000_007f => libc::ENOSPC,
        0xc000_009a | 0xc000_0017 => libc::ENOMEM,
        0xc000_0054 => libc::EAGAIN,
        0xc000_00bb => libc::EOPNOTSUPP,
        0xc000_0008 | 0xc000_0128 => libc::EBADF,
        0xc000_00c9 | 0xc000_0203 => libc::ESHUTDOWN,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back() {
        let header =
            Header { charge: 2, command: READ, credits: 9, id: 1 << 40, tree: 7, session: 8, ..Header::default() };
        assert_eq!(Header::read(&header.to_bytes()), Some(header));
        assert_eq!(Header::read(&header.to_bytes()[..63]), None);
        assert_eq!(Header::read(&[0; 64]), None);
    }

    #[test]
    fn answers_that_are_cut_anywhere_are_no_answers() {
        let mut message = Header::default().to_bytes().to_vec();
        message.extend([0; 88]);
        for end in 0..message.len() {
            let cut = &message[..end];
            let (short, whole) = (end < HEADER_BYTES + 8, end >= HEADER_BYTES + 80);
            assert_eq!(session(cut).is_none(), short, "{end}");
            assert_eq!(share(cut).is_none(), short, "{end}");
            assert_eq!(created(cut).is_some(), whole, "{end}");
            assert!(Negotiated::read(cut).is_err());
        }
    }
}
