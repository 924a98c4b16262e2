//! SMB 2.1 to 3.1.1, the protocol of Windows shares and Samba: reads, writes and flushes of one file.
//!
//! Logins are those of NTLMv2, or a guest's; messages are signed where the server requires it. Not spoken: Kerberos, encryption,
//! DFS, several channels, leases and caches: every request goes to the server. Source: MS-SMB2.

mod keys;
mod login;
mod messages;
#[cfg(test)]
mod tests;

use super::{Answer, Name, Place, Protocol, Refusal, Socket, Volume};
use crate::personality::interface::{Granted, Transfer};
use crate::target::Access;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Bytes, Personality, Server, Workload};
use keys::{Preauthentication, Signer, Signing};
use messages::{Dialect, HEADER_BYTES, Header, Negotiated, READ_DATA, SIGNATURE, WRITE_DATA};
use std::io::{self, Read};
use std::time::{Duration, SystemTime};

/// Bytes before each message: a zero and its length.
const FRAME: usize = 4;
/// The longest message without data that a server sends here.
const MESSAGE_MAX: usize = 4096;
/// Bytes of a credit.
const CREDIT_BYTES: u32 = 64 << 10;
/// The most credits that are asked for, more than any server grants.
const CREDITS_MAX: usize = 8192;
/// The longest request without large ones.
const SMALL_MAX: u32 = 64 << 10;
/// Requests of more bytes are split by no client.
const REQUEST_MAX: u32 = 8 << 20;

/// A connection to an open file.
#[derive(Debug)]
pub(crate) struct Smb {
    dialect: Dialect,
    takes_large: bool,
    /// Session and tree of every request.
    header: Header,
    file: [u8; 16],
    write_flags: u32,
    signer: Option<Signer>,
    signs: bool,
    next_id: u64,
    credits: u32,
    /// Numbers of requests with their tags, by the number modulo its length.
    tags: Box<[(u64, u32)]>,
    /// Over the negotiation.
    preauthentication: Preauthentication,
    /// The signature of the read whose data are arriving.
    arriving: Option<(Signing, [u8; 16])>,
    cause: Option<String>,
}

impl Protocol for Smb {
    fn connect(name: &Name, access: Access) -> io::Result<(Self, Socket, Volume)> {
        let (share, path) = name.export.split_once('/').unwrap_or((&name.export, ""));
        if share.is_empty() || path.is_empty() {
            return Err(io::Error::other("name a file of a share: smb://[USER@]HOST/SHARE/FILE"));
        }
        let Place::Tcp { host, .. } = &name.place else {
            return Err(io::Error::other("SMB is spoken over TCP; name a host"));
        };
        let socket = Socket::connect(&name.place)?;
        let mut smb = Smb::new();
        let negotiated = smb.negotiate(&socket)?;
        let Negotiated { dialect, must_sign, takes_large, .. } = negotiated;
        (smb.dialect, smb.takes_large) = (dialect, takes_large);
        let is_guest = smb.log_in(&socket, name, &negotiated)?;
        smb.signs = must_sign;
        smb.open_share(&socket, &format!("\\\\{host}\\{share}"))?;
        let size = smb.open_file(&socket, &path.replace('/', "\\"), access == Access::Overwrite)?;
        let most = negotiated.read_max.min(negotiated.write_max).min(REQUEST_MAX);
        let request_max = Bytes(u64::from(if takes_large { most } else { most.min(SMALL_MAX) }));
        let user = if is_guest { "guest".to_owned() } else { format!("user {}", name.login.user) };
        let signing = if must_sign { "signed messages" } else { "unsigned messages" };
        let agreed = [dialect.name(), &user, signing, &format!("requests up to {request_max}"), "TCP_NODELAY"];
        let server = Server {
            protocol: Personality::Smb,
            address: socket.address.clone(),
            agreed: agreed.map(str::to_owned).to_vec(),
            request_max_bytes: request_max,
            read_only: None,
            round_trip: socket.round_trip,
            segment_max_bytes: socket.segment_max,
        };
        Ok((smb, socket, Volume { size: Bytes(size), alignment: Bytes(1), server }))
    }

