//! Whether a result is stored, and its note: from the command line or from the environment.

use clap::Args;

/// The variables with the note if none is given; the second is that of SQLIO's cmdgen.
const VARIABLES: [&str; 2] = ["HALFPOWER_NOTE", "sqlio_note"];

/// The note of a result.
#[derive(Clone, Debug, Args)]
pub(crate) struct NoteArgument {
    /// Text stored with the result [default: $HALFPOWER_NOTE, or $sqlio_note, which SQLIO's scripts set]
    #[arg(long, value_name = "TEXT", help_heading = "Results")]
    note: Option<String>,
}

impl NoteArgument {
    /// The note; none if it is empty.
    pub(crate) fn text(&self) -> Option<String> {
        self.note.clone().or_else(in_environment).filter(|note| !note.is_empty())
    }
}

/// Whether a result is stored, and its note.
#[derive(Clone, Debug, Args)]
pub(crate) struct Keeping {
    /// Do not keep the result in the store
    #[arg(long, conflicts_with = "store", help_heading = "Results")]
    pub(crate) no_store: bool,
    #[command(flatten)]
    pub(crate) note: NoteArgument,
}

/// The note that the environment holds.
pub(crate) fn in_environment() -> Option<String> {
    let note = VARIABLES.iter().find_map(|name| std::env::var_os(name).filter(|note| !note.is_empty()))?;
    Some(note.to_string_lossy().into_owned())
}
