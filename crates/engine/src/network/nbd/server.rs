//! A small NBD server for tests: one export, a file; it can be made to answer wrongly.

use super::{FLUSH, READ, REPLY_BYTES, REPLY_MAGIC, TRIM, WRITE};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// What is sent in place of a right reply, by its number from 0; none closes the connection.
pub(crate) type Answering = dyn Fn(u32, Vec<u8>) -> Option<Vec<u8>> + Send + Sync;

/// A running server; it ends when dropped.
pub(crate) struct Server {
    directory: tempfile::TempDir,
    ends: Arc<AtomicBool>,
}

/// What it serves, and how.
pub(crate) struct Serving {
    pub(crate) file: PathBuf,
    /// Of the export.
    pub(crate) flags: u16,
    /// What it greets with; none for the right greeting.
    pub(crate) greeting: Option<Vec<u8>>,
    pub(crate) answering: Box<Answering>,
}

/// Flags: flush, FUA and trim.
pub(crate) const ABLE: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5;

impl Serving {
    /// A file, rightly.
    pub(crate) fn of(file: &Path) -> Serving {
        let answering = Box::new(|_, reply| Some(reply));
        Serving { file: file.to_owned(), flags: ABLE, greeting: None, answering }
    }
}

impl Server {
    pub(crate) fn start(serving: Serving) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let (serving, its_end) = (Arc::new(serving), Arc::clone(&ends));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if its_end.load(Relaxed) {
                    break;
                }
                let serving = Arc::clone(&serving);
                // A client that goes is no fault of the server.
                std::thread::spawn(move || drop(serve(client.unwrap(), &serving)));
            }
        });
        Server { directory, ends }
    }

    /// The name of an export.
    pub(crate) fn name(&self, export: &str) -> PathBuf {
        format!("nbd+unix:///{export}?socket={}", self.directory.path().join("socket").display()).into()
    }
}

/// The name of an export over TCP, for a client that connects twice. Each reply leaves in two parts, the second one after the
/// acknowledgement of the first (RFC 896).
pub(crate) fn over_tcp(serving: Serving) -> PathBuf {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().take(2).for_each(|client| drop(serve(client.unwrap(), &serving))));
    format!("nbd://127.0.0.1:{port}/").into()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        let _ = UnixStream::connect(self.directory.path().join("socket"));
    }
}

fn serve(mut client: impl Read + Write, serving: &Serving) -> io::Result<()> {
    if let Some(greeting) = &serving.greeting {
        client.write_all(greeting)?;
        return client.read_to_end(&mut Vec::new()).map(drop);
    }
    client.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    let mut flags = [0; 4];
    client.read_exact(&mut flags)?;
    let file = File::options().read(true).write(true).open(&serving.file)?;
    while !negotiate(&mut client, &file, serving.flags)? {}
    let number = AtomicU32::new(0);
    loop {
        let mut request = [0; 28];
        client.read_exact(&mut request)?;
        let reply = carry_out(&mut client, &file, &request)?;
        match (serving.answering)(number.fetch_add(1, Relaxed), reply) {
            Some(reply) => {
                let (head, data) = reply.split_at(reply.len().min(REPLY_BYTES));
                client.write_all(head)?;
                client.write_all(data)?;
            }
            None => return Ok(()),
        }
    }
}

/// Answers an option; whether it was the last.
fn negotiate(client: &mut (impl Read + Write), file: &File, flags: u16) -> io::Result<bool> {
    let mut head = [0; 16];
    client.read_exact(&mut head)?;
    let mut data = vec![0; u32::from_be_bytes(head[12..].try_into().unwrap()) as usize];
    client.read_exact(&mut data)?;
    let option: [u8; 4] = head[8..12].try_into().unwrap();
    let mut reply = |kind: u32, data: &[u8]| {
        let mut bytes = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
        bytes.extend(option);
        bytes.extend(kind.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        client.write_all(&bytes)
    };
    let name = |name: &str| [&(name.len() as u32).to_be_bytes()[..], name.as_bytes()].concat();
    match (u32::from_be_bytes(option), data.get(4..)) {
        (7, Some([b'x', b'x', ..])) => reply(1 << 31 | 6, b"").map(|()| false),
        (7, _) => {
            let size = file.metadata()?.len();
            reply(3, &[&[0, 0], &size.to_be_bytes()[..], &flags.to_be_bytes()].concat())?;
            let sizes = [1_u32, 4096, 1 << 20].map(u32::to_be_bytes).concat();
            reply(3, &[&[0, 3], &sizes[..]].concat())?;
            reply(1, b"").map(|()| true)
        }
        (3, _) => {
            reply(2, &name("one"))?;
            reply(2, &name("two\x1b[2J"))?;
            reply(1, b"").map(|()| false)
        }
        _ => reply(1 << 31 | 1, b"").map(|()| false),
    }
}

/// Carries out a request; its reply with the data.
fn carry_out(client: &mut impl Read, file: &File, request: &[u8; 28]) -> io::Result<Vec<u8>> {
    let command = u16::from_be_bytes([request[6], request[7]]);
    let offset = u64::from_be_bytes(request[16..24].try_into().unwrap());
    let mut data = vec![0; u32::from_be_bytes(request[24..].try_into().unwrap()) as usize];
    if command == WRITE {
        client.read_exact(&mut data)?;
    }
    let beyond = command != FLUSH && offset + data.len() as u64 > file.metadata()?.len();
    let errno = match command {
        _ if beyond => libc::EINVAL,
        READ => {
            file.read_exact_at(&mut data, offset)?;
            0
        }
        WRITE | TRIM => {
            file.write_all_at(&data, offset)?;
            0
        }
        FLUSH => 0,
        _ => return Err(io::ErrorKind::UnexpectedEof.into()),
    };
    let mut reply = [REPLY_MAGIC.to_be_bytes(), (errno as u32).to_be_bytes()].concat();
    reply.extend(&request[8..16]);
    if command == READ && errno == 0 {
        reply.append(&mut data);
    }
    Ok(reply)
}