    /// Asks for as many credits as the workload takes. With fewer, requests wait for credits.
    fn accept(&mut self, socket: &Socket, workload: &Workload) -> io::Result<Granted> {
        if workload.operation.has(RequestKind::Trim) {
            return Err(io::Error::other("SMB has no trims; leave them out of --operation"));
        }
        if workload.buffering.is_through() {
            self.write_flags = messages::WRITE_THROUGH;
        }
        let charge = self.charge(workload.request_size.0 as u32);
        let each = workload.depth.div_ceil(workload.connections.unwrap_or(1));
        let needed = charge.saturating_mul(each);
        let mut had = 0;
        while self.credits < needed && self.credits > had {
            had = self.credits;
            let more = (needed - had).min(CREDITS_MAX as u32) as u16;
            self.call(socket, messages::ECHO, &messages::ECHO_BODY, more)?;
        }
        if self.credits < charge {
            let held = self.credits;
            return Err(io::Error::other(format!(
                "the server grants {held} credits, fewer than one request takes; use smaller ones"
            )));
        }
        let enough = self.credits / charge;
        let few = (self.credits < needed)
            .then(|| format!("depth: the server's credits allow {enough} requests at a time on a connection"));
        Ok(Granted { obtained: vec![format!("{} credits", self.credits)], refused: few.into_iter().collect() })
    }

    #[inline]
    fn can_ask(&self, transfer: &Transfer) -> bool {
        self.credits >= self.charge(transfer.length)
    }

    #[inline]
    fn ask(&mut self, transfer: &Transfer, head: &mut Vec<u8>) -> Result<(), Refusal> {
        let &Transfer { tag, length, offset, kind, .. } = transfer;
        let command = match kind {
            RequestKind::Read => messages::READ,
            RequestKind::Write => messages::WRITE,
            RequestKind::Flush => messages::FLUSH,
            RequestKind::Trim => {
                return Err(Refusal { errno: libc::EOPNOTSUPP, cause: "SMB has no trims".to_owned() });
            }
        };
        let charge = self.charge(length);
        let flags = if self.signs { messages::SIGNED } else { 0 };
        let header =
            Header { charge: charge as u16, command, credits: charge as u16, flags, id: self.next_id, ..self.header };
        self.tags[self.next_id as usize % CREDITS_MAX] = (self.next_id, tag);
        self.next_id += u64::from(charge);
        self.credits -= charge;
        head.extend([0; FRAME]);
        head.extend(header.to_bytes());
        match kind {
            RequestKind::Read => head.extend(messages::read(&self.file, offset, length)),
            RequestKind::Write => head.extend(messages::write(&self.file, offset, length, self.write_flags)),
            _ => head.extend(messages::flush(&self.file)),
        }
        let data = if kind == RequestKind::Write { length as usize } else { 0 };
        debug_assert!(kind != RequestKind::Write || head.len() == FRAME + WRITE_DATA);
        frame(head, data);
        if let Some(signer) = self.signer.as_ref().filter(|_| self.signs) {
            let data: &[u8] = match data {
                0 => &[],
                // SAFETY: a write's address leads to as many bytes as it is long, which nobody writes until its completion.
                length => unsafe { std::slice::from_raw_parts(transfer.address, length) },
            };
            let signature = signer.sign(&head[FRAME..], data);
            head[FRAME..][SIGNATURE].copy_from_slice(&signature);
        }
        Ok(())
    }

    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Answer>, String> {
        let Some(whole) = frame_length(bytes)? else { return Ok(None) };
        let message = &bytes[FRAME..];
        let Some(header) = header_of(message)? else { return Ok(None) };
        if header.id == u64::MAX {
            // Said by the server on its own account; nothing was agreed that needs an answer.
            return Ok((message.len() >= whole).then_some(Answer::Interim(FRAME + whole)));
        }
        if header.command == messages::READ && header.status == 0 {
            let Some(head) = message.get(..READ_DATA) else { return Ok(None) };
            let length = messages::u32_at(head, HEADER_BYTES + 4).unwrap_or(0);
            if usize::from(head[HEADER_BYTES + 2]) != READ_DATA || READ_DATA + length as usize != whole {
                return Err("the data of a read are not where they should be".to_owned());
            }
            if let Some(signer) = self.signer.as_ref().filter(|_| self.signs) {
                let mut signing = signer.begin();
                begin_signature(&mut signing, head);
                self.arriving = Some((signing, header.signature));
            }
            return self.finish(header, FRAME + READ_DATA, Some(length)).map(Some);
        }
        if whole > MESSAGE_MAX {
            return Err(format!("it sends a message of {whole} bytes"));
        }
        let Some(message) = message.get(..whole) else { return Ok(None) };
        if header.status == messages::PENDING {
            self.credits += u32::from(header.credits);
            return Ok(Some(Answer::Interim(FRAME + whole)));
        }
        self.check_signature(&header, message)?;
        let moved = match header.status {
            messages::END_OF_FILE => Some(0),
            0 if header.command == messages::WRITE => messages::u32_at(message, HEADER_BYTES + 4),
            0 => None,
            status => {
                let known = messages::meaning(status).map(str::to_owned);
                self.cause = Some(known.unwrap_or_else(|| format!("the server answered with status {status:#010x}")));
                None
            }
        };
        self.finish(header, FRAME + whole, moved).map(Some)
    }

