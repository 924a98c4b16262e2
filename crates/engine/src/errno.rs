//! Names and remedies of the errors that storage gives.

/// The name of an error number, `EIO`; `errno 123` if it is not listed here.
pub fn name(errno: i32) -> String {
    known(errno).map_or_else(|| format!("errno {errno}"), |(_, name, _)| (*name).to_owned())
}

/// The meaning for the user, and the remedy.
pub(crate) fn explanation(errno: i32) -> String {
    known(errno).map_or_else(|| std::io::Error::from_raw_os_error(errno).to_string(), |(.., text)| (*text).to_owned())
}

fn known(errno: i32) -> Option<&'static (i32, &'static str, &'static str)> {
    KNOWN.iter().find(|(number, ..)| *number == errno)
}

/// The remedy for a limit on open files; none for other errors.
pub(crate) fn limit_remedy(error: &std::io::Error) -> Option<String> {
    match error.raw_os_error()? {
        libc::EMFILE => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            let limit = limit.map_or_else(String::new, |limit| format!(" of {limit}"));
            Some(format!("raise the limit{limit} on open files (ulimit -n)"))
        }
        libc::ENFILE => Some("raise the system's limit on open files (sysctl fs.file-max)".to_owned()),
        _ => None,
    }
}

const KNOWN: [(i32, &str, &str); 28] = [
    (libc::EIO, "EIO", "the device reports an error; see the kernel log (dmesg), or that of the server"),
    (libc::ENOSPC, "ENOSPC", "no space left on the file system; free some, or write less with --size"),
    (libc::EDQUOT, "EDQUOT", "the disk quota is used up; free some space, or write less with --size"),
    (libc::EFBIG, "EFBIG", "the file would grow past the largest allowed; write less with --size"),
    (libc::EAGAIN, "EAGAIN", "the kernel had no resources for the request; use a smaller --depth"),
    (libc::EINVAL, "EINVAL", "the target rejects requests of this size or offset; try --buffering buffered"),
    (libc::ENOENT, "ENOENT", "the file is gone; did another program remove it?"),
    (libc::ENODEV, "ENODEV", "the device is gone; was it removed?"),
    (libc::ENXIO, "ENXIO", "the device is gone; was it removed?"),
    (libc::EBADF, "EBADF", "the target was closed meanwhile, or does not allow this operation"),
    (libc::EROFS, "EROFS", "the file system became read-only; see the kernel log (dmesg)"),
    (libc::ESTALE, "ESTALE", "the network file system lost the file; remount it"),
    (libc::ETIMEDOUT, "ETIMEDOUT", "the device or server did not answer in time"),
    (libc::ENOMEM, "ENOMEM", "the kernel had no memory for the request; use smaller requests or a smaller --depth"),
    (libc::ENODATA, "ENODATA", "the medium failed: it cannot be read or written there; see the kernel log (dmesg)"),
    (libc::EREMOTEIO, "EREMOTEIO", "the device rejected the request or failed; see the kernel log (dmesg)"),
    (libc::EILSEQ, "EILSEQ", "the data do not match their protection information; see the kernel log (dmesg)"),
    (libc::EBADE, "EBADE", "another host has reserved the device"),
    (libc::ENOLINK, "ENOLINK", "the connection to the device was lost"),
    (libc::EBUSY, "EBUSY", "the device is busy"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP", "the target does not support this operation"),
    (libc::EPERM, "EPERM", "the target does not allow this operation"),
    (libc::EACCES, "EACCES", "the target does not allow this user the operation"),
    (libc::ECONNRESET, "ECONNRESET", "the server closed the connection"),
    (libc::EPROTO, "EPROTO", "the server does not keep to the protocol"),
    (libc::EMSGSIZE, "EMSGSIZE", "the client cannot send so much at once; use a smaller --request-size"),
    (libc::ESHUTDOWN, "ESHUTDOWN", "the server is shutting down"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH", "the server cannot be reached any more"),
];
