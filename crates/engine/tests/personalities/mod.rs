//! Special behaviour of the vectored, mmap and libaio personalities.

use crate::{file, host, host_for, measure, small_filesystem, spec};
use halfpower_engine::{Access, cache};
use halfpower_model::{Bytes, Cancel, Personality, Sample, Testbed};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAPPED: &str = "personality=mmap buffering=buffered request_size=4KiB";
const VECTORED: &str = "personality=vectored buffering=buffered request_size=4KiB";

fn code(sample: &Sample) -> Option<&str> {
    sample.failure.as_ref().map(|failure| failure.code.as_str())
}

fn warns(sample: &Sample, code: &str) -> bool {
    sample.warnings.iter().any(|warning| warning.code == code)
}

/// False, saying so, where the file system below the build directory keeps files in memory.
fn cache_can_be_emptied(path: &Path) -> bool {
    let file = File::open(path).unwrap();
    let span = Bytes(file.metadata().unwrap().len());
    cache::make_cold(&file, span).unwrap();
    let empties = cache::cached_share(&file, span) == Some(0.0);
    if !empties {
        eprintln!("skipped: the file system keeps files in memory");
    }
    empties
}

#[test]
fn a_mapping_writes_beyond_the_end_of_a_file_cut_short() {
    let (_directory, path) = file(1 << 20);
    let spec = spec("personality=mmap buffering=buffered operation=write request_size=64KiB requests=16");
    // The second time the end lies within a page, and most of the requests beyond it.
    let [whole, cut] = [1 << 20, (256 << 10) + 20_481].map(|length| {
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let mut host = host(&path, Access::Overwrite);
        let workload = spec.resolve(host.describe()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let sample = host.measure(&workload, &mut (), &Cancel::default()).unwrap();
        assert!(sample.is_complete(), "{:?}", sample.failure);
        assert_eq!(sample.total.bytes, 1 << 20);
        std::fs::read(&path).unwrap()
    });
    assert!(whole.len() == 1 << 20 && whole != vec![7; 1 << 20]);
    assert!(cut == whole, "{} bytes, not the ones of a whole file", cut.len());
}

#[test]
fn a_device_that_fails_below_a_mapping_ends_with_eio() {
    let (_directory, path) = file(4 << 20);
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let Some(output) = attached.ok().filter(|output| output.status.success()) else {
        eprintln!("skipped: no loop device is to be had");
        return;
    };
    let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let mut host = host(&device, Access::Read);
    let workload = spec(&format!("{MAPPED} requests=1024")).resolve(host.describe()).unwrap();
    cache::make_cold(&File::open(&device).unwrap(), Bytes(4 << 20)).unwrap();
    // The device keeps its size, and blocks beyond the end of its file cannot be read.
    File::options().write(true).open(&path).unwrap().set_len(2 << 20).unwrap();
    let sample = host.measure(&workload, &mut (), &Cancel::default());
    drop(host);
    assert!(Command::new("losetup").arg("--detach").arg(&device).status().unwrap().success());
    let sample = sample.unwrap();
    assert_eq!(code(&sample), Some("EIO"), "{:?}", sample.failure);
    assert!(sample.total.requests < 1024);
}

#[test]
fn a_mapping_that_is_written_through_reaches_the_device() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let spec = spec("personality=mmap buffering=through request_size=4KiB operation=write requests=64");
    let Some(block) = measure(&mut host, &spec).block else {
        eprintln!("skipped: the device below keeps no counters");
        return;
    };
    assert!(block.bytes >= 64 * 4096 && block.requests >= 64, "{block:?}");
}

#[test]
fn mappings_are_advised_of_the_order() {
    let (_directory, path) = file(1 << 20);
    let mut host = host(&path, Access::Read);
    for pattern in ["random", "sequential"] {
        let spec = spec(&format!("{MAPPED} pattern={pattern} requests=10"));
        assert_eq!(*measure(&mut host, &spec).instrument.obtained, [format!("madvise_{pattern}")]);
    }
}

