//! The commands of the user that set up an arm of a run.

use anyhow::{Context as _, bail};
use halfpower_model::Cancel;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// The time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a command by `sh -c`, in its own process group. Ends all of the group when cancelled, which is no failure.
///
/// # Errors
/// If it cannot be started or fails, with its status and what it wrote on standard error.
pub(super) fn run(command: &str, cancel: &Cancel) -> anyhow::Result<()> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let cannot = || format!("cannot start `sh -c` for the command `{command}`");
    let mut child = shell.spawn().with_context(cannot)?;
    let stderr = child.stderr.take();
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        // A failure keeps the bytes read before it.
        let _ = stderr.map(|mut stderr| stderr.read_to_end(&mut said));
        said
    });
    let Some(status) = wait(&mut child, cancel).with_context(cannot)? else { return Ok(()) };
    if !status.success() {
        let said = said.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said = if said.trim().is_empty() { "nothing on standard error" } else { said.trim() };
        bail!("the command `{command}` failed with {status}: {said}");
    }
    Ok(())
}

/// Its status; none if it was cancelled.
fn wait(child: &mut Child, cancel: &Cancel) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if cancel.is_cancelled() {
            // It may have ended just now.
            let _ = Pid::from_raw(child.id() as i32).map(|group| kill_process_group(group, Signal::KILL));
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::run;
    use halfpower_model::Cancel;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_failure_names_command_status_and_reason() {
        run("exit 0", &Cancel::default()).unwrap();
        let error = run("echo no such mount >&2; exit 7", &Cancel::default()).unwrap_err().to_string();
        let parts = ["`echo no such mount >&2; exit 7`", "exit status: 7", ": no such mount"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }

    #[test]
    fn a_command_that_hangs_ends_with_all_that_it_started_when_cancelled() {
        let begun = Instant::now();
        run("sleep 600 & sleep 600", &Cancel::from_flag(Arc::new(true.into()))).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
