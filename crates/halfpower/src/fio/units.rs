//! fio's sizes and times.

use halfpower_model::{Nanoseconds, Think};

/// A number of bytes: `4k`, `64kb`, `1m`, `512`, `0x1000`. With a base of 1024, `kib` is 1000, and the other way round; `ki` is `k`.
pub(crate) fn bytes(text: &str, base: u64) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|bytes| *bytes <= 1 << 60);
    }
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &lower[digits.len()..];
    let (unit, base) =
        unit.strip_suffix("ib").map_or((unit, base), |unit| (unit, if base == 1024 { 1000 } else { 1024 }));
    let unit = unit.trim_end_matches(['b', 'i']);
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == unit)? as u32;
    digits.parse::<u64>().ok()?.checked_mul(u64::pow(base, power)).filter(|bytes| *bytes <= 1 << 60)
}

/// A pause after some requests: fio's `thinktime`, in microseconds without a unit, and `thinktime_blocks`; none for 0.
pub(crate) fn think(pause: &str, every: Option<&str>) -> Option<Think> {
    let is_number = pause.bytes().all(|byte| byte.is_ascii_digit());
    let pause = time(&if is_number { format!("{pause}us") } else { pause.to_owned() })?;
    let every = every.map_or(Some(1), |count| count.parse().ok())?;
    (pause.0 > 0 && every > 0).then_some(Think { pause, every })
}

/// Whether the value of an option that is on or off is on; without one it is.
pub(crate) fn is_on(value: &str) -> bool {
    !matches!(value, "0" | "false")
}

/// A time: `30`, `30s`, `500ms`, `2m`, `1h`.
pub(crate) fn time(text: &str) -> Option<Nanoseconds> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &lower[digits.len()..] {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "" | "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).map(Nanoseconds)
}
