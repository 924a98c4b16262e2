//! NVMe commands as the kernel takes them (linux/nvme_ioctl.h), and the answer to Identify Namespace: NVM Express Base
//! Specification 2.0 and NVM Command Set Specification 1.0. All numbers are little-endian.

use super::super::device::{Blocks, WriteDone};

/// Bytes of Identify's answers.
pub(super) const IDENTIFY_BYTES: usize = 4096;
/// Bytes of Dataset Management's list with one range.
pub(super) const RANGE_BYTES: usize = 16;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const DATASET_MANAGEMENT: u8 = 0x09;
const IDENTIFY: u8 = 0x06;
/// Force unit access: the medium, not the device's cache.
const FUA: u32 = 1 << 30;
/// The attribute of Dataset Management to deallocate its ranges.
const DEALLOCATE: u32 = 1 << 2;

/// Memory that a command reads or fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Where it begins.
    pub(super) address: u64,
    /// Its bytes.
    pub(super) length: u32,
}

/// `struct nvme_uring_cmd`, which is also `struct nvme_passthru_cmd`: a command's double words, without those that the
/// kernel fills in itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    word2: u32,
    word3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    word10: u32,
    word11: u32,
    word12: u32,
    word13: u32,
    word14: u32,
    word15: u32,
    timeout_ms: u32,
    /// The answer's double word 0, where an ioctl writes it.
    result: u32,
}

const _: () = assert!(size_of::<Command>() == 72, "the size is part of the ioctls' numbers");

impl Command {
    /// Read.
    #[inline]
    pub(super) fn read(namespace: u32, blocks: Blocks, data: Data) -> Command {
        Command {
            word10: blocks.first as u32,
            word11: (blocks.first >> 32) as u32,
            // Blocks less one, in the lower half.
            word12: blocks.count - 1,
            ..Command::of(READ, namespace, data)
        }
    }

    /// Write.
    #[inline]
    pub(super) fn write(namespace: u32, blocks: Blocks, data: Data, done: WriteDone) -> Command {
        let read = Command::read(namespace, blocks, data);
        let access = if done == WriteDone::OnMedium { FUA } else { 0 };
        Command { opcode: WRITE, word12: read.word12 | access, ..read }
    }

    /// Flush: the device writes its cache of the namespace to the medium.
    pub(super) fn flush(namespace: u32) -> Command {
        Command::of(FLUSH, namespace, Data { address: 0, length: 0 })
    }

    /// Dataset Management that deallocates one range, which `data` holds as [`range`] writes it.
    pub(super) fn deallocate(namespace: u32, data: Data) -> Command {
        // Word 10 is the number of ranges less one, word 11 their attributes.
        Command { word11: DEALLOCATE, ..Command::of(DATASET_MANAGEMENT, namespace, data) }
    }

    /// Identify Namespace; an admin command.
    pub(super) fn identify(namespace: u32, data: Data) -> Command {
        Command::of(IDENTIFY, namespace, data)
    }

    /// The bytes of a submission entry for it.
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        // SAFETY: the type is C's, of plain numbers without padding between them, and has 72 of the 80 bytes.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const self).cast::<u8>(), bytes.as_mut_ptr(), size_of::<Command>())
        };
        bytes
    }

    #[inline]
    fn of(opcode: u8, namespace: u32, data: Data) -> Command {
        Command { opcode, namespace, address: data.address, length: data.length, ..Command::default() }
    }
}

/// A range of Dataset Management.
pub(super) fn range(blocks: Blocks) -> [u8; RANGE_BYTES] {
    let mut range = [0; RANGE_BYTES];
    range[4..8].copy_from_slice(&blocks.count.to_le_bytes());
    range[8..].copy_from_slice(&blocks.first.to_le_bytes());
    range
}

/// The answer to Identify Namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    /// Logical blocks it has.
    pub(super) blocks: u64,
    /// Bytes of each.
    pub(super) block_bytes: u32,
    /// Bytes of metadata that go with each.
    pub(super) metadata_bytes: u16,
}

