//! Pages from templates. Every text is escaped, and control characters are replaced.

use super::chart::{Chart, chart_view};
use crate::sanitize::sanitize_lines;
use anyhow::Result;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};
use std::borrow::Cow;

/// The templates by name. The endings `.html` and `.xml` turn escaping on.
const TEMPLATES: &[(&str, &str)] = &[
    ("parts.html", include_str!("parts.html")),
    ("frame.html", include_str!("frame.html")),
    ("report.html", include_str!("report.html")),
    ("comparison.html", include_str!("comparison/comparison.html")),
    ("figure.xml", include_str!("figure.xml")),
    ("several.html", include_str!("several.html")),
    ("reading.html", include_str!("reading.html")),
    #[cfg(feature = "serve")]
    ("site.html", include_str!("../cli/serve/site.html")),
    #[cfg(feature = "serve")]
    ("runs.html", include_str!("../cli/serve/runs.html")),
    #[cfg(feature = "serve")]
    ("history.html", include_str!("../cli/serve/history.html")),
    #[cfg(feature = "serve")]
    ("live.html", include_str!("../cli/serve/live.html")),
    #[cfg(feature = "serve")]
    ("what-if.html", include_str!("../cli/serve/what-if.html")),
];
const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The page of a template and its view.
///
/// # Errors
/// If the template does not fit the view.
pub(crate) fn render(name: &str, view: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_global("style", STYLE);
    environment.add_global("script", SCRIPT);
    for (name, template) in TEMPLATES.iter().copied() {
        environment.add_template(name, template)?;
    }
    let page = environment.get_template(name)?.render(view)?;
    Ok(match sanitize_lines(&page) {
        Cow::Borrowed(_) => page,
        Cow::Owned(page) => page,
    })
}

/// A chart as its own file, with its title and legend; none if nothing in it can be drawn. Programs that draw SVG know no
/// variables of CSS, so that the light colours are put in.
///
/// # Errors
/// As [`render`].
pub(crate) fn figure(chart: &Chart) -> Result<Option<String>> {
    let Some(chart) = chart_view(chart) else { return Ok(None) };
    let mut svg = render("figure.xml", context! { chart })?;
    let light = STYLE.lines().skip(1).map_while(|line| line.trim().strip_suffix(';')?.split_once(": "));
    for (name, colour) in light {
        svg = svg.replace(&format!("var({name})"), colour);
    }
    Ok(Some(svg))
}
