//! SCSI commands as bytes, and the answer to READ CAPACITY: SBC-4 (INCITS 506) sections 5.11 to 5.45. All numbers are
//! big-endian.

use super::super::device::{Blocks, WriteDone};

/// Bytes of READ CAPACITY (16)'s answer.
pub(super) const CAPACITY_BYTES: usize = 32;
/// Bytes of UNMAP's parameter list with one range.
pub(super) const UNMAP_LIST_BYTES: usize = 24;

/// Force unit access: the medium, not the device's cache.
const FUA: u8 = 1 << 3;

/// A command descriptor block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    bytes: [u8; 16],
    length: u8,
}

impl Command {
    /// READ (10), or READ (16) where the blocks are out of its reach.
    pub(super) fn read(blocks: Blocks) -> Command {
        Command::transfer([0x28, 0x88], 0, blocks)
    }

    /// WRITE (10) or WRITE (16).
    pub(super) fn write(blocks: Blocks, done: WriteDone) -> Command {
        let flags = if done == WriteDone::OnMedium { FUA } else { 0 };
        Command::transfer([0x2a, 0x8a], flags, blocks)
    }

    /// SYNCHRONIZE CACHE (10) of the whole medium, answered when it is done.
    pub(super) fn synchronize_cache() -> Command {
        Command::of(&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// UNMAP, with an [`unmap_list`].
    pub(super) fn unmap() -> Command {
        Command::of(&[0x42, 0, 0, 0, 0, 0, 0, 0, UNMAP_LIST_BYTES as u8, 0])
    }

    /// READ CAPACITY (16): SERVICE ACTION IN (16) with its service action.
    pub(super) fn read_capacity() -> Command {
        Command::of(&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, CAPACITY_BYTES as u8, 0, 0])
    }

    /// The bytes to send.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    fn of(bytes: &[u8]) -> Command {
        let mut command = Command { bytes: [0; 16], length: bytes.len() as u8 };
        command.bytes[..bytes.len()].copy_from_slice(bytes);
        command
    }

    /// A command that moves blocks, in the form of 10 or of 16 bytes; `codes` are those of the two.
    #[inline]
    fn transfer(codes: [u8; 2], flags: u8, blocks: Blocks) -> Command {
        let mut bytes = [0; 16];
        bytes[1] = flags;
        match (u32::try_from(blocks.first), u16::try_from(blocks.count)) {
            (Ok(first), Ok(count)) => {
                bytes[0] = codes[0];
                bytes[2..6].copy_from_slice(&first.to_be_bytes());
                bytes[7..9].copy_from_slice(&count.to_be_bytes());
                Command { bytes, length: 10 }
            }
            _ => {
                bytes[0] = codes[1];
                bytes[2..10].copy_from_slice(&blocks.first.to_be_bytes());
                bytes[10..14].copy_from_slice(&blocks.count.to_be_bytes());
                Command { bytes, length: 16 }
            }
        }
    }
}

/// UNMAP's parameter list with one range.
pub(super) fn unmap_list(blocks: Blocks) -> [u8; UNMAP_LIST_BYTES] {
    let mut list = [0; UNMAP_LIST_BYTES];
    // The lengths of the rest of the list and of the ranges, in bytes.
    list[1] = (UNMAP_LIST_BYTES - 2) as u8;
    list[3] = (UNMAP_LIST_BYTES - 8) as u8;
    list[8..16].copy_from_slice(&blocks.first.to_be_bytes());
    list[16..20].copy_from_slice(&blocks.count.to_be_bytes());
    list
}

/// Bytes of a logical block, of the answer to READ CAPACITY (16); none if the answer is impossible.
pub(super) fn block_bytes(answer: &[u8; CAPACITY_BYTES]) -> Option<u32> {
    // The address of the last block, then the bytes of each.
    let block_bytes = u32::from_be_bytes(*answer[8..].first_chunk()?);
    (block_bytes > 0 && answer[..8] != [0xff; 8]).then_some(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_within_reach_take_ten_bytes() {
        let blocks = Blocks { first: 0x0012_3456, count: 8 };
        assert_eq!(Command::read(blocks).bytes(), [0x28, 0, 0, 0x12, 0x34, 0x56, 0, 0, 8, 0]);
        let write = Command::write(blocks, WriteDone::InCache);
        assert_eq!(write.bytes(), [0x2a, 0, 0, 0x12, 0x34, 0x56, 0, 0, 8, 0]);
        let through = Command::write(blocks, WriteDone::OnMedium);
        assert_eq!(through.bytes(), [0x2a, 8, 0, 0x12, 0x34, 0x56, 0, 0, 8, 0]);
        let last = Blocks { first: u64::from(u32::MAX), count: 0xffff };
        assert_eq!(Command::read(last).bytes(), [0x28, 0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]);
    }

    #[test]
    fn blocks_out_of_reach_take_sixteen() {
        let far = Blocks { first: 1 << 32, count: 1 };
        let bytes = [0x88, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(Command::read(far).bytes(), bytes);
        let many = Blocks { first: 2, count: 0x1_0000 };
        let bytes = [0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0];
        assert_eq!(Command::write(many, WriteDone::OnMedium).bytes(), bytes);
    }

    #[test]
    fn a_flush_and_a_trim() {
        assert_eq!(Command::synchronize_cache().bytes(), [0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Command::unmap().bytes(), [0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0]);
        let list = unmap_list(Blocks { first: 0x0102_0304_0506_0708, count: 0x800 });
        let expected = [0, 22, 0, 16, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 8, 0, 0, 0, 0, 0_u8];
        assert_eq!(list, expected);
    }

    #[test]
    fn a_capacity_has_the_size_of_a_block() {
        assert_eq!(Command::read_capacity().bytes(), [0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0]);
        let mut answer = [0; CAPACITY_BYTES];
        // A disk of 1 TiB in blocks of 512 bytes.
        answer[4..8].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        answer[8..12].copy_from_slice(&[0, 0, 2, 0]);
        assert_eq!(block_bytes(&answer), Some(512));
        answer[..8].fill(0xff);
        assert_eq!(block_bytes(&answer), None);
        assert_eq!(block_bytes(&[0; CAPACITY_BYTES]), None);
    }
}