    fn arrived(&mut self, data: &[u8]) -> Result<(), String> {
        match self.arriving.take() {
            None => Ok(()),
            Some((mut signing, signature)) => {
                signing.include(data);
                if signing.end() == signature { Ok(()) } else { Err(WRONG_SIGNATURE.to_owned()) }
            }
        }
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    fn farewell(&self) -> Vec<u8> {
        // A connection that ends closes the file and the session.
        Vec::new()
    }
}

const NO_PASSWORD: &str = "no password was given: put it into HALFPOWER_PASSWORD, or name a file with it, as for mount.cifs, in \
                           HALFPOWER_CREDENTIALS";
const WRONG_SIGNATURE: &str = "the signature of an answer is wrong";

impl Smb {
    fn new() -> Smb {
        Smb {
            dialect: Dialect::Smb21,
            takes_large: false,
            header: Header::default(),
            file: [0; 16],
            write_flags: 0,
            signer: None,
            signs: false,
            next_id: 0,
            credits: 1,
            tags: vec![(u64::MAX, 0); CREDITS_MAX].into(),
            preauthentication: Preauthentication::new(),
            arriving: None,
            cause: None,
        }
    }

    /// Credits that a request of so many bytes takes.
    #[inline]
    fn charge(&self, length: u32) -> u32 {
        if self.takes_large { length.div_ceil(CREDIT_BYTES).max(1) } else { 1 }
    }

    /// The end of an answer: its tag and result.
    fn finish(&mut self, header: Header, length: usize, moved: Option<u32>) -> Result<Answer, String> {
        self.credits += u32::from(header.credits);
        let (id, tag) = self.tags[header.id as usize % CREDITS_MAX];
        if id != header.id {
            return Err("it answered a request that was not sent".to_owned());
        }
        let errno = if header.status == messages::END_OF_FILE { 0 } else { messages::errno_of(header.status) };
        Ok(Answer::Final { length, tag: u64::from(tag), errno, moved })
    }

    fn check_signature(&self, header: &Header, message: &[u8]) -> Result<(), String> {
        match self.signer.as_ref().filter(|_| self.signs) {
            Some(_) if header.flags & messages::SIGNED == 0 => Err("an answer is not signed".to_owned()),
            Some(signer) if signer.sign(message, &[]) != header.signature => Err(WRONG_SIGNATURE.to_owned()),
            _ => Ok(()),
        }
    }

