//! Writes a study with one workload per sweep, such as from a trace or another program's job.

use halfpower_model::key::Given;
use halfpower_model::{Bytes, KEYS, WorkloadSpec};
use std::fmt::Write as _;

/// Keys of the trial and of the target, which a sweep does not have.
const OUTSIDE: [&str; 8] = ["duration", "requests", "bytes", "warmup", "interval", "seed", "size", "cpu_accounting"];

/// The text of a study that follows `head`, comments: its name, question, size, and the sweeps with their names. All of its trials
/// take the given time.
pub(crate) fn study_text(
    head: &str,
    name: &str,
    question: &str,
    size: Option<Bytes>,
    seconds: f64,
    sweeps: &[(String, WorkloadSpec)],
) -> String {
    let mut text = head.to_owned();
    let _ = writeln!(text, "name = {}\nquestion = {}\n", quoted(&plain(name)), quoted(question));
    if let Some(size) = size {
        let _ = writeln!(text, "[target]\nsize = \"{}\"\n", size.exactly());
    }
    let _ = writeln!(text, "[trial]\nduration = \"{seconds}s\"\nrepetitions = 5");
    for (name, spec) in sweeps {
        let _ = writeln!(text, "\n[[sweep]]\nname = {}", quoted(name));
        let workload = spec.imported(None);
        let keys = KEYS.iter().filter(|key| !OUTSIDE.contains(&key.name) && key.about.given == Given::Both);
        for key in keys.filter(|key| key.is_said(spec)) {
            let value = key.exact(&workload).unwrap_or_default();
            // A list of CPUs is a text, also of one.
            let is_number = key.name != "cpus" && value.parse::<u64>().is_ok();
            let _ = writeln!(text, "{} = {}", key.name, if is_number { value } else { quoted(&value) });
        }
    }
    text
}

/// A name of letters, digits and dashes.
fn plain(name: &str) -> String {
    let name: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let name = name.trim_matches('-').chars().take(40).collect::<String>();
    if name.is_empty() { "study".to_owned() } else { name }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's.
    serde_json::Value::String(text.to_owned()).to_string()
}
