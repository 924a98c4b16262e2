//! JSON documents in the output of programs: text may stand before, between and behind them.

use super::error::What;
use serde_json::Value;

/// Longest text that is read as JSON: values take several times as much memory.
const MAX_BYTES: usize = 64 << 20;
/// Most documents of a file.
const MAX_DOCUMENTS: usize = 10_000;

/// A document and the line it begins on.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) line: u64,
    pub(super) value: Value,
}

/// Every document: a brace or a bracket first on its line begins one. Depth is limited to 128.
///
/// # Errors
/// At the place where one breaks off.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, What> {
    if text.len() > MAX_BYTES {
        return Err(What::whole(format!("it has more than {} MiB of JSON; split it", MAX_BYTES >> 20)));
    }
    let mut documents = Vec::new();
    let (mut at, mut line) = (0, 1_u64);
    while at < text.len() {
        let rest = &text[at..];
        let end_of_line = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if !rest[..end_of_line].trim_start().starts_with(['{', '[']) {
            at += end_of_line;
            line += 1;
            continue;
        }
        if documents.len() == MAX_DOCUMENTS {
            return Err(What::whole(format!("it has more than {MAX_DOCUMENTS} documents; split it")));
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => documents.push(Document { line, value }),
            Some(Err(error)) => {
                let reason = if error.is_eof() { "the document is cut short".to_owned() } else { error.to_string() };
                return Err(What::at(line + (error.line() as u64).saturating_sub(1), reason));
            }
            None => {}
        }
        let end = at + values.byte_offset().max(1);
        line += text[at..end].matches('\n').count() as u64;
        at = end;
    }
    Ok(documents)
}

/// A figure: a number, or a text that is one; finite and not negative.
pub(super) fn figure(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|figure| (0.0..=9e18).contains(figure)),
        Value::String(text) => super::text::number(text),
        _ => None,
    }
}

/// A count: a whole number, or a text that is one.
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
    use proptest::prelude::*;

    #[test]
    fn text_stands_around_documents() {
        let text = "fio: a note {here}\n{\"a\": 1}\nmore\n  {\n\"b\": 2}{\"c\": 3}\nend";
        let found = documents(text).unwrap();
        let found: Vec<_> = found.iter().map(|document| (document.line, document.value.to_string())).collect();
        assert_eq!(found, [(2, "{\"a\":1}".to_owned()), (4, "{\"b\":2}".to_owned()), (5, "{\"c\":3}".to_owned())]);
    }

    #[test]
    fn what_breaks_off_says_where() {
        let message = |text: &str| documents(text).unwrap_err().to_string();
        assert_eq!(message("x\n{\"a\":\n 1,\n"), ":4: the document is cut short");
        assert!(message("x\n{\n\"a\" 1}").starts_with(":3: expected `:`"), "{}", message("x\n{\n\"a\" 1}"));
        assert!(message(&"[".repeat(1_000_000)).contains("recursion limit"));
    }

    proptest! {
        #[test]
        fn nothing_panics_or_hangs(text in "[\\[\\]{}\",:0-9a\n ]{0,300}") {
            let _ = documents(&text);
        }
    }
}
