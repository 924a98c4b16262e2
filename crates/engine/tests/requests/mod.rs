//! The course of a sample: arrivals, rates, flushes between writes, trims, what ends it.

use super::{file, host, host_for, measure, spec};
use halfpower_engine::Access;
use halfpower_model::{Arrivals, Durability, Personality};
use std::os::unix::fs::MetadataExt;

#[test]
fn an_open_loop_skips_nothing_and_counts_from_the_intended_arrival() {
    let (_directory, path) = file(4 << 20);
    for (arrivals, personality) in [
        (Arrivals::Constant, Personality::Sync),
        (Arrivals::Poisson, Personality::Sync),
        (Arrivals::Poisson, Personality::IoUring),
    ] {
        let Some(mut host) = host_for(personality, &path, Access::Read) else { continue };
        let depth = if personality == Personality::IoUring { 4 } else { 1 };
        let load = format!("arrivals={arrivals} rate=2000 depth={depth} duration=500ms");
        let spec = spec(&format!("pattern=random personality={personality} buffering=buffered {load}"));
        let sample = measure(&mut host, &spec);
        let open = sample.open_loop.as_ref().expect("an open loop says so");
        // 1000 arrivals in the window; by chance, five standard deviations of a Poisson count.
        let arrived = sample.total.requests + open.backlog_at_end;
        let spread = if arrivals == Arrivals::Poisson { 160 } else { 3 };
        assert!(arrived.abs_diff(1000) <= spread, "{arrivals} {personality}: {arrived}, {open:?}");
        let (response, service) = (open.response_ns.mean.unwrap(), sample.total.latency_ns.mean.unwrap());
        assert!(response >= service, "response {response} ns holds the service {service} ns");
        assert_eq!(sample.latency_histogram.response.unwrap().count(), sample.total.requests);
        assert!(!sample.warnings.iter().any(|warning| warning.code == "depth_not_reached"));
    }
}

#[test]
fn flushes_come_between_the_writes() {
    let (_directory, path) = file(1 << 20);
    for (durability, personality, depth) in [
        (Durability::Fsync { every: 10 }, Personality::Sync, 1),
        (Durability::Fdatasync { every: 25 }, Personality::IoUring, 8),
    ] {
        let Some(mut host) = host_for(personality, &path, Access::Overwrite) else { continue };
        let writes = "operation=write pattern=random buffering=buffered requests=100";
        let spec = spec(&format!("{writes} personality={personality} depth={depth} durability={durability}"));
        let sample = measure(&mut host, &spec);
        assert_eq!((sample.total.requests, sample.write.unwrap().requests), (100, 100));
        // None after the last: the next write would have brought it.
        let between = 100 / u64::from(durability.every().unwrap()) - 1;
        assert_eq!(sample.flush.expect("flushes are counted apart").requests, between, "{durability}");
    }
}

#[test]
fn trims_give_blocks_back_and_flushes_are_requests_too() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let before = std::fs::metadata(&path).unwrap().blocks();
    let mix = "operation=mix=trim:90,flush:10 pattern=shuffled";
    let spec = spec(&format!("{mix} request_size=64KiB requests=64 buffering=buffered"));
    let sample = measure(&mut host, &spec);
    let (trims, flushes) = (sample.trim.unwrap(), sample.flush.unwrap());
    assert_eq!((trims.requests + flushes.requests, flushes.bytes), (64, 0));
    assert_eq!(trims.bytes, trims.requests * (64 << 10));
    let given_back = before - std::fs::metadata(&path).unwrap().blocks();
    if given_back == 0 {
        eprintln!("skipped in part: this file system keeps punched blocks");
    } else {
        assert!(given_back * 512 >= trims.bytes - (64 << 10), "{given_back} blocks of {} bytes", trims.bytes);
    }
}

#[test]
fn a_limit_in_bytes_holds_for_several_sizes() {
    const LIMIT: u64 = 3 << 20;
    let (_directory, path) = file(4 << 20);
    for (personality, workers, warmup) in [
        (Personality::Sync, 1_u32, "0s"),
        (Personality::Sync, 3, "0s"),
        (Personality::Sync, 2, "20ms"),
        (Personality::IoUring, 2, "0s"),
    ] {
        let Some(mut host) = host_for(personality, &path, Access::Read) else { continue };
        let depth = if personality == Personality::IoUring { 8 } else { 1 };
        let load = format!("workers={workers} warmup={warmup} depth={depth} bytes=3MiB");
        let reads = "sizes=4KiB:70/64KiB:30 pattern=random buffering=buffered";
        let spec = spec(&format!("{reads} personality={personality} {load}"));
        let bytes = measure(&mut host, &spec).total.bytes;
        // Each worker's last request may go past its part.
        let most = LIMIT + u64::from(workers) * (64 << 10);
        assert!((LIMIT..most).contains(&bytes), "{personality} × {workers}: {bytes}");
    }
}
