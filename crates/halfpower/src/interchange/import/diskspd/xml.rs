//! diskspd's XML as elements by name, with their lines.

use super::super::error::Fault;
use roxmltree::{Document, Error, Node, ParsingOptions};

/// Maximum number of elements, comments and texts: up to 40 MiB of memory.
const MAX_NODES: u32 = 400_000;
/// Maximum number of attributes, counted by equals signs. diskspd writes none, but a path may contain the sign. The
/// parser limits neither their memory nor the time to compare names and to inherit namespaces.
const MAX_EQUALS_SIGNS: usize = 10_000;

/// An element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'d>(Node<'d, 'd>);

impl<'d> Element<'d> {
    pub(super) fn name(self) -> &'d str {
        self.0.tag_name().name()
    }

    /// All children with a name.
    pub(super) fn all(self, name: &str) -> impl Iterator<Item = Element<'d>> {
        self.0.children().filter(move |child| child.has_tag_name(name)).map(Element)
    }

    /// The first child with a name.
    pub(super) fn child(self, name: &str) -> Option<Element<'d>> {
        self.all(name).next()
    }

    /// The text of the first child with a name.
    pub(super) fn text(self, name: &str) -> Option<&'d str> {
        self.child(name).map(Element::own_text)
    }

    pub(super) fn attribute(self, name: &str) -> Option<&'d str> {
        self.0.attribute(name)
    }

    /// Its text, trimmed.
    pub(super) fn own_text(self) -> &'d str {
        self.0.text().unwrap_or_default().trim()
    }

    /// Its first line. Counts from the start of the file, so it is slow for many elements.
    pub(super) fn line(self) -> u64 {
        u64::from(self.0.document().text_pos_at(self.start()).row)
    }

    /// Its first byte.
    pub(super) fn start(self) -> usize {
        self.0.range().start
    }
}

/// The parsed file; a document type is rejected.
///
/// # Errors
/// At the first invalid place.
pub(super) fn parsed(text: &str) -> Result<Document<'_>, Fault> {
    if text.contains("xmlns") || text.matches('=').count() > MAX_EQUALS_SIGNS {
        return Err(Fault::whole("it has namespaces or thousands of attributes; import the output of `diskspd -Rxml`"));
    }
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            Fault::at(text.lines().count() as u64, "the file ends within an element; is it cut short?")
        }
        Error::NodesLimitReached => Fault::whole(format!("it has more than {MAX_NODES} elements and texts; split it")),
        error => Fault::at(u64::from(error.pos().row), error.to_string()),
    })
}

/// The element that holds all others.
pub(super) fn root<'d>(document: &'d Document<'d>) -> Element<'d> {
    Element(document.root_element())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_or_too_large_is_refused() {
        let message = |text: &str| parsed(text).unwrap_err().to_string();
        assert!(
            message("<a>\n<b>\n</a>").starts_with(":3: expected 'b' tag, not 'a'"),
            "{}",
            message("<a>\n<b>\n</a>")
        );
        assert!(message("<a>\n<b").starts_with(":2: the file ends within an element"));
        assert!(message("<!DOCTYPE a [<!ENTITY x \"y\">]><a/>").contains("DTD"));
        assert!(message(&format!("<a>{}</a>", "<b/>".repeat(400_000))).contains("more than 400000 elements"));
        assert!(message("<a xmlns:b='c'/>").contains("namespaces"));
        assert!(message(&format!("<a{}/>", " b=''".repeat(10_001))).contains("thousands of attributes"));
        // Nesting uses no stack.
        assert!(parsed(&format!("{}{}", "<a>".repeat(300_000), "</a>".repeat(300_000))).is_ok());
    }
}
