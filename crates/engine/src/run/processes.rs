//! Workers that are processes: starts them, relays their messages, and notices one that dies or is stopped.
//!
//! One thread hears all of them, so the rest of a run sees no difference from threads. Counters, cursors, the barrier, the stop
//! flag and the ledger lie in memory that all share.

use super::state::{Event, Shared};
use super::worker_process::{CHUNK, Launcher, Message, NUMBER};
use crate::worker::Outcome;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Interval of checks for processes that are gone and for the end of the run.
const LOOK: Duration = Duration::from_millis(200);

/// All worker processes of a run.
pub(super) struct Processes<'a> {
    shared: &'a Shared<'a>,
    hears: UnixDatagram,
    children: Vec<Child>,
}

/// One worker process.
struct Child {
    pid: Pid,
    /// The received part of a message.
    heard: Vec<u8>,
    is_ready: bool,
    /// Its exit status, once it was waited for.
    status: Option<WaitStatus>,
    /// Since when it is stopped, and how long it was stopped before.
    stopped_at: Option<Instant>,
    stopped: Duration,
    outcome: Option<io::Result<Outcome>>,
}

impl<'a> Processes<'a> {
    /// Starts every worker.
    ///
    /// # Errors
    /// The kernel's; the workers started until then have ended.
    pub(super) fn start(shared: &'a Shared<'a>) -> io::Result<Processes<'a>> {
        let (hears, says) = UnixDatagram::pair()?;
        hears.set_read_timeout(Some(LOOK))?;
        let launcher = Launcher::new(shared)?;
        let mut processes = Processes { shared, hears, children: Vec::new() };
        for index in 0..shared.workload.workers {
            match launcher.start(index, &says) {
                Ok(pid) => processes.children.push(Child::new(pid)),
                Err(error) => {
                    end_all(&mut processes.children);
                    return Err(error);
                }
            }
        }
        Ok(processes)
    }

    /// Relays their messages until all have ended; returns the outcome of each.
    pub(super) fn relay(mut self, events: &Sender<Event>) -> Vec<io::Result<Outcome>> {
        let mut looked_at = Instant::now();
        while self.children.iter().any(|child| child.outcome.is_none()) {
            self.hear(events);
            if looked_at.elapsed() >= LOOK {
                self.look(events);
                looked_at = Instant::now();
            }
        }
        end_all(&mut self.children);
        self.children.into_iter().filter_map(|child| child.outcome).collect()
    }

    /// Receives the next datagram; false where there is none.
    fn hear(&mut self, events: &Sender<Event>) -> bool {
        let mut piece = [0; NUMBER + CHUNK];
        let Ok(length) = self.hears.recv(&mut piece) else { return false };
        let Some((number, text)) = piece[..length].split_first_chunk::<NUMBER>() else { return true };
        let Some(child) = self.children.get_mut(u32::from_le_bytes(*number) as usize) else { return true };
        child.heard.extend_from_slice(text);
        if child.heard.last() == Some(&b'\n') {
            let message = serde_json::from_slice(&child.heard)
                .unwrap_or_else(|error| Message::Ended(Err(io::Error::other(error).into())));
            child.heard.clear();
            child.take(message, events);
        }
        true
    }

    /// Finds processes that died without a message. At the end of the run, continues stopped ones so that they can end.
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
        // Their last messages may still be queued.
        let _ = self.hears.set_nonblocking(true);
        while self.hear(events) {}
        let _ = self.hears.set_nonblocking(false);
        for child in self.children.iter_mut().filter(|child| child.outcome.is_none()) {
            if let Some(status) = child.status {
                self.shared.stop().store(true, Relaxed);
                child.take(Message::Ended(Err(io::Error::other(how_it_ended(status)).into())), events);
            }
        }
    }
}

/// Ends the processes, which have nothing left to do, and waits for them. One that somebody has stopped would not end by
/// itself.
fn end_all(children: &mut [Child]) {
    for child in children.iter_mut().filter(|child| child.status.is_none()) {
        // One that is gone needs nothing.
        let _ = kill_process(child.pid, Signal::KILL);
        child.wait(WaitOptions::empty());
    }
}

impl Child {
    fn new(pid: Pid) -> Child {
        let stopped = Duration::ZERO;
        Child { pid, heard: Vec::new(), is_ready: false, status: None, stopped_at: None, stopped, outcome: None }
    }

    fn wait(&mut self, options: WaitOptions) {
        if self.status.is_none() {
            // An error means that it was waited for elsewhere.
            let status = waitpid(Some(self.pid), options).ok().flatten().map(|(_, status)| status);
            match status {
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

    fn take(&mut self, message: Message, events: &Sender<Event>) {
        // The receiver outlives this; were it gone, nobody would be waiting.
        match message {
            Message::Ready(granted) => {
                self.is_ready = true;
                let _ = events.send(Event::Ready(granted.map_err(io::Error::from)));
            }
            Message::Ended(outcome) => {
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

fn how_it_ended(status: WaitStatus) -> String {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("its process was killed by signal {signal}"),
        (_, Some(code)) => format!("its process ended with status {code}"),
        _ => "its process ended".to_owned(),
    }
}
