//! Files behind token buckets, served over /dev/fuse: storage whose limits are known, for `bench/limits.py`.
//!
//!     throttle DIRECTORY FILES GIGABYTES [KIND:RATE:PEAK:SECONDS]…
//!
//! KIND is `bytes` or `requests`, all FILES share the limit. It is QEMU's leaky bucket: it leaks at RATE and holds SECONDS at
//! PEAK. Where that is over a second, another bucket leaks at PEAK and holds a tenth of a second of it. Without a peak (0:0) it
//! holds a tenth of a second of RATE. A request waits until no bucket holds more than it can, in order. Reads give the same random bytes, writes are
//! forgotten; each takes 100 µs if nothing holds it. Serves until the directory is unmounted. `rustc -O` compiles it.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LATENCY: Duration = Duration::from_micros(100);
const MOST_BYTES: usize = 1 << 20;
/// Numbers of linux/fuse.h, version 7.31.
const ROOT: u64 = 1;
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const FALLOCATE: u32 = 43;
/// Direct, and writes beside one another.
const OPEN_FLAGS: u32 = 1 | 1 << 6;
/// ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES.
const INIT_FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
const MOST_OUTSTANDING: u32 = 128;
const HEADER: usize = 40;
const NO_ENTRY: i32 = 2;
const NO_SUCH_CALL: i32 = 38;

unsafe extern "C" {
    fn mount(
        source: *const c_char,
        at: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
}

/// Leaks at `rate` a second and lets pass while it holds no more than `most`.
struct Bucket {
    is_bytes: bool,
    rate: f64,
    most: f64,
    level: f64,
}

impl Bucket {
    fn of(limit: &str) -> Vec<Bucket> {
        let (kind, numbers) = limit.split_once(':').unwrap_or_else(|| usage());
        let numbers: Vec<f64> = numbers.split(':').map(|number| number.parse().unwrap_or_else(|_| usage())).collect();
        let bucket = |rate, most| Bucket { is_bytes: kind == "bytes", rate, most, level: 0.0 };
        match numbers[..] {
            [rate, 0.0, _] => vec![bucket(rate, rate / 10.0)],
            [rate, peak, seconds] if seconds > 1.0 => vec![bucket(rate, peak * seconds), bucket(peak, peak / 10.0)],
            [rate, peak, seconds] => vec![bucket(rate, peak * seconds)],
            _ => usage(),
        }
    }
}

/// When requests pass, in the order of arrival.
struct Gate {
    buckets: Vec<Bucket>,
    last: Instant,
}

impl Gate {
    fn passes(&mut self, arrival: Instant, bytes: usize) -> Instant {
        let from = arrival.max(self.last);
        let leaked = (from - self.last).as_secs_f64();
        let wait = self
            .buckets
            .iter()
            .map(|bucket| (bucket.level - bucket.rate * leaked - bucket.most) / bucket.rate)
            .fold(0.0, f64::max);
        for bucket in &mut self.buckets {
            bucket.level = (bucket.level - bucket.rate * (leaked + wait)).max(0.0)
                + if bucket.is_bytes { bytes as f64 } else { 1.0 };
        }
        self.last = from + Duration::from_secs_f64(wait);
        self.last
    }
}

/// A reply: when it is due, to what, and how many bytes of data or which words.
struct Reply {
    due: Instant,
    unique: u64,
    data: usize,
    words: Vec<u32>,
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, files, gigabytes, limits @ ..] = &words[..] else { usage() };
    let (files, size) =
        (files.parse::<u64>().unwrap_or_else(|_| usage()), gigabytes.parse::<u64>().unwrap_or_else(|_| usage()) << 30);
    let mut gate = Gate { buckets: limits.iter().flat_map(|limit| Bucket::of(limit)).collect(), last: Instant::now() };
    let mut device = File::options().read(true).write(true).open("/dev/fuse")?;
    let text = |text: String| CString::new(text).expect("no NUL");
    let options = text(format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd()));
    let (source, at, kind) = (text("throttle".into()), text(directory.clone()), text("fuse".into()));
    // SAFETY: four strings that live as long as the call.
    if unsafe { mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (sender, receiver) = mpsc::channel();
    let answering = device.try_clone()?;
    let answers = std::thread::spawn(move || answer(&answering, &receiver));
    let mut request = vec![0; MOST_BYTES + 8192];
    loop {
        let length = match device.read(&mut request) {
            Ok(length) => length,
            Err(error) if error.raw_os_error() == Some(NO_ENTRY) => continue,
            Err(_) => break,
        };
        let now = Instant::now();
        let (opcode, unique, node) = (number(&request, 4, 4) as u32, number(&request, 8, 8), number(&request, 16, 8));
        let arguments = &request[HEADER..length];
        let moved = || number(arguments, 16, 4).min(size.saturating_sub(number(arguments, 8, 8))) as usize;
        let at_once = |words| Some(Reply { due: now, unique, data: 0, words });
        let found = match opcode {
            FORGET => None,
            INIT => at_once(vec![
                7,
                31,
                0,
                INIT_FLAGS,
                MOST_OUTSTANDING | MOST_OUTSTANDING << 16,
                MOST_BYTES as u32,
                1,
                (MOST_BYTES >> 12) as u32,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ]),
            LOOKUP => match std::str::from_utf8(&arguments[..arguments.len() - 1])
                .ok()
                .and_then(|name| name.strip_prefix("disk")?.parse::<u64>().ok())
            {
                Some(file) if file < files => {
                    at_once([vec![file as u32 + 2, 0, 0, 0, 60, 0, 60, 0, 0, 0], attributes(file + 2, size)].concat())
                }
                _ => refuse(&device, unique, NO_ENTRY),
            },
            GETATTR => at_once([vec![60, 0, 0, 0], attributes(node, size)].concat()),
            STATFS => at_once([vec![0; 10], vec![4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]].concat()),
            OPEN => at_once(vec![0, 0, OPEN_FLAGS, 0]),
            READ => Some(Reply {
                due: gate.passes(now, moved()).max(now + LATENCY),
                unique,
                data: moved(),
                words: Vec::new(),
            }),
            WRITE => Some(Reply {
                due: gate.passes(now, moved()).max(now + LATENCY),
                unique,
                data: 0,
                words: vec![moved() as u32, 0],
            }),
            FLUSH | RELEASE | FSYNC | FALLOCATE => at_once(Vec::new()),
            _ => refuse(&device, unique, NO_SUCH_CALL),
        };
        if let Some(reply) = found {
            sender.send(reply).expect("answers are given until here");
        }
    }
    drop(sender);
    answers.join().expect("answers do not fail")
}

