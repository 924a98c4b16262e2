//! Units as types: bytes, nanoseconds, bytes per second.
//!
//! Sizes of requests and files are binary (KiB, MiB, GiB), rates are decimal (MB/s, GB/s), as hardware is sold. What a
//! user types is read only here, so a size means the same on the command line and in a study.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number of bytes: of a request, a file, a device.
///
/// In records it is a plain number. Read from text it takes `64KiB`, `64k`, `64K` (binary) and `64KB` (decimal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Size")]
pub struct Bytes(pub u64);

/// A span of time in nanoseconds.
///
/// Read from text it takes `500ms`, `3s`, `2min`, `1h`; a bare number is seconds, as fio's `--runtime` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanoseconds(pub u64);

/// A rate in bytes per second, shown in decimal units.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub f64);

/// Why a text is not a size, a duration or a rate. The message names the text and the valid forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// Units after a number and their factors.
struct Units {
    factors: &'static [(u64, &'static [&'static str])],
    expected: &'static str,
    smallest: &'static str,
}

const SIZES: Units = Units {
    factors: &[
        (1, &["", "B", "b"]),
        (1 << 10, &["k", "K", "KiB", "Ki", "kiB", "kib"]),
        (1 << 20, &["m", "M", "MiB", "Mi", "mib"]),
        (1 << 30, &["g", "G", "GiB", "Gi", "gib"]),
        (1 << 40, &["t", "T", "TiB", "Ti", "tib"]),
        (1_000, &["KB", "kB"]),
        (1_000_000, &["MB"]),
        (1_000_000_000, &["GB"]),
        (1_000_000_000_000, &["TB"]),
    ],
    expected: "B, KiB, MiB, GiB, TiB (or k, M, G, T) for powers of 1024, KB, MB, GB, TB for powers of 1000",
    smallest: "bytes",
};
const TIMES: Units = Units {
    factors: &[
        (1, &["ns"]),
        (1_000, &["us", "µs"]),
        (1_000_000, &["ms"]),
        (1_000_000_000, &["", "s"]),
        (60_000_000_000, &["min", "m"]),
        (3_600_000_000_000, &["h"]),
    ],
    expected: "ns, us, ms, s, min, h",
    smallest: "nanoseconds",
};

/// Units of displayed sizes, the largest first.
const SHOWN: [(u64, &str); 5] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];

impl Bytes {
    /// One KiB.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// One MiB.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// One GiB.
    pub const GIB: Bytes = Bytes(1 << 30);

    /// In a form that reads back as the same number: `64KiB`, `1000`.
    pub fn exactly(self) -> String {
        let unit = SHOWN[..4].iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit));
        unit.map_or_else(|| self.0.to_string(), |(unit, name)| format!("{}{name}", self.0 / unit))
    }

    /// In KiB, for models whose marginal cost is per KB of 2^10.
    pub fn kib(self) -> f64 {
        self.0 as f64 / 1024.0
    }
}

impl Nanoseconds {
    /// In a form that reads back as the same number: `500ms`, `3s`, `7ns`.
    pub fn exactly(self) -> String {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let unit = UNITS.iter().find(|(unit, _)| self.0.is_multiple_of(*unit));
        unit.map_or_else(|| format!("{}ns", self.0), |(unit, name)| format!("{}{name}", self.0 / unit))
    }

    /// From seconds; negative and not-a-number become zero, too large becomes the largest.
    pub fn from_seconds(seconds: f64) -> Self {
        Nanoseconds((seconds * 1e9).round() as u64)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The unit to display it in: nanoseconds and name.
    pub(crate) fn unit(self) -> (f64, &'static str) {
        match self.0 {
            0..1_000 => (1.0, "ns"),
            1_000..999_500 => (1e3, "µs"),
            999_500..999_500_000 => (1e6, "ms"),
            999_500_000..120_000_000_000 => (1e9, "s"),
            _ => (60e9, "min"),
        }
    }
}

impl BytesPerSecond {
    /// The unit to display it in: bytes per second and name.
    pub(crate) fn unit(self) -> (f64, &'static str) {
        match self.0 {
            rate if rate >= 999.5e6 => (1e9, "GB/s"),
            rate if rate >= 999.5e3 => (1e6, "MB/s"),
            rate if rate >= 999.5 => (1e3, "kB/s"),
            _ => (1.0, "B/s"),
        }
    }
}

impl Units {
    /// The number at the start of `amount` times its unit, exact: no floating point on the way. Messages show `text`.
    fn read(&self, text: &str, amount: &str) -> Result<u64, UnitError> {
        let fault = |what: &str| UnitError(format!("`{text}` {what}"));
        let amount = amount.trim();
        if amount.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
            return Err(fault("is below zero; write a size like 64KiB or a duration like 3s"));
        }
        let end = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
        let (number, unit) = (&amount[..end], amount[end..].trim());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return Err(fault("has no number; write a size like 64KiB or a duration like 3s"));
        }
        let known = self.factors.iter().find(|(_, names)| names.contains(&unit));
        let no_unit = || UnitError(format!("`{unit}` in `{text}` is no unit; use {}", self.expected));
        let factor = u128::from(known.ok_or_else(no_unit)?.0);
        let not_whole = || fault(&format!("is not a whole number of {}", self.smallest));
        let fraction = fraction.trim_end_matches('0');
        let divisor =
            10_u128.checked_pow(fraction.len() as u32).filter(|_| fraction.len() <= 18).ok_or_else(not_whole)?;
        // At most 18 digits are added: what does not parse has too many before the point.
        let units = format!("0{whole}{fraction}").parse::<u128>().ok().and_then(|digits| digits.checked_mul(factor));
        let units = units.ok_or_else(|| fault("is too large"))?;
        if units % divisor != 0 {
            return Err(not_whole());
        }
        i64::try_from(units / divisor).map(|units| units as u64).map_err(|_| fault("is too large"))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        SIZES.read(text, text).map(Bytes)
    }
}

