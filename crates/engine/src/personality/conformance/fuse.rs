//! A file system of one file with a bad place and a slow one in it, served by the test over /dev/fuse.
//!
//! It speaks as much of the protocol (linux/fuse.h, version 7.31) as it takes to open, read and write the file; every
//! other request is answered with ENOSYS. Requests come as the personality makes them: nothing is cached.

use super::{SLOT, SPAN};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Transfers that begin here fail with EIO; those that reach into it are short.
pub(super) const BAD: Range<usize> = 256 << 10..320 << 10;

/// A read that begins here is answered only after [`SLOWNESS`]; meanwhile nothing else is.
pub(super) const SLOW: usize = 512 << 10;
pub(super) const SLOWNESS: Duration = Duration::from_secs(1);

/// Numbers of the protocol: nodes, requests, and the flag that a file is not to be cached.
const ROOT: u64 = 1;
const FILE: u64 = 2;
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const FOPEN_DIRECT_IO: u32 = 1;
/// Without it, the kernel continues with a short read of io_uring at the place where it began (seen with Linux 6.18).
const ASYNC_DIO: u32 = 1 << 15;
/// Of the header of a request, and of the arguments of a read or write.
const HEADER: usize = 40;
const ARGUMENTS: usize = 40;

/// Mounted until it is dropped.
pub(super) struct FaultyFile {
    directory: tempfile::TempDir,
    pub(super) content: Arc<Mutex<Vec<u8>>>,
    server: Option<JoinHandle<()>>,
}

impl FaultyFile {
    /// None, with a message, if it cannot be mounted.
    pub(super) fn mount(content: Vec<u8>) -> Option<FaultyFile> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = File::options().read(true).write(true).open("/dev/fuse").and_then(|device| {
            let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", device.as_raw_fd());
            let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).unwrap();
            let flags = rustix::mount::MountFlags::empty();
            rustix::mount::mount("test", directory.path(), "fuse", flags, Some(options))?;
            Ok(device)
        });
        let device = match mounted {
            Ok(device) => device,
            Err(error) => {
                eprintln!("skipped: nothing can be mounted over /dev/fuse ({error})");
                return None;
            }
        };
        let content = Arc::new(Mutex::new(content));
        let served = Arc::clone(&content);
        let server = std::thread::spawn(move || serve(device, &served));
        Some(FaultyFile { directory, content, server: Some(server) })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("file")
    }
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.directory.path(), rustix::mount::UnmountFlags::DETACH);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// Answers until it is unmounted.
fn serve(mut device: File, content: &Mutex<Vec<u8>>) {
    let mut request = vec![0; SLOT * 2 + 8192];
    loop {
        let length = match device.read(&mut request) {
            Ok(length) => length,
            // The request was taken back before it was read.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
            Err(_) => return,
        };
        let request = &request[..length];
        let (opcode, unique) = (number_at(request, 4, 4) as u32, number_at(request, 8, 8));
        if opcode == FORGET {
            continue;
        }
        let (error, body) = match answer(opcode, request, &mut content.lock().unwrap()) {
            Ok(body) => (0, body),
            Err(error) => (-error, Vec::new()),
        };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend((16 + body.len() as u32).to_ne_bytes());
        reply.extend(error.to_ne_bytes());
        reply.extend(unique.to_ne_bytes());
        reply.extend(body);
        // The process of the request may have ended.
        let _ = device.write(&reply);
    }
}

/// The body of a reply, or an error number.
fn answer(opcode: u32, request: &[u8], content: &mut [u8]) -> Result<Vec<u8>, i32> {
    let arguments = &request[HEADER..];
    match opcode {
        // major, minor, max_readahead, flags, max_background and congestion_threshold, max_write, the rest
        INIT => Ok(words(&[7, 31, 0, ASYNC_DIO, 16 | 12 << 16, SLOT as u32 * 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        LOOKUP if arguments == b"file\0" => {
            Ok([&words(&[FILE as u32, 0, 0, 0, 60, 0, 60, 0, 0, 0]), &*attributes(FILE)].concat())
        }
        LOOKUP => Err(libc::ENOENT),
        GETATTR => Ok([&words(&[60, 0, 0, 0]), &*attributes(number_at(request, 16, 8))].concat()),
        STATFS => Ok([vec![0; 40], words(&[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0])].concat()),
        OPEN => Ok(words(&[0, 0, FOPEN_DIRECT_IO, 0])),
        READ => {
            let range = moved(arguments)?;
            if range.start == SLOW {
                std::thread::sleep(SLOWNESS);
            }
            Ok(content[range].to_vec())
        }
        WRITE => {
            let range = moved(arguments)?;
            content[range.clone()].copy_from_slice(&arguments[ARGUMENTS..ARGUMENTS + range.len()]);
            Ok(words(&[range.len() as u32, 0]))
        }
        FLUSH | RELEASE => Ok(Vec::new()),
        _ => Err(libc::ENOSYS),
    }
}

/// The range that a read or write moves.
fn moved(arguments: &[u8]) -> Result<Range<usize>, i32> {
    let (offset, length) = (number_at(arguments, 8, 8) as usize, number_at(arguments, 16, 4) as usize);
    let end = (offset + length).min(SPAN);
    match offset {
        _ if BAD.contains(&offset) => Err(libc::EIO),
        _ if offset < BAD.start => Ok(offset..end.min(BAD.start)),
        _ => Ok(offset.min(end)..end),
    }
}

/// struct fuse_attr.
fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if node == ROOT { (libc::S_IFDIR | 0o755, 0) } else { (libc::S_IFREG | 0o644, SPAN as u64) };
    let long: Vec<u8> = [node, size, size / 512, 0, 0, 0].iter().flat_map(|number| number.to_ne_bytes()).collect();
    [long, words(&[0, 0, 0, mode, 1, 0, 0, 0, 4096, 0])].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A number of this many bytes at a place of a message, in the host's order.
fn number_at(message: &[u8], place: usize, bytes: usize) -> u64 {
    match bytes {
        4 => u64::from(u32::from_ne_bytes(message[place..place + 4].try_into().unwrap())),
        _ => u64::from_ne_bytes(message[place..place + 8].try_into().unwrap()),
    }
}
