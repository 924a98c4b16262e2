//! Every format by its content, and damaged files of each.

use super::file::MAGIC;
use super::*;
use halfpower_model::random::Random;
use halfpower_model::stream::{Request, RequestKind};
use halfpower_model::trace::Entries as _;

/// A small file of each format with its two requests: a read of 4 KiB at 1 MiB, and 1 ms later a write of 8 KiB at 2 MiB.
const SEEDS: [(TraceFormat, &str); 9] = [
    (TraceFormat::Iolog, include_str!("seeds/iolog.txt")),
    (TraceFormat::Blkparse, include_str!("seeds/blkparse.txt")),
    (TraceFormat::Biosnoop, include_str!("seeds/biosnoop.txt")),
    (TraceFormat::Msr, include_str!("seeds/msr.txt")),
    (TraceFormat::Spc, include_str!("seeds/spc.txt")),
    (TraceFormat::Alibaba, include_str!("seeds/alibaba.txt")),
    (TraceFormat::Tencent, include_str!("seeds/tencent.txt")),
    (TraceFormat::Disksim, include_str!("seeds/disksim.txt")),
    (TraceFormat::Fiu, include_str!("seeds/fiu.txt")),
];

fn opened(bytes: &[u8]) -> Result<Opened> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), bytes).unwrap();
    open(path.path(), Wanted::default())
}

#[test]
fn each_format_is_recognised_and_read() {
    for (format, text) in SEEDS {
        let trace = opened(text.as_bytes()).unwrap_or_else(|error| panic!("{format:?}: {error:#}"));
        assert_eq!((trace.format, trace.file.count()), (format, 2), "{text}");
        let mut entries = [Entry::default(); 2];
        trace.file.read(0, &mut entries).unwrap();
        let read = Request { offset: 1 << 20, length: 4096, kind: RequestKind::Read };
        let write = Request { offset: 2 << 20, length: 8192, kind: RequestKind::Write };
        assert_eq!(entries.map(|entry| (entry.at.0, entry.request)), [(0, read), (1_000_000, write)], "{format:?}");
    }
}

#[test]
fn damaged_files_end_in_an_error_or_in_entries() {
    let mut random = Random::new(1);
    for (_, text) in SEEDS {
        let trace = opened(text.as_bytes()).unwrap();
        let mut own = vec![0; MAGIC.len() + 56];
        trace.file.bytes(&mut own).unwrap();
        for seed in [text.as_bytes(), &own] {
            for _ in 0..200 {
                let mut bytes = seed.to_vec();
                for _ in 0..1 + random.below(4) {
                    let place = random.below(bytes.len() as u64) as usize;
                    match random.below(3) {
                        0 => bytes[place] = random.below(256) as u8,
                        1 => bytes.truncate(place.max(1)),
                        _ => bytes.insert(place, b"0,. \n-9R"[random.below(8) as usize]),
                    }
                }
                if let Ok(trace) = opened(&bytes) {
                    let contents = trace.file.contents();
                    assert!(contents.is_err() || contents.unwrap().0.total() == trace.file.count());
                }
            }
        }
    }
}
