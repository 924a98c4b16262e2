//! The command line: parses it, runs the command and returns the exit status.

mod ab;
mod compare;
mod doctor;
mod export;
mod failure;
mod fio;
mod fio_names;
mod history;
mod import;
mod io;
mod limits;
mod manual;
mod plan;
mod plugin;
mod replay;
mod report;
mod run;
mod runs;
mod sample_text;
#[cfg(feature = "serve")]
mod serve;
mod study;
mod trace;
mod workload;

use crate::command::context::{Context, Ending, Global};
use crate::command::interrupts::Interrupts;
use crate::command::{clock, interrupts, number, session};
use crate::console::Console;
use crate::instrument::{drop_cache, files, idle, inspect, link, map, memory};
use crate::sanitize::sanitize;
use crate::simulator::command as sim;
use crate::target;
use crate::text::{UsageError, causes, counted, quoted, refuse};
use clap::{CommandFactory, Parser, Subcommand};
use halfpower_engine::mpi::{self, Ranks};

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Measure throughput, latency and CPU cost of storage, and find the bottleneck.
#[derive(Debug, Parser)]
#[command(name = "halfpower", bin_name = "halfpower", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  halfpower run .                      survey the storage under this directory, about one minute
  halfpower run --quick /mnt/data      a shorter survey, half a minute
  halfpower ab /mnt/old /mnt/new       compare two targets, or settings, about one minute
  halfpower io file --op read --pattern random --request-size 4KiB --depth 32 --buffering direct

Exit status: 0 done; 1 failed; 2 wrong usage or study; 3 compare or ab found a regression, or the
storage sustains less than --expect; 4 compare or ab is undecided; 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Survey the storage under a path: measure, explain, write a report
    Run(run::Arguments),
    /// Run or resume a study (a parameter sweep in a TOML file); list, show or check studies
    Study(study::Arguments),
    /// Show what a study would measure, or emit it as a shell script or fio job
    Plan(plan::Arguments),
    /// Run one workload
    ///
    /// Targets are files, block devices, directories (which get test files, removed afterwards), volumes of
    /// simulated machines, and `null:` for no I/O. A file that does not exist is created if --size is given, and is not
    /// removed. Existing data is never overwritten without --overwrite, a block device in use never. Several targets have
    /// a worker each, or form one volume with --layout.
    Io(Box<io::Arguments>),
    Fio(fio::Arguments),
    Limits(limits::Arguments),
    Files(files::Arguments),
    Memory(memory::Arguments),
    Inspect(inspect::Arguments),
    DropCache(drop_cache::Arguments),
    Link(link::Arguments),
    Map(map::Arguments),
    Idle(idle::Arguments),
    /// List, show or remove stored runs
    Runs(runs::Arguments),
    /// Write a stored run's report again
    Report(report::Arguments),
    Compare(compare::Arguments),
    Ab(Box<ab::Arguments>),
    History(history::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Trace(trace::Arguments),
    Replay(Box<replay::Arguments>),
    Sim(sim::Arguments),
    /// Check which measurements work on this host, and how to enable the others
    Doctor(doctor::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
    Mpi(manual::Mpi),
}

/// The exit status of wrong usage.
const WRONG_USAGE: u8 = 2;

/// Parses the command line and runs it.
pub(crate) fn main() -> ExitCode {
    let status = answered();
    mpi::abort_if_lost();
    status
}

fn answered() -> ExitCode {
    halfpower_engine::Clock::begin_calibration();
    let typed = std::env::args_os().skip(1).map(quoted).collect::<Vec<_>>().join(" ");
    let console = Console::new();
    if let Err(error) = refuse_other_than_text() {
        let message = error.to_string();
        console.error(&error.into(), false);
        if failure::has_json_option(std::env::args_os()) {
            failure::print(&console, &message, WRONG_USAGE);
        }
        return ExitCode::from(WRONG_USAGE);
    }
    let cli = match Cli::try_parse_from(number::with_negatives_bound(arguments_of_rank())) {
        Ok(cli) => cli,
        Err(error) => {
            return not_understood(&console, &error);
        }
    };
    let json = cli.global.json;
    let console = console.with(cli.global.color, cli.global.plain, cli.global.quiet);
    let console = if cli.global.tui { console.on_the_whole_terminal() } else { console };
    let (status, why) = match run(cli, console.clone(), typed) {
        Ok(ending) => (ending.status(), ending.why().to_owned()),
        Err(error) if session::is_closed_pipe(&error) => return ExitCode::SUCCESS,
        Err(error) => {
            failure::report(&console, &error);
            (if is_usage(&error) { WRONG_USAGE } else { 1 }, causes(error.as_ref()))
        }
    };
    if json && status != 0 {
        failure::print(&console, &why, status);
    }
    ExitCode::from(status)
}

/// The arguments; of one of several processes with its rank and host in place of {rank} and {host}.
fn arguments_of_rank() -> impl Iterator<Item = OsString> {
    let own = mpi::started_as().map(|(rank, _)| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        [("{rank}", rank.to_string()), ("{host}", host)]
    });
    std::env::args_os().map(move |argument| match (&own, argument.to_str()) {
        (Some(own), Some(text)) => {
            own.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value)).into()
        }
        _ => argument,
    })
}

