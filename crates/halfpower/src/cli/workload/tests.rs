//! The options are parsed and written again.

use super::*;
use crate::emit::options::options;
use crate::fixtures;
use clap::{CommandFactory, Parser};
use halfpower_model::{Among, Bytes, Environment, Personality, Server, Workload};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    workload: WorkloadArguments,
}

/// A host with this number of files.
fn environment(targets: usize) -> Environment {
    let file = fixtures::file(Bytes(1 << 30));
    fixtures::host(file.clone(), vec![file; targets - 1])
}

fn spec<S: Into<String>>(options: impl IntoIterator<Item = S>) -> Result<WorkloadSpec, String> {
    let line = std::iter::once("io".to_owned()).chain(options.into_iter().map(S::into));
    let line = Line::try_parse_from(line).map_err(|error| error.to_string())?;
    line.workload.spec().map_err(|error| error.to_string())
}

/// The workload resolved from its written options.
fn again(workload: &Workload, environment: &Environment) -> Workload {
    let options = options(workload);
    let spec = spec(options.clone()).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    spec.resolve(environment).unwrap_or_else(|error| panic!("{options:?}: {error}"))
}

/// Command lines that contain every option.
const LINES: [&str; 14] = [
    "--op write --pattern random --request-size 8KiB --depth 32 --submit-batch 4 --wait-batch 3 --cpus 0-1",
    "--op mix=read:60,write:30,trim:9,flush:1 --pattern zipf=0.99 --data pattern=c0ffee --processes --workers 3",
    "--op write --file-state append --durability fdatasync=8 --time-close --size 100MiB --buffering buffered",
    "--sizes read=4KiB:9/1MiB:1,write=64KiB --op mix=1 --pattern hot_cold=80/20 --align 512 --offset 1536",
    "--rate 123456789B/s --arrivals poisson --depth 8 --interval 12345us --warmup 1ns --duration 1234567891ns",
    "--rate 50000/s --arrivals constant --block-phases --advise --huge-pages=off --cpu-count 1 --cpu-accounting soaker --seed 18446744073709551615",
    "--verify read_back --op write --requests 77 --bytes 12345 --pattern strided=1MiB --sharing whole --workers 2",
    "--ring sqpoll,no-registered_files --depth 2 --personality io_uring --pattern shuffled --cache cold",
    "--personality vectored --rw-flags nowait,dontcache --buffering buffered --cache warm",
    "--personality plugin:./own.so,a=1,b=2 --depth 4",
    "--personality mmap --buffering buffered --pattern normal=0.125 --request-size 1",
    "--personality libaio --buffering none --depth 64 --sharing cursor --workers 4 --think 1500us/8",
    "--op trim --requests 1 --data duplicate=30",
    "--op flush --bytes 1TiB",
];

