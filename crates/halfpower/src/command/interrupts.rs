//! Signals that end the program, the one way for every command.
//!
//! While something is measured the first signal sets a flag, in the handler itself: who measures looks at it, keeps what
//! there is and removes the test files. Ctrl-C once more ends the program at once, with a word on what it leaves behind. All
//! else a command does leaves nothing behind, as every change of a store is whole or none and files are written under
//! another name first, so there the first signal ends the program. That and the second are seen by a thread that does
//! nothing else, so that they are heard however busy or stuck the program is. Where no thread can be had, the handler ends
//! the program without a word.
//!
//! Only a person's second signal counts. `timeout` sends each signal twice, to the program and to its group; a shell that
//! exits and a terminal that closes both send SIGHUP; SIGXCPU comes every second.

use crate::output::remove_unfinished;
use crate::sanitize::sanitize;
use crate::text::quoted;
use halfpower_engine::test_file;
use halfpower_model::Cancel;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ENDING: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGXCPU];
/// What a person presses again.
const FROM_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
/// Nobody presses again within this time of the first.
const BETWEEN_KEYS: Duration = Duration::from_millis(200);
/// A command that ends sooner says nothing of what it waits for.
const BEFORE_NOTICE: Duration = Duration::from_millis(500);
const NOTICE: &str = "\nStopping once the requests in flight are done; Ctrl-C again stops at once.\n";
const INTERRUPTED: i32 = 130;

/// What signals do.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Set by the first.
    flag: Arc<AtomicBool>,
    /// How many look at the flag.
    heeding: AtomicUsize,
    /// Nobody does: a signal ends the program.
    unheeded: Arc<AtomicBool>,
}

/// The flag, for as long as somebody looks at it.
#[derive(Debug)]
pub(crate) struct Heeded<'a> {
    of: &'a Interrupts,
    cancel: Cancel,
}

impl Interrupts {
    /// Takes the signals over. `last` is done as one of them ends the program.
    ///
    /// # Errors
    /// When the kernel takes no handlers.
    pub(crate) fn watch(last: impl Fn() + Send + 'static) -> io::Result<Interrupts> {
        let (flag, unheeded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let signals: Vec<i32> = ENDING.into_iter().filter(|signal| *signal != SIGHUP || !is_nohup()).collect();
        if watch_aside(&signals, Arc::clone(&unheeded), last).is_err() {
            for signal in FROM_KEYS {
                signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag))?;
            }
            for signal in &signals {
                signal_hook::flag::register_conditional_shutdown(*signal, INTERRUPTED, Arc::clone(&unheeded))?;
            }
        }
        for signal in signals {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interrupts { flag, heeding: AtomicUsize::new(0), unheeded })
    }

    /// From here on, until what is returned is dropped, the first signal only sets the flag.
    pub(crate) fn heeded(&self) -> Heeded<'_> {
        self.heeding.fetch_add(1, Ordering::SeqCst);
        self.unheeded.store(false, Ordering::SeqCst);
        Heeded { of: self, cancel: Cancel::from_flag(Arc::clone(&self.flag)) }
    }
}

impl Deref for Heeded<'_> {
    type Target = Cancel;

    fn deref(&self) -> &Cancel {
        &self.cancel
    }
}

impl Drop for Heeded<'_> {
    fn drop(&mut self) {
        // After a first signal what follows is the end of the command, which only a second one cuts short.
        if self.of.heeding.fetch_sub(1, Ordering::SeqCst) == 1 && !self.cancel.is_cancelled() {
            self.of.unheeded.store(true, Ordering::SeqCst);
        }
    }
}

/// Whether `nohup` started the program: it is to outlive its terminal.
fn is_nohup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Makes a file that grows past `ulimit -f` an error of the write, not the end of the program.
///
/// # Errors
/// As [`Interrupts::watch`].
pub(crate) fn outgrow_no_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

fn watch_aside(signals: &[i32], unheeded: Arc<AtomicBool>, last: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let watch = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            let is_first = first.is_none();
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if unheeded.load(Ordering::SeqCst) || FROM_KEYS.contains(&signal) && since >= BETWEEN_KEYS {
                remove_unfinished();
                // Past the lock of standard error, which whoever is stuck may hold. When it is closed, nobody is told.
                let _ = rustix::io::write(io::stderr(), farewell().as_bytes());
                last();
                signal_hook::low_level::exit(INTERRUPTED);
            }
            if is_first {
                // Without a thread nothing is said.
                let _ = std::thread::Builder::new().name("notice".to_owned()).spawn(|| {
                    std::thread::sleep(BEFORE_NOTICE);
                    let _ = rustix::io::write(io::stderr(), NOTICE.as_bytes());
                });
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

fn farewell() -> String {
    let left = test_file::still_there().into_iter().map(|path| {
        let name = sanitize(&quoted(path.into_os_string())).into_owned();
        format!("; {name} is left: remove it with `rm {name}`")
    });
    format!("\nStopped at once{}.\n", left.collect::<String>())
}