impl Namespace {
    /// Parses the answer; none if it is impossible, as for a namespace that does not exist (all zero).
    pub(super) fn decode(answer: &[u8; IDENTIFY_BYTES]) -> Option<Namespace> {
        let blocks = u64::from_le_bytes(answer[..8].try_into().ok()?);
        let formatted = answer[26];
        // The index of the format in use: four bits, and since 2.0 two more.
        let index = usize::from(formatted & 0xf | (formatted >> 1) & 0x30);
        let format = &answer[128 + 4 * index..][..4];
        let shift = format[2];
        let metadata_bytes = u16::from_le_bytes(format[..2].try_into().ok()?);
        (blocks > 0 && (9..32).contains(&shift)).then_some(Namespace {
            blocks,
            block_bytes: 1 << shift,
            metadata_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: Data = Data { address: 0x0000_7fff_1234_5000, length: 4096 };

    /// Double word `index` of a command as the kernel's structure holds it.
    fn word(bytes: &[u8; 80], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_transfer_has_its_first_block_and_their_number_less_one() {
        let blocks = Blocks { first: 0x0000_0012_3456_789a, count: 8 };
        let bytes = Command::read(3, blocks, DATA).to_bytes();
        let mut expected = [0; 80];
        expected[0] = 2;
        expected[4] = 3;
        expected[24..32].copy_from_slice(&[0x00, 0x50, 0x34, 0x12, 0xff, 0x7f, 0, 0]);
        expected[36..40].copy_from_slice(&[0, 0x10, 0, 0]);
        expected[40..48].copy_from_slice(&[0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0, 0]);
        expected[48] = 7;
        assert_eq!(bytes, expected);
        let write = Command::write(3, blocks, DATA, WriteDone::InCache).to_bytes();
        assert_eq!((write[0], word(&write, 48)), (1, 7));
        let through = Command::write(3, blocks, DATA, WriteDone::OnMedium).to_bytes();
        assert_eq!(word(&through, 48), 0x4000_0007);
    }

    #[test]
    fn a_flush_and_a_trim() {
        let flush = Command::flush(1).to_bytes();
        assert_eq!((flush[0], flush[4]), (0, 1));
        assert!(flush[5..].iter().all(|byte| *byte == 0));
        let data = Data { address: 0x1000, length: RANGE_BYTES as u32 };
        let trim = Command::deallocate(1, data).to_bytes();
        assert_eq!((trim[0], word(&trim, 36), word(&trim, 40), word(&trim, 44)), (9, 16, 0, 4));
        let range = range(Blocks { first: 0x0102_0304_0506_0708, count: 0x0a0b });
        assert_eq!(range, [0, 0, 0, 0, 0x0b, 0x0a, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_namespace_has_the_size_of_the_format_in_use() {
        let mut answer = [0; IDENTIFY_BYTES];
        answer[..8].copy_from_slice(&[0, 0, 8, 0, 0, 0, 0, 0]);
        // Formats 0: 512 bytes; 1: 4096 bytes; 17: 4096 bytes and 8 of metadata.
        answer[130] = 9;
        answer[134] = 12;
        answer[128 + 4 * 17] = 8;
        answer[128 + 4 * 17 + 2] = 12;
        let blocks = 0x8_0000;
        let plain = |block_bytes| Some(Namespace { blocks, block_bytes, metadata_bytes: 0 });
        assert_eq!(Namespace::decode(&answer), plain(512));
        // Bit 4 is the place of metadata and no part of the index.
        answer[26] = 0x11;
        assert_eq!(Namespace::decode(&answer), plain(4096));
        answer[26] = 0x21;
        assert_eq!(Namespace::decode(&answer), Some(Namespace { blocks, block_bytes: 4096, metadata_bytes: 8 }));
        answer[26] = 5;
        assert_eq!(Namespace::decode(&answer), None, "a format that is not there");
        assert_eq!(Namespace::decode(&[0; IDENTIFY_BYTES]), None);
    }

    #[test]
    fn identify_asks_for_a_namespace() {
        let bytes = Command::identify(7, Data { address: 0x2000, length: IDENTIFY_BYTES as u32 }).to_bytes();
        assert_eq!((bytes[0], bytes[4], word(&bytes, 36), word(&bytes, 40)), (6, 7, 4096, 0));
    }
}
