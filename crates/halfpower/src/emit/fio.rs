//! A plan as a job file for fio: a section per trial, or one per target of it, each trial after a stonewall.
//!
//! fio draws its own offsets and mix from the seed, and begins at the start of a file: the distribution is the same,
//! the requests are not. Trials without an equivalent are left out with a comment that has the reason. The name of a
//! test file is drawn when the plan is emitted; fio creates the file, and the last section removes it.
//!
//! Source: fio's HOWTO, and its parser for valid values (`parse.c`, `filesetup.c` of fio 3.33).

mod job;
mod words;

pub(crate) use job::{has_whole_rate, pace};
pub(crate) use words::{bytes, engine, words};

use super::emission::{Emission, Trial, comment, is_test_file, name};
use crate::target::{Creation, Place};
use halfpower_model::{Personality, TargetKind, Workload};
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

const NOTES: [&str; 3] = [
    "fio draws its own places from the seed, and begins at the start of a file what Halfpower begins anywhere in it.",
    "It counts limits for each job: those of all workers are divided among them. Intervals, and looking into the",
    "block layer, are no part of the work and are left to fio's own options.",
];
const MADE: &str =
    "fio fills the test file before the first job; the last section removes it, unless it is interrupted.";

/// Settings of every job: files are filled with data and overwritten, never truncated.
const GLOBAL: &str = "
[global]
group_reporting=1
overwrite=1
fallocate=none
unlink=0
fadvise_hint=0
";

/// Characters besides letters and digits that have no meaning for fio in a file name, or can be escaped. Others end the
/// name (`#`, `;`), are replaced (`$`) or cannot be written.
const PLAIN: &str = "/._-+=@,%~: ()'[]";

