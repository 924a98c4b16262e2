//! A bare pread loop: random 4 KiB reads of a file for some seconds, counted and nothing else. What `sync` is held
//! against: no clock or histogram a request, no options. Its offsets come from the engine's own generator.
//!
//! `bench/compare.py` compiles it with `rustc -O`; it prints reads per second.

#[path = "../crates/model/src/random.rs"]
#[expect(dead_code, reason = "the engine uses more of it")]
mod random;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

const REQUEST_BYTES: usize = 4096;
/// Linux's O_NOATIME: a read leaves no time of access behind. The file's owner may ask for it.
const NO_ACCESS_TIME: i32 = 0o1_000_000;
/// Reads between two looks at the clock.
const READS_A_LOOK: u64 = 1 << 16;

#[repr(align(4096))]
struct Page([u8; REQUEST_BYTES]);

fn main() -> io::Result<()> {
    let [path, seconds] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| usage())?;
    let length = Duration::from_secs(seconds.parse().map_err(|_| usage())?);
    let without_access_time = OpenOptions::new().read(true).custom_flags(NO_ACCESS_TIME).open(&path);
    let file = without_access_time.or_else(|_| File::open(&path))?;
    let blocks = file.metadata()?.len() / REQUEST_BYTES as u64;
    let mut offsets = random::Random::new(1);
    let mut page = Page([0; REQUEST_BYTES]);
    let mut reads = 0;
    let start = Instant::now();
    while start.elapsed() < length {
        for _ in 0..READS_A_LOOK {
            let moved = file.read_at(&mut page.0, offsets.below(blocks) * REQUEST_BYTES as u64)?;
            if moved != REQUEST_BYTES {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        reads += READS_A_LOOK;
    }
    println!("{}", reads as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

fn usage() -> io::Error {
    io::Error::other("usage: bare_pread FILE SECONDS")
}
