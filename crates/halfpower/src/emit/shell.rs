//! A plan as a script for a POSIX shell: one `halfpower io` per trial.
//!
//! A test file is created in a new directory, by mkdir(1), which fails if the name exists. The script removes both at
//! its end, unless it is killed by SIGKILL. A file that the user named is created only if its name is free (noclobber),
//! and stays. Nothing else is written, except targets with --overwrite by the trials that write.

use super::emission::{Emission, comment, is_test_file, name};
use super::options::options;
use crate::plan::Plan;
use crate::sanitize::is_unprintable;
use crate::target::{Creation, Place};
use crate::text::quoted;
use halfpower_engine::Access;
use halfpower_model::{Among, TargetKind, Workload};
use std::fmt::Write;
use std::path::Path;

const NOTE: &str = "Each trial is a separate run in the store, with the note in $HALFPOWER_NOTE, else in $sqlio_note.";
const PROGRAM: &str = "$HALFPOWER is the program, where it is not the halfpower on the path.";

/// The reason why `halfpower io` cannot run a trial on a simulated machine.
const SOME_TARGETS: &str = "it goes to some of a simulated volume's targets, and `halfpower io` to all";

/// The start of every script. A failed trial does not end it; a missing program and Ctrl-C do.
const START: &str = r#"
set -u
note=${HALFPOWER_NOTE:-${sqlio_note:-}}
failures=0

halfpower() {
    command "${HALFPOWER:-halfpower}" "$@"
}

failed() {
    case $1 in 126 | 127 | 130) exit "$1" ;; esac
    failures=$((failures + 1))
}
"#;

/// The function that removes test files; a part per file stands between the two texts.
const BEFORE_REMOVAL: &str = "\nclean_up() {\n";
const AFTER_REMOVAL: &str = "    :
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
";

const END: &str = r#"
if [ "$failures" -gt 0 ]; then
    echo "$failures of the trials failed." >&2
    exit 1
fi
"#;

/// The script.
///
/// # Errors
/// If a script cannot contain the name of a target, or a trial needs data that an earlier one has discarded.
pub(crate) fn shell(emission: &Emission<'_>) -> Result<String, String> {
    let places = Places::of(emission)?;
    let mut script = "#!/bin/sh\n".to_owned();
    let mut head = emission.head("a script of single commands");
    head.push(NOTE.to_owned());
    head.push(PROGRAM.to_owned());
    head.push(writing(emission.plan));
    script.extend(head.iter().map(|line| comment(line)));
    script.push_str(START);
    places.make(&mut script, emission.plan);
    let words = emission.plan.names(&[]);
    let peaks: Vec<String> =
        emission.site.peaks.iter().map(|peak| format!(" --pap {}={}B/s", peak.level, peak.bytes_per_s.0)).collect();
    let mut trials = emission.trials().peekable();
    let mut is_empty = true;
    while let Some(trial) = trials.next() {
        let (title, workload) = (emission.title(&trial, &words), &trial.workload);
        let Some(chosen) = places.of_workload(emission, workload) else {
            let _ = write!(script, "\n{}", comment(&format!("Left out, as {SOME_TARGETS}: {title}")));
            continue;
        };
        is_empty = false;
        let _ = write!(script, "\n{}", comment(&title));
        script.push_str("halfpower io");
        chosen.iter().for_each(|place| script.extend([" ", &place.word]));
        options(workload).into_iter().for_each(|option| script.extend([" ", &quoted(option.into())]));
        script.push_str(&peaks.concat());
        for place in chosen.iter().filter(|place| workload.operation.destroys() && place.may_be_lost()) {
            let _ = write!(script, " --overwrite={}", place.word);
        }
        script.push_str(" --note=\"$note\" || failed $?\n");
        if trials.peek().is_some() {
            make_anew(&mut script, chosen, workload)?;
        }
    }
    if is_empty {
        return Err(format!(
            "`halfpower io` can say no workload of the study ({SOME_TARGETS}); use `halfpower study run`"
        ));
    }
    script.push_str(END);
    // From an option, such as a plug-in's name.
    match script.lines().find(|line| line.contains(is_unprintable)) {
        Some(line) => Err(format!("{} has characters that control a terminal; rename the file", line.escape_debug())),
        None => Ok(script),
    }
}

/// The written bytes in a sentence.
fn writing(plan: &Plan) -> String {
    if plan.is_time_virtual() {
        return "What it writes is simulated.".to_owned();
    }
    match plan.bytes_written_by_all(plan.repetitions.min) {
        bytes if bytes.0 == 0 => "It writes nothing.".to_owned(),
        bytes => format!("It writes {bytes} at most."),
    }
}