    fn negotiate(&mut self, socket: &Socket) -> io::Result<Negotiated> {
        let salt = random::<32>()?;
        let (_, request, answer) = self.exchange(socket, messages::NEGOTIATE, &messages::negotiate(&salt), 1)?;
        self.preauthentication.include(&request);
        self.preauthentication.include(&answer);
        Negotiated::read(&answer).map_err(broken)
    }

    /// Logs in; whether as a guest.
    fn log_in(&mut self, socket: &Socket, name: &Name, negotiated: &Negotiated) -> io::Result<bool> {
        let body = messages::session_setup(&login::negotiate());
        let (header, request, answer) = self.exchange(socket, messages::SESSION_SETUP, &body, CREDITS_MAX as u16)?;
        if header.status != messages::MORE_PROCESSING {
            return Err(refused("log in", header.status));
        }
        self.header.session = header.session;
        let mut before = self.preauthentication.clone();
        before.include(&request);
        before.include(&answer);
        let (_, challenge) = messages::session(&answer).ok_or_else(|| broken("it sent no challenge".to_owned()))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let (token, key) = login::authenticate(challenge, &name.login, random()?, now).map_err(broken)?;
        let body = messages::session_setup(&token);
        let (header, request, answer) = self.exchange(socket, messages::SESSION_SETUP, &body, CREDITS_MAX as u16)?;
        if header.status != 0 {
            let error = refused("log in", header.status);
            let has_none = !name.login.user.is_empty() && name.login.password.is_empty();
            return Err(if has_none { io::Error::other(format!("{error}; {NO_PASSWORD}")) } else { error });
        }
        before.include(&request);
        let (flags, _) = messages::session(&answer).ok_or_else(|| broken("it answered no login".to_owned()))?;
        if flags & 4 != 0 {
            return Err(io::Error::other("the server encrypts the session, which is not supported"));
        }
        let is_guest = flags & 3 != 0 || key.is_none();
        if !is_guest && let Some(key) = key {
            let signer = Signer::new(negotiated.dialect, &key, &before);
            let is_signed = header.flags & messages::SIGNED != 0;
            if is_signed && signer.sign(&answer, &[]) != header.signature {
                return Err(broken(WRONG_SIGNATURE.to_owned()));
            }
            self.signer = Some(signer);
        }
        if is_guest && negotiated.must_sign {
            return Err(io::Error::other(
                "the server requires signed messages, and a guest has no key; name a user: smb://USER@HOST/…",
            ));
        }
        Ok(is_guest)
    }

    fn open_share(&mut self, socket: &Socket, share: &str) -> io::Result<()> {
        // 3.1.1 wants this one signed in any case.
        let signs = self.signs;
        self.signs |= self.dialect == Dialect::Smb311;
        let (header, answer) = self.call(socket, messages::TREE_CONNECT, &messages::tree_connect(share), 1)?;
        self.signs = signs;
        if header.status != 0 {
            return Err(refused(&format!("connect to {share}"), header.status));
        }
        let (kind, flags) = messages::share(&answer).ok_or_else(|| broken("it answered no connection".to_owned()))?;
        if kind != 1 {
            return Err(io::Error::other(format!("{share} is no disk")));
        }
        if flags & 0x8000 != 0 {
            return Err(io::Error::other(format!("{share} is encrypted, which is not supported")));
        }
        self.header.tree = header.tree;
        Ok(())
    }

    /// Opens the file; its size.
    fn open_file(&mut self, socket: &Socket, path: &str, writes: bool) -> io::Result<u64> {
        let (header, answer) = self.call(socket, messages::CREATE, &messages::create(path, writes), 1)?;
        if header.status != 0 {
            return Err(refused(&format!("open {path}"), header.status));
        }
        let (size, file) = messages::created(&answer).ok_or_else(|| broken("it opened no file".to_owned()))?;
        self.file = file;
        Ok(size)
    }

