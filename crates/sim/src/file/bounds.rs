//! What the values of a machine file may be: types that read a value and refuse what no machine has.
//!
//! Every number of a file is one of these, so that a bound stands where its key does and is held wherever the value comes from: the file
//! or a setting. Bounds are far beyond any machine, and small enough that what they let through takes no more memory or time than there
//! is. A size, a time or a rate without a unit is refused, wherever it stands. All refusals are one sentence, "it has to be …"; [`super::source`] puts the place, the key and the value before it.

use crate::machine::Hertz;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

pub(super) const SECOND: u64 = 1_000_000_000;
/// No call into a system is shorter. Without a least one a request that a file cache answers would take no time, and a run that is
/// ended by time would have no end.
pub(super) const LEAST_CALL_NS: u64 = 50;
/// As large as anything may be: 1024 of them are still a number of bytes.
pub(super) const MOST_BYTES: u64 = 1 << 50;

/// From `LEAST` to `MOST`, in the unit of the quantity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Within<Q: Quantity, const LEAST: u64, const MOST: u64>(pub(super) Q::Value);

pub(super) type Count<const LEAST: u64, const MOST: u64> = Within<Whole, LEAST, MOST>;
pub(super) type Number<const LEAST: u64, const MOST: u64> = Within<Decimal, LEAST, MOST>;
pub(super) type Size<const LEAST: u64, const MOST: u64> = Within<AnySize, LEAST, MOST>;
pub(super) type Blocks<const LEAST: u64, const MOST: u64> = Within<WholeBlocks, LEAST, MOST>;
pub(super) type Time<const LEAST_NS: u64, const MOST_NS: u64> = Within<Duration, LEAST_NS, MOST_NS>;

/// A part of a whole.
pub(super) type Share = Number<0, 1>;
/// Of processors.
pub(super) type Clock = Within<PerSecondOfClock, 1_000_000, 1_000_000_000_000>;
/// What a part of the machine takes for something.
pub(super) type Short = Time<0, SECOND>;
/// What somebody waits for a network or a thing to happen.
pub(super) type Long = Time<0, { 60 * SECOND }>;
/// What passes between two things.
pub(super) type Day = Time<0, { 86_400 * SECOND }>;
pub(super) type Rate = Within<PerSecond, 1_000, 1_000_000_000_000_000>;

/// A value as it is written.
#[derive(Clone, Copy)]
pub(super) enum Written<'a> {
    Whole(i64),
    Decimal(f64),
    Text(&'a str),
}

impl Written<'_> {
    /// Whether it is a number without a unit, as text too.
    fn is_bare_number(&self) -> bool {
        match self {
            Written::Whole(_) | Written::Decimal(_) => true,
            Written::Text(text) => text.trim_end().ends_with(|last: char| last.is_ascii_digit() || last == '.'),
        }
    }
}

