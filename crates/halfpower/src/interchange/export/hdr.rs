//! A log of HdrHistogram, version 1.3: a line for each kind of request of a sample, with latencies in nanoseconds as a
//! compressed histogram, version 2, in base 64.
//!
//! Two significant digits divide an octave into 128 cells, so each of our buckets, 64 per octave, has a separate cell
//! for its middle. Source: HdrHistogram's Java, `AbstractHistogram.encodeIntoCompressedByteBuffer` and
//! `HistogramLogWriter`; RFC 4648 for base 64.

use super::exported::Exported;
use crate::interchange::import::hdr::OWN;
use crate::store::StoredSample;
use halfpower_model::Sample;
use halfpower_model::histogram::{Histogram, bucket_middle};
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::fmt::Write as _;

const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Compression level: higher ones gain little on some hundred bytes.
const LEVEL: u8 = 1;
const DIGITS: u32 = 2;
/// log2 of half of the sub-buckets: the first of at least 2 × 10^2 that is a power of two is 256.
const HALF_BITS: u32 = 7;

/// The log.
pub(super) fn write(samples: &[StoredSample]) -> Exported {
    // If one start is unknown, times count from the epoch, which is before all our samples.
    let first = samples.iter().map(|stored| began(&stored.sample)).min().flatten().unwrap_or_default();
    let base = jiff::Timestamp::from_millisecond(first.as_millisecond()).unwrap_or_default();
    let base_s = base.as_millisecond() as f64 / 1e3;
    let heading = format!(
        "{OWN}\n\
         #[Histogram log format version 1.3]\n#[BaseTime: {base_s:.3} (seconds since epoch)]\n\
         #[StartTime: {base_s:.3} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        base.strftime("%a %b %d %H:%M:%S UTC %Y")
    );
    Exported::of(&heading, samples, |stored| lines(stored, base))
}

fn began(sample: &Sample) -> Option<jiff::Timestamp> {
    sample.is_known("started_at").then_some(sample.started_at)
}

/// The lines of a sample; its times count from `base`.
fn lines(stored: &StoredSample, base: jiff::Timestamp) -> Result<String, &'static str> {
    let sample = &stored.sample;
    let histograms = &sample.latency_histogram;
    let kinds = [
        ("read", &histograms.read),
        ("write", &histograms.write),
        ("trim", &histograms.trim),
        ("flush", &histograms.flush),
        ("response", &histograms.response),
    ];
    let set = &sample.workload.set;
    let set = if set.is_empty() { String::new() } else { format!(", set {set}") };
    let mut lines = format!("#[sample {}: {}{set}]\n", stored.id, sample.workload);
    let start_s = began(sample).map_or(0.0, |at| at.duration_since(base).as_secs_f64());
    let mut is_empty = true;
    for (kind, histogram) in kinds {
        let Some(histogram) = histogram.as_ref().filter(|histogram| histogram.count() > 0) else { continue };
        let max = histogram.max().unwrap_or_default();
        let (max_ms, max_rest_ns) = (max / 1_000_000, max % 1_000_000);
        let payload = base_64(&compressed(&encoded(histogram)));
        let tag = format!("sample-{}-{kind}", stored.id);
        let _ = writeln!(lines, "Tag={tag},{start_s:.6},{:.6},{max_ms}.{max_rest_ns:06},{payload}", sample.elapsed_s);
        is_empty = false;
    }
    let is_known = sample.is_complete() && !is_empty && sample.is_known("elapsed_s");
    is_known.then_some(lines).ok_or("it failed, or its latencies or how long it took are not known")
}

/// The index of a value's count in HdrHistogram.
fn index_of(value: u64) -> usize {
    let bucket = (63 - (value | 255).leading_zeros()) - HALF_BITS;
    ((bucket as usize) << HALF_BITS) + (value >> bucket) as usize
}

/// A histogram in the encoding of version 2.
fn encoded(histogram: &Histogram) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    for (bucket, count) in histogram.bins() {
        let index = index_of(bucket_middle(bucket));
        if index > next {
            zigzag(-((index - next) as i64), &mut counts);
        }
        zigzag(i64::try_from(count).unwrap_or(i64::MAX), &mut counts);
        next = index + 1;
    }
    // A power of two minus one, at least the smallest valid one.
    let highest = (histogram.max().unwrap_or_default().max(3) >> 1)
        .checked_next_power_of_two()
        .map_or(i64::MAX, |half| i64::try_from((half << 2) - 1).unwrap_or(i64::MAX));
    let mut bytes = Vec::new();
    for word in [COOKIE, counts.len() as u32, 0, DIGITS] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(1_i64.to_be_bytes());
    bytes.extend(highest.to_be_bytes());
    bytes.extend(1_f64.to_be_bytes());
    bytes.extend(counts);
    bytes
}

/// A number as ZigZag LEB128 of up to nine bytes; a negative one is a run of zero counts.
fn zigzag(number: i64, bytes: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// A zlib stream after the cookie and its length.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let stream = compress_to_vec_zlib(bytes, LEVEL);
    [&COMPRESSED_COOKIE.to_be_bytes()[..], &(stream.len() as u32).to_be_bytes(), &stream].concat()
}

fn base_64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::histogram::{BUCKETS, bucket_low};

    #[test]
    fn each_of_our_buckets_has_one_of_its_own() {
        // HdrHistogram's own formula, with 256 sub-buckets and a unit of 1.
        let theirs = |value: u64| {
            let bucket = 64 - 8 - (value | 255).leading_zeros() as usize;
            let sub_bucket = (value >> bucket) as usize;
            ((bucket + 1) << 7) + sub_bucket - 128
        };
        let mut before = None;
        for bucket in 0..BUCKETS {
            let middle = bucket_middle(bucket);
            assert_eq!(index_of(middle), theirs(middle), "{bucket}");
            assert!(before < Some(index_of(middle)) && bucket_low(bucket) <= middle, "{bucket}");
            before = Some(index_of(middle));
        }
    }

    #[test]
    fn numbers_and_letters_are_as_their_standards_have_them() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base_64(plain.as_bytes()), coded);
        }
        let coded = |number| {
            let mut bytes = Vec::new();
            zigzag(number, &mut bytes);
            bytes
        };
        assert_eq!(
            (coded(0), coded(-1), coded(1), coded(-64), coded(64)),
            (vec![0], vec![1], vec![2], vec![127], vec![128, 1])
        );
        assert_eq!((coded(i64::MIN).len(), coded(i64::MAX).len()), (9, 9));
        // The output of zlib except for the level in the second byte, and its known checksum, 0x11e60398.
        let stream = [0x78, 1, 11, 207, 204, 206, 44, 72, 77, 201, 76, 4, 0, 0x11, 0xe6, 3, 0x98];
        assert_eq!(compressed(b"Wikipedia"), [&COMPRESSED_COOKIE.to_be_bytes()[..], &[0, 0, 0, 17], &stream].concat());
    }
}
