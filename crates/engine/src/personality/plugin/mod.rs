//! A personality out of a shared object that the user named, behind `include/halfpower_personality.h`.
//!
//! The plug-in's code is trusted like any program that the user runs, but its results are checked. These end the sample with a
//! message: a completion for a transfer that is not outstanding, more completions than transfers, more bytes than requested,
//! and numbers that are no errors.

mod abi;
pub(crate) mod load;
#[cfg(test)]
mod tests;

pub use load::PluginError;

use super::interface::{Completion, Granted, Personality, Setup, Transfer};
use crate::errno;
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Plugin as Named, TargetKind};
use load::Functions;
use std::ffi::{CStr, CString, c_char, c_void};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

/// Room for a plug-in's error message, in bytes.
const ERROR_ROOM: usize = 256;
/// Maximum of the characters kept of a plug-in's text.
const MOST_TEXT: usize = 200;
/// The kernel's error numbers are below this.
const MOST_ERRNO: i32 = 4096;

/// One worker's part of a plug-in.
pub(crate) struct Plugin {
    file: String,
    functions: Functions,
    /// The result of the plug-in's open.
    worker: *mut c_void,
    /// The plug-in's descriptors, open until it is closed.
    _targets: Vec<Opened>,
    /// The outstanding transfers, by tag.
    outstanding: Vec<Option<Outstanding>>,
    in_flight: u32,
    /// Where the plug-in writes completions.
    given: Vec<abi::Completion>,
    /// Where it writes its error message.
    error: Box<[c_char; ERROR_ROOM]>,
}

/// The request of a transfer.
#[derive(Clone, Copy)]
struct Outstanding {
    length: u32,
    kind: RequestKind,
}

/// Loads a plug-in, so that a faulty one is rejected before any preparation for it. Its code runs.
///
/// # Errors
/// The fault of the plug-in.
pub fn check_plugin(plugin: &Named) -> Result<(), PluginError> {
    load::load(&plugin.file).map(|_| ())
}

impl Personality for Plugin {
    fn unavailable() -> Option<String> {
        cfg!(target_feature = "crt-static").then(|| {
            "this program is linked statically and loads nothing; use one built for the system's C library".to_owned()
        })
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let named = setup.workload.plugin.as_ref();
        let named = named.ok_or_else(|| io::Error::other("no plug-in is named; say which, like plugin:./own.so"))?;
        Plugin::open_with(load::load(&named.file)?, named, &setup)
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let Transfer { tag, length, offset, address, target, kind } = transfer;
        self.outstanding[tag as usize] = Some(Outstanding { length, kind });
        self.in_flight += 1;
        let (kind, target, address) = (kind as u32, u32::from(target), address.cast());
        let transfer = abi::Transfer { tag, kind, target, length, offset, address };
        // SAFETY: the worker is open and this is its thread; the caller keeps the bytes of the transfer.
        unsafe { (self.functions.submit)(self.worker, &raw const transfer) };
    }

    #[inline]
    fn start(&mut self) {
        if let Some(start) = self.functions.start {
            // SAFETY: the worker is open and this is its thread.
            unsafe { start(self.worker) };
        }
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        while done.len() < at_least as usize {
            let missing = at_least - done.len() as u32;
            self.error[0] = 0;
            let (room, given, error) = (self.in_flight, self.given.as_mut_ptr(), self.error.as_mut_ptr());
            // SAFETY: the worker is open and this is its thread; `given` holds as many as can be outstanding.
            let count = unsafe { (self.functions.reap)(self.worker, given, room, missing, error, ERROR_ROOM) };
            if count == 0 {
                return Err(self.broken(format!("nothing, with {room} transfers outstanding")).into());
            }
            self.take(count, done)?;
        }
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        let Some(poll) = self.functions.poll else { return self.reap(done, 1) };
        self.error[0] = 0;
        let (room, given, error) = (self.in_flight, self.given.as_mut_ptr(), self.error.as_mut_ptr());
        let at_most_ns = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: as in `reap`.
        let count = unsafe { poll(self.worker, given, room, at_most_ns, error, ERROR_ROOM) };
        Ok(self.take(count, done)?)
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: the worker is open, this is its thread, and nothing is called afterwards.
        unsafe { (self.functions.close)(self.worker) };
    }
}

