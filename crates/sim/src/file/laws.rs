//! What holds for any machine file, however it was changed: it is rejected with line and column, or its volumes serve every
//! request in a number of steps that grows with the requests alone.

use super::*;
use crate::shipped::{machine_text, machines};
use crate::system::tests::*;
use halfpower_model::workload::Mix;
use std::ops::Range;

const REQUESTS: u64 = 100;

/// Values to put anywhere. The first of each kind comes to nothing; others are at the bounds and beyond.
const NUMBERS: &str =
    "0 1 2 3 5 16 300 4096 65536 1000000 4000000000 99999999999999999999 -1 0.0 1.0 0.5 1e-300 1e300 nan inf";
const SIZES: &str =
    r#""0" "1" "512" "513" "512B" "1KiB" "4KiB" "12KiB" "64KiB" "1MiB" "16MiB" "1GiB" "1TiB" "1025TiB" "9EB" "-1KiB""#;
const TIMES: &str = r#""0s" "1ns" "999ns" "20us" "1ms" "10ms" "100ms" "1s" "60s" "1h" "99999h" "-1s""#;
const RATES: &str = r#""0MB/s" "1B/s" "1KB/s" "1MB/s" "33MB/s" "1GB/s" "2000TB/s" "-5MB/s" "NaN" "1e30GB/s""#;
const WORDS: &str =
    r#""" "none" "fcfs" "c-look" "sptf" "stored" "serial" "steady" "nearest" "volume" "disk" "\u001b[31m" [] true {}"#;

/// Lines that a volume may have beside its own.
const MORE: &str = r#"strings=2 stripe="4KiB" raid5="64KiB" mirror="nearest" mirror="idle-or-nearest" offset="31.5KiB" offset="1GiB"
    from-buffers=true file-system=false write-cache=false state="steady" capacity="1GiB" cooled=false unknown=1"#;

/// The values of a kind like that of a written one.
fn like(written: &str) -> Vec<&'static str> {
    let text = written.trim_matches('"');
    let kind = match written.starts_with('"') {
        true if text.parse::<halfpower_model::BytesPerSecond>().is_ok() => RATES,
        true if text.parse::<Bytes>().is_ok() => SIZES,
        true if text.parse::<Nanoseconds>().is_ok() => TIMES,
        true => WORDS,
        false => NUMBERS,
    };
    kind.split_whitespace().collect()
}

/// The places of the numbers and texts behind a key.
fn values(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or("");
        let mut at = code.find('=').map_or(code.len(), |equals| equals + 1);
        while at < code.len() {
            let rest = &code[at..];
            let length = match rest.as_bytes()[0] {
                b'"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                b'0'..=b'9' | b'-' => rest.find([',', ' ', ']', '}', '\n']).unwrap_or(rest.len()),
                _ => 0,
            };
            if length > 0 {
                all.push(start + at..start + at + length);
            }
            at += length.max(1);
        }
        start += line.len();
    }
    all
}

/// How many steps a request may come to: at most so many commands, of some events each.
fn most_steps(machine: &Machine, workload: &Workload) -> u64 {
    let bytes = workload.request_size.0.max(1 << 16) + 512;
    let cut = machine.system.split.map_or(bytes, |split| split.0);
    let chunk = match machine.volume {
        Volume::Each | Volume::Mirror { .. } => cut,
        Volume::Stripe { chunk } | Volume::Raid5 { chunk } => cut.min(chunk.0),
    };
    let copies = if matches!(machine.volume, Volume::Mirror { .. }) { machine.disks.len() as u64 } else { 4 };
    16 * (bytes / chunk + 2) * copies
}

/// Holds a text to the law, in the first two volumes that differ from the shipped machine's.
fn hold_text(name: &str, text: &str, seed: u64) {
    let plain = MachineFile::parse(name, machine_text(name).unwrap()).unwrap();
    let check = |error: MachineError| {
        let told = error.to_string();
        assert!(told.contains(", line ") && told.contains(", column "), "{told}");
        assert!(told.chars().count() < 1000 && !told.contains(char::is_control), "{told:?}");
    };
    let file = match MachineFile::parse(name, text) {
        Ok(file) => file,
        Err(error) => return check(error),
    };
    let mut changed = 0;
    for (volume, _) in plain.volumes() {
        let machine = match file.with_volume(volume) {
            Ok(machine) => machine,
            Err(error) => {
                check(error);
                continue;
            }
        };
        if changed == 2 || machine == plain.with_volume(volume).unwrap() {
            continue;
        }
        changed += 1;
        let room = machine.size().0;
        let size = [8192, 512, 131_072][seed as usize % 3].min(room / 512 * 512);
        let is_cached = machine.system.cache.is_some() && seed.is_multiple_of(2);
        let workload = Workload {
            seed,
            pattern: if seed % 4 == 3 { Pattern::Sequential } else { Pattern::Random },
            buffering: if is_cached { Buffering::Buffered } else { Buffering::Direct },
            depth: 1 + seed as u32 % 16,
            request_size: Bytes(size),
            span: Bytes(room.min(1 << 30) / size * size),
            operation: Operation::Mix(Mix::of_reads(50).unwrap()),
            limits: of_requests(REQUESTS),
            ..Workload::default()
        };
        let outcome = course_within(&machine, &workload, REQUESTS * most_steps(&machine, &workload));
        hold(&outcome.expect("it takes too many steps"), &workload);
    }
}

/// In the place of each value one that comes to nothing, and another of its kind.
#[test]
fn another_value_is_rejected_with_its_place_or_does_what_it_is_asked() {
    for name in machines() {
        let text = machine_text(name).unwrap();
        for (number, place) in values(text).into_iter().enumerate() {
            let of_kind = like(&text[place.clone()]);
            for value in [of_kind[0], of_kind[number % of_kind.len()], like("\"-\"")[number % 14]] {
                let mut changed = text.to_owned();
                changed.replace_range(place.clone(), value);
                hold_text(name, &changed, number as u64);
            }
        }
    }
}

/// Each line in one of the volumes.
#[test]
fn a_further_key_is_rejected_with_its_place_or_does_what_it_is_asked() {
    for name in machines() {
        let text = machine_text(name).unwrap();
        let headers: Vec<usize> = text.match_indices("\n[volume.").map(|(at, _)| at + 1).collect();
        for (number, line) in MORE.split_whitespace().enumerate() {
            let header = headers[number * 7 % headers.len()];
            let mut changed = text.to_owned();
            changed.insert_str(header + text[header..].find('\n').unwrap() + 1, &format!("{line}\n"));
            hold_text(name, &changed, number as u64);
        }
    }
}
