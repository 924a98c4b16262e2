//! One importer against damaged files: the form is in `HALFPOWER_FUZZ_FORM`, a word of `import --format`.
//!
//! Of fio's logs the first byte chooses the name. Half of the inputs are damaged as libFuzzer does it, byte by byte; half as a whole: lines, figures, brackets.
#![no_main]
#![allow(dead_code, reason = "the importers are included whole, and not all of them are used here")]

use clap::ValueEnum;
use halfpower_model::random::Random;
use import::{Format, ImportError, import_bytes};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::LazyLock;

#[path = "../../crates/halfpower/src/interchange/import/damage.rs"]
mod damage;
#[path = "../../crates/halfpower/src/interchange/import/mod.rs"]
mod import;
#[path = "../../crates/halfpower/src/input.rs"]
mod input;
#[path = "../../crates/halfpower/src/interchange/import/soundness.rs"]
mod soundness;

/// What the module that opens files asks for.
mod cli {
    pub(crate) fn is_interrupted() -> bool {
        false
    }
}

static FORM: LazyLock<Format> = LazyLock::new(|| {
    let word = std::env::var("HALFPOWER_FUZZ_FORM").expect("HALFPOWER_FUZZ_FORM names a form of `import --format`");
    Format::from_str(&word, false).expect("HALFPOWER_FUZZ_FORM names a form of `import --format`")
});

/// What fio's logs hold is in their name.
const LOGS: [&str; 4] = ["a_bw.1.log", "a_iops.1.log", "a_lat.1.log", "a_clat_hist.1.log"];

fuzz_target!(|input: &[u8]| {
    let (name, input) = match (*FORM, input) {
        (Format::FioLog, [first, rest @ ..]) => (LOGS[usize::from(*first) % LOGS.len()], rest),
        _ => ("file", input),
    };
    if let Err(complaint) = soundness::check_import(name, input, *FORM) {
        panic!("{complaint}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(u64::from(seed));
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let new = damage::damaged(&data[..size], &mut random);
    let length = new.len().min(max_size);
    data[..length].copy_from_slice(&new[..length]);
    length
});
