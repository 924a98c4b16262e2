//! Signals that end the program: the first cleanly; a second at once, with a word on what it leaves behind.
//!
//! The first sets a flag, in the handler itself. The second is seen by a thread that does nothing else, so that it is
//! heard however busy or stuck the program is. Where no thread can be had, the handler ends the program without a word.

use super::quoted;
use halfpower_engine::test_file;
use halfpower_model::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
const INTERRUPTED: i32 = 130;

/// What the first signal sets.
///
/// # Errors
/// When the kernel takes no handlers.
pub(super) fn interrupts() -> io::Result<Cancel> {
    let flag = Arc::new(AtomicBool::new(false));
    if watch_for_a_second().is_err() {
        for signal in ENDING {
            signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag))?;
        }
    }
    for signal in ENDING {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(Cancel::from_flag(flag))
}

/// Makes a file that grows past `ulimit -f` an error of the write, not the end of the program.
///
/// # Errors
/// As [`interrupts`].
pub(super) fn outgrow_no_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

fn watch_for_a_second() -> io::Result<()> {
    let mut signals = Signals::new(ENDING)?;
    let watch = move || {
        if signals.forever().nth(1).is_some() {
            // Past the lock of standard error, which whoever is stuck may hold. When it is closed, nobody is told.
            let _ = rustix::io::write(io::stderr(), farewell().as_bytes());
            signal_hook::low_level::exit(INTERRUPTED);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

fn farewell() -> String {
    let left = test_file::still_there().into_iter().map(|path| {
        let name = quoted(path.into_os_string());
        format!("; {name} is left: remove it with `rm {name}`")
    });
    format!("\nStopped at once{}.\n", left.collect::<String>())
}
