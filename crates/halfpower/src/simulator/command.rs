//! `halfpower sim`: the simulated machines.

use super::name::{SetArgument, SimulatedName, machine_text};
use super::validate::command as validate;
use crate::command::context::{Context, Ending};
use crate::text::usage;
use clap::{Args, Subcommand};
use halfpower_sim::Simulated;
use halfpower_sim::file::MachineFile;
use halfpower_sim::shipped;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// List and show the simulated machines, and compare them with published figures
///
/// Their volumes are targets of io, run and study run: sim:MACHINE:VOLUME.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  halfpower sim list
  halfpower sim show win2k-pentium3
  halfpower sim show win2k-pentium3:fireball-raid0-2 --set pci.rate=266MB/s
  halfpower sim validate --only atlas-2 fireball-dma
  halfpower io sim:win2k-pentium3:atlas-1 --pattern random --request-size 8KiB \\
      --depth 8 --buffering direct --duration 60s";

#[derive(Debug, Subcommand)]
enum Action {
    /// Every machine with its volumes
    List,
    /// A machine's file, checked with all its volumes, with the source of its figures; or what it says of one volume
    Show {
        /// Which, or a file: ./own.toml; MACHINE:VOLUME for a volume's drive, path and system, with --set
        machine: String,
        #[command(flatten)]
        set: SetArgument,
    },
    /// Every figure of the papers beside the simulated one; exit status 1 when under 90 % are within their tolerance
    Validate(validate::Arguments),
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    match &arguments.action {
        Action::List => list(context),
        Action::Show { machine, set } => show(context, machine, set),
        Action::Validate(arguments) => validate::run(context, arguments),
    }
}

fn list(context: &Context) -> anyhow::Result<Ending> {
    let (mut listed, mut text) = (Vec::new(), String::new());
    for machine in shipped::machines() {
        let file = MachineFile::parse(machine, shipped::machine_text(machine).unwrap_or_default())?;
        let _ = writeln!(text, "{machine}: {}", file.description);
        let target = |name: &str| format!("sim:{machine}:{name}");
        let width = file.volumes().map(|(name, _)| target(name).len()).max().unwrap_or(0);
        let mut volumes = Vec::new();
        for (name, description) in file.volumes() {
            let target = target(name);
            let _ = writeln!(text, "  {target:width$}  {description}");
            volumes.push(json!({ "target": target, "description": description }));
        }
        listed.push(json!({ "machine": machine, "description": file.description, "volumes": volumes }));
    }
    context.print(&listed, || text)?;
    Ok(Ending::Done)
}

fn show(context: &Context, machine: &str, set: &SetArgument) -> anyhow::Result<Ending> {
    let machine = machine.strip_prefix("sim:").unwrap_or(machine);
    let plain = PathBuf::from(format!("sim:{machine}"));
    let targets = set.on(std::slice::from_ref(&plain))?;
    if targets[0] != plain || machine.contains([':', ',']) {
        return show_path(context, &targets[0]);
    }
    let text = machine_text(machine)?;
    let checked = MachineFile::parse(machine, &text).and_then(|file| file.check_volumes());
    checked.map_err(usage)?;
    context.print(&json!({ "machine": machine, "text": text }), || text.clone())?;
    Ok(Ending::Done)
}

fn show_path(context: &Context, target: &Path) -> anyhow::Result<Ending> {
    let Some(name) = SimulatedName::of(target).transpose()? else { return Ok(Ending::Done) };
    let SimulatedName { machine, volume, settings } = name;
    let text = machine_text(&machine)?;
    // As `io` does, so the same settings are accepted.
    let made = Simulated::of_file(&machine, &text, &volume, &settings);
    let made = made.and_then(|made| Simulated::reject_ineffective([&made]).map(|()| made));
    let made = made.map_err(usage)?;
    let (target, description) = (target.display().to_string(), made.description());
    let text = format!("# {target}: {description}\n{}", made.text().map_err(usage)?);
    context.print(&json!({ "target": target, "description": description, "text": text }), || text.clone())?;
    Ok(Ending::Done)
}
