//! Verification finds every flipped bit, and reports no false mismatch.

use super::conformance::{RAM, examples, plugin, spec_of};
use super::{Mount, file, host, host_for, measure, small_filesystem, spec};
use halfpower_engine::{Access, Host, Target};
use halfpower_model::random::Random;
use halfpower_model::stream::{Request, RequestStream};
use halfpower_model::{Cancel, Personality, Sample, Testbed};
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

/// Writes at random that overlap.
const OVERLAPPING: &str = "operation=write pattern=random request_size=8KiB align=4KiB";
/// One write at each place.
const SHUFFLED: &str = "operation=write pattern=shuffled request_size=8KiB requests=4000";

#[test]
fn ten_clean_runs_of_overlapping_requests_report_nothing() {
    let (_directory, path) = file(1 << 20);
    let Some(mut host) = host_for(Personality::IoUring, &path, Access::Overwrite) else { return };
    for seed in 0..10 {
        // 256 blocks for 4 × 32 requests of two blocks each: most of them in one another's way.
        let processes = if seed % 2 == 0 { "off" } else { "on" };
        let buffering = if seed % 3 == 0 { "direct" } else { "buffered" };
        let load = format!("depth=32 workers=4 processes={processes} buffering={buffering} seed={seed} requests=4000");
        let mixed = format!("operation=mix=40 personality=io_uring verify=read_back {load}");
        let sample = measure(&mut host, &spec(&mixed).or(&spec(OVERLAPPING)));
        let verified = sample.verified.as_ref().expect("it was verified");
        assert!(sample.is_complete(), "seed {seed}: {:?}", sample.failure);
        assert_eq!((verified.wrong, &verified.first_wrong), (0, &None));
        assert!(verified.blocks >= 256 && verified.read_back_s.is_some(), "{verified:?}");
    }
}

#[test]
fn a_bit_that_a_plug_in_flips_is_found_during_the_run() {
    let Some(ram) = examples::ram() else { return };
    let _turn = RAM.lock().unwrap_or_else(PoisonError::into_inner);
    // Only the name and the size of the file matter: the plug-in keeps the written data.
    let (_directory, path) = file(1 << 20);
    for (options, is_right) in [("", true), ("flip_every=100", false)] {
        let spec = spec("operation=mix=50 depth=4 verify=stamp requests=2000").or(&spec_of(&plugin(ram, options)));
        let sample = measure(&mut host(&path, Access::Overwrite), &spec);
        let verified = sample.verified.expect("it was verified");
        assert!(verified.blocks > 0 && (verified.wrong == 0) == is_right, "{options}: {verified:?}");
        let code = sample.failure.as_ref().map(|failure| failure.code.as_str());
        assert_eq!(code, (!is_right).then_some("verification_failed"), "{options}");
    }
}

/// Flips a bit of the file.
fn flip(path: &Path, at: u64, bit: u32) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 << bit;
    file.write_all_at(&byte, at).unwrap();
}

fn verify(host: &mut Host, written: &Sample) -> Sample {
    host.verify(written, &Cancel::default()).unwrap()
}

#[test]
fn every_flipped_bit_is_found_later_and_the_first_is_shown() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let written = measure(&mut host, &spec(&format!("{SHUFFLED} verify=stamp")));
    assert!(written.is_complete() && written.verified.is_some());
    let clean = verify(&mut host, &written);
    assert_eq!(clean.verified.as_ref().map(|verified| (verified.blocks, verified.wrong)), Some((1024, 0)));
    let mut random = Random::new(5);
    // In a hundred blocks at a time, so that each flipped bit makes another block wrong.
    for _ in 0..10 {
        let mut blocks: Vec<u64> = (0..1024).collect();
        random.shuffle(&mut blocks);
        let flipped: Vec<(u64, u32)> =
            blocks[..100].iter().map(|block| (block * 4096 + random.below(4096), random.below(8) as u32)).collect();
        flipped.iter().for_each(|(at, bit)| flip(&path, *at, *bit));
        let found = verify(&mut host, &written);
        let verified = found.verified.unwrap();
        assert_eq!(verified.wrong, 100);
        let first = flipped.iter().map(|(at, _)| at).min().unwrap();
        let shown = verified.first_wrong.unwrap();
        assert!(shown.contains(&first.to_string()), "byte {first} is shown: {shown}");
        assert_eq!(found.failure.unwrap().code, "verification_failed");
        flipped.iter().for_each(|(at, bit)| flip(&path, *at, *bit));
    }
    assert_eq!(verify(&mut host, &written).verified.unwrap().wrong, 0, "all is as it was");
}