/// The options that a workload is known by, on a command line: `--rw=randread --iodepth=16 --direct=1 --bs=4096`.
pub(crate) fn in_short(workload: &Workload) -> String {
    const KEYS: [&str; 7] = ["rw", "rwmixread", "iodepth", "direct", "fsync", "fdatasync", "end_fsync"];
    let options = words(workload).into_iter().filter(|(_, key, _)| KEYS.contains(key));
    let is_of_fio = !matches!(workload.personality, Personality::Smb | Personality::S3);
    let engine = is_of_fio.then(|| ("ioengine", engine(workload.personality).to_owned()));
    let own = engine.into_iter().chain([("bs", workload.request_size.0.to_string())]);
    let all = options.map(|(_, key, value)| (key, value)).chain(own);
    all.map(|(key, value)| format!("--{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// The job file.
///
/// # Errors
/// If a job file cannot contain the name of a target, or fio has an equivalent of no trial.
pub(crate) fn fio(emission: &Emission<'_>) -> Result<String, String> {
    if emission.plan.is_time_virtual() {
        return Err(nothing("it has no simulated machines"));
    }
    let names: Vec<String> = emission.site.places.iter().map(file_name).collect::<Result<_, _>>()?;
    let mut head = emission.head("a job file for fio");
    head.extend(NOTES.map(str::to_owned));
    let has_test_file = emission.site.places.iter().any(is_test_file);
    head.extend(has_test_file.then(|| MADE.to_owned()));
    let mut text: String = head.iter().map(|line| comment(line)).collect();
    text.push_str(GLOBAL);
    if let Some(note) = &emission.note {
        // fio repeats it in its results, if its format has the characters.
        let is_sayable = note.chars().all(is_sayable);
        let line = format!("description={}\n", note.trim());
        text.push_str(&if is_sayable { line } else { comment(&format!("Note: {note}")) });
    }
    let words = emission.plan.names(&[]);
    let mut reasons = Vec::new();
    let mut is_empty = true;
    for trial in emission.trials() {
        let title = emission.title(&trial, &words);
        match sections(emission, &trial, &names) {
            Ok(sections) => {
                let _ = write!(text, "\n{}", comment(&title));
                job::remarks(&trial.workload).iter().for_each(|remark| text.push_str(&comment(remark)));
                text.push_str(&sections);
                is_empty = false;
            }
            Err(reason) => {
                let _ = write!(text, "\n{}", comment(&format!("Left out, as {reason}: {title}")));
                reasons.push(reason);
            }
        }
    }
    if is_empty {
        return Err(nothing(&reasons.pop().unwrap_or_default()));
    }
    let test_files = emission.site.places.iter().zip(&names).enumerate().filter(|(_, (place, _))| is_test_file(place));
    for (index, (_, name)) in test_files {
        let _ = write!(
            text,
            "\n[remove-test-file-{}]\nstonewall\nfilename={name}\nioengine=psync\nrw=read\nbs=512\nsize=512\nunlink=1\n",
            index + 1
        );
    }
    Ok(text)
}

fn nothing(reason: &str) -> String {
    format!("fio has no equal of any workload of the study ({reason}); use --emit shell")
}

/// The sections of a trial, one for each target with its own workers; or the reason why fio has no equivalent.
fn sections(emission: &Emission<'_>, trial: &Trial, names: &[String]) -> Result<String, String> {
    let Trial { block, cell, workload } = trial;
    let range = emission.range(workload);
    let places = &emission.site.places[range.clone()];
    if let Some(reason) = job::no_equal(workload, places.iter().any(is_file)) {
        return Err(reason.to_owned());
    }
    let mut text = String::new();
    for (volume, (place, name)) in places.iter().zip(&names[range]).enumerate() {
        let suffix = if places.len() > 1 { format!("-target-{}", volume + 1) } else { String::new() };
        let _ = writeln!(text, "[block-{block}-cell-{cell}{suffix}]");
        if volume == 0 {
            text.push_str("stonewall\n");
        }
        for (key, value) in target(place, name).into_iter().chain(job::settings(workload, volume, is_null(place))?) {
            let _ = writeln!(text, "{key}={value}");
        }
    }
    Ok(text)
}

/// The target of a section.
fn target(place: &Place, name: &str) -> Vec<(&'static str, String)> {
    if is_null(place) {
        return Vec::new();
    }
    if place.facts.kind == TargetKind::Remote {
        return vec![("uri", name.to_owned())];
    }
    let mut target = vec![("filename", name.to_owned())];
    if place.creation == Creation::Nothing {
        // A missing file is an error; fio does not create it.
        target.push(("allow_file_create", "0".to_owned()));
    }
    target
}

fn is_null(place: &Place) -> bool {
    place.facts.kind == TargetKind::Null
}

fn is_file(place: &Place) -> bool {
    place.facts.kind == TargetKind::File
}

/// The name of a target in a job file, where a colon separates names.
fn file_name(place: &Place) -> Result<String, String> {
    let mut name = name(&place.path)?;
    let is_sayable = |c: char| is_sayable(c) || (place.facts.kind == TargetKind::Remote && "?&".contains(c));
    if !is_null(place) && (!name.chars().all(is_sayable) || name.ends_with(' ')) {
        let name = name.escape_debug();
        return Err(format!("fio's job files have no way to write the name {name}; rename it, or use --emit shell"));
    }
    if is_test_file(place) {
        name = drawn(&name);
    }
    // A server's volume has its own option.
    Ok(if place.facts.kind == TargetKind::Remote { name } else { name.replace(':', "\\:") })
}

fn is_sayable(c: char) -> bool {
    c.is_alphanumeric() || PLAIN.contains(c)
}

/// An unused name in the directory that cannot be guessed.
fn drawn(directory: &str) -> String {
    loop {
        // Its keys are random bytes of the system.
        let number = RandomState::new().build_hasher().finish();
        let name = format!("{}/halfpower-{number:016x}.test", directory.trim_end_matches('/'));
        if Path::new(&name).symlink_metadata().is_err() {
            return name;
        }
    }
}

/// The share of each worker in the bytes or requests of all.
fn share(all: u64, workload: &Workload) -> u64 {
    all.div_ceil(u64::from(workload.workers))
}
