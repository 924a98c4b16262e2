//! The client against a small server: what it negotiates, and what becomes of wrong answers. The bytes it moves are tested with
//! those of the other personalities.

use super::server::{ABLE, Answering, Server, Serving, over_tcp};
use crate::{Access, Host, Target};
use halfpower_model::key::Key;
use halfpower_model::{Bytes, Cancel, MeasureError, Sample, Testbed, WorkloadSpec};
use std::error::Error;
use std::path::Path;

const SIZE: u64 = 1 << 20;

/// Makes a wrong reply of a right one.
type Wrong = fn(Vec<u8>) -> Option<Vec<u8>>;

fn file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; SIZE as usize]).unwrap();
    file
}

/// 200 requests of 4 KiB with other keys: `operation=write depth=8`.
fn measure(name: &Path, access: Access, keys: &str) -> Result<Sample, MeasureError> {
    let mut host = Host::new(Target::open(name, access).unwrap());
    let few = WorkloadSpec { requests: Some(200), request_size: Some(Bytes(4096)), ..WorkloadSpec::default() };
    let read = |word: &str| word.split_once('=').and_then(|(key, value)| Key::named(key)?.read(value).ok()).unwrap();
    let spec = keys.split_whitespace().map(read).fold(few, |all, one| one.or(&all));
    host.measure(&spec.resolve(host.describe()).unwrap(), &mut (), &Cancel::default())
}

/// The first failure of reads whose replies are changed.
fn failure(answering: Box<Answering>) -> String {
    let file = file();
    let server = Server::start(Serving { answering, ..Serving::of(file.path()) });
    let sample = measure(&server.name(""), Access::Read, "depth=4").unwrap();
    sample.failure.expect("it fails").message
}

#[test]
fn a_volume_says_what_it_is() {
    let file = file();
    let server = Server::start(Serving::of(file.path()));
    let target = Target::open(&server.name(""), Access::Overwrite).unwrap();
    let facts = target.facts();
    assert_eq!((facts.size_bytes, facts.direct_alignment_bytes), (Bytes(SIZE), Some(Bytes(1))));
    let agreed = facts.server.as_ref().unwrap();
    assert_eq!(agreed.agreed, ["blocks of 1 B to 1 MiB", "flush", "FUA", "trim"]);
    assert_eq!((agreed.request_max_bytes, agreed.round_trip), (Bytes(1 << 20), None));
}

#[test]
fn requests_are_done_verified_and_flushed() {
    let file = file();
    let server = Server::start(Serving::of(file.path()));
    let name = server.name("");
    let read = measure(&name, Access::Read, "depth=8 pattern=random").unwrap();
    assert_eq!((read.total.requests, read.total.bytes), (200, 200 * 4096), "{:?}", read.failure);
    for spec in [
        "operation=write depth=8 verify=read_back",
        "operation=write buffering=none durability=fsync=10",
        "operation=write durability=flush_at_end",
        "operation=mix=50 pattern=random workers=3 depth=4",
        "operation=read rate=2000/s arrivals=poisson depth=16",
    ] {
        let sample = measure(&name, Access::Overwrite, spec).unwrap();
        assert!(sample.is_complete() && sample.total.requests >= 200, "{spec}: {:?}", sample.failure);
        assert!(sample.verified.is_none_or(|verified| verified.blocks == 200 && verified.wrong == 0), "{spec}");
    }
}

/// Connections begin with immediate acknowledgements; after those, each read waits for a delayed one.
#[test]
fn reads_held_up_by_acknowledgements_are_tried_with_immediate_ones() {
    let file = file();
    let sample = measure(&over_tcp(Serving::of(file.path())), Access::Read, "requests=40").unwrap();
    let connections = sample.connections.unwrap();
    let tried = connections.acknowledgements.expect("they were tried");
    assert!(tried.delayed_s > 0.036 && tried.at_once_s < tried.delayed_s / 2.0, "{tried:?}");
    assert!(connections.held_up_s > 0.036 && connections.tcp.unwrap().round_trip_least_s > 0.0);
    // A local socket has none.
    let server = Server::start(Serving::of(file.path()));
    let sample = measure(&server.name(""), Access::Read, "requests=40").unwrap();
    assert_eq!(sample.connections.unwrap().acknowledgements, None);
}

#[test]
fn wrong_answers_end_the_sample_with_their_reason() {
    let after = |number: u32, wrong: Wrong| -> Box<Answering> {
        Box::new(move |reply_number, reply| if reply_number == number { wrong(reply) } else { Some(reply) })
    };
    let wrong: [(&str, Wrong); 5] = [
        ("closed the connection", |_| None),
        ("begins with 0x27446698", |reply| Some([&[reply[0] ^ 0x40], &reply[1..]].concat())),
        ("request that was not sent", |reply| Some([&reply[..8], &[1], &reply[9..]].concat())),
        ("EIO", |reply| Some([&reply[..4], &5_u32.to_be_bytes(), &reply[8..16]].concat())),
        ("keep to the protocol", |reply| Some([&reply[..], &[1; 100]].concat())),
    ];
    for (why, wrong) in wrong {
        for number in [0, 50] {
            let message = failure(after(number, wrong));
            assert!(message.contains(why), "{number}: {message}");
        }
    }
}

#[test]
fn what_a_server_refuses_is_said_with_the_remedy() {
    let file = file();
    let refusal = |serving: Serving, export: &str, access| {
        Target::open(&Server::start(serving).name(export), access).unwrap_err().to_string()
    };
    let of = |greeting: &[u8]| Serving { greeting: Some(greeting.to_vec()), ..Serving::of(file.path()) };
    let read_only = Serving { flags: 1 | 2, ..Serving::of(file.path()) };
    for (serving, export, access, why) in [
        (Serving::of(file.path()), "xx", Access::Read, "has no export \"xx\"; it has \"one\", \"two?[2J\""),
        (read_only, "", Access::Overwrite, "for reading only; leave --overwrite out"),
        (of(b"SSH-2.0-OpenSSH_9.2p1"), "", Access::Read, "it is no NBD server"),
        (of(b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53"), "", Access::Read, "in the old style"),
        (of(b"NBDMAGICIHAVEOPT\0\0"), "", Access::Read, "fixed newstyle"),
    ] {
        let message = refusal(serving, export, access);
        assert!(message.contains(why), "{message}");
    }
    let message = Target::open(Path::new("nbd+unix:///?socket=/nowhere"), Access::Read).unwrap_err().to_string();
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn what_an_export_cannot_do_is_refused_before_the_first_request() {
    let file = file();
    let server = Server::start(Serving { flags: ABLE & !(1 << 3 | 1 << 5), ..Serving::of(file.path()) });
    for (keys, why) in [("operation=write buffering=none", "--buffering direct"), ("operation=trim", "no trims")] {
        let error = measure(&server.name(""), Access::Overwrite, keys).unwrap_err();
        let cause = error.source().map_or(String::new(), ToString::to_string);
        assert!(cause.contains(why), "{error}: {cause}");
    }
}