impl Plugin {
    fn open_with(functions: Functions, named: &Named, setup: &Setup<'_>) -> io::Result<(Plugin, Granted)> {
        let file = named.file.clone();
        let failed = |reason| PluginError::failed(&named.file, "be opened", reason);
        let options = CString::new(named.options.as_str()).map_err(|error| failed(error.to_string()))?;
        let opened = if setup.targets.is_empty() { Vec::new() } else { setup.own_targets()? };
        let paths: Vec<Option<CString>> = opened.iter().map(|target| path_of(target.file.as_raw_fd())).collect();
        let targets: Vec<abi::Target> = opened
            .iter()
            .zip(&paths)
            .map(|(target, path)| abi::Target {
                path: path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()),
                size_bytes: target.size.0,
                descriptor: target.file.as_raw_fd(),
                kind: if target.kind == TargetKind::BlockDevice { abi::BLOCK_DEVICE } else { abi::FILE },
            })
            .collect();
        let addresses: Vec<*const abi::Target> = targets.iter().map(std::ptr::from_ref).collect();
        let region = setup.buffers.region();
        let raw = abi::Setup {
            size: size_of::<abi::Setup>() as u32,
            transfer_size: size_of::<abi::Transfer>() as u32,
            target_size: size_of::<abi::Target>() as u32,
            targets_count: targets.len() as u32,
            targets: addresses.as_ptr(),
            options: options.as_ptr(),
            span_bytes: setup.workload.span.0,
            buffers: region.iov_base,
            buffers_bytes: region.iov_len as u64,
            outstanding: setup.outstanding,
            request_size: setup.workload.request_size.0 as u32,
        };
        let (mut worker, mut error) = (std::ptr::null_mut(), Box::new([0; ERROR_ROOM]));
        // SAFETY: the setup's pointers are valid until the call returns; the targets and the buffers outlive the worker.
        let result = unsafe { (functions.open)(&raw const raw, &raw mut worker, error.as_mut_ptr(), ERROR_ROOM) };
        if result != 0 {
            return Err(failed(reason(result, error.as_slice())).into());
        }
        // SAFETY: the worker is open and this is its thread.
        let description = unsafe { text_at((functions.describe)(worker)) };
        let slots = setup.outstanding as usize;
        let given = vec![abi::Completion::default(); slots];
        let outstanding = vec![None; slots];
        let plugin = Plugin { file, functions, worker, _targets: opened, outstanding, error, in_flight: 0, given };
        Ok((plugin, Granted::of([description.as_str()])))
    }

    /// Checks and takes the completions that the plug-in wrote.
    #[inline]
    fn take(&mut self, count: i32, done: &mut Vec<Completion>) -> Result<(), PluginError> {
        let Ok(given) = u32::try_from(count) else {
            let reason = reason(count, self.error.as_slice());
            return Err(PluginError::failed(&self.file, "wait for transfers", reason));
        };
        if given > self.in_flight {
            return Err(self.broken(format!("{given} completions of {} outstanding transfers", self.in_flight)));
        }
        for index in 0..given as usize {
            let abi::Completion { tag, result } = self.given[index];
            let Some(outstanding) = self.outstanding.get_mut(tag as usize).and_then(Option::take) else {
                return Err(self.broken(format!("a completion with the tag {tag}, which is not outstanding")));
            };
            let is_whole = matches!(outstanding.kind, RequestKind::Trim | RequestKind::Flush);
            if result > 0 && !is_whole && result as u32 > outstanding.length {
                return Err(self.broken(format!("{result} bytes of a transfer of {}", outstanding.length)));
            }
            if result <= -MOST_ERRNO {
                return Err(self.broken(format!("{result}, which is no error number")));
            }
            self.in_flight -= 1;
            done.push(Completion { tag, result });
        }
        Ok(())
    }

    #[cold]
    fn broken(&self, what: String) -> PluginError {
        PluginError::broken(&self.file, what)
    }
}

/// The message of a function that failed, or else the meaning of its error number.
fn reason(result: i32, error: &[c_char]) -> String {
    let said: Vec<u8> = error.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    let said = printable(&String::from_utf8_lossy(&said));
    let number = result.checked_neg().filter(|number| (1..MOST_ERRNO).contains(number));
    match (said.is_empty(), number) {
        (false, _) => said,
        (true, Some(number)) => format!("{}: {}", errno::name(number), errno::explanation(number)),
        (true, None) => format!("it returned {result} and does not say why"),
    }
}

/// A text of a plug-in's.
///
/// # Safety
/// Null, or the address of a text with a zero at its end.
unsafe fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return "a plug-in that does not describe itself".to_owned();
    }
    // SAFETY: as above.
    printable(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// The first characters of a text, in one line, without control characters.
fn printable(text: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).take(MOST_TEXT).collect();
    text.trim().to_owned()
}

/// The path of an open file, from the kernel.
fn path_of(descriptor: i32) -> Option<CString> {
    let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    CString::new(path.into_os_string().into_vec()).ok()
}
