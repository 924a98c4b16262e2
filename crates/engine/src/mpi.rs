//! Messages between the processes that `mpirun` or a scheduler started, by MPI behind a shim of a few functions
//! (`include/halfpower_mpi.c`), which the MPI at hand compiles. One binary so works with all of them.
//!
//! Called by one thread, and never while something is measured. Whoever waits sleeps.

use crate::personality::plugin::load::{linker_error, symbol};
use std::ffi::{CString, c_int, c_void};
use std::fmt::Display;
use std::io;
use std::mem::transmute;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Names a shim that is not beside the program.
const VARIABLE: &str = "HALFPOWER_MPI";
/// Its usual name.
const SHIM: &str = "halfpower_mpi.so";
/// Ends all processes, instead of the end of MPI, which would wait for a lost one.
static ABORT: OnceLock<Abort> = OnceLock::new();
/// How long all may take to begin.
const BEGIN: Duration = Duration::from_secs(120);
/// Between two looks for a message.
const PAUSE: Duration = Duration::from_micros(200);
/// Variables by which launchers tell a process its rank and the number of processes: Open MPI, MPICH and Slurm with either.
const LAUNCHERS: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// Rank and number of the processes, by the launcher's variables; none of a process that was started alone.
pub fn started_as() -> Option<(u32, u32)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let of = |(rank, size): &(&str, &str)| number(rank).zip(number(size));
    LAUNCHERS.iter().find_map(of).filter(|(rank, size)| *size > 1 && rank < size)
}

/// The CPUs that Open MPI bound this process to, if they are not all: with one or two processes it binds each to a core.
pub fn bound_to() -> Option<u32> {
    std::env::var_os(LAUNCHERS[0].0)?;
    let own = rustix::thread::sched_getaffinity(None).ok()?.count();
    let all = rustix::thread::sched_getaffinity(rustix::process::getppid()).ok()?.count();
    (own < all).then_some(own)
}

/// The processes, each with a rank.
#[derive(Debug)]
pub struct Ranks {
    functions: Functions,
    rank: u32,
    count: u32,
    /// One of them does not answer.
    is_one_lost: AtomicBool,
}

type Begin = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, c_int, c_int, c_int, c_int) -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int;
type End = unsafe extern "C" fn() -> c_int;
type Abort = unsafe extern "C" fn(c_int) -> c_int;

#[derive(Clone, Copy, Debug)]
struct Functions {
    send: Send,
    probe: Probe,
    receive: Receive,
    end: End,
    abort: Abort,
}

/// How to wait for a message.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    /// Asleep, so long at most.
    Asleep(Duration),
    /// Awake, for messages whose time counts.
    Awake(Duration),
}

