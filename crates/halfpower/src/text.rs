//! What messages are made of: errors with their causes, arguments as a shell needs them.

use std::ffi::OsString;

/// Wrong usage: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// An error with its causes, in one line.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// An argument as a shell needs it.
pub(crate) fn quoted(argument: OsString) -> String {
    let text = argument.to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        assert_eq!(quoted("--op=read".into()), "--op=read");
        assert_eq!(quoted("a b".into()), "'a b'");
        assert_eq!(quoted("it's".into()), r"'it'\''s'");
        assert_eq!(quoted("".into()), "''");
    }
}
