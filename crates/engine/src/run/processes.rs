//! Workers as processes of their own: forked, let go by the gate they share, and heard.
//!
//! All are forked by one thread before this run has others, and one thread hears what they say, so that nobody else sees
//! a difference. Counters, cursors, the gate, the stop flag and the ledger lie in memory that all see.

use super::gate::Start;
use super::{Event, Link, Shared, panic_message};
use crate::personality::{Granted, Personality};
use crate::worker::Outcome;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How often it is looked whether a process is gone, and whether all are to end.
const LOOK: Duration = Duration::from_millis(200);

/// The largest piece of what a process says: a datagram, with the worker's number before it.
const PIECE: usize = 16 << 10;
const NUMBER: usize = size_of::<u32>();

/// What a worker's process says, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Ready(Result<Granted, Error>),
    Ended(Result<Outcome, Error>),
}

/// An error that goes from process to process.
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
    index: u32,
    says: UnixDatagram,
}

impl ChildLink {
    fn say(&self, said: &Said) {
        // Nobody listens any more where this fails: the parent is gone, and this process soon will be.
        let Ok(mut line) = serde_json::to_vec(said) else { return };
        line.push(b'\n');
        for piece in line.chunks(PIECE) {
            let datagram = [&self.index.to_le_bytes(), piece].concat();
            while self.says.send(&datagram).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        }
    }
}

impl Link for ChildLink {
    fn ready(&self, told: io::Result<Granted>) {
        self.say(&Said::Ready(told.map_err(Error::from)));
    }
}

/// The parent's side of all workers.
pub(super) struct Processes<'a> {
    shared: &'a Shared<'a>,
    hears: UnixDatagram,
    children: Vec<Child>,
}

/// The parent's side of one.
struct Child {
    pid: Pid,
    /// What was heard and makes no line yet.
    heard: Vec<u8>,
    is_ready: bool,
    /// What became of its process, once it was waited for.
    status: Option<WaitStatus>,
    /// Since when it has been seen to be stopped, and how long it was before.
    stopped_at: Option<Instant>,
    stopped: Duration,
    outcome: Option<io::Result<Outcome>>,
}

impl<'a> Processes<'a> {
    /// Forks every worker.
    ///
    /// # Errors
    /// The kernel's; the workers forked until then are waited for, and the gate of the run is for nobody else any more.
    pub(super) fn fork<P: Personality>(shared: &'a Shared<'a>) -> io::Result<Processes<'a>> {
        let (hears, says) = UnixDatagram::pair()?;
        hears.set_read_timeout(Some(LOOK))?;
        let mut processes = Processes { shared, hears, children: Vec::new() };
        for index in 0..shared.workload.workers {
            // SAFETY: the child runs this crate's own code only. glibc makes its allocator usable in it; locks that other
            // threads hold at this moment (of standard error, of the progress bar) are not touched, and it ends with
            // _exit.
            match unsafe { libc::fork() } {
                -1 => {
                    let error = io::Error::last_os_error();
                    shared.gate().open(Start::Never);
                    // Nobody hears them any more, and they do not wait for it.
                    drop(processes.hears);
                    wait_for_all(&mut processes.children);
                    return Err(error);
                }
                0 => {
                    drop(processes);
                    be_child::<P>(shared, &ChildLink { index, says })
                }
                pid => {
                    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("a process without a number"))?;
                    let child = Child {
                        pid,
                        heard: Vec::new(),
                        is_ready: false,
                        status: None,
                        stopped_at: None,
                        stopped: Duration::ZERO,
                        outcome: None,
                    };
                    processes.children.push(child);
                }
            }
        }
        Ok(processes)
    }

    /// Relays what they say until all have ended; gives what each ended with.
    pub(super) fn relay(mut self, events: &Sender<Event>) -> Vec<io::Result<Outcome>> {
        let mut looked_at = Instant::now();
        while self.children.iter().any(|child| child.outcome.is_none()) {
            self.hear(events);
            if looked_at.elapsed() >= LOOK {
                self.look(events);
                looked_at = Instant::now();
            }
        }
        wait_for_all(&mut self.children);
        self.children.into_iter().filter_map(|child| child.outcome).collect()
    }

    /// Takes the next piece of what one of them says, where there is one; false where there is none.
    fn hear(&mut self, events: &Sender<Event>) -> bool {
        let mut piece = [0; NUMBER + PIECE];
        let Ok(length) = self.hears.recv(&mut piece) else { return false };
        let Some((number, text)) = piece[..length].split_first_chunk::<NUMBER>() else { return true };
        let Some(child) = self.children.get_mut(u32::from_le_bytes(*number) as usize) else { return true };
        child.heard.extend_from_slice(text);
        if child.heard.last() == Some(&b'\n') {
            let said = serde_json::from_slice(&child.heard)
                .unwrap_or_else(|error| Said::Ended(Err(io::Error::other(error).into())));
            child.heard.clear();
            child.take(said, events);
        }
        true
    }

    /// Looks whether a process is gone without a word. Once all are to end, one that somebody has stopped is made to go on,
    /// so that it hears it.
    fn look(&mut self, events: &Sender<Event>) {
        let is_over = self.shared.stop().load(Relaxed) || self.shared.is_over();
        let mut some_are_gone = false;
        for child in self.children.iter_mut().filter(|child| child.outcome.is_none()) {
            if is_over {
                // One that runs does not notice; one that is gone needs nothing.
                let _ = kill_process(child.pid, Signal::CONT);
            }
            child.wait(WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED);
            some_are_gone |= child.status.is_some();
        }
        if !some_are_gone {
            return;
        }
        // What they said before lies here.
        let _ = self.hears.set_nonblocking(true);
        while self.hear(events) {}
        let _ = self.hears.set_nonblocking(false);
        for child in self.children.iter_mut().filter(|child| child.outcome.is_none()) {
            if let Some(status) = child.status {
                self.shared.stop().store(true, Relaxed);
                child.take(Said::Ended(Err(io::Error::other(how_it_ended(status)).into())), events);
            }
        }
    }
}

