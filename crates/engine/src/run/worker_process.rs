//! A worker's process: this program, started again by the measuring process, with an order in inherited memory.
//!
//! A process forked from one that has threads may make only async-signal-safe calls, and plug-ins, panics and libaio do
//! more. So each worker's process executes `/proc/self/exe`. `docs/decisions/worker-processes.md` has the figures.

use super::processes::Child;
use super::state::{Common, Shared};
use super::work::{panic_message, work};
use crate::instrument::clock::Clock;
use crate::personality::for_personality;
use crate::personality::interface::Granted;
use crate::shared_memory::{self, Handle, memory_file};
use crate::target::OpenTarget;
use crate::worker::ledger::{Ledger, LedgerHandle};
use crate::worker::{Outcome, Record};
use halfpower_model::Workload;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The environment variable that makes a process a worker: the descriptor of its order, a colon, its number.
const VARIABLE: &str = "HALFPOWER_WORKER";

/// A message of a worker's process: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    Ready(Result<Granted, Error>),
    Ended(Box<Result<Outcome, Error>>),
}

/// An error that crosses processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Error {
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

/// Everything that the workers of a run share, for processes that inherit its descriptors.
#[derive(Serialize, Deserialize)]
struct Order {
    parent: i32,
    workload: Workload,
    clock: Clock,
    targets: Vec<OpenTarget<RawFd>>,
    ledger: Option<LedgerHandle>,
    records: Handle,
    cursors: Handle,
    common: Handle,
}

/// Starts the processes of a run's workers.
pub(super) struct Launcher {
    /// The order, in memory.
    order: OwnedFd,
    /// Every descriptor that a process inherits.
    inherited: Vec<RawFd>,
}

impl Launcher {
    /// # Errors
    /// The kernel's.
    pub(super) fn new(shared: &Shared<'_>) -> io::Result<Launcher> {
        let order = Order {
            parent: getpid().as_raw_nonzero().get(),
            workload: shared.workload.clone(),
            clock: shared.clock,
            targets: shared.targets.iter().map(OpenTarget::handle).collect(),
            ledger: shared.ledger.map(|volumes| volumes.handle()),
            records: shared.records.handle(),
            cursors: shared.cursors.handle(),
            common: shared.common.handle(),
        };
        let memory = memory_file(c"halfpower order")?;
        let mut inherited = vec![memory.as_raw_fd()];
        inherited.extend(order.targets.iter().filter_map(|target| Some(target.file().ok()?.file)));
        inherited.extend(order.ledger.iter().flat_map(LedgerHandle::descriptors));
        inherited.extend([&order.records, &order.cursors, &order.common].map(|memory| memory.descriptor));
        let mut file = std::fs::File::from(memory);
        file.write_all(&serde_json::to_vec(&order)?)?;
        Ok(Launcher { order: file.into(), inherited })
    }

    /// Starts worker `index`. It ends with the calling thread.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn start(&self, index: u32) -> io::Result<Child> {
        let (own, childs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        // The argument names a test of the test program; other programs ignore it.
        command.arg0("halfpower").arg("worker_process").env(VARIABLE, format!("{}:{index}", self.order.as_raw_fd()));
        // Standard output belongs to the program's own results.
        command.stdin(OwnedFd::from(childs)).stdout(Stdio::null());
        let inherited = self.inherited.clone();
        let keep_open = move || {
            for descriptor in &inherited {
                // SAFETY: it changes a flag of a descriptor in the forked process and touches no memory.
                if unsafe { libc::fcntl(*descriptor, libc::F_SETFD, 0) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: between fork and exec it calls fcntl alone, which is async-signal-safe. It allocates nothing and takes no
        // lock. The descriptors are open: `shared` and this launcher own them.
        unsafe { command.pre_exec(keep_open) };
        let pid = Pid::from_raw(command.spawn()?.id() as i32);
        Child::new(pid.ok_or_else(|| io::Error::other("a process without a number"))?, own)
    }
}

/// Sends a message to the parent. If that fails, the parent is gone, and this process soon will be.
fn send(mut socket: &UnixStream, message: &Message) {
    let Ok(mut line) = serde_json::to_vec(message) else { return };
    line.push(b'\n');
    let _ = socket.write_all(&line);
}

/// Runs a worker if this process was started as one, and returns whether it was. Call it first in `main`: a process that
/// measures with worker processes starts its own program for each.
pub fn worker_process() -> bool {
    let Ok(order) = std::env::var(VARIABLE) else { return false };
    let Some((descriptor, index)) = order.split_once(':') else { return false };
    let Ok(index) = index.parse() else { return false };
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return true };
    let socket = UnixStream::from(socket);
    let ended = carry_out(descriptor, index, &socket);
    send(&socket, &Message::Ended(Box::new(ended.map_err(Error::from))));
    true
}

fn carry_out(descriptor: &str, index: u32, socket: &UnixStream) -> io::Result<Outcome> {
    leave_signals_to_parent()?;
    // Opened again, because the other workers read the same file.
    let order: Order = serde_json::from_slice(&std::fs::read(format!("/proc/self/fd/{descriptor}"))?)?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(order.parent) {
        return Err(io::Error::other("the process that started it has ended"));
    }
    let program =
        |process: &str| std::fs::metadata(format!("/proc/{process}/exe")).map(|facts| (facts.dev(), facts.ino()));
    if program("self")? != program(&order.parent.to_string())? {
        return Err(io::Error::other("the process that started it is another program"));
    }
    // SAFETY: the parent runs this same program, as was just checked. It made each of them as the type named here, kept the
    // descriptors open for this process, and names each once.
    let (records, cursors, common, ledger, targets) = unsafe {
        (
            shared_memory::Shared::<Record>::attach(order.records)?,
            shared_memory::Shared::<AtomicU64>::attach(order.cursors)?,
            shared_memory::Shared::<Common>::attach(order.common)?,
            order.ledger.map(|ledger| Ledger::attach(ledger)).transpose()?,
            order.targets.into_iter().map(|target| OpenTarget::attach(target)).collect::<Vec<_>>(),
        )
    };
    let ledger = ledger.as_ref().map(|(ledger, first)| ledger.volumes(*first));
    let (workload, targets) = (&order.workload, targets.as_slice());
    let shared = Shared { workload, targets, clock: order.clock, ledger, records, cursors, common };
    let ready = |granted: io::Result<Granted>| send(socket, &Message::Ready(granted.map_err(Error::from)));
    let run = || for_personality!(workload.personality, P => work::<P>(&shared, index, &ready));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        shared.stop().store(true, Relaxed);
        Err(io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref()))))
    })
}

/// The parent decides when to stop, and this process ends with it. A file that grows past `ulimit -f` is an error of the
/// write.
fn leave_signals_to_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let ignored =
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGALRM, libc::SIGXCPU, libc::SIGXFSZ];
    for signal in ignored {
        // SAFETY: it sets no handler, and no code of this process has set one.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // Shown by ps(1) in place of `exe`.
    Ok(rustix::thread::set_name(c"halfpower")?)
}
