//! A worker as a process of its own: forked, told when to start and heard through pipes.
//!
//! The thread that would have been the worker forks it and relays what it says, so that nobody else sees a difference.
//! Counters, cursors, the stop flag and the ledger lie in memory that both see.

use super::{Link, Shared, Start, ThreadLink, panic_message};
use crate::personality::{Granted, Personality};
use crate::worker::Outcome;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How often it is looked whether all are to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What a worker's process says, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Ready(Result<Granted, Error>),
    Ended(Result<Outcome, Error>),
}

/// An error that goes through a pipe.
#[derive(Debug, Serialize, Deserialize)]
struct Error {
    errno: Option<i32>,
    text: String,
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error { errno: error.raw_os_error(), text: error.to_string() }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        error.errno.map_or_else(|| io::Error::other(error.text), io::Error::from_raw_os_error)
    }
}

/// The child's side.
struct ChildLink {
    says: File,
    hears: File,
}

impl ChildLink {
    fn say(&self, said: &Said) {
        // Nobody listens any more: the parent is gone, and this process soon will be.
        let _ = serde_json::to_writer(&self.says, said).map(|()| (&self.says).write_all(b"\n"));
    }
}

impl Link for ChildLink {
    fn ready(&self, told: io::Result<Granted>) {
        self.say(&Said::Ready(told.map_err(Error::from)));
    }

    fn wait(&self) -> Start {
        let mut tick = [0; 8];
        match (&self.hears).read_exact(&mut tick) {
            Ok(()) => Start::At(u64::from_le_bytes(tick)),
            Err(_) => Start::Never,
        }
    }
}

/// The parent's side of a forked worker.
struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    hears: File,
    /// What was heard and not yet taken.
    heard: Vec<u8>,
}

/// Runs a worker in a process of its own, and relays.
pub(super) fn work<P: Personality>(shared: &Shared<'_>, index: u32, link: &ThreadLink<'_>) -> io::Result<Outcome> {
    match fork::<P>(shared, index) {
        Ok((mut child, to_child)) => {
            let outcome = child.relay(to_child, link);
            if outcome.is_err() {
                shared.stop().store(true, Relaxed);
            }
            outcome
        }
        // Whoever waits for all to be ready tells why this one is not.
        Err(error) => {
            link.ready(Err(error));
            Ok(Outcome::default())
        }
    }
}

/// A worker's process, and what it hears through.
fn fork<P: Personality>(shared: &Shared<'_>, index: u32) -> io::Result<(Child, File)> {
    let (from_child, to_parent) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (from_parent, to_child) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // SAFETY: the child runs this crate's own code only. glibc makes its allocator usable in it; locks that other
    // threads hold at this moment (of standard error, of the progress bar) are not touched, and it ends with _exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop((from_child, to_child));
            let child = ChildLink { says: File::from(to_parent), hears: File::from(from_parent) };
            be_child::<P>(shared, index, &child)
        }
        pid => {
            drop((to_parent, from_parent));
            let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("a process without a number"))?;
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(pidfd) => {
                    let child = Child { pid, pidfd, hears: File::from(from_child), heard: Vec::new() };
                    Ok((child, File::from(to_child)))
                }
                Err(error) => {
                    end(pid);
                    waitpid(Some(pid), WaitOptions::empty())?;
                    Err(error.into())
                }
            }
        }
    }
}

/// The worker itself. Never returns.
fn be_child<P: Personality>(shared: &Shared<'_>, index: u32, link: &ChildLink) -> ! {
    // SAFETY: both set numbers of this process and touch no memory. It dies with the thread that forked it, and leaves
    // Ctrl-C to its parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    let ended = catch_unwind(AssertUnwindSafe(|| super::work::<P>(shared, index, link)));
    let ended = ended.unwrap_or_else(|panic| {
        shared.stop().store(true, Relaxed);
        Err(io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref()))))
    });
    link.say(&Said::Ended(ended.map_err(Error::from)));
    // SAFETY: ends the process without running what the parent's other threads registered.
    unsafe { libc::_exit(0) }
}

impl Child {
    fn relay(&mut self, to_child: File, link: &ThreadLink<'_>) -> io::Result<Outcome> {
        let told = match self.listen(link.stop) {
            Ok(Said::Ready(told)) => told.map_err(io::Error::from),
            Ok(Said::Ended(_)) => Err(io::Error::other("it ended before it was ready")),
            Err(error) => Err(error),
        };
        link.ready(told);
        let started = match link.wait() {
            Start::At(tick) => (&to_child).write_all(&tick.to_le_bytes()),
            // Other children hold this pipe's end too, so that closing it would not tell it.
            Start::Never => {
                end(self.pid);
                Ok(())
            }
        };
        let said = started.and_then(|()| self.listen(link.stop));
        let status = waitpid(Some(self.pid), WaitOptions::empty())?;
        match said {
            Ok(Said::Ended(outcome)) => outcome.map_err(io::Error::from),
            Ok(Said::Ready(_)) => Err(io::Error::other("it said twice that it was ready")),
            Err(error) => Err(status.map_or(error, |(_, status)| io::Error::other(how_it_ended(status)))),
        }
    }

    /// The next thing it says. Once all are to end, one that somebody has stopped is made to go on, so that it hears it.
    fn listen(&mut self, stop: &AtomicBool) -> io::Result<Said> {
        loop {
            if stop.load(Relaxed) {
                // One that runs does not notice; one that is gone needs nothing.
                let _ = kill_process(self.pid, Signal::CONT);
            }
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(io::Error::other);
            }
            // Other children hold this pipe's end too: that it is closed says nothing, its process ending does.
            let mut events = [PollFd::new(&self.hears, PollFlags::IN), PollFd::new(&self.pidfd, PollFlags::IN)];
            match poll(&mut events, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let [spoke, _] = events.map(|event| !event.revents().is_empty());
            let mut bytes = [0; 4096];
            let count = if spoke { self.hears.read(&mut bytes)? } else { 0 };
            if count == 0 {
                return Err(io::Error::other("its process ended without a word"));
            }
            self.heard.extend_from_slice(&bytes[..count]);
        }
    }
}

/// Ends a child that has begun nothing.
fn end(pid: Pid) {
    // One that is gone already needs nothing.
    let _ = kill_process(pid, Signal::KILL);
}

fn how_it_ended(status: WaitStatus) -> String {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("its process was killed by signal {signal}"),
        (_, Some(code)) => format!("its process ended with status {code}"),
        _ => "its process ended".to_owned(),
    }
}
