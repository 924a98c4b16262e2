//! Volumes of servers, by nbdkit, Samba and s3s-fs: what is guarded, what is said, and what becomes of a run whose server goes away.

#[path = "../../../engine/tests/servers/mod.rs"]
pub(super) mod servers;

use super::support::*;
use servers::{ACCESS_KEY, PASSWORD, encrypted, nbdkit, object_store, samba};
use std::process::Command;

#[test]
fn a_served_volume_is_measured_and_only_overwritten_when_it_is_named() {
    let lab = Lab::new();
    let Some(nbdkit) = nbdkit(&["memory", "16M"]) else { return };
    let name = &nbdkit.name;
    let sample = lab.json(format!("io {name} --pattern=random --request-size=4KiB --depth=8 --requests=500"));
    assert_eq!(sample["workload"]["personality"], "nbd");
    assert_eq!(sample["total"]["bytes"], 500 * 4096);
    let target = &sample["environment"]["target"];
    assert_eq!((&target["kind"], &target["transport"]), (&"remote".into(), &"network".into()));
    let job =
        format!("fio --name=a --ioengine=nbd --uri={name} --rw=randread --iodepth=8 --size=1m --output-format=json");
    assert_eq!(lab.ok(job).document()["jobs"][0]["read"]["total_ios"], 256);
    let socket = nbdkit.file("socket").display().to_string();
    assert_eq!(target["server"]["address"], socket);
    let write = format!("io {name} --op=write --requests=500");
    for words in [write.clone(), format!("{write} --overwrite=/dev/sda")] {
        lab.ends(words, 2, "--overwrite");
    }
    let flushed = lab.json(format!("{write} --overwrite --durability=flush_at_end --verify=read_back"));
    assert_eq!(flushed["verified"]["wrong"], 0);
    lab.ends(format!("io {name} --buffering=buffered"), 2, "no page cache of this host");
    lab.ends(format!("io {name} --size=1GiB"), 2, "16 MiB");
    lab.ends(format!("io {name} --files=2"), 2, "--files");
    assert!(lab.ok("runs show 1").stdout.contains(&socket));
    assert!(lab.page(1).contains("agreed with it"));
    let job = lab.ok(format!("plan survey-quick --target {name} --emit=fio")).stdout;
    assert!(job.contains("ioengine=nbd") && job.contains(&format!("uri={name}")), "{job}");
    assert!(job.contains("no page cache of this host") || !job.contains("direct=0"), "{job}");
}

#[test]
fn a_server_that_goes_away_ends_the_run_with_what_was_measured() {
    let lab = Lab::new();
    let Some(mut nbdkit) = nbdkit(&["--filter=log", "memory", "16M", "logfile=log"]) else { return };
    let log = nbdkit.file("log");
    let running = lab.start(format!("io {} --duration=600s --pattern=random --request-size=4KiB", nbdkit.name));
    let running = running.until("requests", || std::fs::metadata(&log).is_ok_and(|log| log.len() > 1 << 16));
    nbdkit.kill();
    running.wait().ended(1, "the server closed the connection");
    let records = lab.records();
    assert_eq!(records[0]["failure"]["code"], "ECONNRESET");
    assert!(records[0]["total"]["requests"].as_u64().unwrap() > 0);
    lab.ends(format!("io {}", nbdkit.name), 1, "Connection refused");
}

#[test]
fn a_name_of_no_server_is_refused_with_the_form() {
    let lab = Lab::new();
    for command in ["inspect", "link", "map", "drop-cache"] {
        lab.refuses(format!("{command} nbd://127.0.0.1/"), 2, "is on a server");
    }
    lab.refuses("io nbd://127.0.0.1:1/", 1, "start the server, or correct its address");
    for (name, why) in [
        ("nbd://", "nbd://HOST[:PORT]/EXPORT"),
        ("nbds://host/x", "TLS"),
        ("nbd+unix:///x", "?socket=PATH"),
        ("nbd+unix:///x?socket=none", "No such file"),
        ("smb://host", "smb://[USER@]HOST/SHARE/FILE"),
        ("smb://host/share", "smb://[USER@]HOST/SHARE/FILE"),
    ] {
        let outcome = lab.run(format!("io {name}"));
        assert!(outcome.status.is_some_and(|status| status == 1 || status == 2), "{name}: {:?}", outcome.status);
        assert!(outcome.stderr.contains(why), "{name}: {}", outcome.stderr);
    }
}

