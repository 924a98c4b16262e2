//! The outcome of a SCSI command: the device's status and sense data (SAM-6 5.3, SPC-5 4.4 and annex F), and the status of the
//! host adapter and of the driver (Linux, scsi_status.h). The error number is the one that a plain read or
//! write of the same blocks ends with (scsi_error.c, scsi_lib.c and blk-core.c of Linux 6.1).

use super::super::device::DeviceError;

/// Room for sense data, in bytes; the fields read here lie within it.
pub(super) const SENSE_BYTES: usize = 64;

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It succeeded.
    Done,
    /// The device reported unit attention, such as a reset, instead of carrying it out.
    Again,
    /// It failed.
    Failed(DeviceError),
}

/// The kernel's answer to a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    /// The device's status byte.
    pub(super) status: u8,
    /// The host adapter's, `DID_…`.
    pub(super) host_status: u16,
    /// The driver's, `DRIVER_…`.
    pub(super) driver_status: u16,
    /// Sense data, as many bytes as the device returned.
    pub(super) sense: &'a [u8],
}

impl Answer<'_> {
    /// How the command ended.
    #[inline]
    pub(super) fn outcome(&self) -> Outcome {
        if self.status == 0 && self.host_status == 0 && self.driver_status == 0 {
            Outcome::Done
        } else {
            self.examine()
        }
    }

    #[cold]
    fn examine(&self) -> Outcome {
        // The report nearest to the medium is the most exact.
        if let Some(sense) = Sense::decode(self.sense) {
            return sense.outcome();
        }
        let driver = self.driver_status & 0xf;
        let (errno, cause) = match (self.status, self.host_status) {
            (0x08, _) => (libc::EBUSY, "the device was busy"),
            (0x18, _) => (libc::EBADE, "another host has reserved the device"),
            (0x28, _) => (libc::EBUSY, "the device's queue was full"),
            (0x40, _) => (libc::EIO, "the device aborted the command"),
            (0x02, _) => (libc::EIO, "the device reports an unspecified error"),
            (_, 1 | 4) => (libc::ENODEV, "the device does not answer"),
            (_, 2) => (libc::EBUSY, "the bus was busy"),
            (_, 3) => (libc::ETIMEDOUT, "the device did not answer in time"),
            (_, 5 | 8) => (libc::EIO, "the command was lost in a reset"),
            (_, 6) => (libc::EIO, "a parity error on the bus"),
            (_, 7) => (libc::EIO, "a transport error; was the device removed?"),
            (_, 0xe | 0xf) => (libc::ENOLINK, "the connection to the device was lost"),
            (_, 0x10) => (libc::EREMOTEIO, "the device failed"),
            (_, 0x12) => (libc::ENOSPC, "the device has no space left"),
            (_, 0x13) => (libc::ENODATA, "the medium failed"),
            // Good, condition met; and the driver's flag for sense data, without an error in it.
            (0 | 4, 0) if matches!(driver, 0 | 8) => return Outcome::Done,
            (0 | 4, 0) if driver == 6 => (libc::ETIMEDOUT, "the device did not answer in time"),
            (status, host) => {
                let driver = self.driver_status;
                let cause =
                    format!("the command failed (status {status:02x}h, host {host:02x}h, driver {driver:02x}h)");
                return Outcome::Failed(DeviceError { errno: libc::EIO, cause });
            }
        };
        Outcome::Failed(DeviceError { errno, cause: cause.to_owned() })
    }
}

/// Sense data: its key, additional sense code, and qualifier of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sense {
    key: u8,
    code: u8,
    qualifier: u8,
}

impl Sense {
    /// Parses sense data of the fixed or the descriptor format; none if there are no sense data.
    fn decode(bytes: &[u8]) -> Option<Sense> {
        let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
        match bytes.first()? & 0x7f {
            0x70 | 0x71 => Some(Sense { key: at(2) & 0xf, code: at(12), qualifier: at(13) }),
            0x72 | 0x73 => Some(Sense { key: at(1) & 0xf, code: at(2), qualifier: at(3) }),
            _ => None,
        }
    }

    fn outcome(self) -> Outcome {
        match self.key {
            // No sense, and a recovered error.
            0x0 | 0x1 => Outcome::Done,
            0x6 => Outcome::Again,
            _ => Outcome::Failed(DeviceError { errno: self.errno(), cause: self.to_string() }),
        }
    }

    fn errno(self) -> i32 {
        match (self.key, self.code, self.qualifier) {
            (0x3, 0x11 | 0x13 | 0x14, _) => libc::ENODATA,
            (0x5 | 0xb, 0x10, _) => libc::EILSEQ,
            (0x5, 0x20 | 0x21 | 0x22 | 0x24 | 0x26 | 0x27, _) => libc::EREMOTEIO,
            (0x7, 0x27, 0x07) => libc::ENOSPC,
            (0x4 | 0x7 | 0x8 | 0xa | 0xd | 0xe, ..) => libc::EREMOTEIO,
            _ => libc::EIO,
        }
    }

