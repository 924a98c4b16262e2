//! Signals that end the program, for every command.
//!
//! During a measurement the first signal sets a flag in its handler. The measuring code polls it, stores the samples and
//! removes the test files. A second Ctrl-C ends the program at once and names the test files that stay.
//!
//! Outside a measurement the first signal ends the program. Nothing half done remains: changes of the store are atomic, and
//! files are written under another name first. A separate thread waits for these signals, so that a busy program reacts
//! too. If no thread can be started, the handler ends the program without a message.
//!
//! Only a second signal from the keyboard counts. `timeout` sends each signal twice, to the program and to its group. A
//! shell that exits and a terminal that closes both send SIGHUP. SIGXCPU comes every second.

use crate::console::uncover_screen;
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
/// Signals of keys, of which a second one counts.
const FROM_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
/// A second signal sooner than this is not a key pressed again.
const BETWEEN_KEYS: Duration = Duration::from_millis(200);
/// A command that ends sooner prints no notice.
const BEFORE_NOTICE: Duration = Duration::from_millis(500);
const NOTICE: &str = "\nStopping once the requests in flight are done; Ctrl-C again stops at once.\n";
const INTERRUPTED: i32 = 130;

/// The handling of signals.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Set by the first signal.
    flag: Arc<AtomicBool>,
    /// Number of measurements that poll the flag.
    polling: AtomicUsize,
    /// No measurement polls the flag: a signal ends the program.
    unheeded: Arc<AtomicBool>,
}

/// The flag of a measurement that polls it.
#[derive(Debug)]
pub(crate) struct Heeded<'a> {
    of: &'a Interrupts,
    cancel: Cancel,
}

impl Interrupts {
    /// Installs the handlers. `last` runs before a signal ends the program.
    ///
    /// # Errors
    /// If the kernel rejects a handler.
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
        Ok(Interrupts { flag, polling: AtomicUsize::new(0), unheeded })
    }

    /// Until the value is dropped, the first signal only sets the flag.
    pub(crate) fn heeded(&self) -> Heeded<'_> {
        self.polling.fetch_add(1, Ordering::SeqCst);
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
        // After a first signal the command ends by itself; only a second signal cuts that short.
        if self.of.polling.fetch_sub(1, Ordering::SeqCst) == 1 && !self.cancel.is_cancelled() {
            self.of.unheeded.store(true, Ordering::SeqCst);
        }
    }
}

/// Whether SIGHUP is ignored, as under `nohup`.
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
                uncover_screen();
                // Without the lock of standard error, which a stuck thread may hold. It may be closed.
                let _ = rustix::io::write(io::stderr(), farewell().as_bytes());
                last();
                signal_hook::low_level::exit(INTERRUPTED);
            }
            if is_first {
                // Without a thread there is no notice.
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
        let remove = if path.is_dir() { "rm -r" } else { "rm" };
        let name = sanitize(&quoted(path.into_os_string())).into_owned();
        format!("; {name} is left: remove it with `{remove} {name}`")
    });
    format!("\nStopped at once{}.\n", left.collect::<String>())
}
