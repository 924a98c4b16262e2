//! What holds for any machine file, however somebody changed it: it is refused with line and column, or what it tells of does
//! what it is asked, in a number of steps that grows with the requests alone.

use super::steps::{cursors, started};
use super::tests::*;
use crate::file::MachineFile;
use crate::shipped::{machine_text, machines};
use halfpower_model::BytesPerSecond;
use halfpower_model::workload::Mix;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

const REQUESTS: u64 = 300;

/// Values to put anywhere, by kind: what comes to nothing first, where machines break; what is within bounds, at their ends and beyond.
const VALUES: [&str; 7] = [
    "0 1 2 3 5 16 31 100 300 1024 4096 16384 65536 1000000 4000000000 9223372036854775807 99999999999999999999 -1",
    "0.0 1.0 0.5 0.001 0.25 0.9 1e-300 1e15 1e300 nan inf -inf",
    r#""0" "1" "512" "513" "512B" "1000B" "1KiB" "4KiB" "12KiB" "64KiB" "1MiB" "16MiB" "1GiB" "1TiB" "1024TiB" "1025TiB" "9EB" "-1KiB""#,
    r#""0s" "1ns" "999ns" "20us" "300us" "1ms" "7ms" "10ms" "100ms" "1s" "60s" "1h" "24h" "99999h" "-1s""#,
    r#""0MB/s" "1B/s" "1KB/s" "100KB/s" "1MB/s" "33MB/s" "300MB/s" "1GB/s" "1000TB/s" "2000TB/s" "-5MB/s" "NaN" "inf" "1e30GB/s""#,
    r#""" "none" "fcfs" "c-look" "fscan" "sstf" "sptf" "through" "stored" "free" "serial" "fresh" "filled" "steady"
       "round-robin" "shorter-queue" "nearest" "idle-or-nearest" "volume" "disk" "\u001b[31m""#,
    r#"[] true false {} ["pci"] ["scsi","scsi"] [[0,100,10,10,0]] [[1,0.1]] [[1,5],[2,1000]] {size="64KiB",pieces=1}
       {size="512",streams=3} 2000-01-01 [[0,1,0,0,0],[1,1000000,0,0,1000000000]]"#,
];

/// Keys that volumes of a machine may have beside theirs.
const MORE: &str = r#"strings=2 stripe="4KiB" raid5="64KiB" mirror="nearest" mirror="shorter-queue"
    mirror="idle-or-nearest" offset="31.5KiB" offset="1GiB" from-buffers=true file-system=false write-cache=false
    state="steady" capacity="1GiB" cooled=false unknown=1"#;

type Place = (Index, Index);

/// A change of a file.
#[derive(Clone, Debug)]
enum Change {
    /// Another value in one of the places that the volume has to do with: of the kind that it has, or of another.
    Value(Place, Option<Index>, Index),
    /// The value that another place has.
    Other(Place, Place),
    /// One place less.
    Without(Place),
    /// A line more in the volume.
    More(Index),
}

/// Which of [`VALUES`] are of the kind of a value.
fn kind_of(written: &str) -> usize {
    let text = written.trim_matches('"');
    match written.starts_with('"') {
        true if text.parse::<BytesPerSecond>().is_ok() => 4,
        true if text.parse::<Bytes>().is_ok() => 2,
        true if text.parse::<Nanoseconds>().is_ok() => 3,
        true => 5,
        false if written.parse::<i64>().is_ok() => 0,
        false if written.parse::<f64>().is_ok() => 1,
        false => 6,
    }
}

fn any_change() -> impl Strategy<Value = Change> {
    let place = any::<Place>;
    let stray = proptest::option::weighted(0.1, any::<Index>());
    prop_oneof![
        12 => (place(), stray, any::<Index>()).prop_map(|(place, stray, value)| Change::Value(place, stray, value)),
        2 => (place(), place()).prop_map(|(place, other)| Change::Other(place, other)),
        1 => place().prop_map(Change::Without),
        3 => any::<Index>().prop_map(Change::More),
    ]
}