#[test]
fn a_write_that_was_lost_is_found() {
    let (_directory, path) = file(1 << 20);
    let mut host = host(&path, Access::Overwrite);
    let stamped = |requests: u64| spec(&format!("{OVERLAPPING} verify=stamp requests={requests}"));
    let before = measure(&mut host, &stamped(4000));
    let block = std::fs::read(&path).unwrap()[..4096].to_vec();
    // Twice as much of the same stream: the first block has a later generation then.
    let written = measure(&mut host, &stamped(8000));
    assert_eq!(verify(&mut host, &written).verified.unwrap().wrong, 0);
    assert_ne!(verify(&mut host, &before).verified.unwrap().wrong, 0, "later writes differ from the earlier ones");
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(&block, 0).unwrap();
    let found = verify(&mut host, &written).verified.unwrap();
    assert_eq!(found.wrong, 1, "{found:?}");
}

#[test]
fn a_run_that_was_ended_by_time_is_verified_later() {
    let (_directory, path) = file(1 << 20);
    let Some(mut host) = host_for(Personality::IoUring, &path, Access::Overwrite) else { return };
    let load = "personality=io_uring depth=16 workers=2 duration=100ms warmup=20ms";
    let written = measure(&mut host, &spec(&format!("{OVERLAPPING} verify=stamp {load}")));
    let found = verify(&mut host, &written).verified.unwrap();
    // As many blocks as the seed and the counts say were written, however fast that was.
    let mut blocks = BTreeSet::new();
    for (index, worker) in (0..).zip(&written.workers) {
        let mut requests = vec![Request::default(); worker.submitted as usize];
        RequestStream::new(&written.workload, index, None).fill(&mut requests);
        blocks.extend(requests.iter().flat_map(|request| [request.offset / 4096, request.offset / 4096 + 1]));
    }
    assert_eq!((found.blocks, found.wrong), (blocks.len() as u64, 0), "{found:?}");
    assert!(!blocks.is_empty());
}

#[test]
fn every_side_of_a_mirror_is_read_back() {
    let files = [file(1 << 20), file(1 << 20), file(1 << 20)];
    let sides = files.each_ref().map(|(_directory, path)| path.as_path());
    let mut mirror =
        Host::on(sides.iter().map(|path| Target::open(path, Access::Overwrite).unwrap()).collect()).unwrap();
    let written = measure(&mut mirror, &spec(&format!("{SHUFFLED} verify=read_back layout=mirror")));
    let blocks = 3 * (1 << 20) / 4096;
    assert_eq!(written.verified.as_ref().map(|verified| (verified.blocks, verified.wrong)), Some((blocks, 0)));
    for (number, side) in (1..).zip(sides) {
        flip(side, 4096 * number + 77, 3);
        let found = verify(&mut mirror, &written);
        let verified = found.verified.unwrap();
        assert_eq!((verified.blocks, verified.wrong), (blocks, 1), "side {number}");
        let shown = verified.first_wrong.unwrap();
        assert!(shown.starts_with(&format!("{}: ", side.display())), "side {number}: {shown}");
        assert_eq!(found.total.bytes, 3 << 20, "all of it was read");
        flip(side, 4096 * number + 77, 3);
    }
    assert_eq!(verify(&mut mirror, &written).verified.unwrap().wrong, 0, "all is as it was");
}

/// An ext4 of 16 MiB on a loop device, with a sparse file of 64 MiB on it; none, saying so, where it cannot be mounted.
fn small_disk() -> Option<(Mount, PathBuf)> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    image.as_file().set_len(16 << 20).unwrap();
    let make = ["mkfs.ext4", "-q", "-F", "-m", "0"].map(Path::new);
    let mount = ["mount", "-o", "loop"].map(Path::new);
    let commands = [[&make[..], &[image.path()]].concat(), [&mount[..], &[image.path(), directory.path()]].concat()];
    for command in commands {
        let done = Command::new(command[0]).args(&command[1..]).output();
        if !done.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {} fails ({done:?})", command[0].display());
            return None;
        }
    }
    let path = directory.path().join("target");
    std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    Some((Mount(directory), path))
}

#[test]
fn a_file_system_that_fills_up_is_verified_up_to_where_it_got() {
    for (buffering, small) in [("buffered", small_filesystem()), ("direct", small_disk())] {
        let Some((_mount, path)) = small else { continue };
        let mut host = host(&path, Access::Overwrite);
        let bytes = host.describe().target.size_bytes.exactly();
        let writes = format!(
            "operation=write pattern=sequential request_size=64KiB bytes={bytes} buffering={buffering} verify=stamp"
        );
        let written = measure(&mut host, &spec(&writes));
        assert_eq!(written.failure.as_ref().map(|failure| failure.code.as_str()), Some("ENOSPC"), "{buffering}");
        assert_eq!(written.total.errors.get("ENOSPC"), Some(&1));
        // All counted requests are stored, and at most a part of the failed one.
        let blocks = written.total.bytes / 4096;
        let content = std::fs::read(&path).unwrap();
        let stored = content.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count() as u64;
        assert!((blocks..blocks + 16).contains(&stored) && blocks > 0, "{buffering}: {stored} of {blocks} are stored");
        let found = verify(&mut host, &written).verified.unwrap();
        assert!(found.wrong == 0 && found.blocks >= blocks, "{buffering}: {blocks} blocks were written: {found:?}");
    }
}
