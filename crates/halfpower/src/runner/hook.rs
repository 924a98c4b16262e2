//! The commands of the user that set up an arm of a run.

use anyhow::{Context as _, bail};
use std::process::{Command, Stdio};

/// Runs a command by `sh -c`.
///
/// # Errors
/// If it cannot be started or fails, with its status and what it wrote on standard error.
pub(super) fn run(command: &str) -> anyhow::Result<()> {
    let output = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start `sh -c` for the command `{command}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = if said.trim().is_empty() { "nothing on standard error" } else { said.trim() };
        bail!("the command `{command}` failed with {}: {said}", output.status);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_failure_names_command_status_and_reason() {
        run("exit 0").unwrap();
        let error = run("echo no such mount >&2; exit 7").unwrap_err().to_string();
        let parts = ["`echo no such mount >&2; exit 7`", "exit status: 7", ": no such mount"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
