//! JSON documents in the output of programs, with text before, between and after them.

use super::error::Fault;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Maximum memory of documents held at once: values take several times the size of their text.
const MAX_MEMORY: usize = 96 << 20;
/// Maximum number of documents of a file.
const MAX_DOCUMENTS: usize = 20_000;

/// A document and the line it begins on.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) line: u64,
    pub(super) value: Value,
    /// Its memory, in bytes.
    memory: usize,
}

impl Document {
    /// One that another form of output was made into.
    pub(super) fn made(value: Value) -> Self {
        Document { line: 1, value, memory: 0 }
    }
}

/// All documents at once, up to a limit of memory.
///
/// # Errors
/// As [`each`], and if together they exceed the limit.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, Fault> {
    let (mut documents, mut memory) = (Vec::new(), 0);
    each(text, |document| {
        memory += document.memory;
        documents.push(document);
        if memory > MAX_MEMORY { Err(too_much()) } else { Ok(()) }
    })?;
    Ok(documents)
}

/// Every document in sequence: it begins with a brace or bracket at the start of a line. Depth is limited to 128.
///
/// # Errors
/// At the place where one is invalid; if one takes too much memory; errors of `take`.
pub(super) fn each(text: &str, mut take: impl FnMut(Document) -> Result<(), Fault>) -> Result<(), Fault> {
    let (mut at, mut line, mut count) = (0, 1_u64, 0);
    while at < text.len() {
        let rest = &text[at..];
        let end_of_line = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if !rest[..end_of_line].trim_start().starts_with(['{', '[']) {
            at += end_of_line;
            line += 1;
            continue;
        }
        count += 1;
        if count > MAX_DOCUMENTS {
            return Err(Fault::whole(format!("it has more than {MAX_DOCUMENTS} documents; split it")));
        }
        let broken = |error: serde_json::Error| {
            let reason = if error.is_eof() { "the document is cut short".to_owned() } else { error.to_string() };
            Fault::at(line + (error.line() as u64).saturating_sub(1), reason)
        };
        // Its end is found before it takes memory.
        let mut passed = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        if let Some(Err(error)) = passed.next() {
            return Err(broken(error));
        }
        let document = &rest[..passed.byte_offset().max(1)];
        let memory = memory_of(document);
        if memory > MAX_MEMORY {
            return Err(too_much());
        }
        take(Document { line, value: serde_json::from_str(document).map_err(broken)?, memory })?;
        line += document.matches('\n').count() as u64;
        at += document.len();
    }
    Ok(())
}

fn too_much() -> Fault {
    Fault::whole(format!("its JSON takes more than {} MiB of memory; split it", MAX_MEMORY >> 20))
}

/// An upper bound of the memory of a document's values, in bytes. An object has nodes of 11 entries, at least half full
/// if there are several; a list has room for at least 4 values. Punctuation inside texts is counted, too.
fn memory_of(document: &str) -> usize {
    let of = |sign: u8| match sign {
        b'{' => 640,
        b'[' => 128,
        b':' => 140,
        b',' => 64,
        _ => 1,
    };
    document.bytes().map(of).sum()
}

/// A figure: a number, or a text with one; finite and not negative.
pub(super) fn figure(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|figure| (0.0..=9e18).contains(figure)),
        Value::String(text) => super::text::number(text),
        _ => None,
    }
}

/// A count: a whole number, or a text with one.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => {
            number.as_u64().or_else(|| figure(value).filter(|f| f.fract() == 0.0).map(|f| f as u64))
        }
        Value::String(text) => super::text::whole(text),
        _ => None,
    }
    .filter(|count| *count <= 9_000_000_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_off_says_where() {
        let message = |text: &str| documents(text).unwrap_err().to_string();
        assert_eq!(message("x\n{\"a\":\n 1,\n"), ":4: the document is cut short");
        assert!(message("x\n{\n\"a\" 1}").starts_with(":3: expected `:`"), "{}", message("x\n{\n\"a\" 1}"));
        assert!(message(&"[".repeat(200)).contains("cut short"));
        let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(message(&nested).contains("recursion limit"));
    }

    #[test]
    fn what_takes_much_memory_is_not_taken() {
        for (value, times) in [("1", 2_000_000), ("{}", 200_000), ("[]", 700_000), ("{\"\":0}", 150_000)] {
            let list = format!("[{}]", vec![value; times].join(","));
            assert!(list.len() < 5 << 20);
            assert_eq!(
                documents(&list).unwrap_err().to_string(),
                ": its JSON takes more than 96 MiB of memory; split it"
            );
            let lines = format!("[{}]\n", vec![value; times / 10].join(",")).repeat(20);
            assert!(documents(&lines).is_err(), "together they take too much");
            let mut count = 0;
            each(&lines, |_| {
                count += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(count, 20, "one after another they do not");
        }
    }
}
