//! `halfpower completions` and `halfpower man`.

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