fn wait_for_all(children: &mut [Child]) {
    children.iter_mut().for_each(|child| child.wait(WaitOptions::empty()));
}

impl Child {
    fn wait(&mut self, options: WaitOptions) {
        if self.status.is_none() {
            // An error: somebody else has waited for it.
            let status = waitpid(Some(self.pid), options).ok().flatten().map(|(_, status)| status);
            match status {
                Some(status) if status.stopped() => self.stopped_at = Some(Instant::now()),
                Some(status) if status.continued() => self.go_on(),
                gone => self.status = gone,
            }
        }
    }

    /// It is not stopped any more.
    fn go_on(&mut self) {
        self.stopped += self.stopped_at.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    fn take(&mut self, said: Said, events: &Sender<Event>) {
        // The receiver outlives this; were it gone, nobody would be waiting.
        match said {
            Said::Ready(told) => {
                self.is_ready = true;
                let _ = events.send(Event::Ready(told.map_err(io::Error::from)));
            }
            Said::Ended(outcome) => {
                self.go_on();
                let outcome =
                    outcome.map(|outcome| Outcome { stopped: self.stopped, ..outcome }).map_err(io::Error::from);
                if let Err(error) = &outcome
                    && !self.is_ready
                {
                    let _ = events.send(Event::Ready(Err(io::Error::other(error.to_string()))));
                }
                self.outcome = Some(outcome);
                let _ = events.send(Event::Done);
            }
        }
    }
}

/// The worker itself. Never returns.
fn be_child<P: Personality>(shared: &Shared<'_>, link: &ChildLink) -> ! {
    // SAFETY: both set numbers of this process and touch no memory. It dies with the thread that forked it, and leaves
    // Ctrl-C to its parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    let ended = catch_unwind(AssertUnwindSafe(|| super::work::<P>(shared, link.index, link)));
    let ended = ended.unwrap_or_else(|panic| {
        shared.stop().store(true, Relaxed);
        Err(io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref()))))
    });
    link.say(&Said::Ended(ended.map_err(Error::from)));
    // SAFETY: ends the process without running what the parent's other threads registered.
    unsafe { libc::_exit(0) }
}

fn how_it_ended(status: WaitStatus) -> String {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("its process was killed by signal {signal}"),
        (_, Some(code)) => format!("its process ended with status {code}"),
        _ => "its process ended".to_owned(),
    }
}
