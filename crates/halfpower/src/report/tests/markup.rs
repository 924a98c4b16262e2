//! Checks of HTML: tags, their nesting and identifiers.

use std::collections::BTreeSet;

/// Elements without an end tag.
const VOID: [&str; 5] = ["meta", "br", "hr", "img", "link"];

/// Tags of a page in order, without their angle brackets. Style sheets, scripts, comments and the document type are passed over.
pub(crate) fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = if rest.starts_with("!--") { rest.find("-->").map(|end| end + 2) } else { rest.find('>') };
        let end = end.expect("every tag is closed");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        tags.push(tag);
        for name in ["style", "script"] {
            if tag == name {
                rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
            }
        }
    }
    tags
}

/// Fails when an element is not closed where it should be, or text has a stray bracket.
pub(crate) fn check_nesting(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags(page) {
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty(), "`<{tag}>` is no tag");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "inside {open:?}");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

/// Fails when an identifier is given twice, or one is named that does not exist.
pub(crate) fn check_ids(page: &str) {
    let page = without(page, &["script"]);
    let mut ids = BTreeSet::new();
    let values = |name: &'static str| page.split(name).skip(1).filter_map(|rest| rest.split('"').next());
    for id in values(" id=\"") {
        assert!(ids.insert(id), "`{id}` is given twice");
    }
    let named = values(" aria-labelledby=\"").flat_map(str::split_whitespace);
    let clips = page.split("url(#").skip(1).filter_map(|rest| rest.split(')').next());
    for id in named.chain(clips) {
        assert!(ids.contains(id), "`{id}` does not exist");
    }
}

/// Elements of one name, outermost ones, with their tags.
pub(crate) fn elements<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let mut rest = page;
    std::iter::from_fn(move || {
        let from = rest.find(&start)?;
        let to = from + rest[from..].find(&end)? + end.len();
        let element = &rest[from..to];
        rest = &rest[to..];
        Some(element)
    })
}

/// The page with the insides of some elements left out.
pub(crate) fn without(page: &str, names: &[&str]) -> String {
    names.iter().fold(page.to_owned(), |page, name| {
        let inside: Vec<&str> = elements(&page, name).collect();
        inside.iter().fold(page.clone(), |page, element| {
            let tag = element.split_once('>').map_or(*element, |(tag, _)| tag);
            page.replacen(element, &format!("{tag}>…</{name}>"), 1)
        })
    })
}
