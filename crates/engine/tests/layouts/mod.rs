//! Several targets as one: what stripes and mirrors leave on their files.

use super::{file, measure, spec};
use halfpower_engine::{Access, Host, Target};
use halfpower_model::{Personality, Testbed, WorkloadSpec};
use std::path::PathBuf;

const SIZE: usize = 1 << 20;

fn files(count: usize) -> Vec<(tempfile::TempDir, PathBuf)> {
    (0..count).map(|_| file(SIZE)).collect()
}

fn host(files: &[(tempfile::TempDir, PathBuf)]) -> Host {
    Host::on(files.iter().map(|(_, path)| Target::open(path, Access::Overwrite).unwrap()).collect()).unwrap()
}

fn write(personality: Personality, layout: &str) -> WorkloadSpec {
    let depth = if personality.is_deep() { 8 } else { 1 };
    let writes = "operation=write pattern=random request_size=12KiB requests=40 buffering=buffered data=pattern=c3";
    spec(&format!("{writes} depth={depth} personality={personality} layout={layout}"))
}

/// Which 4 KiB blocks of the volume were written, as its files tell.
fn written(contents: &[Vec<u8>], place: impl Fn(usize) -> (usize, usize), blocks: usize) -> Vec<bool> {
    (0..blocks)
        .map(|block| {
            let (file, at) = place(block * 4096);
            let bytes = &contents[file][at..at + 4096];
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a block is written whole or not at all");
            bytes[0] == 0xc3
        })
        .collect()
}

#[test]
fn a_stripe_is_the_same_volume_whatever_writes_it() {
    let mut maps = Vec::new();
    for personality in [Personality::Sync, Personality::IoUring] {
        let three = files(3);
        let mut host = host(&three);
        if !host.describe().supports(personality) {
            eprintln!("skipped: {personality} does not work on this machine");
            continue;
        }
        let sample = measure(&mut host, &write(personality, "stripe=8KiB"));
        assert_eq!((sample.total.requests, sample.total.bytes), (40, 40 * (12 << 10)));
        assert!(sample.is_complete(), "{:?}", sample.failure);
        let contents: Vec<_> = three.iter().map(|(_, path)| std::fs::read(path).unwrap()).collect();
        let place = |at: usize| (at / 8192 % 3, at / 8192 / 3 * 8192 + at % 8192);
        maps.push(written(&contents, place, 3 * (SIZE / 8192) * 2));
    }
    assert!(maps.windows(2).all(|pair| pair[0] == pair[1]), "the same blocks");
    // 40 requests at random places of a volume of 3 MiB: three blocks each, some of them twice.
    let blocks = maps[0].iter().filter(|written| **written).count();
    assert!((90..=120).contains(&blocks), "{blocks}");
}