impl FromStr for Nanoseconds {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIMES.read(text, text).map(Nanoseconds)
    }
}

impl FromStr for BytesPerSecond {
    type Err = UnitError;

    /// A size per second: `600MB/s`, `3.5GB/s`, `100MiB/s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let is_number = |size: &str| size.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let size = text.trim_end().strip_suffix("/s").filter(|size| is_number(size));
        let no_rate = || UnitError(format!("`{text}` is no rate; write one like 600MB/s or 3.5GB/s"));
        match SIZES.read(text, size.ok_or_else(no_rate)?)? {
            0 => Err(UnitError(format!("at `{text}` nothing moves; give more"))),
            bytes => Ok(BytesPerSecond(bytes as f64)),
        }
    }
}

impl fmt::Display for Bytes {
    /// Exact where it can be (`64 KiB`, `1.5 GiB`, `8193 KiB`), else with one decimal (`79.3 GiB`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(largest) = SHOWN.iter().position(|(unit, _)| self.0 >= *unit) else { return f.write_str("0 B") };
        let (unit, name) = SHOWN[largest];
        if (u128::from(self.0) * 2).is_multiple_of(u128::from(unit)) {
            return write!(f, "{} {name}", self.0 as f64 / unit as f64);
        }
        let exact = |(unit, _): &&(u64, &str)| self.0.is_multiple_of(*unit) && self.0 / unit < 10_000;
        match SHOWN[largest..].iter().find(exact) {
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{:.1} {name}", self.0 as f64 / unit as f64),
        }
    }
}

impl fmt::Display for Nanoseconds {
    /// Three significant digits in the unit that fits: `850 ns`, `12.3 µs`, `4.56 ms`, `3 s`, `2 min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = self.unit();
        write!(f, "{} {unit}", significant(self.0 as f64 / divisor))
    }
}

impl fmt::Display for BytesPerSecond {
    /// Three significant digits: `850 kB/s`, `96.6 MB/s`, `1.65 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = self.unit();
        write!(f, "{} {unit}", significant(self.0 / divisor))
    }
}

/// A number to three significant digits, without trailing zeros: `1.65`, `96.6`, `3`, `1650`, `12300`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "not available".to_owned() };
    }
    let digits_before = value.abs().log10().floor() as i32 + 1;
    let scale = 10_f64.powi(3 - digits_before);
    let rounded = if digits_before > 3 { value.round() } else { (value * scale).round() / scale };
    let decimals = (3 - digits_before).clamp(0, 12) as usize;
    let text = format!("{rounded:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The error of a figure, rounded up to the last digit that [`significant`] shows, and at least one such digit.
pub fn significant_error(error: f64, of: f64) -> String {
    if of == 0.0 || !of.is_finite() || !error.is_finite() {
        return significant(error);
    }
    let digits_before = of.abs().log10().floor() as i32 + 1;
    let steps_a_unit = 10_f64.powi((3 - digits_before).max(0));
    // Rounding errors of the last bit are not rounded up.
    let steps = (error.abs() * steps_a_unit - 1e-9).ceil().max(1.0);
    significant(steps / steps_a_unit)
}

/// A size in a record or in a user's file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of bytes or a size such as \"64KiB\"")]
enum Size {
    Number(u64),
    Text(String),
}

impl TryFrom<Size> for Bytes {
    type Error = UnitError;

    fn try_from(size: Size) -> Result<Self, UnitError> {
        match size {
            Size::Number(bytes) => Ok(Bytes(bytes)),
            Size::Text(text) => text.parse(),
        }
    }
}

/// In records, seconds as a number.
impl Serialize for Nanoseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.seconds())
    }
}