fn word(words: &str, which: Index) -> &str {
    let words: Vec<&str> = words.split_whitespace().collect();
    words[which.index(words.len())]
}

/// The places of a value: its own, and of an array what is in it.
fn within(value: &DeValue<'_>, span: Range<usize>) -> Vec<Range<usize>> {
    let inner = value.as_array().into_iter().flat_map(|array| array.iter());
    inner.flat_map(|value| within(value.get_ref(), value.span())).chain([span]).collect()
}

/// The places of each value of a table, and the words in it.
fn places(value: &DeValue<'_>, span: Range<usize>, words: &mut Vec<String>, all: &mut Vec<Vec<Range<usize>>>) {
    if let DeValue::Table(table) = value {
        return table.values().for_each(|value| places(value.get_ref(), value.span(), words, all));
    }
    let array = value.as_array().into_iter().flat_map(|array| array.iter());
    words.extend(array.filter_map(|value| value.get_ref().as_str()).chain(value.as_str()).map(str::to_owned));
    all.push(within(value, span));
}

/// The places of the values that a volume has to do with.
fn places_of(text: &str, volume: &str) -> Vec<Vec<Range<usize>>> {
    let document = DeTable::parse(text).unwrap();
    let mut words = vec![volume.to_owned()];
    let mut all = Vec::new();
    for table in ["volume", "share", "controller", "bus", "cloud", "drive", "flash", "instance", "other-system"] {
        let parts = document.get_ref().get(table).and_then(|parts| parts.get_ref().as_table());
        for (name, part) in parts.into_iter().flat_map(|parts| parts.iter()) {
            if words.iter().any(|word| word == name.get_ref()) && (table != "volume" || name.get_ref() == volume) {
                places(part.get_ref(), part.span(), &mut words, &mut all);
            }
        }
    }
    for table in ["cpu", "system"] {
        if let Some(value) = document.get_ref().get(table) {
            places(value.get_ref(), value.span(), &mut words, &mut all);
        }
    }
    all
}

fn changed(text: &str, volume: &str, change: &Change) -> String {
    // A change before may have left no TOML, which changes nothing any more.
    if DeTable::parse(text).is_err() {
        return text.to_owned();
    }
    let places = places_of(text, volume);
    let at = |(value, part): &(Index, Index)| {
        let value: &Vec<Range<usize>> = value.get(&places);
        part.get(value).clone()
    };
    let (range, value) = match change {
        Change::Value(place, stray, value) => {
            let kind = stray.map_or_else(|| kind_of(&text[at(place)]), |stray| stray.index(VALUES.len()));
            (at(place), word(VALUES[kind], *value).to_owned())
        }
        Change::Other(place, other) => (at(place), text[at(other)].to_owned()),
        Change::Without(place) => {
            let line = text[..at(place).start].rfind('\n').map_or(0, |end| end + 1);
            (line..line, "# ".to_owned())
        }
        Change::More(line) => {
            let header = format!("[volume.{volume}]\n");
            let Some(at) = text.find(&header) else { return text.to_owned() };
            (at + header.len()..at + header.len(), format!("{}\n", word(MORE, *line)))
        }
    };
    format!("{}{value}{}", &text[..range.start], &text[range.end..])
}

/// A shipped machine, one of its volumes, and its text after some changes.
fn any_file() -> impl Strategy<Value = (&'static str, String, String)> {
    let names: Vec<&'static str> = machines().collect();
    (select(names), any::<Index>(), proptest::collection::vec(any_change(), 1..3)).prop_map(
        |(name, volume, changes)| {
            let text = machine_text(name).unwrap();
            let file = MachineFile::parse(name, text).unwrap();
            let volumes: Vec<&str> = file.volumes().map(|(volume, _)| volume).collect();
            let volume = *volume.get(&volumes);
            let text = changes.iter().fold(text.to_owned(), |text, change| changed(&text, volume, change));
            (name, volume.to_owned(), text)
        },
    )
}

