//! TLS on a connected socket: what is encrypted before it is sent, and decrypted when it was received. By rustls; the authorities
//! that are trusted are this host's, or those of the file that `AWS_CA_BUNDLE` names, as Amazon's programs take it.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore};
use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};

const AUTHORITIES: &str = "AWS_CA_BUNDLE";
/// What one call receives at most.
const RECEIVED_BYTES: usize = 64 << 10;

/// A session with a server that proved its name.
pub(super) struct Session(RefCell<State>);

struct State {
    tls: ClientConnection,
    /// Bytes that were received and not decrypted.
    received: Box<[u8]>,
    from: usize,
    to: usize,
}

/// A socket as rustls wants it.
struct Wire<'a> {
    socket: &'a OwnedFd,
    waits: bool,
}

impl Read for Wire<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        use rustix::net::{RecvFlags, recv};
        let flags = if self.waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        Ok(rustix::io::retry_on_intr(|| recv(self.socket.as_fd(), &mut *bytes, flags))?.0)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::net::{SendFlags, send};
        let flags = if self.waits { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        Ok(rustix::io::retry_on_intr(|| send(self.socket, bytes, flags))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Agrees with the server of a name on keys.
    ///
    /// # Errors
    /// The socket's; if the server's certificate is not trusted or of another name, with the remedy.
    pub(super) fn begin(socket: &OwnedFd, host: &str) -> io::Result<Session> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other(format!("{host} is no name that a certificate can have")))?;
        let mut tls = ClientConnection::new(configuration()?, name).map_err(io::Error::other)?;
        let mut wire = Wire { socket, waits: true };
        while tls.is_handshaking() {
            tls.complete_io(&mut wire).map_err(|error| refused(&error, host))?;
        }
        let received = vec![0; RECEIVED_BYTES].into();
        Ok(Session(RefCell::new(State { tls, received, from: 0, to: 0 })))
    }

    /// What was agreed on.
    pub(super) fn version(&self) -> &'static str {
        match self.0.borrow().tls.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
            _ => "TLS 1.3",
        }
    }

    /// Encrypts as many of the bytes as there is room for; the number of bytes. Sends only to make room.
    ///
    /// # Errors
    /// The socket's, `WouldBlock` as well.
    pub(super) fn send(&self, socket: &OwnedFd, bytes: &[u8], waits: bool) -> io::Result<usize> {
        loop {
            let taken = self.0.borrow_mut().tls.writer().write(bytes)?;
            if taken > 0 {
                return Ok(taken);
            }
            if !self.flush(socket, waits)? {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
    }

    /// Sends what is encrypted; whether the socket took all of it.
    ///
    /// # Errors
    /// The socket's.
    pub(super) fn flush(&self, socket: &OwnedFd, waits: bool) -> io::Result<bool> {
        let tls = &mut self.0.borrow_mut().tls;
        while tls.wants_write() {
            match tls.write_tls(&mut Wire { socket, waits }) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !waits => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Decrypts into `bytes` what is there; receives first if that is nothing. 0 at the end of the stream.
    ///
    /// # Errors
    /// The socket's, `WouldBlock` as well; what the server should not have sent.
    pub(super) fn receive(&self, socket: &OwnedFd, bytes: &mut [u8], waits: bool) -> io::Result<usize> {
        let State { tls, received, from, to } = &mut *self.0.borrow_mut();
        loop {
            match tls.reader().read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Without a word of farewell: whether an answer is whole, its length says.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                count => return count,
            }
            if from == to {
                (*from, *to) = (0, Wire { socket, waits }.read(received)?);
            }
            *from += tls.read_tls(&mut &received[*from..*to])?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }

    /// Whether something was received that nobody has read: no wait for the socket would tell of it.
    pub(super) fn has_more(&self) -> bool {
        let State { tls, from, to, .. } = &mut *self.0.borrow_mut();
        from < to || tls.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// Why there is no session.
fn refused(error: &io::Error, host: &str) -> io::Error {
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(why)) => io::Error::other(format!(
            "the certificate of {host} is not trusted ({why}); name the file of its authority in {AUTHORITIES}"
        )),
        Some(rustls::Error::InvalidMessage(_)) => {
            io::Error::other(format!("{host} does not answer in TLS; name the endpoint with http://"))
        }
        _ => io::Error::new(error.kind(), format!("no TLS with {host}: {error}")),
    }
}

/// Whom to trust, read once.
fn configuration() -> io::Result<Arc<ClientConfig>> {
    static ONCE: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let read = || {
        let file = std::env::var_os(AUTHORITIES).filter(|file| !file.is_empty());
        let found = match &file {
            Some(file) => rustls_native_certs::load_certs_from_paths(Some(Path::new(file)), None),
            None => rustls_native_certs::load_native_certs(),
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(match file {
                Some(file) => format!("{AUTHORITIES} names {}, which has no certificate", file.display()),
                None => {
                    format!("this host trusts no authority; install ca-certificates, or name a file in {AUTHORITIES}")
                }
            });
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    };
    ONCE.get_or_init(read).clone().map_err(io::Error::other)
}
