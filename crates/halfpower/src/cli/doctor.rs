//! `halfpower doctor`: what this host can and cannot measure.

use crate::command::context::{Context, Ending};
use crate::sanitize::sanitize;
use crate::target::{self, TargetOptions};
use clap::Args;
use halfpower_engine::instruments;
use halfpower_model::{Environment, Personality, TargetKind};
use std::fmt::Write;
use std::path::PathBuf;

/// Says what this host can and cannot measure under a path, and how to mend it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Directories, files and block devices
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let options = TargetOptions { targets: arguments.paths.clone(), ..TargetOptions::default() };
    let site = target::examine(&options)?;
    let environment = site.environment();
    if context.global.json {
        context.console.print_json(
            &serde_json::json!({ "environment": environment, "instruments": instruments(), "notes": site.notes }),
        )?;
        return Ok(Ending::Done);
    }
    let mut text = describe(&environment);
    for note in &site.notes {
        let _ = writeln!(text, "{:<13} {}; {}", "note", sanitize(&note.message), sanitize(&note.remedy));
    }
    context.console.print(&text)?;
    Ok(Ending::Done)
}

fn describe(environment: &Environment) -> String {
    // A simulated machine says what its system is.
    let system = if environment.target.kind == TargetKind::Simulated { "" } else { "Linux " };
    let mut lines = vec![
        ("host", format!("{}, {system}{}, {} processors", environment.host, environment.kernel, environment.cpus)),
        ("memory", environment.memory_bytes.to_string()),
        (
            "clock",
            format!(
                "{}, {:.1} ns a reading, steps of {:.1} ns",
                environment.clock.source, environment.clock.cost_ns, environment.clock.resolution_ns
            ),
        ),
    ];
    for facts in &environment.personalities {
        let state = match (&facts.unavailable, &facts.stands_for) {
            (Some(reason), _) => format!("not here: {reason}"),
            (None, Some(what)) => format!("stands for {what}"),
            (None, None) if facts.personality == Personality::Plugin => {
                "loads one that is named: plugin:FILE, see docs/PLUGINS.md".to_owned()
            }
            (None, None) => "works".to_owned(),
        };
        lines.push((facts.personality.word(), state));
    }
    for instrument in instruments() {
        let state = instrument.unavailable.map_or("works".to_owned(), |reason| format!("not here: {reason}"));
        lines.push((instrument.name, state));
    }
    for target in environment.all_targets() {
        let parts = [&target.filesystem, &target.device, &target.transport, &target.model];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        lines.push(("target", format!("{} ({})", target.path, parts.join(", "))));
        if target.kind != TargetKind::Null {
            let direct = match target.direct_alignment_bytes {
                Some(alignment) => format!("works, in multiples of {alignment}"),
                None => "refused: only buffered figures".to_owned(),
            };
            lines.push(("direct I/O", direct));
        }
    }
    let mut text = String::new();
    for (name, value) in lines {
        let _ = writeln!(text, "{name:<13} {}", sanitize(&value));
    }
    text
}