#[test]
fn transfers_that_would_block_are_counted_and_repeated() {
    let (_directory, path) = file(4 << 20);
    if !cache_can_be_emptied(&path) {
        return;
    }
    let mut host = host(&path, Access::Read);
    let mut read = |how: &str| measure(&mut host, &spec(&format!("{VECTORED} {how}")));
    let cold = read("rw_flags=nowait pattern=random requests=100 cache=cold");
    assert_eq!(*cold.instrument.obtained, ["nowait"]);
    assert_eq!(cold.total.requests, 100);
    assert!(cold.instrument.would_block.is_some_and(|count| count > 0 && count <= 100), "{:?}", cold.instrument);
    // The kernel may lock a page of the cache for a moment (compaction, reclaim), so a disturbed measurement is repeated.
    let mut warm = || read("rw_flags=nowait pattern=random requests=100 cache=warm").instrument.would_block;
    assert_eq!((0..3).map(|_| warm()).min(), Some(Some(0)));
    assert_eq!(read("rw_flags=none").instrument.would_block, None, "nobody asked");
}

#[test]
fn dontcache_leaves_no_read_data_in_the_page_cache() {
    let (_directory, path) = file(4 << 20);
    if !cache_can_be_emptied(&path) {
        return;
    }
    let mut host = host(&path, Access::Read);
    let span = host.describe().target.size_bytes;
    let mut cached_after = |text: &str| {
        let whole = format!("{VECTORED} rw_flags={text} cache=cold bytes={}", span.exactly());
        let sample = measure(&mut host, &spec(&whole));
        (sample.instrument.refused, cache::cached_share(&File::open(&path).unwrap(), span).unwrap())
    };
    let ((_, kept), (refused, left)) = (cached_after("none"), cached_after("dontcache"));
    if !refused.is_empty() {
        eprintln!("skipped: {}", refused.join("; "));
        return;
    }
    assert!(kept > 0.95 && left < 0.05, "{kept} of the file without the flag, {left} with it");
}

#[test]
fn a_rejected_flag_is_left_out_and_reported() {
    let Some((_mount, path)) = small_filesystem() else { return };
    std::fs::write(&path, vec![7; 1 << 19]).unwrap();
    let mut host = host(&path, Access::Overwrite);
    for operation in ["read", "write"] {
        let spec = spec(&format!("{VECTORED} rw_flags=dontcache operation={operation} requests=10"));
        let sample = measure(&mut host, &spec);
        assert!(sample.is_complete() && sample.instrument.obtained.is_empty(), "{:?}", sample.failure);
        assert!(sample.instrument.refused[0].starts_with("dontcache: needs Linux 6.14"), "{:?}", sample.instrument);
        assert!(warns(&sample, "option_refused"));
    }
    let untouched = std::fs::read(&path).unwrap();
    assert_eq!(untouched.len(), 1 << 19, "trying a flag writes nothing");
}

#[test]
fn a_queue_reaches_its_depth_when_direct_and_libaio_says_when_it_cannot() {
    let (_directory, path) = file(16 << 20);
    if host(&path, Access::Read).describe().target.direct_alignment_bytes.is_none() {
        eprintln!("skipped: needs direct I/O");
        return;
    }
    for personality in [Personality::Libaio, Personality::IoUring] {
        let Some(mut host) = host_for(personality, &path, Access::Read) else { continue };
        let load = format!("personality={personality} request_size=4KiB pattern=random depth=16 requests=10000");
        let direct = measure(&mut host, &spec(&format!("{load} buffering=direct")));
        // Some of the 16 wait in the program while others are submitted, more of them in a build that is not optimised.
        assert!(direct.depth_mean.counted > 8.0, "{:?}", direct.depth_mean);
        assert!((direct.depth_mean.little / direct.depth_mean.counted - 1.0).abs() < 0.1, "{:?}", direct.depth_mean);
        assert!(!warns(&direct, "submits_synchronously"));
        let block = direct.block.expect("a direct read reaches a device with counters");
        assert!(block.bytes >= direct.total.bytes, "{block:?}");
        let buffered = measure(&mut host, &spec(&format!("{load} buffering=buffered")));
        assert_eq!(warns(&buffered, "submits_synchronously"), personality == Personality::Libaio);
    }
}