#[test]
fn credits_for_fewer_requests_than_the_queue_is_deep_are_said() {
    let lab = Lab::new();
    lab.data_file("file", 1024);
    let Some(samba) = samba(&lab.path("."), "smb2 max credits = 4") else { return };
    let io = format!("io smb://{}/share/file --pattern=random --request-size=4KiB --requests=300", samba.name);
    let deep = lab.ok(format!("{io} --depth=16")).stdout;
    assert!(deep.contains("bottleneck  the server's credits: the server's credits allow"), "{deep}");
    let shallow = lab.ok(format!("{io} --depth=2")).stdout;
    assert!(!shallow.contains("the server's credits"), "{shallow}");
}

/// The program with the password of Samba's user.
fn with_password(lab: &Lab, words: &str, password: &str) -> Outcome {
    let mut command = lab.command(words);
    command.env("HALFPOWER_PASSWORD", password);
    outcome(command)
}

#[test]
fn a_file_of_a_share_is_measured_as_a_user_and_as_a_guest() {
    let lab = Lab::new();
    let file = lab.data_file("file", 4096);
    let Some(samba) = samba(&lab.path("."), "server signing = mandatory") else { return };
    let name = format!("smb://root@{}/share/{}", samba.name, file.file_name().unwrap().display());
    let write = format!("io {name} --op=mix=50 --requests=300 --depth=8 --overwrite --verify=read_back --json");
    let sample = with_password(&lab, &write, PASSWORD).ended(0, "").document();
    assert_eq!((&sample["verified"]["wrong"], &sample["total"]["requests"]), (&0.into(), &300.into()));
    let agreed = sample["environment"]["target"]["server"]["agreed"].to_string();
    for part in ["SMB 3.1.1", "user root", "signed messages"] {
        assert!(agreed.contains(part), "{agreed}");
    }
    // Guests have no key to sign with.
    lab.ends(format!("io {}", name.replace("root@", "")), 1, "name a user");
    let past_end = format!("io {name} --size=1GiB");
    with_password(&lab, &past_end, PASSWORD).ended(2, "4 MiB");
}

#[test]
fn a_password_is_in_no_output() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    let Some(samba) = samba(&lab.path("."), "") else { return };
    let name = format!("smb://root@{}/share/file", samba.name);
    let mut said = String::new();
    for (words, status) in [
        (format!("io {name} --requests=9 --json"), 0),
        (format!("io {name} --requests=9 --processes=on"), 0),
        (format!("io {name}.none"), 1),
        (format!("io smb://nobody-here;root@{}/none/file", samba.name), 1),
    ] {
        let Outcome { stdout, stderr, .. } = with_password(&lab, &words, PASSWORD).ended(status, "");
        said += &(stdout + &stderr);
    }
    let wrong = with_password(&lab, &format!("io {name}"), "Xy7other");
    let wrong = wrong.ended(1, "refuses this user or password");
    said += &(wrong.stderr + &lab.page(1));
    said += &lab.ok("export 1").stdout;
    lab.ends(format!("io {name}"), 1, "HALFPOWER_CREDENTIALS");
    // In the name it is refused, and not repeated.
    let named = lab.ends(format!("io {}", name.replace("root@", "root:Xy7secret@")), 1, "HALFPOWER_CREDENTIALS");
    said += &(named.stdout + &named.stderr);
    let store = std::fs::read(lab.store()).unwrap();
    assert!(!String::from_utf8_lossy(&store).contains("Xy7"), "the store");
    assert!(!said.contains("Xy7"), "{said}");
}

/// The program with the keys of the object store's user.
fn with_keys(lab: &Lab, words: &str, secret: &str) -> Command {
    let mut command = lab.command(words);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", secret);
    command
}

