//! The report as one HTML file: the template filled in, every text escaped on the way.

use super::ReportInput;
use super::view::View;
use anyhow::Result;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

/// Its name ends in `.html`, which is what turns escaping on.
const NAME: &str = "report.html";
const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");

/// The report of a run: a whole file that loads nothing from elsewhere.
///
/// # Errors
/// When the template does not fit what it is given, which a test would have shown.
pub(crate) fn html(input: &ReportInput<'_>) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_global("style", STYLE);
    environment.add_template(NAME, TEMPLATE)?;
    Ok(environment.get_template(NAME)?.render(Serde(View::new(input)))?)
}
