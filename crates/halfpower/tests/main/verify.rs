//! Verification across runs: what one run stamped, a later one checks, on the word of the store.

use crate::support::{Lab, Mounted};
use serde_json::Value;
use std::os::unix::fs::FileExt;

const WRITE: [&str; 11] = [
    "io",
    "data",
    "--op=write",
    "--pattern=random",
    "--request-size=4KiB",
    "--workers=2",
    "--requests=700",
    "--size=1MiB",
    "--verify=stamp",
    "--overwrite",
    "--json",
];

#[test]
fn what_a_run_stamped_is_checked_later_and_a_flipped_bit_is_shown() {
    let lab = Lab::new();
    let data = lab.data_file("data", 1024);
    let written = lab.json(WRITE);
    assert_eq!(written["verified"]["wrong"], 0);
    let clean = lab.json(["io", "data", "--verify-run=1", "--json"]);
    let blocks = clean["verified"]["blocks"].as_u64().unwrap();
    assert!((150..=256).contains(&blocks) && clean["failure"].is_null(), "{clean}");
    assert_eq!(clean["total"]["bytes"].as_u64().map(|bytes| bytes >= blocks * 4096), Some(true));

    // A byte of the first block that was written: its stamp says so.
    let bytes = std::fs::read(&data).unwrap();
    let block = bytes.chunks(4096).position(|block| block.starts_with(b"HpwV")).unwrap() as u64;
    let at = block * 4096 + 1234;
    let file = std::fs::File::options().write(true).open(&data).unwrap();
    file.write_all_at(&[bytes[at as usize] ^ 4], at).unwrap();
    let outcome = lab.run(["io", "data", "--verify-run=1"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("1 wrong") && outcome.stderr.contains(&at.to_string()), "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_checked_is_said() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    lab.data_file("short", 64);
    lab.json(["io", "data", "--requests=10", "--json"]);
    lab.json(WRITE);
    lab.refuses(["io", "data", "--verify-run=1"], 2, "--verify stamp");
    lab.refuses(["io", "data", "--verify-run=2", "--depth=4"], 2, "leave the other options out");
    lab.refuses(["io", "data", "--verify-run=99"], 1, "99");
    lab.refuses(["io", "short", "--verify-run=2"], 1, "name the targets of that run");
    lab.refuses(["io", "data", "short", "--verify-run=2"], 1, "name the targets of that run");
}

/// How the file that fills the file system is written.
const FILLING: [&[&str]; 5] = [
    &["--file-state=append", "--verify=stamp"],
    &["--file-state=append", "--verify=read-back", "--request-size=12KiB"],
    &[
        "--file-state=append",
        "--verify=stamp",
        "--sharing=cursor",
        "--workers=4",
        "--depth=32",
        "--personality=io_uring",
    ],
    &[
        "--file-state=sparse",
        "--verify=stamp",
        "--pattern=shuffled",
        "--workers=4",
        "--depth=32",
        "--personality=io_uring",
    ],
    &["--file-state=append", "--verify=stamp", "--sharing=cursor", "--workers=4", "--processes"],
];

#[test]
fn a_full_ext4_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::image(path, 64, &["mkfs.ext4", "-q", "-F"]));
}

#[test]
fn a_full_btrfs_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::image(path, 64, &["mkfs.btrfs", "-q", "--mixed", "-msingle", "-dsingle"]));
}

#[test]
fn a_full_tmpfs_is_verified_up_to_where_it_got() {
    fills_up(|path| Mounted::tmpfs(path, "size=64m"));
}

/// Fills a file system of 64 MiB in every way, checks what was written in a later run, and finds a byte changed.
fn fills_up(mount: fn(std::path::PathBuf) -> Option<Mounted>) {
    for filling in FILLING {
        let lab = Lab::new();
        if filling.contains(&"--personality=io_uring") && !lab.has_direct_ring() {
            continue;
        }
        let Some(_mounted) = mount(lab.path("small")) else { return };
        let path = lab.path("small/file");
        // Room for a byte to be changed where files are never written over in place.
        let reserve = lab.data_file("small/reserve", 4096);
        std::fs::File::create(&path).unwrap().set_len(128 << 20).unwrap();
        // Limited by its bytes alone: however slow the machine is, it gets to the end of the room.
        let write = ["io", "small/file", "--op=write", "--overwrite", "--bytes=128MiB", "--json"];
        let outcome = lab.run([&write[..], filling].concat());
        assert_eq!(outcome.status, Some(1), "{filling:?}: {}", outcome.stderr);
        let sample: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(sample["failure"]["code"], "ENOSPC", "{filling:?}: {}", sample["failure"]);
        let errors = sample["total"]["errors"]["ENOSPC"].as_u64().unwrap();
        let failed = sample["verified"]["failed"].as_array().unwrap();
        assert_eq!(errors, failed.len() as u64, "{filling:?}");
        let bytes = sample["total"]["bytes"].as_u64().unwrap();
        assert!((40 << 20..=64 << 20).contains(&bytes), "{filling:?}: {bytes} bytes");
        // By what is in the file, and by the store's word: neither less nor more than was said.
        let is_failed = |at: usize| {
            failed.iter().any(|failed| {
                let [from, length] = ["offset", "length"].map(|key| failed[1][key].as_u64().unwrap() as usize);
                (from..from + length).contains(&at)
            })
        };
        let content = std::fs::read(&path).unwrap();
        let blocks = content.chunks(4096).zip((0..).step_by(4096));
        let written: Vec<usize> = blocks.filter(|(block, _)| block.starts_with(b"HpwV")).map(|(_, at)| at).collect();
        let written: Vec<usize> = written.into_iter().filter(|at| !is_failed(*at)).collect();
        let blocks = written.len() as u64;
        if filling.contains(&"--workers=4") {
            // What was under way when the first worker met the end is written and not counted.
            assert!((bytes / 4096..bytes / 4096 + 4 * 32 * 16).contains(&blocks), "{filling:?}: {blocks}, {bytes}");
        } else {
            assert_eq!((errors, blocks), (1, bytes / 4096), "{filling:?}");
            assert!(outcome.stderr.contains(&format!("at offset {bytes} failed")), "{filling:?}: {}", outcome.stderr);
        }
        if filling.contains(&"--verify=read-back") {
            assert_eq!((&sample["verified"]["blocks"], &sample["verified"]["wrong"]), (&blocks.into(), &0.into()));
        }
        let later = lab.json(["io", "small/file", "--verify-run=1", "--json"]);
        assert!(later["failure"].is_null(), "{filling:?}: {}", later["failure"]);
        assert_eq!(
            (&later["verified"]["blocks"], &later["verified"]["wrong"]),
            (&blocks.into(), &0.into()),
            "{filling:?}"
        );

        let at = written[written.len() / 2] + 1234;
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        std::fs::remove_file(&reserve).unwrap();
        file.write_all_at(&[content[at] ^ 4], at as u64).unwrap();
        file.sync_all().unwrap();
        drop(file);
        let outcome = lab.run(["io", "small/file", "--verify-run=1"]);
        assert_eq!(outcome.status, Some(1), "{filling:?}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("1 wrong"), "{filling:?}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(&at.to_string()), "{filling:?}: {at}: {}", outcome.stderr);
    }
}