#[test]
fn every_option_is_written_again() {
    let mut written: BTreeSet<String> = BTreeSet::new();
    let others =
        ["--layout stripe=64KiB --size 3MiB", "--layout mirror=nearest --op write", "--connections 2 --depth 4"];
    for line in LINES.iter().chain(&others) {
        let mut environment = environment(if line.contains("--layout") { 3 } else { 1 });
        environment.target.server = line.contains("--connections").then(|| Server {
            protocol: Personality::Nbd,
            address: "storage1:10809".to_owned(),
            agreed: Vec::new(),
            request_max_bytes: Bytes(1 << 20),
            round_trip: None,
            segment_max_bytes: None,
            read_only: None,
        });
        let workload = spec(line.split(' ')).ok().and_then(|spec| spec.resolve(&environment).ok());
        let workload = workload.unwrap_or_else(|| panic!("{line} is no workload"));
        assert_eq!(again(&workload, &environment), workload, "{line}");
        let name = |word: String| word.starts_with("--").then(|| word.split('=').next().unwrap_or_default().to_owned());
        written.extend(options(&workload).into_iter().filter_map(name));
    }
    let all = Line::command().get_arguments().filter_map(clap::Arg::get_long).map(|long| format!("--{long}")).collect();
    let translated = ["rw", "rwmixread", "direct", "ioengine", "fsync", "fdatasync"].map(|word| format!("--{word}"));
    let missing: Vec<&String> =
        BTreeSet::difference(&all, &written).filter(|word| !translated.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_names_of_fio_give_the_same_workload() {
    for (fio, ours) in [
        ("--rw read", "--op read --pattern sequential"),
        ("--rw write --fsync 10", "--op write --pattern sequential --durability fsync=10"),
        ("--rw randread", "--op read --pattern random"),
        ("--rw randwrite --fdatasync 3", "--op write --pattern random --durability fdatasync=3"),
        ("--rw rw", "--op mix=50 --pattern sequential"),
        ("--rw readwrite", "--op mix=50 --pattern sequential"),
        ("--rw randrw --rwmixread 70", "--op mix=70 --pattern random"),
        ("--rw trim", "--op trim --pattern sequential"),
        ("--rw randtrim", "--op trim --pattern random"),
        ("--rw randtrimwrite", "--op trim_write --pattern random"),
        ("--ioengine psync --direct=0", "--personality sync --buffering buffered"),
        ("--ioengine pvsync2 --direct 1", "--personality vectored --buffering direct"),
        ("--ioengine mmap", "--personality mmap"),
        ("--ioengine libaio", "--personality libaio"),
        ("--ioengine io_uring", "--personality io_uring"),
        ("--bs 4k --iodepth 8 --numjobs 2", "--request-size 4KiB --depth 8 --workers 2"),
        ("--runtime 0.2 --ramp_time 1ms", "--duration 200ms --warmup 1ms"),
    ] {
        let [translated, own] = [fio, ours].map(|line| spec(line.split(' ')));
        assert!(translated.is_ok() && translated == own, "{fio}: {translated:?} is not {own:?}");
    }
    for (fio, needle) in [
        ("--ioengine=splice", "--personality"),
        ("--direct=2", "use 0 or 1"),
        ("--rw=writetrim", "trimwrite"),
        ("--rw=read --rwmixread=70", "--rwmixread goes with"),
        ("--rw=rw --rwmixread=100", "use 1 to 99"),
        ("--rw=write --fsync=0", "write a whole number of 1 or more"),
    ] {
        let error = spec(fio.split(' ')).unwrap_err();
        assert!(error.contains(needle), "{fio}: {error}");
    }
}

#[test]
fn a_workload_on_some_of_the_targets_is_that_on_those_alone() {
    let environment = environment(3);
    for among in [Among::Only(2), Among::First(2)] {
        let spec = WorkloadSpec { among: Some(among), depth: Some(4), ..WorkloadSpec::default() };
        let workload = spec.resolve(&environment).unwrap();
        let alone = again(&workload, &environment.among(among).unwrap());
        assert_eq!(alone, Workload { among: Among::All, ..workload });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]
    #[test]
    fn whatever_resolves_is_written_again(
        picked in prop::collection::vec((0..LINES.len(), 0_usize..8), 1..7),
        targets in 1_usize..4,
        layout in prop::sample::select(vec!["each", "stripe=4KiB", "mirror"]),
    ) {
        let mut line = vec!["--layout", layout];
        for (index, place) in picked {
            let words: Vec<&str> = LINES[index].split(" --").collect();
            // An option with its value, where it has one.
            let option = words[place % words.len()].trim_start_matches("--");
            let (name, value) = option.split_once(' ').map_or((option, None), |(name, value)| (name, Some(value)));
            let at = LINES[index].find(&format!("--{name}")).unwrap();
            line.push(&LINES[index][at..at + name.len() + 2]);
            line.extend(value);
        }
        let environment = environment(targets);
        let workload = spec(line).ok().and_then(|spec| spec.resolve(&environment).ok());
        prop_assume!(workload.is_some());
        let workload = workload.unwrap();
        prop_assert_eq!(again(&workload, &environment), workload);
    }
}

/// The rows of FORMAT's table of keys.
fn rows() -> String {
    let mut rows = "| Key | What | Values | Default | fio | Simulated |\n|---|---|---|---|---|---|\n".to_owned();
    for key in KEYS {
        let about = &key.about;
        let values = match about.kind {
            Kind::Word(examples) => {
                examples.iter().map(|example| format!("`{example}`")).collect::<Vec<_>>().join(", ")
            }
            Kind::Switch => "`on`, `off`".to_owned(),
            kind => kind.range(),
        };
        let given = match about.given {
            Given::Both => "",
            Given::Study => "; in studies only",
            Given::CommandLine => "; an option only, in a study under `[trial]`",
        };
        let fio = if about.fio.is_empty() { "–".to_owned() } else { format!("`{}`", about.fio) };
        let simulated = if about.unsimulated.is_some() { "no" } else { "yes" };
        let (name, [help, default]) =
            (key.name, [about.help, &key.default()].map(|text| worded(text, |key| format!("`{key}`"))));
        rows += &format!("| `{name}` | {help}{given} | {values} | {default} | {fio} | {simulated} |\n");
    }
    rows
}

#[test]
fn a_replay_s_help_names_its_own_options_only() {
    let help = ReplayArguments::augment_args(Command::new("replay")).render_long_help().to_string();
    let named: BTreeSet<&str> = help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').collect();
    let others: Vec<&Key> = KEYS.iter().filter(|key| !OF_REPLAY.contains(&key.name)).collect();
    assert_eq!(others.iter().find(|key| named.contains(&*option_of(key.name))).map(|key| key.name), None, "{help}");
}

#[test]
fn the_format_lists_every_key() {
    const MARKS: [&str; 2] = ["<!-- settings -->\n", "<!-- /settings -->"];
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMAT.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let [from, to] = MARKS.map(|mark| text.find(mark).unwrap());
    let fresh = format!("{}{}{}", &text[..from + MARKS[0].len()], rows(), &text[to..]);
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, fresh).unwrap();
    } else {
        assert!(text == fresh, "docs/FORMAT.md has another table of keys; `just golden` writes it anew");
    }
}
