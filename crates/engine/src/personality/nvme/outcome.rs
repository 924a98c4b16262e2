//! The outcome of an NVMe command: the status field of its completion, as the kernel passes it on (NVM Express Base
//! Specification 2.0, 3.3.3.2). The error number is the one that a plain read or write of the same blocks ends with
//! (nvme_error_status in core.c and blk-core.c of Linux 6.1).

use super::super::device::DeviceError;

/// A status field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    /// Status code type.
    kind: u8,
    /// Status code within the type.
    code: u8,
    /// Whether the device excludes that a retry succeeds.
    is_final: bool,
}

impl Status {
    /// Reads a status field without its phase bit: code in bits 0 to 7, type in 8 to 10, "do not retry" in 14.
    pub(super) fn decode(field: u16) -> Status {
        Status { kind: (field >> 8 & 7) as u8, code: field as u8, is_final: field & 1 << 14 != 0 }
    }

    /// The failure that it reports; none for success.
    pub(super) fn failure(self) -> Option<DeviceError> {
        let (errno, words) = match (self.kind, self.code) {
            (0, 0) => return None,
            (0, 0x01) => (libc::EOPNOTSUPP, "the device does not support the command"),
            (0, 0x02) => (libc::EOPNOTSUPP, "the device rejects this form of the command"),
            (0, 0x04) => (libc::EIO, "the data were corrupted in transfer"),
            (0, 0x05) => (libc::EIO, "the command was lost in a power failure"),
            (0, 0x06) => (libc::EIO, "the device had an internal error"),
            (0, 0x07 | 0x08) | (3, 0x71) => (libc::EIO, "the command was aborted"),
            (0, 0x0b) => (libc::EOPNOTSUPP, "there is no such namespace"),
            (0, 0x20) => (libc::EIO, "the namespace is write protected"),
            (0, 0x21) => (libc::EREMOTEIO, "the device interrupted the command"),
            (0, 0x80) => (libc::EREMOTEIO, "the blocks are beyond the end of the namespace"),
            (0, 0x81) => (libc::ENOSPC, "no space left in the namespace"),
            (0, 0x82) => (libc::EREMOTEIO, "the namespace is not ready"),
            (0, 0x83) => (libc::EBADE, "another host has reserved the namespace"),
            (1, 0x80) => (libc::EOPNOTSUPP, "the device rejects this combination of attributes"),
            (1, 0x81) | (2, 0x82..=0x84) => (libc::EILSEQ, "the protection information does not match the data"),
            (1, 0x82) => (libc::ENODATA, "the namespace is write protected"),
            (2, 0x80) => (libc::ENODATA, "the medium failed: the write failed"),
            (2, 0x81) => (libc::ENODATA, "the medium failed: the blocks cannot be read"),
            (2, 0x85) => (libc::ENODATA, "the device reports an error"),
            (2, 0x86) => (libc::ENODATA, "access to the blocks is denied"),
            (2, 0x87) => (libc::ENODATA, "the blocks were never written"),
            (3, code) => (if code == 0x70 { libc::ENOLINK } else { libc::EIO }, "the path to the device failed"),
            _ => (libc::EIO, "the device reports an error"),
        };
        let again = if self.is_final { "; a retry will not help" } else { "" };
        Some(DeviceError { errno, cause: format!("{words} (status {:x}h/{:02x}h{again})", self.kind, self.code) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(field: u16) -> (i32, String) {
        let error = Status::decode(field).failure().expect("a failure");
        (error.errno, error.cause)
    }

    #[test]
    fn success_is_no_failure() {
        assert_eq!(Status::decode(0).failure(), None);
        // Bits 11 to 13 say when to try again and that there is more to be had; they do not make a failure.
        assert_eq!(Status::decode(0x2000).failure(), None);
    }

    #[test]
    fn a_status_is_named_with_its_code_and_whether_a_retry_helps() {
        let unreadable = "the medium failed: the blocks cannot be read (status 2h/81h";
        assert_eq!(failure(0x0281), (libc::ENODATA, format!("{unreadable})")));
        assert_eq!(failure(0x4281), (libc::ENODATA, format!("{unreadable}; a retry will not help)")));
        let beyond = "the blocks are beyond the end of the namespace (status 0h/80h; a retry will not help)";
        assert_eq!(failure(0x4080), (libc::EREMOTEIO, beyond.to_owned()));
    }

    #[test]
    fn a_status_has_the_error_number_of_a_plain_read() {
        let expected = [
            (0x0001, libc::EOPNOTSUPP),
            (0x0002, libc::EOPNOTSUPP),
            (0x0006, libc::EIO),
            (0x0081, libc::ENOSPC),
            (0x0082, libc::EREMOTEIO),
            (0x0083, libc::EBADE),
            (0x0180, libc::EOPNOTSUPP),
            (0x0181, libc::EILSEQ),
            (0x0182, libc::ENODATA),
            (0x0280, libc::ENODATA),
            (0x0282, libc::EILSEQ),
            (0x0370, libc::ENOLINK),
            (0x0371, libc::EIO),
        ];
        for (field, errno) in expected {
            assert_eq!(failure(field).0, errno, "{field:04x}");
        }
    }
}
