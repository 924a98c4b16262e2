//! Packed counts of non-empty buckets: for each the step from the bucket before and the count, both as LEB128 (seven bits per byte,
//! the lowest first; the eighth bit marks that more follow).

/// Buckets with their counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    /// Its size in bytes.
    pub(super) fn memory(&self) -> usize {
        self.0.len()
    }

    /// Each bucket with its count, in ascending order.
    pub(super) fn bins(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = self.0.iter();
        let mut bucket = 0;
        std::iter::from_fn(move || {
            bucket += number(&mut rest)?;
            Some((bucket as usize, number(&mut rest)?))
        })
    }
}

/// From buckets in ascending order; counts of equal ones are added, and empty ones left out.
impl FromIterator<(usize, u64)> for Packed {
    fn from_iter<I: IntoIterator<Item = (usize, u64)>>(bins: I) -> Self {
        let bins = bins.into_iter().filter(|(_, count)| *count > 0);
        // Mostly a step of one and a count of one byte or two.
        let mut bytes = Vec::with_capacity(3 * bins.size_hint().1.unwrap_or_default());
        let (mut last, mut sum) = (0, 0);
        let mut before = 0;
        for (bucket, count) in bins {
            if bucket != last && sum > 0 {
                push_bin(&mut bytes, last - before, sum);
                (before, sum) = (last, 0);
            }
            (last, sum) = (bucket, sum + count);
        }
        if sum > 0 {
            push_bin(&mut bytes, last - before, sum);
        }
        Packed(bytes.into())
    }
}

fn push_bin(bytes: &mut Vec<u8>, step: usize, count: u64) {
    push(bytes, step as u64);
    push(bytes, count);
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The next number; none at the end.
fn number<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u64> {
    let mut number = 0;
    for (place, byte) in bytes.enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_is_added_and_nothing_is_left_out() {
        let packed: Packed = [(3, 0), (5, 1), (5, 2), (300, u64::MAX)].into_iter().collect();
        assert_eq!(packed.bins().collect::<Vec<_>>(), [(5, 3), (300, u64::MAX)]);
        assert_eq!(packed.0.len(), 2 + 2 + 10);
        assert_eq!(Packed::default().bins().count(), 0);
        // Steps and counts around those that take another byte.
        let numbers = [1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX];
        let mut bucket = 0;
        let mut next = |(step, count): (usize, u64)| {
            bucket += step;
            (bucket, count)
        };
        let pairs = [0, 1, 127, 128, 129, 3800].into_iter().zip(numbers.into_iter().cycle());
        let bins: Vec<(usize, u64)> = pairs.map(&mut next).collect();
        assert_eq!(bins.iter().copied().collect::<Packed>().bins().collect::<Vec<_>>(), bins);
    }
}
