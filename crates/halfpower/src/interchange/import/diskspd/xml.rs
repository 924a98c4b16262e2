//! As much of XML as diskspd writes: elements, attributes, text. No entities but the five, no document type: a file that
//! declares one is refused.

use super::super::error::What;

/// Deepest nesting.
const MAX_DEPTH: usize = 64;
/// Most elements.
const MAX_ELEMENTS: usize = 200_000;

/// An element.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) line: u64,
    text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// The first child of a name.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of the first child of a name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }
}

/// The document's element.
///
/// # Errors
/// At the first place that is no XML, or not of the kind that is read.
pub(super) fn read(text: &str) -> Result<Element, What> {
    let mut open: Vec<Element> = vec![Element::default()];
    let (mut rest, mut line, mut elements) = (text, 1_u64, 0_usize);
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        line += newlines(before);
        if let Some(element) = open.last_mut() {
            element.text.push_str(&plain(before));
        }
        let end_mark = if tag.starts_with("<!--") { "-->" } else { ">" };
        let end = tag.find(end_mark).ok_or_else(|| What::at(line, "a tag is not closed; is the file cut short?"))?;
        let inside = &tag[1..end];
        let here = line;
        line += newlines(inside);
        rest = &tag[end + end_mark.len()..];
        if inside.starts_with("!--") || inside.starts_with('?') {
            continue;
        }
        if inside.starts_with('!') {
            return Err(What::at(here, "declarations are not read"));
        }
        if let Some(name) = inside.strip_prefix('/') {
            close(&mut open, name.trim(), here)?;
            continue;
        }
        elements += 1;
        if elements > MAX_ELEMENTS || open.len() > MAX_DEPTH {
            let what = format!("it has more than {MAX_ELEMENTS} elements, or nests deeper than {MAX_DEPTH}");
            return Err(What::at(here, what));
        }
        let (name, empty) = inside.strip_suffix('/').map_or((inside, false), |name| (name, true));
        let name = name.split_whitespace().next().unwrap_or_default().to_owned();
        open.push(Element { name: name.clone(), line: here, ..Element::default() });
        if empty {
            close(&mut open, &name, here)?;
        }
    }
    match (open.len(), open.pop()) {
        (1, Some(mut outside)) if outside.children.len() == 1 => Ok(outside.children.remove(0)),
        (1, _) => Err(What::whole("it has not one element that holds all others; is it complete?")),
        (_, last) => {
            let name = last.map(|element| element.name).unwrap_or_default();
            Err(What::at(line, format!("`{name}` is not closed; is the file cut short?")))
        }
    }
}

fn close(open: &mut Vec<Element>, name: &str, line: u64) -> Result<(), What> {
    let wrong = || What::at(line, format!("`{}` is closed and is not open", name.chars().take(40).collect::<String>()));
    if open.len() < 2 {
        return Err(wrong());
    }
    let element = open.pop().filter(|element| element.name == name).ok_or_else(wrong)?;
    open.last_mut().ok_or_else(wrong)?.children.push(element);
    Ok(())
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn plain(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_nest_and_have_text() {
        let read = read("<?xml version=\"1.0\"?>\n<a>\n<!-- <x> -->\n<b k=\"1\">1 &lt; 2</b><b/></a>\n").unwrap();
        assert_eq!((read.name.as_str(), read.children.len(), read.text("b")), ("a", 2, Some("1 < 2")));
        assert_eq!(read.child("b").unwrap().line, 4);
    }

    #[test]
    fn what_is_broken_says_where() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(message("<a>\n<b>\n</a>"), ":3: `a` is closed and is not open");
        assert_eq!(message("<a>\n<b>\n"), ":2: `b` is not closed; is the file cut short?");
        assert_eq!(message("<a>\n<b"), ":2: a tag is not closed; is the file cut short?");
        assert!(message("<!DOCTYPE a [<!ENTITY x \"y\">]><a/>").contains("declarations"));
        assert!(message(&"<a>".repeat(1000)).contains("nests deeper than 64"));
        assert!(message("").contains("not one element"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[<>/!a-c&; \n-]{0,200}") {
            let _ = read(&text);
        }
    }
}