    /// Sends a request and waits for its answer, with nothing else outstanding.
    fn call(&mut self, socket: &Socket, command: u16, body: &[u8], credits: u16) -> io::Result<(Header, Vec<u8>)> {
        let (header, _, answer) = self.exchange(socket, command, body, credits)?;
        Ok((header, answer))
    }

    /// The same; also the request as it was sent.
    fn exchange(
        &mut self,
        socket: &Socket,
        command: u16,
        body: &[u8],
        credits: u16,
    ) -> io::Result<(Header, Vec<u8>, Vec<u8>)> {
        let signer = self.signer.clone().filter(|_| self.signs);
        let flags = if signer.is_some() { messages::SIGNED } else { 0 };
        let header = Header { charge: 1, command, credits, flags, id: self.next_id, ..self.header };
        self.next_id += 1;
        self.credits = self.credits.saturating_sub(1);
        let mut bytes = vec![0; FRAME];
        bytes.extend(header.to_bytes());
        bytes.extend(body);
        frame(&mut bytes, 0);
        if let Some(signer) = &signer {
            let signature = signer.sign(&bytes[FRAME..], &[]);
            bytes[FRAME..][SIGNATURE].copy_from_slice(&signature);
        }
        socket.send_all(&bytes)?;
        loop {
            let mut head = [0; FRAME];
            socket.receive_exactly(&mut head)?;
            let length = frame_length(&head).map_err(broken)?.unwrap_or(0);
            if length > 64 << 10 {
                return Err(broken(format!("it sends a message of {length} bytes")));
            }
            let mut answer = vec![0; length];
            socket.receive_exactly(&mut answer)?;
            let its = header_of(&answer).map_err(broken)?.ok_or_else(|| broken("it sends no header".to_owned()))?;
            if its.id != header.id || its.command != command {
                return Err(broken("it answered a request that was not sent".to_owned()));
            }
            self.credits += u32::from(its.credits);
            if its.status != messages::PENDING {
                self.check_signature(&its, &answer).map_err(broken)?;
                return Ok((its, bytes.split_off(FRAME), answer));
            }
        }
    }
}

/// Writes the length of a message, and of so many bytes of data behind it, before it.
#[inline]
fn frame(message: &mut [u8], data: usize) {
    let length = (message.len() - FRAME + data) as u32;
    message[..FRAME].copy_from_slice(&length.to_be_bytes());
}

/// The length of a message, by the bytes before it.
#[inline]
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, String> {
    match bytes.first_chunk::<FRAME>() {
        None => Ok(None),
        Some([0, length @ ..]) => Ok(Some(length.iter().fold(0, |all, byte| all << 8 | usize::from(*byte)))),
        Some([kind, ..]) => Err(format!("a message is of kind {kind:#x}")),
    }
}

/// The header of an answer; none if it is not there yet.
fn header_of(message: &[u8]) -> Result<Option<Header>, String> {
    if message.len() < HEADER_BYTES {
        return Ok(None);
    }
    let header = Header::read(message).ok_or("a message is none of SMB 2, or encrypted")?;
    match (header.flags & messages::RESPONSE, header.next) {
        (0, _) => Err("it sends a request".to_owned()),
        (_, 0) => Ok(Some(header)),
        _ => Err("it joins answers, which was not asked for".to_owned()),
    }
}

fn begin_signature(signing: &mut Signing, head: &[u8]) {
    signing.include(&head[..SIGNATURE.start]);
    signing.include(&[0; 16]);
    signing.include(&head[SIGNATURE.end..]);
}

fn broken(what: String) -> io::Error {
    io::Error::other(format!("the server does not keep to SMB: {what}"))
}

fn refused(action: &str, status: u32) -> io::Error {
    match messages::meaning(status) {
        Some(why) => io::Error::other(format!("cannot {action}: {why}")),
        None => io::Error::other(format!("cannot {action}: the server answered with status {status:#010x}")),
    }
}

/// Bytes that nobody can guess.
fn random<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
