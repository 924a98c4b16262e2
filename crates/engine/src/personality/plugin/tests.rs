//! Plug-ins that keep to the interface and plug-ins that do not, as functions of the test itself.

use super::abi::{self, ABI_VERSION};
use super::*;
use crate::buffers::Buffers;
use halfpower_model::{Bytes, Workload};

/// The state of a worker of the plug-in; its options name the fault to make.
struct Script {
    options: String,
    taken: Vec<(u32, u32)>,
}

unsafe extern "C" fn open(setup: *const abi::Setup, worker: *mut *mut c_void, error: *mut c_char, room: usize) -> i32 {
    // SAFETY: the personality passes a setup, options with a zero at their end, and where to put the worker.
    unsafe {
        let options = CStr::from_ptr((*setup).options).to_str().unwrap().to_owned();
        if options == "open_fails" {
            let said = b"no\x1b luck";
            assert!(room > said.len());
            std::ptr::copy_nonoverlapping(said.as_ptr().cast(), error, said.len());
            return -libc::EIO;
        }
        worker.write(Box::into_raw(Box::new(Script { options, taken: Vec::new() })).cast());
    }
    0
}

unsafe extern "C" fn submit(worker: *mut c_void, transfer: *const abi::Transfer) {
    // SAFETY: what `open` gave.
    let script = unsafe { &mut *worker.cast::<Script>() };
    // SAFETY: the personality passes a transfer.
    script.taken.push(unsafe { ((*transfer).tag, (*transfer).length) });
}

unsafe extern "C" fn reap(
    worker: *mut c_void,
    done: *mut abi::Completion,
    room: u32,
    _: u32,
    _: *mut c_char,
    _: usize,
) -> i32 {
    // SAFETY: what `open` gave.
    let script = unsafe { &mut *worker.cast::<Script>() };
    assert_eq!(room as usize, script.taken.len());
    let (tag, length) = script.taken[0];
    let good = abi::Completion { tag, result: length as i32 };
    let (count, answer) = match script.options.as_str() {
        "nothing" => (0, good),
        "too_many" => (room as i32 + 1, good),
        "far_too_many" => (i32::MAX, good),
        "reap_fails" => (-libc::ENODEV, good),
        "fails_oddly" => (i32::MIN, good),
        "wrong_tag" => (1, abi::Completion { tag: u32::MAX, ..good }),
        "twice" => (2, good),
        "too_long" => (1, abi::Completion { result: length as i32 + 1, ..good }),
        "no_error" => (1, abi::Completion { result: i32::MIN, ..good }),
        _ => (1, good),
    };
    // Completions beyond the room are counted, not written.
    for index in 0..count.clamp(0, room as i32) as usize {
        // SAFETY: there is room for `room` of them.
        unsafe { done.add(index).write(answer) };
    }
    script.taken.remove(0);
    count
}

unsafe extern "C" fn close(worker: *mut c_void) {
    // SAFETY: what `open` gave, once.
    drop(unsafe { Box::from_raw(worker.cast::<Script>()) });
}

unsafe extern "C" fn describe(_: *mut c_void) -> *const c_char {
    c"script\n1".as_ptr()
}

fn table() -> abi::Personality {
    abi::Personality {
        abi_version: ABI_VERSION,
        size: size_of::<abi::Personality>() as u32,
        open: Some(open),
        submit: Some(submit),
        start: None,
        reap: Some(reap),
        poll: None,
        close: Some(close),
        describe: Some(describe),
    }
}

/// Opens with the options, submits two transfers and waits for the first; returns the completions.
fn two_transfers(options: &str) -> io::Result<Vec<(u32, i32)>> {
    let named = Named { file: "./script.so".to_owned(), options: options.to_owned() };
    let workload = Workload { request_size: Bytes(4096), plugin: Some(named.clone()), ..Workload::default() };
    let buffers = Buffers::new(2, 4096)?;
    let setup = Setup { targets: &[], buffers: &buffers, outstanding: 2, workload: &workload };
    let given = table();
    // SAFETY: a table that is whole.
    let functions = unsafe { load::functions(&named.file, &raw const given) }.unwrap();
    let (mut plugin, granted) = Plugin::open_with(functions, &named, &setup)?;
    assert_eq!(granted.obtained, ["script1"]);
    for tag in 0..2 {
        let address = buffers.address(tag as usize, 0);
        let transfer = Transfer { tag, length: 512, offset: 0, address, target: 0, kind: RequestKind::Read };
        // SAFETY: the buffers live on, and each transfer has its own.
        unsafe { plugin.submit(transfer) };
    }
    let mut done = Vec::new();
    plugin.reap(&mut done, 1)?;
    Ok(done.iter().map(|completion| (completion.tag, completion.result)).collect())
}

#[test]
fn a_correct_plug_in_completes_its_transfers() {
    assert_eq!(two_transfers("").unwrap(), [(0, 512)]);
}

#[test]
fn a_faulty_plug_in_is_named_with_its_result() {
    for (options, needle) in [
        ("nothing", "returned nothing, with 2 transfers outstanding"),
        ("too_many", "returned 3 completions of 2 outstanding transfers"),
        ("far_too_many", "completions of 2 outstanding transfers"),
        ("wrong_tag", "the tag 4294967295, which is not outstanding"),
        ("twice", "the tag 0, which is not outstanding"),
        ("too_long", "returned 513 bytes of a transfer of 512"),
        ("no_error", "which is no error number"),
        ("reap_fails", "cannot wait for transfers: ENODEV: the device is gone"),
        ("fails_oddly", "cannot wait for transfers: it returned -2147483648 and does not say why"),
        ("open_fails", "cannot be opened: no luck"),
    ] {
        let message = two_transfers(options).unwrap_err().to_string();
        assert!(message.contains("./script.so") && message.contains(needle), "{options}: {message}");
    }
}

#[test]
fn an_incomplete_table_of_functions_is_rejected() {
    let cases = [
        (abi::Personality { abi_version: 2, ..table() }, "uses version 2 of the interface"),
        (abi::Personality { size: 16, ..table() }, "a part (16 bytes)"),
        (abi::Personality { reap: None, ..table() }, "no reap function"),
        (abi::Personality { describe: None, ..table() }, "no describe function"),
    ];
    for (table, needle) in cases {
        // SAFETY: the table has as many bytes as any of them says.
        let message = unsafe { load::functions("./script.so", &raw const table) }.unwrap_err().to_string();
        assert!(message.contains(needle), "{message}");
    }
    // SAFETY: null is allowed.
    let message = unsafe { load::functions("./script.so", std::ptr::null()) }.unwrap_err().to_string();
    assert!(message.contains("uses another version of the interface"), "{message}");
}

#[test]
fn a_file_that_is_no_plug_in_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text.so");
    std::fs::write(&text, "not a shared object").unwrap();
    // A shared object that is there whatever the system.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.lines().filter_map(|line| line.split_once('/')).find(|(_, path)| path.contains("/libc.so"));
    let library = library.map(|(_, path)| format!("/{path}")).expect("the C library is a file");
    for (file, needle) in [
        ("./missing.so", "cannot load the plug-in ./missing.so: cannot open shared object file"),
        (text.to_str().unwrap(), "built for this machine"),
        (&library, "does not export halfpower_personality"),
    ] {
        let plugin = Named { file: file.to_owned(), options: String::new() };
        let message = check_plugin(&plugin).unwrap_err().to_string();
        assert!(message.contains(needle), "{message}");
    }
}
