//! A zlib stream (RFC 1950), inflated up to a bound, its checksum held against what came out.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

const BREAKS_OFF: &str = "the compressed histogram breaks off";
const DAMAGED: &str = "the compressed histogram is damaged, or no zlib stream";

/// What a stream holds, at most `most` bytes of it.
///
/// # Errors
/// What is wrong with the stream, or that it holds more. Of a stream that is damaged nothing is given back.
pub(super) fn inflated(stream: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    decompress_to_vec_zlib_with_limit(stream, most).map_err(|wrong| match wrong.status {
        TINFLStatus::HasMoreOutput => "the compressed histogram holds more than any histogram has",
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => BREAKS_OFF,
        TINFLStatus::Adler32Mismatch => "the checksum of the compressed histogram is wrong",
        _ => DAMAGED,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What zlib 1.2.13 makes, at level 9, of a word and of letters that are worth a code of their own.
    #[test]
    fn streams_of_zlib_come_out_as_they_went_in() {
        let fixed = [120, 218, 11, 207, 204, 206, 44, 72, 77, 201, 76, 4, 0, 17, 230, 3, 152];
        assert_eq!(inflated(&fixed, 9).unwrap(), b"Wikipedia");
        assert!(inflated(&fixed, 8).unwrap_err().contains("more than any histogram"));
        let mut wrong = fixed;
        wrong[16] ^= 1;
        assert!(inflated(&wrong, 9).unwrap_err().contains("checksum"));
        for length in 0..fixed.len() {
            assert!(inflated(&fixed[..length], 9).is_err(), "{length}");
        }
        let dynamic = [
            120, 218, 229, 203, 201, 17, 192, 64, 8, 4, 177, 216, 122, 56, 22, 40, 200, 63, 29, 7, 98, 253, 5, 96, 109,
            168, 227, 73, 75, 195, 16, 233, 98, 158, 203, 139, 93, 142, 44, 25, 175, 146, 152, 59, 254, 90, 62, 128,
            103, 80, 221,
        ];
        let seventeenth = |number: u64| number * number * number / 9 % 17;
        let letters: Vec<u8> = (0..300).map(|number| 65 + (seventeenth(number).pow(2) / 20) as u8).collect();
        assert_eq!(inflated(&dynamic, 300).unwrap(), letters);
        for length in 0..dynamic.len() {
            assert!(inflated(&dynamic[..length], 300).is_err(), "{length}");
        }
    }

    #[test]
    fn a_bomb_is_let_out_up_to_the_bound() {
        // A zero, and that 258 times over (length 285, distance 1), again and again, in the code that every decoder knows.
        let mut bits: Vec<bool> = [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0].map(|bit| bit == 1).to_vec();
        for _ in 0..100_000 {
            bits.extend([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0].map(|bit| bit == 1));
        }
        let byte = |bits: &[bool]| bits.iter().rev().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
        let stream: Vec<u8> = [0x78, 0x01].into_iter().chain(bits.chunks(8).map(byte)).collect();
        assert!(inflated(&stream, 1 << 20).unwrap_err().contains("more than any histogram"));
        assert_eq!(inflated(&stream, 1 << 30).unwrap_err(), BREAKS_OFF, "so it would be 26 MB");
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        assert!(inflated(&[0x78, 0x01, 7], 9).is_err(), "a fourth kind of block");
        assert!(inflated(&[0x78, 0x01, 1, 1, 0, 0, 0, 9], 9).is_err(), "a length and another");
        assert_eq!(inflated(&[0x1f, 0x8b, 8, 0], 9).unwrap_err(), DAMAGED);
    }
}