impl<'de> Deserialize<'de> for Nanoseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Nanoseconds::from_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_error_has_no_more_digits_than_its_figure() {
        let shown = |error, of| significant_error(error, of);
        assert_eq!(shown(0.000_662, 212.0), "1", "the figure is shown to 1");
        assert_eq!([shown(3.18, 212.0), shown(3.0, 212.0), shown(0.024_8, 1.65)], ["4", "3", "0.03"]);
        assert_eq!([shown(185.2, 12_300.0), shown(0.5, 0.0)], ["186", "0.5"]);
    }

    #[test]
    fn sizes_read_as_documented() {
        let (binary, decimal) = (["64KiB", "64k", "64K", " 64 KiB ", "0.0625M", "65536B"], ["64KB", "64kB", "64000"]);
        assert!(binary.iter().all(|text| text.parse() == Ok(Bytes(65_536))));
        assert!(decimal.iter().all(|text| text.parse() == Ok(Bytes(64_000))));
        for (text, bytes) in [("1.5GiB", 1_610_612_736), ("0.5k", 512), ("1TB", 1_000_000_000_000)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        // In whole units, and as they are shown.
        for count in [0, 1, 7, 999, 1023, 65_537, (1 << 20) - 1] {
            for (unit, factor) in [("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("KB", 1000)] {
                assert_eq!(format!("{count}{unit}").parse(), Ok(Bytes(count * factor)), "{count}{unit}");
            }
            let shown = [0, 10, 20, 30].map(|shift| Bytes((count & 1023) << shift));
            assert!(shown.iter().all(|bytes| bytes.to_string().parse() == Ok(*bytes)), "{shown:?}");
        }
        for (text, nanoseconds) in
            [("3s", 3_000_000_000), ("3", 3_000_000_000), ("250ms", 250_000_000), ("1.5min", 90_000_000_000)]
        {
            assert_eq!(text.parse(), Ok(Nanoseconds(nanoseconds)), "{text}");
        }
        assert!("3 fortnights".parse::<Nanoseconds>().is_err());
    }

    #[test]
    fn what_is_no_size_says_why() {
        for text in [
            "",
            "KiB",
            "-4k",
            "4XB",
            "1.0001k",
            "0.00000000000000000001T",
            "99999999999T",
            "99999999999999999999999999999999999999999",
            "1.2.3k",
            ".",
            "4kk",
            "∞",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        let message = "4XB".parse::<Bytes>().unwrap_err().to_string();
        assert!(message.contains("`XB`") && message.contains("KiB"), "{message}");
    }

    #[test]
    fn rates_read_as_documented() {
        for (text, rate) in [("600MB/s", 6e8), ("3.5GB/s", 3.5e9), (" 1 MiB/s ", 1_048_576.0)] {
            assert_eq!(text.parse(), Ok(BytesPerSecond(rate)), "{text}");
        }
        for text in ["600MB", "fast", "0MB/s", "1MB/sec", "-1MB/s", "NaN", "infMB/s", "1e30GB/s", ""] {
            let error = text.parse::<BytesPerSecond>().unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains("duration"), "{error}");
        }
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(BytesPerSecond(1.6537e9).to_string(), "1.65 GB/s");
        assert_eq!(BytesPerSecond(96_600_000.0).to_string(), "96.6 MB/s");
        assert_eq!(Nanoseconds(12_345).to_string(), "12.3 µs");
        assert_eq!(Nanoseconds(999_990_000).to_string(), "1 s");
        assert_eq!(BytesPerSecond(999_900_000.0).to_string(), "1 GB/s");
        assert_eq!(Bytes(8193 << 10).to_string(), "8193 KiB");
        assert_eq!(Nanoseconds(180_000_000_000).to_string(), "3 min");
        assert_eq!(Bytes(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes(1_610_612_736).to_string(), "1.5 GiB");
        assert_eq!(significant(0.004_567), "0.00457");
        assert_eq!(significant(123_456.0), "123456");
    }

    proptest! {
        #[test]
        fn reading_a_size_never_panics(text in ".{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanoseconds>();
        }

        #[test]
        fn a_time_said_exactly_reads_back(time in 0_u64..1 << 62, unit in prop::sample::select(vec![1_u64, 1_000, 1_000_000_000])) {
            let time = Nanoseconds(time - time % unit);
            prop_assert_eq!(time.exactly().parse(), Ok(time));
        }
    }
}
