//! Words of incompressible data from which their base can be computed.
//!
//! Word `i` of a sequence is a mix of `base + i * STEP`: a counter run through one multiplication and two xor-shifts,
//! each of which is invertible. So data is generated at memory speed from any place on, and one word gives its base
//! back. It is part of the format of a stamped block and must not change. Not for secrets.

/// From one word to the next: 2^64 over the golden ratio, as in SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// An odd factor with its bits well spread.
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
const FACTOR_INVERSE: u64 = inverse(FACTOR);

/// The inverse of `odd` modulo 2^64, by Newton's iteration: each step doubles the correct bits.
pub(super) const fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    let mut right_bits = 3;
    while right_bits < 64 {
        result = result.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(result)));
        right_bits *= 2;
    }
    result
}

/// Spreads every bit of `value` over the word; a bijection.
#[inline]
pub(super) fn mix(value: u64) -> u64 {
    let product = (value ^ (value >> 32)).wrapping_mul(FACTOR);
    product ^ (product >> 29)
}

/// Undoes [`mix`].
fn unmix(word: u64) -> u64 {
    let product = word ^ (word >> 29) ^ (word >> 58);
    let value = product.wrapping_mul(FACTOR_INVERSE);
    value ^ (value >> 32)
}

/// Writes the sequence of `base` over `data`.
#[inline]
pub(super) fn write(data: &mut [u8], base: u64) {
    let (words, rest) = data.as_chunks_mut::<8>();
    let mut next = base;
    for word in words {
        *word = mix(next).to_le_bytes();
        next = next.wrapping_add(STEP);
    }
    rest.copy_from_slice(&mix(next).to_le_bytes()[..rest.len()]);
}

/// The base of each whole word of `data`; all equal in undamaged data.
pub(super) fn bases(data: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (words, _) = data.as_chunks::<8>();
    words
        .iter()
        .zip(0_u64..)
        .map(|(word, index)| unmix(u64::from_le_bytes(*word)).wrapping_sub(index.wrapping_mul(STEP)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_gives_its_base_back(base in any::<u64>(), length in 0_usize..200) {
            let mut data = vec![0; length];
            write(&mut data, base);
            prop_assert_eq!(bases(&data).collect::<Vec<_>>(), vec![base; length / 8]);
        }
    }
}
