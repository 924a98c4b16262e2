//! Names of plug-ins: a file and options, which the plug-in interprets.
//!
//! Nothing here opens the file. A loaded plug-in runs with the user's rights, so the program loads one only if the user names
//! it on the command line, never because a study or a record does.

use super::method::Personality;
use crate::words::{ChoiceError, by_text};
use std::fmt;
use std::str::FromStr;

const FORMS: &str = "plugin:FILE, plugin:FILE,OPTIONS (FILE with a slash in it, like ./own.so, and without a comma)";

/// A plug-in; written `FILE` or `FILE,OPTIONS`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plugin {
    /// The shared object, with a slash in its path, so that the loader searches no other folder.
    pub file: String,
    /// The text after the first comma, unchanged; may be empty.
    pub options: String,
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.options.is_empty() { Ok(()) } else { write!(f, ",{}", self.options) }
    }
}

impl FromStr for Plugin {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let (file, options) = text.split_once(',').unwrap_or((text, ""));
        if !file.contains('/') || file.ends_with('/') || text.contains(char::is_control) {
            return Err(ChoiceError::new(&format!("plugin:{}", text.escape_debug()), FORMS));
        }
        Ok(Plugin { file: file.to_owned(), options: options.to_owned() })
    }
}

by_text!(Plugin);

/// A personality as a user names it: its word, or `plugin:FILE,OPTIONS`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPersonality {
    /// Which.
    pub personality: Personality,
    /// The plug-in of [`Personality::Plugin`].
    pub plugin: Option<Plugin>,
}

impl fmt::Display for NamedPersonality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plugin {
            Some(plugin) => write!(f, "{}:{plugin}", self.personality),
            None => self.personality.fmt(f),
        }
    }
}

impl FromStr for NamedPersonality {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if let Some(plugin) = text.strip_prefix("plugin:") {
            return Ok(NamedPersonality { personality: Personality::Plugin, plugin: Some(plugin.parse()?) });
        }
        match text.parse() {
            Ok(Personality::Plugin) => Err(ChoiceError::new(text, FORMS)),
            Ok(personality) => Ok(NamedPersonality { personality, plugin: None }),
            Err(ChoiceError { word, choices }) => Err(ChoiceError { word, choices: choices + ":FILE" }),
        }
    }
}
