//! The password of a server's user, asked for on the terminal where nothing else gives it.

use halfpower_engine::{needs_password, remember_password};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// Asks once, if a target names a user and nobody has said the password. Without a terminal nothing is asked.
///
/// # Errors
/// The terminal's.
pub(super) fn ask_for(targets: &[PathBuf]) -> io::Result<()> {
    let Some(target) = targets.iter().find(|target| names_user(target)).filter(|_| needs_password()) else {
        return Ok(());
    };
    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else { return Ok(()) };
    write!(terminal, "Password for {}: ", target.display())?;
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    writeln!(terminal)?;
    read?;
    remember_password(line.trim_end_matches('\n').to_owned());
    Ok(())
}

/// Whether a name is `smb://USER@…`.
fn names_user(target: &Path) -> bool {
    let rest = target.to_str().and_then(|text| text.strip_prefix("smb://").or_else(|| text.strip_prefix("cifs://")));
    rest.and_then(|rest| rest.split('/').next()).is_some_and(|authority| authority.contains('@'))
}