/// Fills files again in which a trial left holes, because the next trial may read data.
fn make_anew(script: &mut String, chosen: &[ShellPlace<'_>], workload: &Workload) -> Result<(), String> {
    if !workload.leaves_holes() {
        return Ok(());
    }
    let files = chosen.iter().filter(|shell| shell.place.facts.kind == TargetKind::File);
    let mut are_there = false;
    for shell in files {
        if !is_test_file(shell.place) {
            return Err(format!(
                "the study leaves holes in {}, which a script cannot fill again; name a directory, whose test file it makes \
                 anew, or use `halfpower study run`",
                shell.place.path.display()
            ));
        }
        let _ = writeln!(script, "rm -f -- {}", shell.word);
        are_there = true;
    }
    if are_there {
        script.push_str("make_files\n");
    }
    Ok(())
}

/// A place, and its word in the script.
struct ShellPlace<'a> {
    place: &'a Place,
    /// Its name, or that of its directory.
    name: String,
    /// Quoted name, or a variable.
    word: String,
    /// Number of its variables.
    number: usize,
}

struct Places<'a>(Vec<ShellPlace<'a>>);

impl<'a> Places<'a> {
    fn of(emission: &Emission<'a>) -> Result<Self, String> {
        let shell = |(index, place): (usize, &'a Place)| {
            let number = index + 1;
            let name = match &emission.plan.targets[..] {
                // The facts of a volume with several targets contain a number for each.
                [target] if emission.plan.is_time_virtual() => name(Path::new(target))?,
                _ => name(&place.path)?,
            };
            let word = if is_test_file(place) { format!("\"$file_{number}\"") } else { quoted(name.clone().into()) };
            Ok(ShellPlace { place, name, word, number })
        };
        emission.site.places.iter().enumerate().map(shell).collect::<Result<_, _>>().map(Places)
    }

    /// The places of a workload. On a simulated machine one place stands for all, because they have one name; none for
    /// some of them.
    fn of_workload(&self, emission: &Emission<'_>, workload: &Workload) -> Option<&[ShellPlace<'a>]> {
        match emission.plan.is_time_virtual() {
            true => (workload.among == Among::All).then(|| &self.0[..1]),
            false => Some(&self.0[emission.range(workload)]),
        }
    }

    /// Creates missing files.
    fn make(&self, script: &mut String, plan: &Plan) {
        let made: Vec<&ShellPlace<'a>> =
            self.0.iter().filter(|shell| shell.place.creation != Creation::Nothing).collect();
        let Some(first) = made.first() else { return };
        for shell in &made {
            let _ = writeln!(script, "made_{}=", shell.number);
        }
        script.push_str(BEFORE_REMOVAL);
        made.iter().for_each(|shell| script.push_str(&shell.removal()));
        script.push_str(AFTER_REMOVAL);
        made.iter().for_each(|shell| script.push_str(&shell.room()));
        // A read of one request: it creates and fills its targets first.
        script.push_str("\nmake_files() {\n    halfpower io");
        made.iter().for_each(|shell| script.extend([" ", &shell.word]));
        let size = first.place.facts.size_bytes.exactly();
        let _ = write!(script, " --size {size} --request-size 512 --buffering buffered --personality sync");
        let _ = write!(script, " --requests 1 --seed {} --no-store", plan.seed);
        for shell in made.iter().filter(|shell| !is_test_file(shell.place)) {
            let _ = write!(script, " --overwrite={}", shell.word);
        }
        script.push_str(" >/dev/null || exit\n}\nmake_files\n");
        for shell in made.iter().filter(|shell| shell.place.creation == Creation::NamedFile) {
            let _ = writeln!(script, "made_{}=", shell.number);
        }
    }
}

impl ShellPlace<'_> {
    /// Whether a writing trial may overwrite it.
    fn may_be_lost(&self) -> bool {
        let kind = self.place.facts.kind;
        self.place.access == Access::Overwrite && (kind.can_lose_data() || kind == TargetKind::Null)
    }

    /// The commands that remove it, if it is created and does not stay.
    fn removal(&self) -> String {
        let ShellPlace { word, number, .. } = self;
        match self.place.creation {
            Creation::TestFile(_) => {
                format!("    [ -z \"$made_{number}\" ] || {{ rm -f -- {word}; rmdir -- \"$made_{number}\"; }}\n")
            }
            // An incomplete file is of no use.
            Creation::NamedFile => format!("    [ -z \"$made_{number}\" ] || rm -f -- {word}\n"),
            Creation::Nothing | Creation::LargerFile => String::new(),
        }
    }

    /// The commands that reserve an unused name.
    fn room(&self) -> String {
        let ShellPlace { place, name, word, number } = self;
        match &place.creation {
            Creation::TestFile(_) => {
                let directory = quoted(name.into());
                format!(
                    "\nnew={directory}/halfpower-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \\n')\n\
                     file_{number}=$new/halfpower.test\n\
                     mkdir -m 700 -- \"$new\" || exit\n\
                     made_{number}=$new\n"
                )
            }
            Creation::NamedFile => format!("\n(set -C && : >{word}) || exit\nmade_{number}={word}\n"),
            Creation::Nothing | Creation::LargerFile => String::new(),
        }
    }
}
