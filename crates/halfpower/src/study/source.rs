//! Where study files are from: the binary, the disk, or the hands of a test; and folders of them.
//!
//! A folder is the study of its files: its `study.toml` says the name, the target and the trial of the whole, and the others follow
//! in the [order of their names](natural), as whoever lists them gives them. Each is a study of its own as well.

use super::builtin::FILES;
use super::diagnostic::{Diagnostics, Kind, Problem, StudyErrors};
use super::model::Study;
use super::read::{Draft, Needs, draft};
use super::sweep::MOST_CELLS;
use halfpower_model::Settings;

/// What a folder's whole is said in.
const HEAD: &str = "study";
const EXTENSION: &str = ".toml";

/// Gives the text of a file; the reason where it cannot.
pub(crate) type Open<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Says of a target and of what is set of it why there is no such thing, if there is none.
pub(crate) type Fits<'a> = &'a dyn Fn(&str, &Settings) -> Result<(), String>;

/// Where the files that are included lie, and what the targets are held against.
#[derive(Clone, Copy)]
pub(crate) struct Shelf<'a> {
    /// Gives the text of a file.
    pub open: Open<'a>,
    /// What a study may go to and set; [`Shelf::of`] asks nobody, as its user may name another target.
    pub fits: Fits<'a>,
}

impl<'a> Shelf<'a> {
    /// Whose studies' targets are not looked at.
    pub(crate) fn of(open: Open<'a>) -> Shelf<'a> {
        Shelf { open, fits: &|_, _| Ok(()) }
    }

    /// The file that another one calls `word`: beside it, or built in. Its name and its text, or why there is none.
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

/// What stands between folder and file, and the file's own name.
fn parts(file: &str) -> (&str, &str) {
    let (folder, own) = file.rsplit_once('/').unwrap_or(("", file));
    (folder, own.strip_suffix(EXTENSION).unwrap_or(own))
}

/// The pieces of a file's name with their numbers, so that 9 is before 10.
pub(crate) fn natural(file: &str) -> Vec<(u64, String)> {
    let name = file.strip_suffix(EXTENSION).unwrap_or(file);
    let pieces = name.split_inclusive(|c: char| !c.is_ascii_digit());
    let number = |piece: &str| piece.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    pieces.map(|piece| (number(piece), piece.to_owned())).collect()
}

impl Study {
    /// Reads a study; `file` is what messages call it. It may include what is built in.
    ///
    /// # Errors
    /// Every mistake in the text.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Study, StudyErrors> {
        Study::parse_with(file, text, Shelf::of(&open_builtin))
    }

    /// The same; the shelf has the files that it includes.
    ///
    /// # Errors
    /// Every mistake in the text, or in that of a file that it includes.
    pub(crate) fn parse_with(file: &str, text: &str, shelf: Shelf<'_>) -> Result<Study, StudyErrors> {
        Ok(draft(file, text, Needs::Sweeps, &shelf, &[])?.study)
    }

    /// The study of a folder, from the names of its files in their order; the shelf has their texts.
    ///
    /// # Errors
    /// Every mistake in one of them; a folder without a `study.toml`, or with a file whose trial is not its.
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

    /// The built-in study of a name, a file's or a folder's; none when there is none.
    ///
    /// # Panics
    /// When a study that is part of the program has a mistake, which the tests make sure of.
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

    /// The names of a built-in folder's studies, in their order; none where it is no folder.
    pub(crate) fn files_of(folder: &str) -> impl Iterator<Item = &'static str> {
        let names = FILES.iter().map(|(name, _)| *name);
        names.filter(move |name| parts(name).0 == folder && !folder.is_empty() && parts(name).1 != HEAD)
    }

    /// Every built-in study, folders as one.
    #[cfg(test)]
    pub(crate) fn builtins() -> impl Iterator<Item = Study> {
        Study::builtin_names().filter_map(Study::builtin)
    }

    /// The names of the built-in studies, folders as one.
    pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
        FILES.iter().filter_map(|(name, _)| match parts(name) {
            ("", own) => Some(own),
            (folder, HEAD) => Some(folder),
            _ => None,
        })
    }
}

/// One mistake that has no place in its file.
fn alone(file: &str, text: &str, problem: Problem) -> StudyErrors {
    let mut diagnostics = Diagnostics::new(text);
    diagnostics.note(Kind::Missing, 0..0, problem);
    diagnostics.into_errors(file)
}