/// Rejects names that are not UTF-8. Names are stored as text, so such a name would be another one when read again.
fn refuse_other_than_text() -> Result<(), UsageError> {
    let directory = std::env::current_dir().ok().map(PathBuf::into_os_string);
    let named = std::env::args_os().skip(1).map(|argument| ("the argument", argument, "use a link to it"));
    for (what, name, or) in named.chain(directory.map(|name| ("the current directory", name, "start in another"))) {
        if let Err(name) = name.into_string() {
            let name = name.display();
            refuse!("{what} {name} is not UTF-8, as every name here has to be; rename it, or {or}");
        }
    }
    Ok(())
}

/// Prints clap's answer: help and version on standard output with status 0, mistakes on standard error with status 2.
fn not_understood(console: &Console, error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // It quotes nothing of the command line. It fails only if standard output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // Parsed once more with control characters replaced, because the error quotes arguments.
    let arguments = std::env::args().map(|argument| sanitize(&argument).into_owned().into());
    let quoting = Cli::try_parse_from(number::with_negatives_bound(arguments)).err();
    match &quoting {
        Some(error) => drop(error.print()),
        None => {
            console.error(&UsageError("the command line has characters that steer a terminal".to_owned()).into(), false)
        }
    }
    if failure::has_json_option(std::env::args_os()) {
        failure::print(console, &failure::not_understood(quoting.as_ref().unwrap_or(error)), WRONG_USAGE);
    }
    ExitCode::from(WRONG_USAGE)
}

impl Ending {
    fn status(self) -> u8 {
        match self {
            Ending::Done => 0,
            Ending::Failed => 1,
            Ending::WrongUsage => WRONG_USAGE,
            Ending::Regression => 3,
            Ending::Undecided => 4,
            Ending::Interrupted => 130,
        }
    }

    /// The reason in the JSON document.
    fn why(self) -> &'static str {
        match self {
            Ending::Interrupted => "interrupted before there was a result",
            _ => "standard error says what is wrong",
        }
    }
}

