//! `halfpower doctor`: which instruments and personalities work on this host.

use crate::command::context::{Context, Ending};
use crate::report::wrap::wrap;
use crate::target::{self, TargetOptions};
use crate::text::{counted, joined};
use clap::Args;
use halfpower_engine::{InstrumentFacts, instruments};
use halfpower_model::sample::Warning;
use halfpower_model::{Environment, Personality, TargetKind};
use std::io::IsTerminal;
use std::path::PathBuf;

/// The paths to check.
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
    let instruments = instruments();
    let document = serde_json::json!({ "environment": environment, "instruments": instruments, "notes": site.notes });
    // Another program gets one line for each.
    let is_terminal = std::io::stdout().is_terminal();
    let width = if is_terminal { context.console.output_width() } else { usize::MAX };
    context.print(&document, || text(&environment, &instruments, &site.notes, width))?;
    Ok(Ending::Done)
}

fn text(environment: &Environment, instruments: &[InstrumentFacts], notes: &[Warning], width: usize) -> String {
    // A simulated machine names its system itself.
    let system = if environment.target.kind.is_time_virtual() { "" } else { "Linux " };
    let mut lines = vec![
        (
            "host",
            format!(
                "{}, {system}{}, {}",
                environment.host,
                environment.kernel,
                counted(environment.cpus as usize, "CPU")
            ),
        ),
        ("memory", environment.memory_bytes.to_string()),
        (
            "clock",
            format!(
                "{}, {:.1} ns per reading, steps of {:.1} ns",
                environment.clock.source, environment.clock.cost_ns, environment.clock.resolution_ns
            ),
        ),
    ];
    for facts in &environment.personalities {
        let state = match (&facts.unavailable, &facts.stands_for) {
            (Some(reason), _) => format!("unavailable: {reason}"),
            (None, Some(what)) => format!("stands for {what}"),
            (None, None) if facts.personality == Personality::Plugin => "plugin:FILE, see docs/PLUGINS.md".to_owned(),
            (None, None) => "works".to_owned(),
        };
        lines.push((facts.personality.word(), state));
    }
    for instrument in instruments {
        let state =
            instrument.unavailable.as_ref().map_or("works".to_owned(), |reason| format!("unavailable: {reason}"));
        lines.push((instrument.name, state));
    }
    for target in environment.all_targets() {
        let parts = [&target.filesystem, &target.device, &target.transport, &target.model];
        lines.push(("target", format!("{} ({})", target.path, joined(parts.map(Option::as_ref)))));
        if target.kind != TargetKind::Null {
            let direct = target.direct_alignment_bytes.map(|alignment| format!("works, in multiples of {alignment}"));
            lines.push(("direct I/O", direct.unwrap_or_else(|| "unsupported: buffered figures only".to_owned())));
        }
    }
    lines.extend(notes.iter().map(|note| ("note", format!("{}; {}", note.message, note.remedy))));
    let mut text = String::new();
    for (name, value) in lines {
        wrap(&mut text, &format!("{name:<13} {value}"), 14, width);
    }
    text
}
