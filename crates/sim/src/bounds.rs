//! The values of machine files. Each type carries its bounds, and rejects values beyond them.
//!
//! Bounds are far beyond any machine, and low enough that no accepted value exhausts memory or time. `file::source` puts the place,
//! the key and the value before each message.

use crate::table::{Named, Value};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
/// Without a minimum, a request that the page cache answers would take no time, and a run with a time limit would never end.
pub const LEAST_CALL: Nanoseconds = Nanoseconds(50);
/// 1024 volumes of this size still fit in a u64 of bytes.
pub const MOST_BYTES: u64 = 1 << 50;

/// Clock frequency.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Hertz(pub f64);

impl FromStr for Hertz {
    type Err = ();

    fn from_str(text: &str) -> Result<Hertz, ()> {
        let number = |unit: &str| text.strip_suffix(unit)?.trim_end().parse::<f64>().ok();
        number("MHz").map(|mega| mega * 1e6).or_else(|| number("GHz").map(|giga| giga * 1e9)).map(Hertz).ok_or(())
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 < 1e9 {
            true => write!(f, "{} MHz", significant(self.0 / 1e6)),
            false => write!(f, "{} GHz", significant(self.0 / 1e9)),
        }
    }
}

/// A multiple of `STEP` from `LEAST` to `MOST`, in the unit of the quantity.
#[derive(Clone, Copy, Debug)]
pub struct Within<Q, const LEAST: u64, const MOST: u64, const STEP: u64 = 1>(pub Q);

/// A whole number.
pub type Count<const LEAST: u64, const MOST: u64> = Within<u32, LEAST, MOST>;
/// A number.
pub type Number<const LEAST: u64, const MOST: u64> = Within<f64, LEAST, MOST>;
/// A size.
pub type Size<const LEAST: u64, const MOST: u64> = Within<Bytes, LEAST, MOST>;
/// A size in blocks of 512 bytes.
pub type Blocks<const LEAST: u64, const MOST: u64> = Within<Bytes, LEAST, MOST, 512>;
/// A time.
pub type Time<const LEAST_NS: u64, const MOST_NS: u64> = Within<Nanoseconds, LEAST_NS, MOST_NS>;
/// A share of a whole.
pub type Share = Number<0, 1>;
/// A clock frequency.
pub type Clock = Within<Hertz, 1_000_000, 1_000_000_000_000>;
/// Work of one part.
pub type Short = Time<0, SECOND>;
/// Waits for a network.
pub type Long = Time<0, { 60 * SECOND }>;
/// Idle times.
pub type Day = Time<0, { 86_400 * SECOND }>;
/// A rate.
pub type Rate = Within<BytesPerSecond, 1_000, 1_000_000_000_000_000>;

/// A value in the file.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// An integer.
    Whole(i64),
    /// A float.
    Decimal(f64),
    /// A string.
    Text(String),
    /// What no quantity is.
    Other(IgnoredAny),
}

impl Written {
    /// Reads a value, or says what is allowed.
    fn read<'de, D: Deserializer<'de>, T>(
        deserializer: D,
        of: impl Fn(&Written) -> Option<T>,
        allowed: &str,
        has_unit: bool,
    ) -> Result<T, D::Error> {
        // serde's message for an integer beyond 64 bits names no bound; that of a missing key stays.
        let written = match Written::deserialize(deserializer) {
            Err(error) if error.to_string().contains("any value") => Written::Other(IgnoredAny),
            written => written?,
        };
        let remedy = if has_unit && written.lacks_unit() { "; write the unit" } else { "" };
        of(&written).ok_or_else(|| D::Error::custom(format!("it has to be {allowed}{remedy}")))
    }

    fn lacks_unit(&self) -> bool {
        match self {
            Written::Whole(_) | Written::Decimal(_) => true,
            Written::Other(_) => false,
            Written::Text(text) => text.trim_end().ends_with(|last: char| last.is_ascii_digit() || last == '.'),
        }
    }
}

/// What a value is of.
pub trait Quantity: Copy + PartialOrd + fmt::Display {
    /// Its name.
    const KIND: &'static str;
    /// Of one with a unit.
    const EXAMPLE: Option<&'static str> = None;
    /// What is written, if it is one.
    fn of(written: &Written) -> Option<Self>;
    /// A bound of it.
    fn bound(bound: u64) -> Self;
    /// In whole units.
    fn units(self) -> u64;
}

impl Quantity for u32 {
    const KIND: &'static str = "whole number";

    fn of(written: &Written) -> Option<u32> {
        if let Written::Whole(number) = written { u32::try_from(*number).ok() } else { None }
    }

    fn bound(bound: u64) -> u32 {
        bound as u32
    }

    fn units(self) -> u64 {
        u64::from(self)
    }
}

impl Quantity for f64 {
    const KIND: &'static str = "number";