fn any_requests() -> impl Strategy<Value = Workload> {
    let pattern = prop_oneof![3 => Just(Pattern::Random), 1 => Just(Pattern::Sequential)];
    let buffering = prop_oneof![2 => Just(Buffering::Direct), 1 => Just(Buffering::Buffered)];
    let blocks = prop_oneof![4 => Just(16_u64), 1 => Just(1), 1 => Just(7), 1 => Just(256)];
    (any::<u64>(), pattern, buffering, blocks, 1_u32..17).prop_map(|(seed, pattern, buffering, blocks, depth)| {
        Workload {
            seed,
            pattern,
            buffering,
            depth,
            request_size: Bytes(blocks * 512),
            operation: Operation::Mix(Mix::of_reads(50).unwrap()),
            limits: of_requests(REQUESTS),
            ..Workload::default()
        }
    })
}

/// How many commands of disks a request may come to.
fn most_commands(machine: &Machine, workload: &Workload) -> u64 {
    let bytes = workload.request_size.0.max(1 << 16) + 512;
    let cut = machine.system.split.map_or(bytes, |split| split.0);
    let chunk = match machine.volume {
        Volume::Each | Volume::Mirror { .. } => cut,
        Volume::Stripe { chunk } | Volume::Raid5 { chunk, .. } => cut.min(chunk.0),
    };
    let unit = machine.share.iter().filter_map(|share| share.unit).map(|unit| unit.0).fold(chunk, u64::min);
    let copies = if matches!(machine.volume, Volume::Mirror { .. }) { machine.disks.len() as u64 } else { 4 };
    (bytes / unit + 2) * copies
}

/// What holds of a text, whatever it says.
fn hold_text(name: &str, volume: &str, text: &str, workload: Workload) -> Result<(), TestCaseError> {
    let machine = match MachineFile::parse(name, text).and_then(|file| file.with_volume(volume)) {
        Ok(machine) => machine,
        Err(error) => {
            let told = error.to_string();
            prop_assert!(told.contains(", line ") && told.contains(", column "), "{}", told);
            prop_assert!(told.chars().count() < 1000 && !told.contains(char::is_control), "{:?}", told);
            return Ok(());
        }
    };
    let room = machine.size().0;
    let size = workload.request_size.0.min(room / 512 * 512);
    let buffering = if machine.system.cache.is_some() { workload.buffering } else { Buffering::Direct };
    let span = Bytes(room.min(1 << 30) / size * size);
    let workload = Workload { request_size: Bytes(size), span, buffering, ..workload };
    let cursors = cursors(&workload);
    let mut system = started(&machine, &workload, &cursors);
    let most_steps = REQUESTS * 16 * most_commands(&machine, &workload);
    let mut steps = 0;
    while system.step() {
        steps += 1;
        prop_assert!(steps < most_steps, "{} steps", steps);
    }
    hold(&system.finish(), &workload);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_changed_file_is_refused_with_its_place_or_does_what_it_is_asked(
        (name, volume, text) in any_file(), workload in any_requests()
    ) {
        hold_text(name, &volume, &text, workload)?;
    }
}

/// In the place of each value, one that comes to nothing.
#[test]
fn nought_is_refused_with_its_place_or_does_what_it_is_asked() {
    let zero = |before: &str| VALUES[kind_of(before)].split_whitespace().next().unwrap();
    let workload = Workload {
        pattern: Pattern::Random,
        buffering: Buffering::Direct,
        depth: 8,
        request_size: Bytes(8192),
        operation: Operation::Mix(Mix::of_reads(50).unwrap()),
        limits: of_requests(REQUESTS),
        ..Workload::default()
    };
    for name in machines() {
        let text = machine_text(name).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for (volume, _) in MachineFile::parse(name, text).unwrap().volumes() {
            for place in places_of(text, volume).into_iter().filter_map(|mut places| places.pop()) {
                if seen.insert(place.start) {
                    let changed =
                        format!("{}{}{}", &text[..place.start], zero(&text[place.clone()]), &text[place.end..]);
                    hold_text(name, volume, &changed, workload.clone())
                        .unwrap_or_else(|error| panic!("{name}:{volume} without its {}: {error}", &text[place]));
                }
            }
        }
    }
}
