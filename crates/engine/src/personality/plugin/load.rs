//! Loads plug-ins, and checks their functions.
//!
//! Any other file is rejected with the remedy. A plug-in stays loaded until the program ends:
//! threads it started, or handlers it set, may still run its code after its last worker is closed.

use super::abi::{ABI_VERSION, Close, Describe, Entry, Open, Personality, Poll, Reap, Start, Submit};
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::io;

/// The fault of a plug-in, with the remedy if there is one.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PluginError(String);

impl PluginError {
    /// One of its functions failed, with its own reason or error number.
    pub(super) fn failed(file: &str, action: &str, reason: impl Display) -> PluginError {
        PluginError(format!("the plug-in {file} cannot {action}: {reason}"))
    }

    /// It violates the interface.
    pub(super) fn broken(file: &str, what: impl Display) -> PluginError {
        PluginError(format!("the plug-in {file} returned {what}; report it to its author"))
    }
}

impl From<PluginError> for io::Error {
    fn from(error: PluginError) -> io::Error {
        io::Error::other(error)
    }
}

/// A plug-in's functions, none of the required ones missing.
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

/// Loads a shared object and gets its functions. Its code runs.
pub(super) fn load(file: &str) -> Result<Functions, PluginError> {
    let failed = |reason: &str| {
        PluginError(format!("cannot load the plug-in {file}: {reason}; name a shared object built for this machine"))
    };
    // The linker would wait for a pipe without a writer. It reports a missing file itself.
    if std::fs::metadata(file).is_ok_and(|facts| !facts.is_file()) {
        return Err(failed("it is not a regular file"));
    }
    let path = CString::new(file).map_err(|error| failed(&error.to_string()))?;
    // SAFETY: a text with a zero at its end. It has a slash in it, so no path is searched; the user named it to run its
    // code.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(failed(&linker_error(file)));
    }
    // SAFETY: an open handle that is never closed.
    let Some(entry) = (unsafe { symbol(handle, c"halfpower_personality") }) else {
        return Err(PluginError(format!(
            "{file} is not a plug-in: it does not export halfpower_personality; build it with \
             include/halfpower_personality.h"
        )));
    };
    // SAFETY: the header declares this function by this name.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(entry) };
    // SAFETY: by the interface, its result stays valid until the program ends.
    unsafe { functions(file, entry(ABI_VERSION)) }
}

/// The address of a function of a loaded object; none if it has none of that name.
///
/// # Safety
/// The handle is open.
pub(crate) unsafe fn symbol(handle: *mut libc::c_void, name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: the caller's promise; a text with a zero at its end.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The dynamic linker's last error, without the name of the file at its start.
pub(crate) fn linker_error(file: &str) -> String {
    // SAFETY: returns this thread's last error, or null, valid until the thread calls the linker again.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker gave no reason".to_owned();
    }
    // SAFETY: a text with a zero at its end.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.strip_prefix(file).map_or(&*text, |rest| rest.trim_start_matches([':', ' '])).to_owned()
}

/// Checks the result of the entry function.
///
/// # Safety
/// Null, or the address of a structure that begins with a version and a size and has that many bytes.
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
    // SAFETY: as above; every version has these two.
    let (abi_version, size) = unsafe { ((*given).abi_version, (*given).size as usize) };
    if abi_version != ABI_VERSION {
        return Err(version(format!("version {abi_version}")));
    }
    if size < size_of::<Personality>() {
        return Err(version(format!("a part ({size} bytes)")));
    }
    // SAFETY: it has all the bytes. A null function is `None`.
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
