//! Loads plug-ins, and checks what they bring.
//!
//! Refuses what is not a plug-in in a sentence that says what to do. A plug-in stays loaded until the program ends:
//! threads it started, or handlers it set, may still run its code after its last worker is closed.

use super::abi::{ABI_VERSION, Close, Describe, Entry, Open, Personality, Poll, Reap, Start, Submit};
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::io;

/// What is wrong with a plug-in, with the remedy where there is one.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PluginError(String);

impl PluginError {
    /// Its own function failed, for a reason that it gave or its error number.
    pub(super) fn failed(file: &str, action: &str, reason: impl Display) -> PluginError {
        PluginError(format!("the plug-in {file} cannot {action}: {reason}"))
    }

    /// It does what the interface does not allow.
    pub(super) fn broken(file: &str, what: impl Display) -> PluginError {
        PluginError(format!("the plug-in {file} returned {what}; report it to its author"))
    }
}

impl From<PluginError> for io::Error {
    fn from(error: PluginError) -> io::Error {
        io::Error::other(error)
    }
}

/// A plug-in's functions, all there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions {
    pub(super) open: Open,
    pub(super) submit: Submit,
    pub(super) start: Option<Start>,
    pub(super) reap: Reap,
    pub(super) poll: Option<Poll>,
    pub(super) close: Close,
    pub(super) describe: Describe,
}

/// Loads a shared object and asks for its functions. Its own code runs.
pub(super) fn load(file: &str) -> Result<Functions, PluginError> {
    let failed = |reason: &str| {
        PluginError(format!("cannot load the plug-in {file}: {reason}; name a shared object built for this machine"))
    };
    // The linker would wait for a pipe that nobody writes. What is not there it says itself.
    if std::fs::metadata(file).is_ok_and(|facts| !facts.is_file()) {
        return Err(failed("it is not a regular file"));
    }
    let path = CString::new(file).map_err(|error| failed(&error.to_string()))?;
    // SAFETY: a text with a zero at its end. It has a slash in it, so nothing is searched for; that its code runs is what
    // the user asked for.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(failed(&linker_error(file)));
    }
    // SAFETY: a handle that is open, and stays so.
    let entry = unsafe { libc::dlsym(handle, c"halfpower_personality".as_ptr()) };
    if entry.is_null() {
        return Err(PluginError(format!(
            "{file} is not a plug-in: it does not export halfpower_personality; build it with \
             include/halfpower_personality.h"
        )));
    }
    // SAFETY: what a shared object exports by this name is this function: the header declares it.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(entry) };
    // SAFETY: what it gives lasts until the program ends, by the interface.
    unsafe { functions(file, entry(ABI_VERSION)) }
}

/// What the dynamic linker last complained of, without the name of the file, which it begins with.
fn linker_error(file: &str) -> String {
    // SAFETY: gives this thread's last complaint, or null, which lasts until the thread calls the linker again.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker gave no reason".to_owned();
    }
    // SAFETY: a text with a zero at its end.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.strip_prefix(file).map_or(&*text, |rest| rest.trim_start_matches([':', ' '])).to_owned()
}

/// Checks what the entry gave.
///
/// # Safety
/// Null, or the address of what begins with a version and a size and has as many bytes as that says.
pub(super) unsafe fn functions(file: &str, given: *const Personality) -> Result<Functions, PluginError> {
    let version = |found: String| {
        PluginError(format!(
            "the plug-in {file} uses {found} of the interface, this program version {ABI_VERSION}; rebuild it with this \
             program's header"
        ))
    };
    if given.is_null() {
        return Err(version("another version".to_owned()));
    }
    // SAFETY: as above; these two are there in every version.
    let (abi_version, size) = unsafe { ((*given).abi_version, (*given).size as usize) };
    if abi_version != ABI_VERSION {
        return Err(version(format!("version {abi_version}")));
    }
    if size < size_of::<Personality>() {
        return Err(version(format!("a part ({size} bytes)")));
    }
    // SAFETY: it has all the bytes. A function that is null is none.
    let given = unsafe { *given };
    let missing = |function| {
        PluginError(format!(
            "the plug-in {file} has no {function} function; include/halfpower_personality.h lists what it needs"
        ))
    };
    Ok(Functions {
        open: given.open.ok_or_else(|| missing("open"))?,
        submit: given.submit.ok_or_else(|| missing("submit"))?,
        start: given.start,
        reap: given.reap.ok_or_else(|| missing("reap"))?,
        poll: given.poll,
        close: given.close.ok_or_else(|| missing("close"))?,
        describe: given.describe.ok_or_else(|| missing("describe"))?,
    })
}