    fn of(written: &Written) -> Option<f64> {
        match written {
            Written::Whole(number) => Some(*number as f64),
            Written::Decimal(number) => Some(*number),
            Written::Text(_) | Written::Other(_) => None,
        }
    }

    fn bound(bound: u64) -> f64 {
        bound as f64
    }

    fn units(self) -> u64 {
        self as u64
    }
}

/// A quantity that is a text with a unit.
macro_rules! with_unit {
    ($($quantity:ident of $number:ty: $kind:literal like $example:literal,)+) => {
        $(impl Quantity for $quantity {
            const KIND: &'static str = $kind;
            const EXAMPLE: Option<&'static str> = Some($example);

            fn of(written: &Written) -> Option<$quantity> {
                if let Written::Text(text) = written { text.parse().ok() } else { None }
            }

            fn bound(bound: u64) -> $quantity {
                $quantity(bound as $number)
            }

            fn units(self) -> u64 {
                self.0 as u64
            }
        })+
    };
}
with_unit! {
    Bytes of u64: "size" like "64KiB",
    Nanoseconds of u64: "time" like "250us",
    BytesPerSecond of f64: "rate" like "600MB/s",
    Hertz of f64: "clock" like "733MHz",
}

impl<Q: Quantity, const LEAST: u64, const MOST: u64, const STEP: u64> Within<Q, LEAST, MOST, STEP> {
    fn of(written: &Written) -> Option<Self> {
        if Q::EXAMPLE.is_some() && written.lacks_unit() {
            return None;
        }
        let is_allowed =
            |value: &Q| (Q::bound(LEAST)..=Q::bound(MOST)).contains(value) && value.units().is_multiple_of(STEP);
        Q::of(written).filter(is_allowed).map(Within)
    }

    fn range() -> String {
        let step = if STEP > 1 { format!(", in multiples of {}", Q::bound(STEP)) } else { String::new() };
        format!("{} to {}{step}", Q::bound(LEAST), Q::bound(MOST))
    }
}

/// The lower bound.
impl<Q: Quantity, const LEAST: u64, const MOST: u64, const STEP: u64> Default for Within<Q, LEAST, MOST, STEP> {
    fn default() -> Self {
        Within(Q::bound(LEAST))
    }
}

impl<Q: Quantity, const LEAST: u64, const MOST: u64, const STEP: u64> Value for Within<Q, LEAST, MOST, STEP> {
    type Plain = Q;

    fn plain(self) -> Q {
        self.0
    }

    fn allowed() -> String {
        format!("{}, {}", Q::KIND, Self::range())
    }

    fn default_text() -> String {
        Q::bound(LEAST).to_string()
    }
}

impl<'de, Q: Quantity, const LEAST: u64, const MOST: u64, const STEP: u64> Deserialize<'de>
    for Within<Q, LEAST, MOST, STEP>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let example = Q::EXAMPLE.map(|example| format!(" like {example:?}")).unwrap_or_default();
        let allowed = format!("a {}{example} from {}", Q::KIND, Self::range());
        Written::read(deserializer, Self::of, &allowed, Q::EXAMPLE.is_some())
    }
}

/// A word of an enum; the first is the default.
#[derive(Clone, Copy, Debug)]
pub struct Word<T>(pub T);

impl<T: Named> Default for Word<T> {
    fn default() -> Self {
        Word(T::WORDS[0].1)
    }
}

impl<T: Named> Value for Word<T> {
    type Plain = T;

    fn plain(self) -> T {
        self.0
    }

    fn allowed() -> String {
        T::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    }

    fn default_text() -> String {
        T::WORDS[0].0.to_owned()
    }
}

impl<'de, T: Named> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = |written: &Written| {
            let Written::Text(text) = written else { return None };
            T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, meant)| Word(*meant))
        };
        Written::read(deserializer, of, &format!("one of {}", Self::allowed()), false)
    }
}

/// Names of parts: more than any path from a disk to memory has.
pub type Names<const LEAST: usize> = List<String, LEAST, 16>;

/// A list of `LEAST` to `MOST` items.
#[derive(Clone, Debug, Default)]
pub struct List<T, const LEAST: usize, const MOST: usize>(pub Vec<T>);

impl<T: Value, const LEAST: usize, const MOST: usize> Value for List<T, LEAST, MOST> {
    type Plain = Vec<T::Plain>;

    fn plain(self) -> Vec<T::Plain> {
        self.0.into_iter().map(T::plain).collect()
    }

    fn allowed() -> String {
        format!("list of {LEAST} to {MOST}, each {}", T::allowed())
    }
}

impl<'de, T: Deserialize<'de>, const LEAST: usize, const MOST: usize> Deserialize<'de> for List<T, LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::deserialize(deserializer)?;
        match (LEAST..=MOST).contains(&all.len()) {
            true => Ok(List(all)),
            false => Err(D::Error::custom(format!("it has to be a list of {LEAST} to {MOST}"))),
        }
    }
}
