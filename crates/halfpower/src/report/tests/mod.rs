//! Golden files of the terminal summary and of the HTML, and what must hold of any report.
//!
//! `INSTA_UPDATE=always cargo test -p halfpower report` writes the golden files anew.

mod fixture;
mod markup;

use super::{RunStatus, html, summary};
use fixture::{Extent, Fixture, LARGE, PATH, SMALL, SURVEY};
use halfpower_model::{FindingCode, Personality};

fn page(extent: &Extent) -> String {
    Fixture::new(extent).with(html).unwrap()
}

#[test]
fn the_summary_is_as_it_was() {
    let fixture = Fixture::new(&SURVEY);
    insta::assert_snapshot!("summary_100", fixture.with(|input| summary(input, false, 100)));
    insta::assert_snapshot!("summary_44", fixture.with(|input| summary(input, false, 44)));
}

#[test]
fn the_page_is_as_it_was() {
    insta::assert_snapshot!("page", markup::without(&page(&SMALL), &["style", "svg"]));
}

#[test]
fn the_charts_are_as_they_were() {
    let page = page(&SMALL);
    let charts: Vec<&str> = markup::elements(&page, "svg").filter(|svg| svg.contains("class=\"chart\"")).collect();
    assert_eq!(charts.len(), 8);
    insta::assert_snapshot!("chart", charts[0].replace('>', ">\n"));
}

#[test]
fn the_summary_has_the_half_power_size_of_direct_sequential_reads_first() {
    let summary = Fixture::new(&SURVEY).with(|input| summary(input, false, 100));
    let after = summary.split("Half-power").nth(1).unwrap();
    let first = after.lines().nth(1).unwrap();
    assert!(first.contains("sequential read, 8 deep, direct") && first.contains("18.4 KiB"), "{first}");
}

#[test]
fn the_summary_keeps_to_its_width_and_is_plain_without_colour() {
    let fixture = Fixture::new(&SURVEY);
    for width in [20, 40, 60, 80, 120, 200] {
        let text = fixture.with(|input| summary(input, false, width));
        assert!(!text.contains('\x1b'));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let coloured = fixture.with(|input| summary(input, true, 100));
    assert!(coloured.contains("\x1b[1m"));
    let bare = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(bare, fixture.with(|input| summary(input, false, 100)));
}

#[test]
fn an_unfinished_run_says_so() {
    let mut fixture = Fixture::new(&SMALL);
    fixture.status = RunStatus::Unfinished { measured: 12, planned: 40 };
    let sentence = "stopped after 12 of 40 samples";
    assert!(fixture.with(html).unwrap().contains(sentence));
    assert!(fixture.with(|input| summary(input, false, 200)).contains(sentence));
}

#[test]
fn a_run_without_findings_or_cells_still_gives_a_report() {
    let mut fixture = Fixture::new(&SMALL);
    fixture.analysis.findings.clear();
    fixture.analysis.cells.clear();
    fixture.samples.clear();
    let page = fixture.with(html).unwrap();
    markup::check_nesting(&page);
    assert!(page.contains("No claim can be made"));
    assert!(page.contains("nothing was measured at three request sizes or more"));
    let summary = fixture.with(|input| summary(input, false, 80));
    assert!(summary.contains("0 samples of 0 workloads, none failed."), "{summary}");
}

#[test]
fn half_of_the_peak_is_drawn_only_where_a_finding_names_the_peak() {
    let mut fixture = Fixture::new(&SMALL);
    assert!(fixture.with(html).unwrap().contains("<span>half of the peak ("));
    fixture.analysis.findings.retain(|finding| finding.code != FindingCode::Peak);
    assert!(!fixture.with(html).unwrap().contains("<span>half of the peak ("));
}

#[test]
fn lines_are_split_by_personality_only_where_it_alone_tells_them_apart() {
    let mut fixture = Fixture::new(&SMALL);
    assert!(!fixture.with(html).unwrap().contains("<span>direct, 4 KiB, io_uring</span>"));
    let doubled: Vec<_> = fixture.analysis.cells.iter().filter(|cell| cell.workload.depth == 1).cloned().collect();
    fixture.analysis.cells.extend(doubled.into_iter().map(|mut cell| {
        cell.workload.personality = Personality::IoUring;
        cell
    }));
    let page = fixture.with(html).unwrap();
    for label in ["<span>direct, 4 KiB, io_uring</span>", "<span>direct, 1 deep, sync</span>"] {
        assert!(page.contains(label), "{label}");
    }
}

#[test]
fn a_page_is_well_formed() {
    for extent in [&SMALL, &SURVEY, &LARGE] {
        let page = page(extent);
        assert!(page.starts_with("<!doctype html>"));
        markup::check_nesting(&page);
        markup::check_ids(&page);
    }
}

#[test]
fn what_records_say_stays_text() {
    let page = page(&SMALL);
    for raw in ["<script", "<img", "<i>", "<b>", "<disabled>", "onerror=alert(2)>"] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(page.contains("&quot;quoted&quot; &amp; &#x27;single&#x27;"));
    assert!(!page.contains(PATH));
}

#[test]
fn a_page_loads_nothing() {
    let page = page(&LARGE);
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for load in ["http:", "https:", "@import", "url(http", "url(\"", "url('"] {
        assert!(!without_namespace.contains(load), "{load}");
    }
    for tag in markup::tags(&page) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        assert!(!["link", "iframe", "object", "script", "image", "img", "use", "base"].contains(&name), "{tag}");
        assert!(!tag.contains(" src=") && !tag.contains("href="), "{tag}");
    }
}

#[test]
fn the_largest_run_fits_into_two_megabytes() {
    let fixture = Fixture::new(&LARGE);
    assert!(fixture.analysis.cells.len() >= 150 && fixture.samples.len() >= 1500);
    let page = fixture.with(html).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("more lines are in the table"));
}

/// `HALFPOWER_REPORT_DIR=/tmp/reports cargo test -p halfpower report -- --ignored` writes the fixtures' reports, to look at.
#[test]
#[ignore = "writes files to look at, and checks nothing that the others do not"]
fn write_the_pages_to_look_at() {
    let directory = std::env::var_os("HALFPOWER_REPORT_DIR").expect("HALFPOWER_REPORT_DIR names a directory");
    for (name, extent) in [("small", &SMALL), ("survey", &SURVEY), ("large", &LARGE)] {
        let path = std::path::Path::new(&directory).join(format!("{name}.html"));
        super::write_atomically(&path, &page(extent)).unwrap();
        assert!(path.exists());
    }
}
