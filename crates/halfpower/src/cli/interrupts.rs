//! Signals that end the program: the first cleanly; Ctrl-C once more at once, with a word on what it leaves behind.
//!
//! The first sets a flag, in the handler itself. The second is seen by a thread that does nothing else, so that it is
//! heard however busy or stuck the program is. Where no thread can be had, the handler ends the program without a word.
//!
//! Only a person's second signal counts. `timeout` sends each signal twice, to the program and to its group; a shell that
//! exits and a terminal that closes both send SIGHUP; SIGXCPU comes every second.

use super::quoted;
use crate::harmless::harmless;
use halfpower_engine::test_file;
use halfpower_model::Cancel;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const ENDING: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGXCPU];
/// What a person presses again.
const FROM_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
/// Nobody presses again within this time of the first.
const BETWEEN_KEYS: Duration = Duration::from_millis(200);
const INTERRUPTED: i32 = 130;

/// What the first signal sets.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether a signal has asked the program to end.
pub(crate) fn is_interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// What the first signal sets.
///
/// # Errors
/// When the kernel takes no handlers.
pub(super) fn interrupts() -> io::Result<Cancel> {
    let flag = Arc::clone(FLAG.get_or_init(Arc::default));
    let signals: Vec<i32> = ENDING.into_iter().filter(|signal| *signal != SIGHUP || !is_nohup()).collect();
    if watch_for_a_second(&signals).is_err() {
        for signal in FROM_KEYS {
            signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag))?;
        }
    }
    for signal in signals {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(Cancel::from_flag(flag))
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
/// As [`interrupts`].
pub(super) fn outgrow_no_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

fn watch_for_a_second(signals: &[i32]) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let watch = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if FROM_KEYS.contains(&signal) && since >= BETWEEN_KEYS {
                // Past the lock of standard error, which whoever is stuck may hold. When it is closed, nobody is told.
                let _ = rustix::io::write(io::stderr(), farewell().as_bytes());
                signal_hook::low_level::exit(INTERRUPTED);
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

fn farewell() -> String {
    let left = test_file::still_there().into_iter().map(|path| {
        let name = harmless(&quoted(path.into_os_string())).into_owned();
        format!("; {name} is left: remove it with `rm {name}`")
    });
    format!("\nStopped at once{}.\n", left.collect::<String>())
}
