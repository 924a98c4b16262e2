//! What messages are made of: errors with their causes, arguments as a shell needs them, counts, lists and shares.

use halfpower_model::ResolveError;
use halfpower_model::units::significant;
use std::ffi::OsString;

/// Wrong usage: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Returns a [`UsageError`] with a formatted message.
macro_rules! refuse {
    ($($message:tt)+) => {
        return Err($crate::text::UsageError(format!($($message)+)).into())
    };
}
pub(crate) use refuse;

/// An error, with its causes, as wrong usage.
pub(crate) fn usage(error: impl std::error::Error + 'static) -> UsageError {
    UsageError(causes(&error))
}

/// An error with its causes, in one line.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A workload's error, with options in the place of its keys.
impl From<ResolveError> for UsageError {
    fn from(error: ResolveError) -> Self {
        UsageError(match error {
            ResolveError::Empty(path) => format!(
                "{path} is empty; write it first (`halfpower io {path} --op write --size 1GiB --overwrite`) or name another target"
            ),
            _ => error.worded(option_of),
        })
    }
}

/// The option of a key, as it is usually typed.
pub(crate) fn option_of(key: &str) -> String {
    format!("--{}", if key == "operation" { "op" } else { key }.replace('_', "-"))
}

/// An argument as a shell needs it.
pub(crate) fn quoted(argument: OsString) -> String {
    let text = argument.to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A plural `s`.
pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `1 sample`, `3 samples`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}

/// The parts that exist, with commas.
pub(crate) fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = Option<T>>) -> String {
    parts.into_iter().flatten().map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join(", ")
}

/// The bars of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Rates as bars from zero to the highest.
pub(crate) fn sparkline(rates: &[f64]) -> String {
    let most = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar = |rate: &f64| BARS[((rate / most * 7.0).round() as usize).min(7)];
    rates.iter().map(bar).collect()
}

/// Rates as columns of so many lines, from zero to the highest.
pub(crate) fn columns(rates: &[f64], lines: usize) -> Vec<String> {
    let most = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let eighths: Vec<usize> = rates.iter().map(|rate| (rate / most * lines as f64 * 8.0).round() as usize).collect();
    let part = |eighths: usize, below: usize| match eighths.saturating_sub(below) {
        0 => ' ',
        rest => BARS[rest.min(8) - 1],
    };
    (0..lines).rev().map(|line| eighths.iter().map(|eighths| part(*eighths, line * 8)).collect()).collect()
}

/// A horizontal bar for a share of `columns`, in eighths of a column.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

/// Each item once, in the order of their first.
pub(crate) fn once<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// Items by a key, in the order of its first.
pub(crate) fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(&item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        for (argument, expected) in [("--op=read", "--op=read"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''")] {
            assert_eq!(quoted(argument.into()), expected);
        }
    }

    #[test]
    fn a_sparkline_begins_at_zero() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 7.0]), "▁▂▃█");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(columns(&[0.0, 1.0, 1.5, 2.0], 2), ["  ▄█", " ███"]);
        assert_eq!([bar(0.0, 4), bar(0.5, 4), bar(0.78, 4), bar(7.0, 4)], ["", "██", "███▏", "████"]);
    }
}