/// A quantity of a kind.
pub(super) trait Quantity {
    type Value: Copy;
    /// "a size like 64KiB"
    const FORM: &'static str;
    /// Whether it is written with a unit.
    const HAS_UNIT: bool;
    /// What is written, where it is of this kind.
    fn of(written: Written<'_>) -> Option<Self::Value>;
    /// Whether it lies within bounds; what is no number does not.
    fn lies(value: Self::Value, least: u64, most: u64) -> bool;
    /// A bound in words.
    fn bound(bound: u64) -> String;
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole;

impl Quantity for Whole {
    type Value = u32;
    const FORM: &'static str = "a whole number";
    const HAS_UNIT: bool = false;

    fn of(written: Written<'_>) -> Option<u32> {
        if let Written::Whole(number) = written { u32::try_from(number).ok() } else { None }
    }

    fn lies(value: u32, least: u64, most: u64) -> bool {
        (least..=most).contains(&u64::from(value))
    }

    fn bound(bound: u64) -> String {
        bound.to_string()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decimal;

impl Quantity for Decimal {
    type Value = f64;
    const FORM: &'static str = "a number";
    const HAS_UNIT: bool = false;

    fn of(written: Written<'_>) -> Option<f64> {
        match written {
            Written::Whole(number) => Some(number as f64),
            Written::Decimal(number) => Some(number),
            Written::Text(_) => None,
        }
    }

    fn lies(value: f64, least: u64, most: u64) -> bool {
        (least as f64..=most as f64).contains(&value)
    }

    fn bound(bound: u64) -> String {
        bound.to_string()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnySize;

impl Quantity for AnySize {
    type Value = Bytes;
    const FORM: &'static str = "a size like \"64KiB\"";
    const HAS_UNIT: bool = true;

    fn of(written: Written<'_>) -> Option<Bytes> {
        if let Written::Text(text) = written { text.parse().ok() } else { None }
    }

    fn lies(value: Bytes, least: u64, most: u64) -> bool {
        (least..=most).contains(&value.0)
    }

    fn bound(bound: u64) -> String {
        Bytes(bound).to_string()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WholeBlocks;

impl Quantity for WholeBlocks {
    type Value = Bytes;
    const FORM: &'static str = "a size like \"64KiB\", in whole blocks of 512 B";
    const HAS_UNIT: bool = true;

    fn of(written: Written<'_>) -> Option<Bytes> {
        AnySize::of(written).filter(|bytes| bytes.0.is_multiple_of(512))
    }

    fn lies(value: Bytes, least: u64, most: u64) -> bool {
        AnySize::lies(value, least, most)
    }

    fn bound(bound: u64) -> String {
        AnySize::bound(bound)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duration;

impl Quantity for Duration {
    type Value = Nanoseconds;
    const FORM: &'static str = "a time like \"250us\"";
    const HAS_UNIT: bool = true;

    fn of(written: Written<'_>) -> Option<Nanoseconds> {
        if let Written::Text(text) = written { text.parse().ok() } else { None }
    }

    fn lies(value: Nanoseconds, least: u64, most: u64) -> bool {
        (least..=most).contains(&value.0)
    }

    fn bound(bound: u64) -> String {
        Nanoseconds(bound).to_string()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PerSecond;

impl Quantity for PerSecond {
    type Value = BytesPerSecond;
    const FORM: &'static str = "a rate like \"600MB/s\"";
    const HAS_UNIT: bool = true;

    fn of(written: Written<'_>) -> Option<BytesPerSecond> {
        if let Written::Text(text) = written { text.parse().ok() } else { None }
    }

    fn lies(value: BytesPerSecond, least: u64, most: u64) -> bool {
        Decimal::lies(value.0, least, most)
    }

    fn bound(bound: u64) -> String {
        BytesPerSecond(bound as f64).to_string()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PerSecondOfClock;

impl Quantity for PerSecondOfClock {
    type Value = Hertz;
    const FORM: &'static str = "a clock like \"733MHz\"";
    const HAS_UNIT: bool = true;

    fn of(written: Written<'_>) -> Option<Hertz> {
        let Written::Text(text) = written else { return None };
        let number = |unit: &str| text.strip_suffix(unit)?.trim_end().parse::<f64>().ok();
        number("MHz").map(|mega| mega * 1e6).or_else(|| number("GHz").map(|giga| giga * 1e9)).map(Hertz)
    }

    fn lies(value: Hertz, least: u64, most: u64) -> bool {
        Decimal::lies(value.0, least, most)
    }

    fn bound(bound: u64) -> String {
        Hertz(bound as f64).to_string()
    }
}

impl<Q: Quantity, const LEAST: u64, const MOST: u64> Within<Q, LEAST, MOST> {
    fn of(written: Written<'_>) -> Option<Self> {
        if Q::HAS_UNIT && written.is_bare_number() {
            return None;
        }
        Q::of(written).filter(|value| Q::lies(*value, LEAST, MOST)).map(Within)
    }
}

impl<'de, Q: Quantity, const LEAST: u64, const MOST: u64> Deserialize<'de> for Within<Q, LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let allowed = || format!("{} from {} to {}", Q::FORM, Q::bound(LEAST), Q::bound(MOST));
        deserializer.deserialize_any(Reading { of: Self::of, allowed, has_unit: Q::HAS_UNIT, value: PhantomData })
    }
}

/// One of some words.
pub(super) trait Named: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word<T>(pub(super) T);

impl<'de, T: Named> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = |written: Written<'_>| {
            let Written::Text(text) = written else { return None };
            T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, meant)| Word(*meant))
        };
        let allowed = || format!("one of {}", T::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "));
        deserializer.deserialize_any(Reading { of, allowed, has_unit: false, value: PhantomData })
    }
}

/// So many of something.
#[derive(Clone, Debug, Default)]
pub(super) struct List<T, const LEAST: usize, const MOST: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const LEAST: usize, const MOST: usize> Deserialize<'de> for List<T, LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::deserialize(deserializer)?;
        match (LEAST..=MOST).contains(&all.len()) {
            true => Ok(List(all)),
            false => Err(D::Error::custom(format!("it has to be a list of {LEAST} to {MOST}"))),
        }
    }
}

/// Names of parts, none of them twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Names<const LEAST: usize>(pub(super) Vec<String>);

/// More parts than any way from a disk to memory has.
const MOST_NAMES: usize = 16;

impl<'de, const LEAST: usize> Deserialize<'de> for Names<LEAST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let List(names) = List::<String, LEAST, MOST_NAMES>::deserialize(deserializer)?;
        let twice = names.iter().enumerate().any(|(index, name)| names[..index].contains(name));
        if twice { Err(D::Error::custom("it has to name each part once")) } else { Ok(Names(names)) }
    }
}

/// Reads a value with what it may be.
struct Reading<T, F, A> {
    of: F,
    allowed: A,
    has_unit: bool,
    value: PhantomData<T>,
}

impl<T, F: Fn(Written<'_>) -> Option<T>, A: Fn() -> String> Reading<T, F, A> {
    fn read<E: Error>(&self, written: Written<'_>) -> Result<T, E> {
        let remedy = if self.has_unit && written.is_bare_number() { "; write the unit" } else { "" };
        (self.of)(written).ok_or_else(|| self.refusal(remedy))
    }

    fn refusal<E: Error>(&self, remedy: &str) -> E {
        E::custom(format!("it has to be {}{remedy}", (self.allowed)()))
    }
}

impl<'de, T, F: Fn(Written<'_>) -> Option<T>, A: Fn() -> String> Visitor<'de> for Reading<T, F, A> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.allowed)())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.read(Written::Whole(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.read(Written::Decimal(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(Written::Text(text))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, _: S) -> Result<T, S::Error> {
        Err(self.refusal(""))
    }

    fn visit_map<M: MapAccess<'de>>(self, _: M) -> Result<T, M::Error> {
        Err(self.refusal(""))
    }
}
