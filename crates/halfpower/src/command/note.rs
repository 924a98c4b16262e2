//! What a result is remembered by: said, or in the environment, as the studies' cmdgen had it.

use clap::Args;

/// The variables that a note is taken from where none was said; the second is that of SQLIO's cmdgen.
const VARIABLES: [&str; 2] = ["HALFPOWER_NOTE", "sqlio_note"];

/// What a result is remembered by.
#[derive(Clone, Debug, Args)]
pub(crate) struct NoteArgument {
    /// Text stored with the result [default: $HALFPOWER_NOTE, or $sqlio_note, which SQLIO's scripts set]
    #[arg(long, value_name = "TEXT", help_heading = "Results")]
    note: Option<String>,
}

impl NoteArgument {
    /// The note; none where there is nothing in it.
    pub(crate) fn text(&self) -> Option<String> {
        self.note.clone().or_else(in_environment).filter(|note| !note.is_empty())
    }
}

/// The note that the environment holds.
pub(crate) fn in_environment() -> Option<String> {
    let note = VARIABLES.iter().find_map(|name| std::env::var_os(name).filter(|note| !note.is_empty()))?;
    Some(note.to_string_lossy().into_owned())
}
