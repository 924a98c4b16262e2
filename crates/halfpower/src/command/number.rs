//! Whole numbers on the command line, negative ones too.

use std::ffi::{OsStr, OsString};

/// A number of 1 or more.
pub(crate) fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    whole(text, 1)
}

/// A number of 0 or more.
pub(crate) fn any<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    whole(text, 0)
}

fn whole<N: TryFrom<u64>>(text: &str, least: u64) -> Result<N, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok();
    if !is_number || number.is_some_and(|number| number < least) {
        return Err(format!("write a whole number of {least} or more"));
    }
    number.and_then(|number| N::try_from(number).ok()).ok_or("it is larger than any such number here".to_owned())
}

/// The command line with every negative number bound to the option before it: `--depth -1` becomes `--depth=-1`, which the
/// option rejects with its reason. clap would take a separate `-1` for an option.
pub(crate) fn with_negatives_bound(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut bound: Vec<OsString> = Vec::new();
    let mut is_over = false;
    for argument in arguments {
        is_over |= argument == "--";
        match bound.last_mut() {
            Some(option) if !is_over && is_negative(&argument) && is_option(option) => {
                option.push("=");
                option.push(argument);
            }
            _ => bound.push(argument),
        }
    }
    bound
}

fn is_negative(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    matches!(bytes, [b'-', digit, ..] if digit.is_ascii_digit()) || matches!(bytes, [b'-', b'.', _, ..])
}

fn is_option(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.starts_with(b"--") && !bytes.contains(&b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read() {
        assert_eq!(count("32"), Ok(32_u32));
        assert_eq!((any("0"), any("18446744073709551615")), (Ok(0_u64), Ok(u64::MAX)));
        for bad in ["-1", "0", "+1", "", "1.5", "x"] {
            assert_eq!(count::<u32>(bad), Err("write a whole number of 1 or more".to_owned()), "{bad}");
        }
        assert!(count::<u32>("4294967296").unwrap_err().contains("larger"));
    }

    #[test]
    fn a_number_below_zero_belongs_to_the_option_before_it() {
        let bound = |line: &str| {
            let words = with_negatives_bound(line.split(' ').map(OsString::from));
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(bound("io d --depth -1 --size -4k"), "io d --depth=-1 --size=-4k");
        for same in ["io d --depth=4 -1", "io d -1", "io -- --depth -1", "io d --ring -sqpoll", "io d --json -h"] {
            assert_eq!(bound(same), same);
        }
    }
}
