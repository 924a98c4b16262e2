//! A worker that is a process: a thread of its own here starts it, hears it, and notices if it dies or is stopped.
//!
//! So the rest of a run sees no difference from threads. Counters, cursors, the barrier, the stop flag and the ledger lie in
//! memory that all share.

use super::state::{Ready, Shared};
use super::worker_process::Message;
use crate::worker::Outcome;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Interval of checks whether the process was stopped.
const LOOK: Duration = Duration::from_millis(200);

/// A worker's process; ended when dropped.
pub(super) struct Child {
    pid: Pid,
    hears: BufReader<UnixStream>,
    /// Its exit status, once it was waited for.
    status: Option<WaitStatus>,
    /// Since when it is stopped, and how long it was stopped before.
    stopped_at: Option<Instant>,
    stopped: Duration,
}

impl Child {
    pub(super) fn new(pid: Pid, hears: UnixStream) -> io::Result<Child> {
        hears.set_read_timeout(Some(LOOK))?;
        let hears = BufReader::new(hears);
        Ok(Child { pid, hears, status: None, stopped_at: None, stopped: Duration::ZERO })
    }

    /// Relays its messages until it has ended.
    ///
    /// # Errors
    /// The worker's, or how the process ended.
    pub(super) fn follow(mut self, shared: &Shared<'_>, ready: Ready<'_>) -> io::Result<Outcome> {
        let mut is_ready = false;
        let ended = loop {
            match self.message(shared) {
                Ok(Message::Ready(granted)) => {
                    is_ready = true;
                    ready(granted.map_err(io::Error::from));
                }
                Ok(Message::Ended(outcome)) => break outcome.map_err(io::Error::from),
                Err(error) => {
                    shared.stop().store(true, Relaxed);
                    break Err(error);
                }
            }
        };
        if let Err(error) = &ended
            && !is_ready
        {
            ready(Err(io::Error::other(error.to_string())));
        }
        self.go_on();
        ended.map(|outcome| Outcome { stopped: self.stopped, ..outcome })
    }

    /// Its next message.
    fn message(&mut self, shared: &Shared<'_>) -> io::Result<Message> {
        let mut line = Vec::new();
        loop {
            match self.hears.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => return Ok(serde_json::from_slice(&line)?),
                Ok(_) => {
                    self.wait(WaitOptions::empty());
                    return Err(self.how_it_ended());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.status.is_some() {
                        return Err(self.how_it_ended());
                    }
                    if shared.stop().load(Relaxed) || shared.is_over() {
                        // It may be stopped, and is to end. One that runs does not notice.
                        let _ = kill_process(self.pid, Signal::CONT);
                    }
                    // If it is gone, its last message may still be there to be read.
                    self.wait(WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn wait(&mut self, options: WaitOptions) {
        if self.status.is_none() {
            // An error means that it was waited for elsewhere.
            match waitpid(Some(self.pid), options).ok().flatten().map(|(_, status)| status) {
                Some(status) if status.stopped() => self.stopped_at = Some(Instant::now()),
                Some(status) if status.continued() => self.go_on(),
                gone => self.status = gone,
            }
        }
    }

    /// It continues.
    fn go_on(&mut self) {
        self.stopped += self.stopped_at.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    fn how_it_ended(&self) -> io::Error {
        let status = self.status.map(|status| (status.terminating_signal(), status.exit_status()));
        io::Error::other(match status {
            Some((Some(signal), _)) => format!("its process was killed by signal {signal}"),
            Some((_, Some(code))) => format!("its process ended with status {code}"),
            _ => "its process ended".to_owned(),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status.is_none() {
            // It has nothing left to do, and one that somebody has stopped would not end by itself.
            let _ = kill_process(self.pid, Signal::KILL);
            self.wait(WaitOptions::empty());
        }
    }
}
