//! A worker that is a process: a thread of this process reads its messages, and notices if it dies or is stopped.
//!
//! So the rest of a run is the same as with threads. Counters, cursors, the barrier, the stop flag and the ledger lie in memory
//! that all share.

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
    socket: BufReader<UnixStream>,
    /// Its exit status, once it was waited for.
    status: Option<WaitStatus>,
    /// Since when it is stopped, and how long it was stopped before.
    stopped_at: Option<Instant>,
    stopped: Duration,
}

impl Child {
    pub(super) fn new(pid: Pid, socket: UnixStream) -> io::Result<Child> {
        socket.set_read_timeout(Some(LOOK))?;
        let socket = BufReader::new(socket);
        Ok(Child { pid, socket, status: None, stopped_at: None, stopped: Duration::ZERO })
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
        self.note_continued();
        ended.map(|outcome| Outcome { stopped: self.stopped, ..outcome })
    }

    /// Its next message.
    fn message(&mut self, shared: &Shared<'_>) -> io::Result<Message> {
        let mut line = Vec::new();
        loop {
            match self.socket.read_until(b'\n', &mut line) {
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
                        // It must end, also if it is stopped. A running one ignores the signal.
                        let _ = kill_process(self.pid, Signal::CONT);
                    }
                    // If it has ended, its last message may still be unread.
                    self.wait(WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn wait(&mut self, options: WaitOptions) {
        if self.status.is_none() {
            // An error means that its status was taken elsewhere.
            match waitpid(Some(self.pid), options).ok().flatten().map(|(_, status)| status) {
                Some(status) if status.stopped() => self.stopped_at = Some(Instant::now()),
                Some(status) if status.continued() => self.note_continued(),
                ended => self.status = ended,
            }
        }
    }

    /// Adds the time since it was stopped.
    fn note_continued(&mut self) {
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
            // Its work is done, and a stopped process would not end by itself.
            let _ = kill_process(self.pid, Signal::KILL);
            self.wait(WaitOptions::empty());
        }
    }
}
