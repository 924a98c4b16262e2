//! A connected socket, and the requests that wait to be sent on it.

use super::PATIENCE;
use super::name::Place;
use super::tls::Session;
use halfpower_model::sample::Tcp;
use halfpower_model::{Bytes, Nanoseconds};
use std::io::{self, ErrorKind};
use std::mem::{MaybeUninit, size_of};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The most pieces of memory that one call takes: UIO_MAXIOV.
const PIECES_MAX: usize = 1024;

/// A connected socket.
#[derive(Debug)]
pub(crate) struct Socket {
    descriptor: OwnedFd,
    /// The address of the other side.
    pub(crate) address: String,
    /// Facts of the kernel about a TCP connection.
    pub(crate) round_trip: Option<Nanoseconds>,
    pub(crate) segment_max: Option<Bytes>,
    /// The keys, if the connection is encrypted.
    session: Option<Session>,
}

impl Socket {
    /// Connects, for [`PATIENCE`] at most.
    ///
    /// # Errors
    /// The kernel's, of the last address tried.
    pub(crate) fn connect(place: &Place) -> io::Result<Socket> {
        match place {
            Place::Unix(path) => {
                let socket = UnixStream::connect(path)?;
                Socket::of(socket.into(), path.display().to_string())
            }
            Place::Tcp { host, port } => {
                let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
                let amazon = host.ends_with(".amazonaws.com");
                let remedy = if amazon { "; set AWS_ENDPOINT_URL for another object store" } else { "" };
                let unknown = |error: io::Error| {
                    io::Error::new(error.kind(), format!("the host {host} is not found ({error}){remedy}"))
                };
                for address in (host.as_str(), *port).to_socket_addrs().map_err(unknown)? {
                    match TcpStream::connect_timeout(&address, PATIENCE) {
                        Ok(socket) => {
                            socket.set_nodelay(true)?;
                            return Socket::of(socket.into(), address.to_string());
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn of(descriptor: OwnedFd, address: String) -> io::Result<Socket> {
        let timeout = Some(PATIENCE);
        rustix::net::sockopt::set_socket_timeout(&descriptor, rustix::net::sockopt::Timeout::Recv, timeout)?;
        rustix::net::sockopt::set_socket_timeout(&descriptor, rustix::net::sockopt::Timeout::Send, timeout)?;
        let facts = tcp_info(descriptor.as_raw_fd());
        let round_trip = facts.map(|facts| Nanoseconds(u64::from(facts.tcpi_rtt) * 1000));
        let segment_max = facts.map(|facts| Bytes(u64::from(facts.tcpi_snd_mss)));
        Ok(Socket { descriptor, address, round_trip, segment_max, session: None })
    }

    /// Encrypted from here on, as agreed with the server of a name.
    ///
    /// # Errors
    /// The kernel's; if the server is not who it says, with the remedy.
    pub(super) fn encrypted(self, host: &str) -> io::Result<Socket> {
        let session = Some(Session::begin(&self.descriptor, host)?);
        Ok(Socket { session, ..self })
    }

    /// The version of TLS; none where nothing is encrypted.
    pub(super) fn encryption(&self) -> Option<&'static str> {
        self.session.as_ref().map(Session::version)
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = match &self.session {
                Some(session) => session.send(&self.descriptor, bytes, true)?,
                None => rustix::net::send(&self.descriptor, bytes, rustix::net::SendFlags::NOSIGNAL)?,
            };
            bytes = &bytes[sent..];
        }
        self.flush(true).map(drop)
    }

    /// Receives exactly as many bytes.
    ///
    /// # Errors
    /// The kernel's; the server's end of the connection, or its silence.
    pub(crate) fn receive_exactly(&self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.receive_some(bytes)?;
            bytes = &mut bytes[count..];
        }
        Ok(())
    }

    /// Receives as many bytes as there are, one at least.
    ///
    /// # Errors
    /// As [`receive_exactly`](Self::receive_exactly).
    pub(crate) fn receive_some(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: the piece is `bytes`.
        match unsafe { self.receive(std::slice::from_mut(&mut piece), true) } {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(silence()),
            received => received,
        }
    }

    /// Receives into several pieces of memory; 0 at the end of the stream. Waits only if `waits`.
    ///
    /// # Safety
    /// Each piece leads to writable memory that nobody else uses meanwhile.
    pub(super) unsafe fn receive(&self, pieces: &mut [libc::iovec], waits: bool) -> io::Result<usize> {
        if let Some(session) = &self.session {
            // What does not fit into the first piece is asked for again.
            let piece = pieces[0];
            // SAFETY: by the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts_mut(piece.iov_base.cast(), piece.iov_len) };
            return session.receive(&self.descriptor, bytes, waits);
        }
        // SAFETY: zeros are a message without address and control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (pieces.as_mut_ptr(), pieces.len() as _);
        let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
        loop {
            // SAFETY: the message leads to `pieces`, and these to memory by the caller's promise.
            let count = unsafe { libc::recvmsg(self.raw(), &raw mut message, flags) };
            match usize::try_from(count) {
                Ok(count) => return Ok(count),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }

    /// Sends of several pieces of memory what the socket takes without waiting; the number of bytes.
    ///
    /// # Safety
    /// Each piece leads to memory that nobody writes meanwhile.
    unsafe fn send(&self, pieces: &mut [libc::iovec]) -> io::Result<usize> {
        if let Some(session) = &self.session {
            // SAFETY: by the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts(pieces[0].iov_base.cast(), pieces[0].iov_len) };
            return session.send(&self.descriptor, bytes, false);
        }
        // SAFETY: zeros are a message without address and control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (pieces.as_mut_ptr(), pieces.len() as _);
        loop {
            // SAFETY: the message leads to `pieces`, and these to memory by the caller's promise.
            let count =
                unsafe { libc::sendmsg(self.raw(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
            match usize::try_from(count) {
                Ok(count) => return Ok(count),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }

    /// Sends the encrypted bytes; whether the socket took all of it.
    fn flush(&self, waits: bool) -> io::Result<bool> {
        self.session.as_ref().map_or(Ok(true), |session| session.flush(&self.descriptor, waits))
    }

    /// Waits for data only so long from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn wait_at_most(&self, at_most: Duration) -> io::Result<()> {
        let which = rustix::net::sockopt::Timeout::Recv;
        Ok(rustix::net::sockopt::set_socket_timeout(&self.descriptor, which, Some(at_most))?)
    }

    /// Makes the kernel acknowledge received data at once, or later (TCP_QUICKACK). It holds until the next data are received.
    ///
    /// # Errors
    /// The kernel's, as of a local socket.
    pub(super) fn acknowledge_at_once(&self, at_once: bool) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_tcp_quickack(&self.descriptor, at_once)?)
    }

    /// Whether something was received that nobody has read.
    pub(super) fn has_more(&self) -> bool {
        self.session.as_ref().is_some_and(Session::has_more)
    }

    /// What the kernel counted since the connection began; none of a local socket.
    pub(super) fn tcp(&self) -> Option<Tcp> {
        let seconds = |microseconds: u64| microseconds as f64 / 1e6;
        tcp_info(self.raw()).map(|facts| Tcp {
            sending_s: seconds(facts.tcpi_busy_time),
            window_limited_s: seconds(facts.tcpi_rwnd_limited),
            buffer_limited_s: seconds(facts.tcpi_sndbuf_limited),
            retransmitted: u64::from(facts.tcpi_total_retrans),
            round_trip_least_s: seconds(u64::from(facts.tcpi_min_rtt)),
        })
    }

    pub(super) fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// The error of a server that sends nothing.
pub(crate) fn silence() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("the server sent nothing for {} s", PATIENCE.as_secs()))
}

/// TCP_INFO; none of a socket of another kind, and zeros where the kernel is older.
fn tcp_info(descriptor: RawFd) -> Option<libc::tcp_info> {
    let mut facts = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let into = facts.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes to where there are as many; any bytes are numbers.
    unsafe {
        let done = libc::getsockopt(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length);
        (done == 0).then(|| facts.assume_init())
    }
}

/// Pieces of memory that wait to be sent, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: Vec<libc::iovec>,
    /// The first that was not sent whole.
    first: usize,
    /// Pieces that are no longer here.
    cleared: u64,
}

impl Outbox {
    /// With room for so many pieces.
    pub(super) fn new(pieces: usize) -> Outbox {
        Outbox { pieces: Vec::with_capacity(pieces), ..Outbox::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, address: *const u8, length: usize) {
        self.pieces.push(libc::iovec { iov_base: address.cast_mut().cast(), iov_len: length });
    }

    /// Sends as much as the socket takes without waiting.
    ///
    /// # Safety
    /// Every piece still leads to its memory.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) unsafe fn send(&mut self, socket: &Socket) -> io::Result<()> {
        while self.first < self.pieces.len() {
            let upto = self.pieces.len().min(self.first + PIECES_MAX);
            // SAFETY: the caller's promise.
            match unsafe { socket.send(&mut self.pieces[self.first..upto]) } {
                Ok(count) => self.pass(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if socket.flush(false)? {
            self.clear();
        }
        Ok(())
    }

    /// Pieces that were ever put in, and sent whole.
    pub(super) fn pushed(&self) -> u64 {
        self.cleared + self.pieces.len() as u64
    }

    pub(super) fn sent(&self) -> u64 {
        self.cleared + self.first as u64
    }

    pub(super) fn clear(&mut self) {
        self.cleared = self.pushed();
        self.pieces.clear();
        self.first = 0;
    }

    /// Passes over what was sent.
    #[inline]
    fn pass(&mut self, mut sent: usize) {
        while sent > 0 {
            let piece = &mut self.pieces[self.first];
            if sent < piece.iov_len {
                piece.iov_base = piece.iov_base.cast::<u8>().wrapping_add(sent).cast();
                piece.iov_len -= sent;
                return;
            }
            sent -= piece.iov_len;
            self.first += 1;
        }
    }
}

/// Waits until one of the sockets can be used as asked for; false at the end of the time.
///
/// # Errors
/// The kernel's.
pub(crate) fn wait(polls: &mut [libc::pollfd], at_most: Duration) -> io::Result<bool> {
    let time = libc::timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos().into() };
    // SAFETY: both lead to what they are taken from.
    let ready = unsafe { libc::ppoll(polls.as_mut_ptr(), polls.len() as _, &raw const time, std::ptr::null()) };
    match ready {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => Ok(true),
            error => Err(error),
        },
    }
}
