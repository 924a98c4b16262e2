//! Verification across runs: what one run stamped, a later one checks, on the word of the store.

use crate::support::Lab;
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
