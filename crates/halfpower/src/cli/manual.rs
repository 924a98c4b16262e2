//! `halfpower completions`, `halfpower man` and `halfpower mpi`.

use crate::command::context::{Context, Ending};
use anyhow::Context as _;
use clap::{Args, Command};
use std::path::{Path, PathBuf};

const COMPLETIONS: &str = "\
Examples:
  halfpower completions bash > /etc/bash_completion.d/halfpower
  halfpower completions zsh > ~/.zfunc/_halfpower
  halfpower completions fish > ~/.config/fish/completions/halfpower.fish";

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(super) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

const MAN: &str = "\
Examples:
  halfpower man | man -l -
  halfpower man /usr/local/share/man/man1";

/// Print the manual page, or write one for each command
#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub(super) struct Man {
    /// Write the pages of all commands into this directory, and replace those there
    directory: Option<PathBuf>,
}

const MPI: &str = "\
Example:
  halfpower mpi > halfpower_mpi.c
  mpicc -shared -fPIC -O2 -o halfpower_mpi.so halfpower_mpi.c
  HALFPOWER_MPI=$PWD/halfpower_mpi.so mpirun -n 4 halfpower io '/mnt/data/{host}-{rank}' --size 1GiB";

/// Print the source of what connects this program with MPI, to compile with your MPI
///
/// `mpirun -n N halfpower io|run|limits|study run|replay|files …` then measures with N processes from one instant on, and rank 0 keeps one
/// result of all. {rank} and {host} in an argument stand for those of each process. halfpower_mpi.so is looked for beside the
/// program, or where HALFPOWER_MPI says.
#[derive(Debug, Args)]
#[command(after_help = MPI)]
pub(super) struct Mpi {}

pub(super) fn mpi(context: &Context, _: &Mpi) -> anyhow::Result<Ending> {
    context.console.print(include_str!("../../../../include/halfpower_mpi.c"))?;
    Ok(Ending::Done)
}

pub(super) fn completions(context: &Context, arguments: &Completions, mut command: Command) -> anyhow::Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "halfpower", &mut script);
    context.console.print(&String::from_utf8(script)?)?;
    Ok(Ending::Done)
}

pub(super) fn man(context: &Context, arguments: &Man, command: Command) -> anyhow::Result<Ending> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match &arguments.directory {
        Some(to) => write_pages(&command, to).with_context(|| format!("cannot write to {}", to.display()))?,
        None => context.console.print(&page(command)?.1)?,
    }
    Ok(Ending::Done)
}

/// Writes the pages of a command and of those below it.
fn write_pages(command: &Command, directory: &Path) -> anyhow::Result<()> {
    command.get_subcommands().try_for_each(|below| write_pages(below, directory))?;
    let (name, text) = page(command.clone())?;
    Ok(std::fs::write(directory.join(name), text)?)
}

/// A page with its file's name.
fn page(command: Command) -> anyhow::Result<(String, String)> {
    let page = clap_mangen::Man::new(command).source(concat!("halfpower ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Examples keep their lines.
    let text = String::from_utf8(text)?.replace(".SH EXTRA\n", ".SH EXAMPLES\n.nf\n");
    Ok((page.get_filename(), text.replace(".nf\nExamples:\n", ".nf\n")))
}