fn run(cli: Cli, console: Console, typed: String) -> anyhow::Result<Ending> {
    clock::check(std::time::SystemTime::now())?;
    interrupts::outgrow_no_limit()?;
    let (ending, is_json) = (console.clone(), cli.global.json);
    let interrupts = Interrupts::watch(move || {
        if is_json {
            failure::print(&ending, Ending::Interrupted.why(), Ending::Interrupted.status());
        }
    })?;
    let ranks = join_ranks(&cli.command)?;
    let console = if ranks.as_ref().is_some_and(|ranks| ranks.rank() > 0) { console.silent() } else { console };
    if let Some(cpus) = ranks.as_ref().and_then(|_| mpi::bound_to()) {
        console.warning(&format!(
            "Open MPI binds each process to {}; unless that is meant, start them with mpirun --bind-to none",
            counted(cpus as usize, "CPU")
        ));
    }
    let context = Context { global: cli.global, console, interrupts, typed, ranks };
    let result = match &context.ranks {
        Some(ranks) if context.follows() => target::wait_for_first(ranks),
        _ => Ok(()),
    };
    let result = result.and_then(|()| carry_out(cli.command, &context));
    match (&context.ranks, result) {
        (None, result) => result,
        (Some(ranks), result) if !context.follows() => {
            let dismissed = target::dismiss(ranks);
            result.and_then(|ending| dismissed.map(|()| ending).map_err(Into::into))
        }
        (Some(_), Err(error)) if error.is::<target::Followed>() => Ok(Ending::Done),
        (Some(ranks), result) => {
            // Rank 0 says what is wrong with it.
            let why = result.err().map_or("it has no target".to_owned(), |error| causes(error.as_ref()));
            target::follow_without_target(ranks, &why)?;
            Ok(Ending::Done)
        }
    }
}

/// The other processes of an MPI launcher; none of a program that was started alone.
fn join_ranks(command: &Command) -> anyhow::Result<Option<Arc<Ranks>>> {
    if mpi::started_as().is_none() || matches!(command, Command::Mpi(_)) {
        return Ok(None);
    }
    use Command::{Files, Io, Limits, Replay, Run, Study};
    if !matches!(command, Io(_) | Run(_) | Limits(_) | Study(_) | Replay(_) | Files(_)) {
        refuse!(
            "of several processes of an MPI launcher, io, run, limits, study run, replay and files make one result; start this one alone"
        );
    }
    Ok(Some(Arc::new(Ranks::join()?)))
}

fn carry_out(command: Command, context: &Context) -> anyhow::Result<Ending> {
    match command {
        Command::Run(arguments) => run::run(context, &arguments),
        Command::Study(arguments) => study::run(context, &arguments),
        Command::Plan(arguments) => plan::run(context, &arguments),
        Command::Io(arguments) => io::run(context, &arguments),
        Command::Fio(arguments) => fio::run(context, &arguments),
        Command::Limits(arguments) => limits::run(context, &arguments),
        Command::Files(arguments) => files::run(context, &arguments),
        Command::Memory(arguments) => memory::run(context, &arguments),
        Command::Inspect(arguments) => inspect::run(context, &arguments),
        Command::DropCache(arguments) => drop_cache::run(context, &arguments),
        Command::Link(arguments) => link::run(context, &arguments),
        Command::Map(arguments) => map::run(context, &arguments),
        Command::Idle(arguments) => idle::run(context, &arguments),
        Command::Runs(arguments) => runs::run(context, &arguments),
        Command::Report(arguments) => report::run(context, &arguments),
        Command::Compare(arguments) => compare::run(context, &arguments),
        Command::History(arguments) => history::run(context, &arguments),
        Command::Ab(arguments) => ab::run(context, &arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(context, &arguments),
        Command::Export(arguments) => export::run(context, &arguments),
        Command::Trace(arguments) => trace::run(context, &arguments),
        Command::Replay(arguments) => replay::run(context, &arguments),
        Command::Sim(arguments) => sim::run(context, &arguments),
        Command::Import(arguments) => import::run(context, &arguments),
        Command::Doctor(arguments) => doctor::run(context, &arguments),
        Command::Completions(arguments) => manual::completions(context, &arguments, Cli::command()),
        Command::Man(arguments) => manual::man(context, &arguments, Cli::command()),
        Command::Mpi(arguments) => manual::mpi(context, &arguments),
    }
}

fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let is_of_file = cause.is::<crate::study::StudyErrors>() || cause.is::<crate::fio::job::JobErrors>();
        cause.is::<UsageError>() || is_of_file || cause.is::<crate::plan::PlanError>()
    })
}

#[cfg(test)]
mod tests;
