//! The report as one HTML file: the template filled in, every text escaped on the way, and control characters in it, which
//! HTML has no place for, made visible.

use crate::sanitize::sanitize_lines;
use anyhow::Result;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use std::borrow::Cow;

/// The templates by name. The names end in `.html`, which is what turns escaping on.
const TEMPLATES: [(&str, &str); 6] = [
    ("parts.html", include_str!("parts.html")),
    ("charts.html", include_str!("charts.html")),
    ("frame.html", include_str!("frame.html")),
    ("report.html", include_str!("report.html")),
    ("comparison.html", include_str!("comparison/comparison.html")),
    ("reading.html", include_str!("reading.html")),
];
const STYLE: &str = include_str!("report.css");

/// A template filled in.
///
/// # Errors
/// When the template does not fit what it is given.
pub(crate) fn render(name: &str, view: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_global("style", STYLE);
    for (name, template) in TEMPLATES {
        environment.add_template(name, template)?;
    }
    let page = environment.get_template(name)?.render(view)?;
    Ok(match sanitize_lines(&page) {
        Cow::Borrowed(_) => page,
        Cow::Owned(page) => page,
    })
}
