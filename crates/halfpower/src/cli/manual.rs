//! `halfpower completions`, `halfpower man` and `halfpower mpi`.

use crate::command::context::{Context, Ending};
use anyhow::Context as _;
use clap::{Args, Command};
use std::path::PathBuf;

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
/// `mpirun -n N halfpower io|run|limits|study run …` then measures with N processes from one instant on, and rank 0 keeps one
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
    match &arguments.directory {
        Some(directory) => {
            let failed = || format!("cannot write to {}", directory.display());
            clap_mangen::generate_to(command, directory).with_context(failed)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            context.console.print(&String::from_utf8(page)?)?;
        }
    }
    Ok(Ending::Done)
}