impl Ranks {
    /// Joins the processes that were started together.
    ///
    /// # Errors
    /// If there is no shim, or MPI cannot begin, with the remedy.
    pub fn join() -> io::Result<Ranks> {
        let path = shim();
        let failed = |reason: &dyn Display| {
            io::Error::other(format!(
                "this is one of several processes of an MPI launcher, and {} cannot be loaded: {reason}; build it with the \
                 launcher's own compiler: mpicc -shared -fPIC -O2 -o {SHIM} halfpower_mpi.c (`halfpower mpi` prints the \
                 source), and put it beside the program or name it in {VARIABLE}",
                path.display()
            ))
        };
        let text = path.to_str().and_then(|path| CString::new(path).ok()).ok_or_else(|| failed(&"its name"))?;
        // SAFETY: a text with a zero at its end; the user put the file there to run its code.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(failed(&linker_error(&path.display().to_string())));
        }
        let find = |name: &std::ffi::CStr| {
            let missing = || failed(&format!("it has no {}", name.to_string_lossy()));
            // SAFETY: an open handle that is never closed.
            unsafe { symbol(handle, name) }.ok_or_else(missing)
        };
        // SAFETY: halfpower_mpi.c has these functions with these types.
        let (begin, functions) = unsafe {
            let functions = Functions {
                send: transmute::<*mut c_void, Send>(find(c"halfpower_mpi_send")?),
                probe: transmute::<*mut c_void, Probe>(find(c"halfpower_mpi_probe")?),
                receive: transmute::<*mut c_void, Receive>(find(c"halfpower_mpi_receive")?),
                end: transmute::<*mut c_void, End>(find(c"halfpower_mpi_end")?),
                abort: transmute::<*mut c_void, Abort>(find(c"halfpower_mpi_abort")?),
            };
            (transmute::<*mut c_void, Begin>(find(c"halfpower_mpi_begin")?), functions)
        };
        let (mut rank, mut size) = (0, 0);
        let begun = Self::end_unless_all_begin();
        // SAFETY: it writes two numbers.
        check("begin", unsafe { begin(&raw mut rank, &raw mut size) })?;
        drop(begun);
        if size == 1 && started_as().is_some() {
            return Err(failed(&"it was built for another MPI than this launcher's"));
        }
        match (u32::try_from(rank), u32::try_from(size)) {
            (Ok(rank), Ok(count)) if rank < count => {
                Ok(Ranks { functions, rank, count, is_one_lost: AtomicBool::new(false) })
            }
            _ => Err(failed(&format!("it says rank {rank} of {size}"))),
        }
    }

    /// Ends this process after [`BEGIN`] unless the sender is dropped before: MPI waits without limit for a process that ended
    /// before it began.
    fn end_unless_all_begin() -> mpsc::Sender<()> {
        let (begun, watch) = mpsc::channel();
        std::thread::spawn(move || {
            if watch.recv_timeout(BEGIN) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("error: other processes of the launcher have not begun MPI for {} s", BEGIN.as_secs());
                std::process::exit(1);
            }
        });
        begun
    }

    /// The rank of this process, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of processes.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// One of the others does not answer. MPI then ends by [`abort_if_lost`].
    pub fn lose(&self) {
        self.is_one_lost.store(true, Ordering::Relaxed);
    }

    /// Whether one of the others does not answer.
    pub fn is_one_lost(&self) -> bool {
        self.is_one_lost.load(Ordering::Relaxed)
    }

    /// Sends a message; false if the other did not take it in time.
    ///
    /// # Errors
    /// MPI's.
    pub fn send(&self, to: u32, tag: u8, bytes: &[u8], at_most: Duration) -> io::Result<bool> {
        let length = c_int::try_from(bytes.len()).map_err(|_| io::Error::other("a message of more than 2 GiB"))?;
        let (to, tag, seconds) = (to as c_int, c_int::from(tag), at_most.as_secs() as c_int);
        // SAFETY: it copies as many bytes as there are.
        match unsafe { (self.functions.send)(bytes.as_ptr().cast(), length, to, tag, seconds) } {
            -1 => Ok(false),
            error => check("send", error).map(|()| true),
        }
    }

    /// Receives a message; none if there was none in time.
    ///
    /// # Errors
    /// MPI's.
    pub fn receive(&self, from: u32, tag: u8, patience: Patience) -> io::Result<Option<Vec<u8>>> {
        let (begun, tag, from) = (Instant::now(), c_int::from(tag), from as c_int);
        let (Patience::Asleep(at_most) | Patience::Awake(at_most)) = patience;
        loop {
            let mut length = -1;
            // SAFETY: it writes a number.
            check("look for a message", unsafe { (self.functions.probe)(from, tag, &raw mut length) })?;
            if let Ok(room) = usize::try_from(length) {
                let mut bytes = vec![0; room];
                // SAFETY: there is room for as many bytes as the message has.
                check("receive", unsafe { (self.functions.receive)(bytes.as_mut_ptr().cast(), length, from, tag) })?;
                return Ok(Some(bytes));
            }
            if begun.elapsed() > at_most {
                return Ok(None);
            }
            if let Patience::Asleep(_) = patience {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        if self.is_one_lost() {
            ABORT.get_or_init(|| self.functions.abort);
            return;
        }
        // SAFETY: MPI has begun, and nothing is called afterwards.
        unsafe { (self.functions.end)() };
    }
}

/// Ends this process and all others with status 1 if one was lost. Called when all has been said and stored.
pub fn abort_if_lost() {
    if let Some(abort) = ABORT.get() {
        // SAFETY: MPI has begun and not ended, and nothing is called afterwards.
        unsafe { abort(1) };
    }
}

/// Where the shim is.
fn shim() -> PathBuf {
    let beside = || std::env::current_exe().ok().map(|program| program.with_file_name(SHIM));
    std::env::var_os(VARIABLE).map(PathBuf::from).or_else(beside).unwrap_or_else(|| PathBuf::from(SHIM))
}

fn check(action: &str, error: c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::other(format!("MPI cannot {action}: error {error}"))) }
}
