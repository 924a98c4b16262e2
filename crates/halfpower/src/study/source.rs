//! Sources of study files: the binary, the disk, or a test; and folders of files.
//!
//! A folder is the study of its files. Its `study.toml` has name, target and trial of the whole; the others follow in
//! the [order of their names](natural), as the caller lists them. Each file is a study by itself, too.

use super::builtin::FILES;
use super::diagnostic::{Diagnostics, Kind, Problem, StudyErrors};
use super::model::Study;
use super::read::{Draft, Needs, draft};
use super::sweep::MOST_CELLS;
use halfpower_model::Settings;

/// The file with the name, target and trial of a folder.
const HEAD: &str = "study";
const EXTENSION: &str = ".toml";

/// Returns the text of a file, or the reason if it cannot be read.
pub(crate) type Open<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Checks a target and settings; the error is the reason if they do not exist.
pub(crate) type Fits<'a> = &'a dyn Fn(&str, &Settings) -> Result<(), String>;

/// Access to included files, and the check of targets.
#[derive(Clone, Copy)]
pub(crate) struct Shelf<'a> {
    /// Gives the text of a file.
    pub open: Open<'a>,
    /// Checks a target and settings; [`Shelf::of`] accepts all, because the user may name another target.
    pub fits: Fits<'a>,
}

impl<'a> Shelf<'a> {
    /// Without a check of targets.
    pub(crate) fn of(open: Open<'a>) -> Shelf<'a> {
        Shelf { open, fits: &|_, _| Ok(()) }
    }

    /// Name and text of the file that another one includes as `word`: beside it, or built-in; or the reason if there is
    /// none.
    pub(super) fn beside(&self, file: &str, word: &str) -> Result<(String, String), String> {
        let name = match file.rsplit_once('/') {
            Some((folder, _)) if !word.starts_with('/') => format!("{folder}/{word}"),
            _ => word.to_owned(),
        };
        match (self.open)(&name) {
            Ok(text) => Ok((name, text)),
            Err(reason) => {
                let mut names = [name.as_str(), word].into_iter();
                let found = names.find_map(|name| Some((name.to_owned(), builtin_text(name)?.to_owned())));
                found.ok_or(reason)
            }
        }
    }
}

/// The text of a built-in file.
fn builtin_text(file: &str) -> Option<&'static str> {
    let name = file.strip_suffix(EXTENSION).unwrap_or(file);
    FILES.iter().find(|(builtin, _)| *builtin == name).map(|(_, text)| *text)
}

/// Opens built-in files only.
fn open_builtin(file: &str) -> Result<String, String> {
    builtin_text(file).map(str::to_owned).ok_or_else(|| format!("there is no built-in study {file}"))
}

/// The folder of a file, and its name in there without extension.
fn parts(file: &str) -> (&str, &str) {
    let (folder, own) = file.rsplit_once('/').unwrap_or(("", file));
    (folder, own.strip_suffix(EXTENSION).unwrap_or(own))
}

/// The parts of a file's name with their numbers, so that 9 sorts before 10.
pub(crate) fn natural(file: &str) -> Vec<(u64, String)> {
    let name = file.strip_suffix(EXTENSION).unwrap_or(file);
    let pieces = name.split_inclusive(|c: char| !c.is_ascii_digit());
    let number = |piece: &str| piece.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    pieces.map(|piece| (number(piece), piece.to_owned())).collect()
}

impl Study {
    /// Parses a study that may include built-in ones; `file` is its name in messages.
    ///
    /// # Errors
    /// All mistakes in the text.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Study, StudyErrors> {
        Study::parse_with(file, text, Shelf::of(&open_builtin))
    }

    /// Parses a study that may include files of the shelf.
    ///
    /// # Errors
    /// All mistakes in the text, or in that of an included file.
    pub(crate) fn parse_with(file: &str, text: &str, shelf: Shelf<'_>) -> Result<Study, StudyErrors> {
        Ok(draft(file, text, Needs::Sweeps, &shelf, &[])?.study)
    }

    /// The study of a folder, from the names of its files in order; the shelf has their texts.
    ///
    /// # Errors
    /// All mistakes in one of them; a folder without `study.toml`; a file with another trial or target.
    pub(crate) fn of_folder(folder: &str, files: &[String], shelf: Shelf<'_>) -> Result<Study, StudyErrors> {
        let head = format!("{folder}/{HEAD}{EXTENSION}");
        let text = (shelf.open)(&head).map_err(|reason| {
            let help = "a folder of studies has a study.toml, with the name, the target and the trial of them all";
            alone(&head, "", Problem::new(reason, help))
        })?;
        let Draft { study: mut whole, .. } = draft(&head, &text, Needs::Name, &shelf, &[])?;
        for file in files.iter().filter(|file| parts(file).1 != HEAD) {
            let text =
                (shelf.open)(file).map_err(|reason| alone(file, "", Problem::new(reason, "make it readable")))?;
            let study = Study::parse_with(file, &text, shelf)?;
            let other = [("trial", study.trial != whole.trial), ("target", study.path != whole.path)];
            if let Some((what, _)) = other.into_iter().find(|(_, is_other)| *is_other) {
                let help = format!("write include = \"{HEAD}{EXTENSION}\", and leave `{what}` out");
                return Err(alone(file, &text, Problem::new(format!("its {what} is not that of {head}"), help)));
            }
            whole.sweeps.extend(study.sweeps);
            if whole.cells() > MOST_CELLS {
                let problem =
                    Problem::new(format!("the folder has more than {MOST_CELLS} cells"), "make it two folders");
                return Err(alone(file, "", problem));
            }
            whole.text += &format!("\n# {file}\n{text}");
        }
        if whole.sweeps.is_empty() {
            let problem = Problem::new("this folder has no sweep", "put study files beside it");
            return Err(alone(&head, &text, problem));
        }
        Ok(whole)
    }

    /// The built-in study of a file or folder; none if there is none.
    ///
    /// # Panics
    /// If a built-in study has a mistake, which tests exclude.
    pub(crate) fn builtin(name: &str) -> Option<Study> {
        if let Some((name, text)) = FILES.iter().find(|(builtin, _)| *builtin == name && parts(name).1 != HEAD) {
            return Some(Study::parse(&format!("{name}{EXTENSION}"), text).expect("built-in studies are right"));
        }
        let files: Vec<String> = Study::files_of(name).map(|file| format!("{file}{EXTENSION}")).collect();
        if files.is_empty() {
            return None;
        }
        Some(Study::of_folder(name, &files, Shelf::of(&open_builtin)).expect("built-in studies are right"))
    }

    /// The names of a built-in folder's studies, in order; empty for a file.
    pub(crate) fn files_of(folder: &str) -> impl Iterator<Item = &'static str> {
        let names = FILES.iter().map(|(name, _)| *name);
        names.filter(move |name| parts(name).0 == folder && !folder.is_empty() && parts(name).1 != HEAD)
    }

    /// Every built-in study; a folder is one.
    #[cfg(test)]
    pub(crate) fn builtins() -> impl Iterator<Item = Study> {
        Study::builtin_names().filter_map(Study::builtin)
    }

    /// The names of the built-in studies; a folder is one.
    pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
        FILES.iter().filter_map(|(name, _)| match parts(name) {
            ("", own) => Some(own),
            (folder, HEAD) => Some(folder),
            _ => None,
        })
    }
}

/// A mistake without a place in its file.
fn alone(file: &str, text: &str, problem: Problem) -> StudyErrors {
    let mut diagnostics = Diagnostics::new(text);
    diagnostics.note(Kind::Missing, 0..0, problem);
    diagnostics.into_errors(file)
}
