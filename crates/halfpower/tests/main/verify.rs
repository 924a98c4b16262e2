//! Verification across runs: what one run stamped, a later one checks, on the word of the store.

use crate::support::{Lab, Mounted};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const WRITE: &str = "io data --op=write --pattern=random --request-size=4KiB --workers=2 --requests=700 --size=1MiB \
    --verify=stamp --overwrite";

/// Flips a bit of a file.
fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn what_a_run_stamped_is_checked_later_and_a_flipped_bit_is_shown() {
    let lab = Lab::new();
    let data = lab.data_file("data", 1024);
    lab.data_file("short", 64);
    assert_eq!(lab.json(WRITE)["verified"]["wrong"], 0);
    let clean = lab.json("io data --verify-run=1");
    let blocks = clean["verified"]["blocks"].as_u64().unwrap();
    assert!((150..=256).contains(&blocks) && clean["failure"].is_null(), "{clean}");
    assert!(clean["total"]["bytes"].as_u64().unwrap() >= blocks * 4096, "{clean}");
    lab.refuses_each([
        ("io data --verify-run=1 --depth=4", 2, "leave the other options out"),
        ("io data --verify-run=99", 1, "99"),
        ("io short --verify-run=1", 1, "name the targets of that run"),
        ("io data short --verify-run=1", 1, "name the targets of that run"),
    ]);
    // A byte of the first block with a stamp.
    let bytes = std::fs::read(&data).unwrap();
    let at = bytes.chunks(4096).position(|block| block.starts_with(b"HpwV")).unwrap() as u64 * 4096 + 1234;
    flip(&data, at);
    let outcome = lab.ends("io data --verify-run=1", 1, &at.to_string());
    assert!(outcome.stdout.contains("1 wrong"), "{}", outcome.stdout);
    lab.ok("io data --requests=10");
    let run = lab.runs().len();
    lab.refuses(format!("io data --verify-run={run}"), 2, "--verify stamp");
}

/// How the file that fills the file system is written.
const FILLING: [&str; 5] = [
    "--file-state=append --verify=stamp",
    "--file-state=append --verify=read-back --request-size=12KiB",
    "--file-state=append --verify=stamp --sharing=cursor --workers=4 --depth=32 --personality=io_uring",
    "--file-state=sparse --verify=stamp --pattern=shuffled --workers=4 --depth=32 --personality=io_uring",
    "--file-state=append --verify=stamp --sharing=cursor --workers=4 --processes",
];

#[test]
fn a_full_ext4_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::image(path, 64, "mkfs.ext4 -q -F"));
}

#[test]
fn a_full_btrfs_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::image(path, 64, "mkfs.btrfs -q --mixed -msingle -dsingle"));
}

#[test]
fn a_full_tmpfs_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::tmpfs(path, "size=64m"));
}

/// Fills a file system of 64 MiB in every way, checks what was written in a later run, and finds a byte changed.
fn fills_up(mount: fn(PathBuf) -> Option<Mounted>) {
    // Side by side, as much of the time goes by in waiting for the device.
    std::thread::scope(|scope| FILLING.iter().for_each(|filling| drop(scope.spawn(|| fills_up_by(filling, mount)))));
}

fn fills_up_by(filling: &str, mount: fn(PathBuf) -> Option<Mounted>) {
    let lab = Lab::new();
    if filling.contains("io_uring") && !lab.has_direct_ring() {
        return;
    }
    let Some(_mounted) = mount(lab.path("small")) else { return };
    // Room for a byte to be changed where files are never written over in place.
    let reserve = lab.data_file("small/reserve", 4096);
    let path = lab.image("small/file", &[], 128);
    // Limited by its bytes alone: however slow the machine is, it gets to the end of the room.
    let write = format!("io small/file --op=write --overwrite --bytes=128MiB --json {filling}");
    let outcome = lab.ends(&write, 1, "");
    let sample = outcome.document();
    assert_eq!(sample["failure"]["code"], "ENOSPC", "{filling}: {} {}", sample["failure"], sample["error"]);
    let errors = sample["total"]["errors"]["ENOSPC"].as_u64().unwrap();
    let failed = sample["verified"]["failed"].as_array().unwrap();
    assert_eq!(errors, failed.len() as u64, "{filling}");
    let bytes = sample["total"]["bytes"].as_u64().unwrap();
    assert!((40 << 20..=64 << 20).contains(&bytes), "{filling}: {bytes} bytes");
    // By what is in the file, and by the store's word: neither less nor more than was said.
    let is_failed = |at: usize| {
        failed.iter().any(|failed| {
            let [from, length] = ["offset", "length"].map(|key| failed[1][key].as_u64().unwrap() as usize);
            (from..from + length).contains(&at)
        })
    };
    let content = std::fs::read(&path).unwrap();
    let blocks = content.chunks(4096).zip((0..).step_by(4096));
    let stamped = blocks.filter(|(block, _)| block.starts_with(b"HpwV")).map(|(_, at)| at);
    let written: Vec<usize> = stamped.filter(|at| !is_failed(*at)).collect();
    let blocks = written.len() as u64;
    if filling.contains("--workers=4") {
        // What was under way when the first worker met the end is written and not counted.
        assert!((bytes / 4096..bytes / 4096 + 4 * 32 * 16).contains(&blocks), "{filling}: {blocks}, {bytes}");
    } else {
        assert_eq!((errors, blocks), (1, bytes / 4096), "{filling}");
        assert!(outcome.stderr.contains(&format!("at offset {bytes} failed")), "{filling}: {}", outcome.stderr);
    }
    let later = lab.json("io small/file --verify-run=1");
    assert!(later["failure"].is_null(), "{filling}: {}", later["failure"]);
    for checked in [Some(&later), filling.contains("read-back").then_some(&sample)].into_iter().flatten() {
        let verified = &checked["verified"];
        assert_eq!((&verified["blocks"], &verified["wrong"]), (&blocks.into(), &0.into()), "{filling}");
    }
    let at = written[written.len() / 2] + 1234;
    std::fs::remove_file(&reserve).unwrap();
    flip(&path, at as u64);
    let outcome = lab.ends("io small/file --verify-run=1", 1, &at.to_string());
    assert!(outcome.stdout.contains("1 wrong"), "{filling}: {}", outcome.stdout);
}