#[test]
fn objects_are_put_got_and_deleted_and_parts_of_one_are_read() {
    let lab = Lab::new();
    let Some(store) = object_store() else { return };
    let endpoint = &store.name;
    let row = format!("s3://bucket/row/?endpoint={endpoint}");
    let with = |words: &str, secret: &str| outcome(with_keys(&lab, words, secret));
    let s3 = |words: &str| with(words, PASSWORD);
    s3(&format!("io {row}")).ended(1, "write them first");
    let write = format!("io {row} --op=write --request-size=64KiB --size=1MiB --depth=4 --verify=read_back --json");
    s3(&write).ended(1, "--overwrite");
    let sample = s3(&format!("{write} --overwrite --bytes=1MiB")).ended(0, "").document();
    assert_eq!((&sample["verified"]["wrong"], &sample["total"]["requests"]), (&0.into(), &16.into()));
    assert_eq!(sample["connections"]["connections"], 4);
    let objects = || std::fs::read_dir(store.file("bucket/row")).unwrap().count();
    assert_eq!(objects(), 16);
    let read = s3(&format!("io {row} --request-size=64KiB --pattern=random --requests=100 --depth=3 --json"));
    assert_eq!(read.ended(0, "").document()["total"]["bytes"], 100 * (64 << 10));
    s3(&format!("io {row} --request-size=4KiB")).ended(2, "64 KiB");
    s3(&format!("io {row} --op=trim --request-size=64KiB --bytes=1MiB --overwrite")).ended(0, "");
    assert!(!store.file("bucket/row").exists() || objects() == 0);

    std::fs::write(store.file("bucket/one"), vec![7; 1 << 20]).unwrap();
    let one = format!("s3://bucket/one?endpoint={endpoint}");
    let parts =
        s3(&format!("io {one} --request-size=4KiB --pattern=random --requests=50 --depth=5 --connections=2 --json"));
    let parts = parts.ended(0, "").document();
    assert_eq!((&parts["total"]["bytes"], &parts["connections"]["connections"]), (&(50 * 4096).into(), &2.into()));
    s3(&format!("io {one} --op=write --overwrite")).ended(1, "PREFIX/");
    s3(&format!("io {one} --op=write")).ended(2, "PREFIX/");
    assert!(s3(&format!("plan survey-quick --target {one}")).stdout.contains("PREFIX/"));
    s3(&format!("io {} --requests=9", one.replace("/one", "/none"))).ended(1, "check the bucket and the name");
    let wrong = with(&format!("io {one}"), "Xy7other").ended(1, "check the access key");
    lab.ends(format!("io {one}"), 1, "AWS_ACCESS_KEY_ID");
    lab.ends("io s3://bucket/one?endpoint=ftp://127.0.0.1", 1, "https://HOST:PORT");
    let store = std::fs::read(lab.store()).unwrap();
    assert!(!wrong.stderr.contains("Xy7") && !String::from_utf8_lossy(&store).contains("Xy7"));
}

/// The rest of what the suite of the engine asks of personalities that write parts of a volume.
#[test]
fn reads_of_an_object_follow_a_rate_and_end_by_a_signal_or_with_the_server() {
    let lab = Lab::new();
    let Some(mut store) = object_store() else { return };
    std::fs::write(store.file("bucket/one"), vec![7; 1 << 20]).unwrap();
    let one = format!("s3://bucket/one?endpoint={} --pattern=random --request-size=4KiB --depth=8", store.name);
    let rate = format!("io {one} --rate=400/s --arrivals=poisson --requests=200 --json");
    let sample = outcome(with_keys(&lab, &rate, PASSWORD)).ended(0, "").document();
    assert_eq!((&sample["total"]["requests"], &sample["total"]["errors"]), (&200.into(), &serde_json::json!({})));
    assert!(sample["elapsed_s"].as_f64().unwrap() > 0.3, "{sample}");
    let start = |store: &servers::Server| {
        let before = store.bytes_read();
        let mut command = with_keys(&lab, &format!("io {one} --duration=600s --workers=2"), PASSWORD);
        let running = Running::of(command.stdout(std::process::Stdio::null()));
        running.until("requests", || store.bytes_read() > before + (4 << 20))
    };
    start(&store).end(rustix::process::Signal::INT).ended(130, "nterrupted");
    let running = start(&store);
    store.kill();
    running.wait().ended(1, "the server closed the connection");
    let failures: Vec<_> = lab.records().iter().map(|sample| sample["failure"]["code"].clone()).collect();
    assert_eq!(failures[1..], ["interrupted", "ECONNRESET"]);
}

