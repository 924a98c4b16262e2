//! The tables of `docs/studies`: what the papers print and what the machines give, figure by figure, written into the pages between
//! the marks that are there.
//!
//! `<!-- published: figure 11, section 6.1 -->` is followed by a table of the figures printed there, up to the next
//! `<!-- end -->`; `<!-- tally -->` by how many figures of the paper are met. The test fails where a page has other tables
//! than the program gives; with `INSTA_UPDATE=always`, as for the golden files, it writes them (`just studies`).

use super::*;
use crate::simulator::published::{self, Basis};
use halfpower_model::units::significant;
use std::fmt::Write as _;
use std::path::Path;

const END: &str = "<!-- end -->";
const TALLY: &str = "<!-- tally -->";
const PUBLISHED: &str = "<!-- published: ";

/// The pages, and the paper that each is of.
const PAGES: [(&str, &str); 2] = [("nt4.md", "nt4"), ("win2000.md", "w2k")];

#[test]
fn the_pages_have_what_the_machines_give() {
    let figures = published::figures();
    for (page, source) in PAGES {
        let of_paper: Vec<Figure> = figures.iter().filter(|figure| figure.source == source).cloned().collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/studies").join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let fresh = filled(&text, &check(&of_paper));
        if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
            std::fs::write(&path, fresh).unwrap();
        } else {
            let differs = text.lines().zip(fresh.lines()).find(|(old, new)| old != new);
            assert!(text == fresh, "docs/studies/{page} is old, at {differs:?}; `just studies` writes its tables anew");
        }
    }
}

/// A page with its tables made anew.
fn filled(text: &str, checked: &[Checked]) -> String {
    let words = |line: &str| Some(line.strip_prefix(PUBLISHED)?.strip_suffix(" -->")?.to_owned());
    let marks: Vec<String> = text.lines().filter_map(words).collect();
    let place = |Checked { figure, .. }: &Checked| {
        let mut parts: Vec<&str> = figure.place.split([',', ';']).map(str::trim).collect();
        // A figure or table says more than a section.
        parts.sort_by_key(|part| !part.starts_with("figure") && !part.starts_with("table"));
        parts
            .iter()
            .find_map(|part| marks.iter().position(|mark| mark.split(", ").any(|place| place == *part)))
            .unwrap_or_else(|| {
                panic!("{}: no mark of the page is of {}", figure.id, figure.place);
            })
    };
    let mut page = String::new();
    let mut old = false;
    let mut number = 0;
    for line in text.lines() {
        old &= line != END;
        if !old {
            page += line;
            page.push('\n');
        }
        if words(line).is_some() {
            let of_mark: Vec<&Checked> = checked.iter().filter(|figure| place(figure) == number).collect();
            assert!(!of_mark.is_empty(), "nothing is printed in {line}");
            page += &table(&of_mark);
            number += 1;
            old = true;
        } else if line == TALLY {
            page += &tally(checked);
            old = true;
        }
    }
    page
}

fn tally(checked: &[Checked]) -> String {
    let of = |basis| Tally::of(checked.iter().filter(|one| one.figure.basis == basis));
    let (all, fitted, predicted) = (Tally::of(checked), of(Basis::Fitted), of(Basis::Predicted));
    let follows = of(Basis::Follows);
    format!(
        "**{} of {} figures are met** ({:.0} %): {} of {} fitted, {} of {} predicted, {} of {} that follow others. Left out: {}.\n",
        all.within,
        all.figures,
        100.0 * all.within as f64 / all.figures as f64,
        fitted.within,
        fitted.figures,
        predicted.within,
        predicted.figures,
        follows.within,
        follows.figures,
        all.left_out
    )
}

/// A row for each series of figures: those whose ids differ in the last word alone.
fn table(checked: &[&Checked]) -> String {
    let series = |checked: &Checked| checked.figure.id.rsplit_once('.').map(|(series, _)| series.to_owned());
    let same = |one: &&Checked, next: &&Checked| {
        series(one).is_some()
            && series(one) == series(next)
            && one.figure.targets == next.figure.targets
            && one.pass.is_some() == next.pass.is_some()
            && one.figure.tolerance.unit == next.figure.tolerance.unit
    };
    let mut text =
        "| `sim validate --only` | volume | in | paper | simulated | off by (bold: missed) | basis |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    for row in checked.chunk_by(same) {
        let _ = writeln!(text, "{}", line(row));
    }
    text
}

fn line(row: &[&Checked]) -> String {
    let listed = |words: &dyn Fn(&Checked) -> String| row.iter().map(|f| words(f)).collect::<Vec<_>>().join(", ");
    let once = |words: &dyn Fn(&Checked) -> String| {
        let mut words: Vec<String> = row.iter().map(|figure| words(figure)).collect();
        words.dedup();
        words.join(", ")
    };
    let what = match row {
        [one] => format!("`{}`", one.figure.id),
        [first, ..] => {
            let series = first.figure.id.rsplit_once('.').map_or("", |(series, _)| series);
            format!("`{series}`: {}", listed(&|one| one.figure.id.rsplit('.').next().unwrap_or_default().to_owned()))
        }
        [] => String::new(),
    };
    let volumes = row[0].figure.targets.iter().map(|target| target.rsplit(':').next().unwrap_or_default());
    let head = format!(
        "| {what} | {} | {} | {} |",
        volumes.collect::<Vec<_>>().join(", "),
        once(&|one| one.figure.measure.unit().to_owned()),
        listed(&|one| one.figure.published.to_string())
    );
    let all = Tally::of(row.iter().copied());
    if all.figures == 0 {
        return format!("{head} | | left out: {} |", once(&|figure| figure.reason.clone().unwrap_or_default()));
    }
    let off = match (all.within, all.figures) {
        (within, figures) if within == figures => off(row),
        (0, _) => format!("**{}**", off(row)),
        (within, figures) => format!("**{}**, {within} of {figures} met", off(row)),
    };
    format!(
        "{head} {} | {off} | {} |",
        listed(&|figure| figure.simulated.map_or_else(|| "–".to_owned(), significant)),
        once(&|one| one.figure.basis.word().to_owned())
    )
}

/// The error of a row: one figure, or a range.
fn off(row: &[&Checked]) -> String {
    let errors = row.iter().filter_map(|figure| figure.error);
    let (least, most) = errors.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e), high.max(e)));
    let (least, most) = (published::off(least), published::off(most));
    let unit = row[0].figure.tolerance.unit;
    if least == most { format!("{least} {unit}") } else { format!("{least} to {most} {unit}") }
}

#[test]
fn a_page_s_tables_are_made_anew_and_its_words_stay() {
    let figures = published::figures();
    let found: Vec<Figure> = figures.iter().filter(|figure| figure.id.starts_with("scsi-1.")).cloned().collect();
    let checked = check(&found);
    let page = |table: &str| format!("# Words\n<!-- published: figure 27 -->\n{table}<!-- end -->\nMore.\n");
    let fresh = filled(&page("| old |\n"), &checked);
    let row = "| `scsi-1.read`: fixed, marginal | atlas-1 | µs per I/O, µs per KiB | 32, 0.25 | 32, 0.25 | +0.0 % | fitted |\n";
    assert!(fresh.starts_with("# Words\n") && fresh.ends_with("More.\n") && fresh.contains(row), "{fresh}");
    assert_eq!(filled(&fresh, &checked), fresh);
    assert!(!fresh.contains("| old |"));
}
