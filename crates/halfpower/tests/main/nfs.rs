//! The plug-in for NFS and a real server: what it reads and writes, what it rejects, and what becomes of a run whose server goes away.

use crate::network::servers::{Server, ganesha};
use crate::plugin::examples;
use crate::support::Lab;
use std::fs::File;
use std::os::unix::fs::{FileExt, symlink};

/// libnfs 4 writes no more by NFSv4.
const WRITE: &str = "--request-size=2KiB --size=4MiB";

/// A laboratory with the plug-in in it, as `nfs.so`, and a server of a file of 4 MiB; none where one is not to be had.
fn lab() -> Option<(Lab, Server)> {
    let lab = Lab::new();
    std::fs::copy(examples::nfs()?, lab.path("nfs.so")).unwrap();
    lab.directory("share");
    lab.data_file("share/file", 4096);
    let server = ganesha(&lab.path("share"))?;
    Some((lab, server))
}

/// The command line for a file of the server.
fn io(server: &Server, file: &str, options: &str) -> String {
    format!("io null: --personality=plugin:./nfs.so,url={} {options}", server.name.replace("FILE", file))
}

#[test]
fn a_file_of_a_server_is_read_and_written_where_it_belongs() {
    let Some((lab, server)) = lab() else { return };
    let io = |options: &str| io(&server, "file", options);
    let file = || std::fs::read(lab.path("share/file")).unwrap();
    let before = file();
    let sample = lab.json(io("--size=4MiB --pattern=random --request-size=64KiB --depth=8 --workers=2 --requests=200"));
    assert_eq!(sample["total"]["bytes"], 200 * (64 << 10));
    assert_eq!(sample["instrument"]["obtained"][0].as_str().unwrap().split(',').next(), Some("nfs 1.0"));
    assert!(file() == before, "reading changed it");

    // What is written is in the file, and only there.
    let zeros = "--request-size=2KiB --size=2MiB --bytes=2MiB --op=write --data=zeros --depth=8 --overwrite";
    let sample = lab.json((io(zeros), "--durability=fsync=100"));
    assert_eq!(sample["flush"]["requests"], 10);
    let now = file();
    let half = 2 << 20;
    assert!(now[..half].iter().all(|byte| *byte == 0) && now[half..] == before[half..] && now.len() == before.len());

    // It reads what is in the file: also a bit that is not as it was written.
    let stamped = format!("{WRITE} --op=write --pattern=random --requests=900 --depth=8 --verify=stamp --overwrite");
    lab.ok(io(&stamped));
    let clean = lab.json("io null: --verify-run=3");
    assert!(clean["verified"]["blocks"].as_u64().unwrap() > 100 && clean["failure"].is_null(), "{clean}");
    let now = file();
    let at = now.chunks(2048).position(|block| block.starts_with(b"HpwV")).unwrap() * 2048 + 1234;
    let on_server = File::options().write(true).open(lab.path("share/file")).unwrap();
    on_server.write_at(&[!now[at]], at as u64).unwrap();
    let wrong = lab.ends("io null: --verify-run=3", 1, &at.to_string()).stdout;
    assert!(wrong.contains("1 wrong"), "{wrong}");
    let both = format!("{WRITE} --op=mix=50 --pattern=random --requests=900 --depth=8 --verify=read_back --overwrite");
    assert_eq!(lab.json(io(&both))["verified"]["wrong"], 0);
}

#[test]
fn a_file_that_is_not_there_or_is_not_to_be_written_is_refused() {
    let Some((lab, server)) = lab() else { return };
    symlink("file", lab.path("share/link")).unwrap();
    lab.directory("share/directory");
    let before = std::fs::read(lab.path("share/file")).unwrap();
    for (file, options, status, needle) in [
        ("none", "--size=4MiB", 1, "127.0.0.1 has no file /share/none; make one there"),
        ("none/file", "--size=4MiB", 1, "has no file /share/none/file"),
        ("link", "--size=4MiB", 1, "/share/link is a symbolic link"),
        ("directory", "--size=4MiB", 1, "NFS4ERR_ISDIR"),
        ("file", "--size=5MiB", 1, "the file has 4194304 bytes, and requests go up to 5242880; give --size 4194304"),
        ("file", "--size=4MiB --request-size=2MiB", 1, "give --request-size 1048576 or less"),
        ("file", "--size=4MiB --op=write", 2, "--overwrite"),
        ("file", "--size=4MiB --op=trim --overwrite", 1, "EOPNOTSUPP"),
        ("file?readahead=1", "--size=4MiB", 1, "nfs://HOST/EXPORT/FILE"),
        ("file,own=1", "--size=4MiB", 1, "the option own=1"),
    ] {
        lab.ends(io(&server, file, options), status, needle);
    }
    assert!(std::fs::read(lab.path("share/file")).unwrap() == before, "something was written");
}

#[test]
fn a_server_that_goes_away_ends_the_run_with_what_was_measured() {
    let Some((lab, mut server)) = lab() else { return };
    let before = std::fs::read(lab.path("share/file")).unwrap();
    let options = format!("{WRITE} --op=mix=50 --duration=600s --pattern=random --depth=8 --overwrite");
    let running = lab.start(io(&server, "file", &options));
    let is_written = || std::fs::read(lab.path("share/file")).unwrap() != before;
    let running = running.until("writes", is_written);
    server.kill();
    running.wait().ended(1, "the server closed the connection");
    let records = lab.records();
    assert_eq!(records[0]["failure"]["code"], "ECONNRESET");
    assert!(records[0]["total"]["requests"].as_u64().unwrap() > 0);
    lab.ends(io(&server, "file", "--size=4MiB"), 1, "Connection refused");
}
