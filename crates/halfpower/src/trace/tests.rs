//! Every format by its content, and damaged files of each.

use super::*;
use halfpower_model::random::Random;
use halfpower_model::stream::{Request, RequestKind};
use halfpower_model::trace::Entries as _;

/// A small file of each format with its two requests: a read of 4 KiB at 1 MiB, and 1 ms later a write of 8 KiB at 2 MiB.
pub(crate) const SEEDS: [(TraceFormat, &str); 9] = [
    (TraceFormat::Iolog, "fio version 3 iolog\n0 f add\n5 f read 1048576 4096\n1005 f write 2097152 8192\n"),
    (
        TraceFormat::Blkparse,
        "8,0 0 1 0.5 9 Q R 2048 + 8 [a]\n8,0 0 2 0.501 9 Q WS 4096 + 16 [a]\n8,0 0 3 0.502 9 C R 2048 + 8 [0]\nCPU0 (8,0):\n",
    ),
    (
        TraceFormat::Biosnoop,
        "TIME(s)  COMM PID DISK T SECTOR BYTES LAT(ms)\n0.5 a b 1 sda R 2048 4096 0.1\n0.502 c 2 sda W 4096 8192 1.1\n",
    ),
    (
        TraceFormat::Msr,
        "128166372003061629,web,2,Read,1048576,4096,150\n128166372003071629,web,2,Write,2097152,8192,90\n",
    ),
    (TraceFormat::Spc, "0,2048,4096,R,0.5\n0,4096,8192,w,0.501\n"),
    (TraceFormat::Alibaba, "419,R,1048576,4096,1577808144360767\n419,W,2097152,8192,1577808144361767\n"),
    (TraceFormat::Tencent, "1538323199.5,2048,8,0,6\n1538323199.501,4096,16,1,6\n"),
    (TraceFormat::Disksim, "500.0 0 2048 8 1\n501.0 0 4096 16 0\n"),
    (TraceFormat::Fiu, "500000000 1 a 2048 8 R 6 0 x\n501000000 1 a 4096 16 W 6 0 x\n"),
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