#[test]
fn an_object_is_put_in_parts_and_given_up_where_parts_are_missing() {
    let lab = Lab::new();
    let Some(store) = object_store() else { return };
    let upload = format!("s3://bucket/one?upload&endpoint={}", store.name);
    let s3 = |words: &str| outcome(with_keys(&lab, words, PASSWORD));
    let write = format!("io {upload} --op=write --request-size=5MiB --size=20MiB --json");
    s3(&write).ended(2, "--overwrite");
    let sample = s3(&format!("{write} --overwrite --bytes=20MiB --depth=3")).ended(0, "").document();
    assert_eq!((&sample["total"]["requests"], &sample["total"]["errors"]), (&4.into(), &serde_json::json!({})));
    assert!(sample["instrument"]["obtained"].to_string().contains("put together of 4 parts"), "{sample}");
    assert_eq!(std::fs::metadata(store.file("bucket/one")).unwrap().len(), 20 << 20);
    std::fs::remove_file(store.file("bucket/one")).unwrap();
    // As s3s-fs names what belongs to an upload.
    let parts = || names(&store.file(".")).into_iter().filter(|name| name.starts_with(".upload")).collect::<Vec<_>>();
    assert_eq!(parts(), [""; 0], "no part stays beside the object");
    let sample = s3(&format!("{write} --overwrite --bytes=15MiB")).ended(0, "").document();
    let warnings = sample["warnings"].to_string();
    assert!(warnings.contains("given up, because 3 of its 4 parts were put"), "{sample}");
    assert!(!store.file("bucket/one").exists());
    assert_eq!(parts(), [""; 0], "no part stays");
    s3(&format!("io {upload} --size=20MiB")).ended(1, "without ?upload");
    s3(&format!("{} --overwrite", write.replace("20MiB", "1TiB"))).ended(1, "10000 parts");
    s3(&format!("{write} --overwrite --bytes=20MiB --verify=read_back")).ended(1, "leave --verify out");
    lab.ends(format!("io {}", upload.replace("/one", "/row/")), 1, "leave ?upload out");
}

#[test]
fn an_object_store_is_measured_by_tls_if_its_certificate_is_trusted() {
    let lab = Lab::new();
    let Some(store) = object_store() else { return };
    let Some((server, certificate)) = encrypted(&store) else { return };
    let row = |endpoint: &str| format!("s3://bucket/row/?endpoint={endpoint}");
    let s3 = |words: String| {
        let mut command = with_keys(&lab, &words, PASSWORD);
        command.env("AWS_CA_BUNDLE", &certificate);
        outcome(command)
    };
    let name = row(&server.name);
    // Larger than what one record of TLS holds, and than what a socket takes at once.
    let write =
        format!("io {name} --op=write --request-size=3MiB --size=24MiB --depth=3 --overwrite --verify=read_back");
    let sample = s3(format!("{write} --bytes=24MiB --json")).ended(0, "").document();
    assert_eq!((&sample["verified"]["wrong"], &sample["verified"]["blocks"]), (&0.into(), &(24 << 8).into()));
    assert!(sample["environment"]["target"]["server"]["agreed"].to_string().contains("TLS 1.3"), "{sample}");
    let read = s3(format!("io {name} --request-size=3MiB --pattern=random --requests=40 --depth=4 --json"));
    assert_eq!(read.ended(0, "").document()["total"]["bytes"], 40 * (3 << 20));
    let small = format!(
        "io {} --request-size=4KiB --requests=200 --depth=8 --connections=3 --json",
        name.replace("row/?", "row/0000000000?")
    );
    assert_eq!(s3(small).ended(0, "").document()["total"]["requests"], 200);
    // Nobody here trusts it unasked, a certificate holds for its name alone, and the store itself speaks no TLS.
    outcome(with_keys(&lab, &format!("io {name}"), PASSWORD)).ended(1, "AWS_CA_BUNDLE");
    s3(format!("io {}", row(&server.name.replace("127.0.0.1", "localhost")))).ended(1, "is not trusted");
    s3(format!("io {}", row(&store.name.replace("http:", "https:")))).ended(1, "http://");
}

#[test]
fn small_objects_are_put_examined_listed_read_and_deleted() {
    let lab = Lab::new();
    let Some(store) = object_store() else { return };
    let name = format!("s3://bucket/small&/?endpoint={}", store.name);
    std::fs::create_dir(store.file("bucket/small&")).unwrap();
    std::fs::write(store.file("bucket/small&/theirs"), "mine").unwrap();
    let words = format!("files {name} --files=30 --per-directory=8 --workers=2 --size=5KB --repetitions=2 --json");
    let s3 = |words: &str| outcome(with_keys(&lab, words, PASSWORD));
    let reading = s3(&format!("{words} --phases=create,stat,list,read,delete")).ended(0, "").document();
    let runs = reading["figures"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 10);
    for run in runs {
        assert_eq!((&run["files"], &run["errors"]), (&30.into(), &serde_json::json!({})), "{run}");
    }
    assert_eq!(reading["environment"]["target"]["path"], name.as_str());
    s3(&format!("{words} --phases=create")).ended(0, "");
    assert!(lab.page(1).contains("Create is PUT"));
    // Only what was put is deleted; directories are the server's own.
    let left = contents(&store.file("bucket/small&")).into_iter().filter(|(_, hash)| hash.is_some());
    assert_eq!(left.map(|(path, _)| path).collect::<Vec<_>>(), [store.file("bucket/small&/theirs")]);
    s3(&words.replace("bucket", "none")).ended(1, "check the bucket");
}