/// Answers when it is due; they are due in order, but for those that move no data.
fn answer(mut device: &File, replies: &mpsc::Receiver<Reply>) -> io::Result<()> {
    // Random enough not to be compressed.
    let mut state = 1_u64;
    let data: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(MOST_BYTES)
    .collect();
    for reply in replies {
        std::thread::sleep(reply.due.saturating_duration_since(Instant::now()));
        let body: Vec<u8> = reply.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let header = header(16 + body.len() + reply.data, 0, reply.unique);
        // Whoever asked may be gone.
        let _ = device.write_vectored(&[IoSlice::new(&header), IoSlice::new(&body), IoSlice::new(&data[..reply.data])]);
    }
    Ok(())
}

fn refuse(mut device: &File, unique: u64, error: i32) -> Option<Reply> {
    let _ = device.write(&header(16, -error, unique));
    None
}

fn header(length: usize, error: i32, unique: u64) -> Vec<u8> {
    [&(length as u32).to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes()].concat()
}

/// struct fuse_attr.
fn attributes(node: u64, size: u64) -> Vec<u32> {
    let (mode, size) = if node == ROOT { (0o040_755, 0) } else { (0o100_644, size) };
    let long = [node, size, size / 512, 0, 0, 0].into_iter().flat_map(|number| [number as u32, (number >> 32) as u32]);
    long.chain([0, 0, 0, mode, 1, 0, 0, 0, 4096, 0]).collect()
}

/// A number of 4 or 8 bytes at a place of a message, in the host's order.
fn number(message: &[u8], place: usize, bytes: usize) -> u64 {
    let mut number = [0; 8];
    number[..bytes].copy_from_slice(&message[place..place + bytes]);
    u64::from_le_bytes(number)
}

fn usage() -> ! {
    eprintln!("usage: throttle DIRECTORY FILES GIGABYTES [bytes|requests:RATE:PEAK:SECONDS]...");
    std::process::exit(2)
}