    /// The additional sense code in words, if disks return it for our commands.
    fn code_words(self) -> Option<&'static str> {
        Some(match (self.code, self.qualifier) {
            (0x04, _) => "not ready",
            (0x0c, _) => "the write failed",
            (0x10, _) => "the protection information does not match the data",
            (0x11, _) => "the blocks cannot be read",
            (0x13 | 0x14, _) => "the blocks are not found",
            (0x20, _) => "it does not support the command",
            (0x21, _) => "the blocks are beyond its end",
            (0x24 | 0x26, _) => "it rejects this form of the command",
            (0x25, _) => "there is no such unit",
            (0x27, 0x07) => "no space left",
            (0x27, _) => "it is write protected",
            (0x3a, _) => "it has no medium",
            (0x44, _) => "it had an internal error",
            (0x47 | 0x4b, _) => "the data were corrupted in transfer",
            (0x55, _) => "it is out of resources",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Sense {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.key {
            0x2 => "the device is not ready",
            0x3 => "the medium failed",
            0x4 => "the hardware failed",
            0x5 => "the device rejects the request",
            0x7 => "the data are protected",
            0xb => "the device aborted the command",
            _ => "the device reports an error",
        })?;
        if let Some(words) = self.code_words() {
            write!(f, ": {words}")?;
        }
        write!(f, " (sense {:x}h/{:02x}h/{:02x}h)", self.key, self.code, self.qualifier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(answer: Answer<'_>) -> DeviceError {
        match answer.outcome() {
            Outcome::Failed(error) => error,
            other => panic!("{answer:?} is {other:?}"),
        }
    }

    fn check_condition(sense: &[u8]) -> Answer<'_> {
        Answer { status: 2, host_status: 0, driver_status: 8, sense }
    }

    /// Fixed format: 8 bytes, additional length 10, the code and its qualifier at 12 and 13.
    fn fixed(key: u8, code: u8, qualifier: u8) -> [u8; 18] {
        [0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, qualifier, 0, 0, 0, 0]
    }

    #[test]
    fn both_formats_are_parsed_alike() {
        let expected = DeviceError {
            errno: libc::ENODATA,
            cause: "the medium failed: the blocks cannot be read (sense 3h/11h/00h)".to_owned(),
        };
        assert_eq!(failed(check_condition(&fixed(3, 0x11, 0))), expected);
        // With the bit that its information field (the failed block) is valid, and for an earlier command.
        let deferred = [0xf1, 0, 3, 0, 0, 0x12, 0x34, 10, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0];
        assert_eq!(failed(check_condition(&deferred)), expected);
        for format in [0x72, 0x73] {
            assert_eq!(failed(check_condition(&[format, 3, 0x11, 0, 0, 0, 0, 0])), expected);
        }
        let short = [0x70, 0, 4];
        assert_eq!(failed(check_condition(&short)).cause, "the hardware failed (sense 4h/00h/00h)");
    }

    #[test]
    fn sense_has_the_error_number_of_a_plain_read() {
        let errno = |key, code, qualifier| failed(check_condition(&fixed(key, code, qualifier))).errno;
        assert_eq!(errno(0x2, 0x04, 0x02), libc::EIO);
        assert_eq!(errno(0x3, 0x0c, 0x00), libc::EIO);
        assert_eq!(errno(0x4, 0x44, 0x00), libc::EREMOTEIO);
        assert_eq!(errno(0x5, 0x21, 0x00), libc::EREMOTEIO);
        assert_eq!(errno(0x5, 0x25, 0x00), libc::EIO);
        assert_eq!(errno(0x7, 0x27, 0x00), libc::EREMOTEIO);
        assert_eq!(errno(0x7, 0x27, 0x07), libc::ENOSPC);
        assert_eq!(errno(0xb, 0x10, 0x01), libc::EILSEQ);
        assert_eq!(errno(0xb, 0x47, 0x00), libc::EIO);
    }

    #[test]
    fn success_and_unit_attention_are_no_failures() {
        let good = Answer { status: 0, host_status: 0, driver_status: 0, sense: &[] };
        assert_eq!(good.outcome(), Outcome::Done);
        assert_eq!(check_condition(&fixed(1, 0x17, 0)).outcome(), Outcome::Done, "a recovered error");
        assert_eq!(check_condition(&fixed(6, 0x29, 0)).outcome(), Outcome::Again, "a reset");
        assert_eq!(Answer { driver_status: 8, ..good }.outcome(), Outcome::Done);
    }

    #[test]
    fn without_sense_the_status_nearest_to_the_medium_is_reported() {
        let good = Answer { status: 0, host_status: 0, driver_status: 0, sense: &[] };
        assert_eq!(failed(Answer { status: 0x18, ..good }).errno, libc::EBADE);
        assert_eq!(failed(Answer { status: 0x28, ..good }).errno, libc::EBUSY);
        assert_eq!(failed(Answer { host_status: 1, ..good }).errno, libc::ENODEV);
        assert_eq!(failed(Answer { host_status: 3, ..good }).errno, libc::ETIMEDOUT);
        assert_eq!(failed(Answer { driver_status: 6, ..good }).errno, libc::ETIMEDOUT);
        let odd = failed(Answer { host_status: 9, ..good });
        assert_eq!(odd.cause, "the command failed (status 00h, host 09h, driver 00h)");
        assert!(failed(Answer { status: 2, ..good }).cause.contains("unspecified error"));
    }
}
