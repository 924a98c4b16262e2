//! Golden files of every instrument's page, from fixed figures and names that bite, and what must hold of any page.
//!
//! `INSTA_UPDATE=always cargo test -p halfpower reading` writes the golden files anew.

mod fixed;

use super::super::tests::markup;
use super::*;
use halfpower_model::TargetKind;
use halfpower_model::reading::DeviceMap;

fn page_of(reading: &Reading) -> String {
    let command = format!("halfpower {} '{}'", reading.instrument(), fixed::PATH);
    let target = if reading.environment.target.kind == TargetKind::Null { "" } else { fixed::PATH };
    reading_html(&ReadingInput { run: 7, target, command: &command, reading }).unwrap()
}

/// The text of the verdict.
fn verdict(page: &str) -> &str {
    markup::elements(page, "section").next().unwrap()
}

#[test]
fn the_pages_are_as_they_were() {
    for reading in fixed::all() {
        insta::assert_snapshot!(reading.instrument(), markup::without(&page_of(&reading), &["style"]));
    }
}

#[test]
fn a_page_is_well_formed_and_what_records_say_stays_text() {
    for reading in fixed::all() {
        let page = page_of(&reading);
        markup::check_nesting(&page);
        markup::check_ids(&page);
        for raw in ["<script", "<b>", "<img", "\u{1b}", "\u{0}", "\u{9b}", "\u{7f}"] {
            assert!(!page.contains(raw), "{}: {raw:?}", reading.instrument());
        }
        assert!(page.contains("&lt;script&gt;alert(1)\u{fffd}[31m"), "the note of {}", reading.instrument());
        let generator = "<meta name=\"generator\" content=\"halfpower ";
        assert!(page.contains(generator), "without it no later page could replace it");
    }
}

#[test]
fn memory_has_a_chart_for_each_number_of_threads_with_a_line_a_kernel() {
    let page = page_of(&fixed::memory());
    let charts: Vec<&str> = markup::elements(&page, "svg").filter(|svg| svg.contains("class=\"chart\"")).collect();
    assert_eq!(charts.len(), 3);
    for (index, chart) in charts[..2].iter().enumerate() {
        assert!(chart.contains(&format!("Bandwidth on {} thread", index + 1)));
        let drawn = (0..6).filter(|line| chart.contains(&format!("var(--line-{line})"))).count();
        assert_eq!(drawn, 6, "one colour a kernel");
    }
    // The figures as a table, the verdict of the largest working set, and the studies' tests with what was taken off.
    for text in [
        "<td>200 GB&#x2f;s ± 2.5 %</td>",
        "1 thread, 256 MiB: read 17.7 GB&#x2f;s",
        "<th scope=\"row\">double read</th><td>1</td><td>40 GB&#x2f;s ± 2.5 %</td><td>33.6 µs</td>",
        "32 MiB for 2 processors",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(!page.contains("null:"), "memory has no target");
}

#[test]
fn zones_say_the_loss_first_and_draw_reads_and_bands() {
    let page = page_of(&fixed::map());
    assert!(
        verdict(&page).contains(
            "<p>3 bands, 200 MB&#x2f;s in the first, 110 MB&#x2f;s in the last: 45 % [44.5 to 45.5] lost.</p>"
        )
    );
    assert!(!verdict(&page).contains("caution"), "all places were read");
    let chart = markup::elements(&page, "svg").find(|svg| svg.contains("class=\"chart\"")).unwrap();
    assert_eq!(chart.matches("<circle").count(), 64, "a point a read: {chart}");
    assert!(chart.contains("var(--line-1)"), "{chart}");
    // Three bands: level, down, level, down, level.
    let lines = chart.split("<path d=\"M").skip(1).filter(|rest| rest.contains("fill=\"none\""));
    let steps = lines.filter_map(|rest| rest.split('"').next()).next().unwrap();
    let corner = |corner: &str| -> Vec<f64> { corner.split_whitespace().map(|it| it.parse().unwrap()).collect() };
    let mut corners: Vec<Vec<f64>> = steps.split('L').map(corner).collect();
    corners.dedup();
    assert_eq!(corners.len(), 6, "{steps}");
    for (index, pair) in corners.windows(2).enumerate() {
        let same = if index % 2 == 0 { 1 } else { 0 };
        assert_eq!(pair[0][same], pair[1][same], "{corners:?}");
        assert!(pair[0][1 - same] < pair[1][1 - same], "to the right, or down the page: {corners:?}");
    }
}

#[test]
fn flat_zones_and_unfinished_ones_are_said_to_be() {
    let of = |change: fn(&mut DeviceMap)| {
        let mut reading = fixed::map();
        let Figures::Map(map) = &mut reading.figures else { unreachable!() };
        change(map);
        page_of(&reading)
    };
    let flat = of(|map| {
        map.bands.truncate(1);
        map.bands[0].to_bytes = map.size_bytes;
        map.loss = None;
    });
    assert!(verdict(&flat).contains("<p>Flat, 200 MB&#x2f;s from the first byte to the last.</p>"), "{flat}");
    let part = of(|map| map.probes.truncate(24));
    let missing = "Not finished: 40 of 64 places were not read. `halfpower map --resume 7` reads them.";
    assert!(verdict(&part).contains(missing), "{part}");
    let none = of(|map| {
        (map.probes, map.bands, map.loss) = (Vec::new(), Vec::new(), None);
    });
    assert!(verdict(&none).contains("Too few places were read") && !none.contains("class=\"chart\""));
    markup::check_nesting(&none);
}

#[test]
fn a_burst_that_went_to_a_medium_says_so_first() {
    let page = page_of(&fixed::link());
    assert!(verdict(&page).contains("60 MB&#x2f;s shared: 3 targets reach"), "{page}");
    assert!(verdict(&page).contains("sdc went to its medium"), "{page}");
    assert!(!verdict(&page).contains("sdb went"));
    let lengths: Vec<&str> = page.split("<rect width=\"").skip(1).filter_map(|rest| rest.split('%').next()).collect();
    assert_eq!(lengths, ["39.6", "39.6", "39.6", "79.21", "99.01"]);
    assert!(page.contains("83.3 % [82 to 84] of the sum alone"), "{page}");
}

#[test]
fn what_nobody_tells_is_unknown_and_nothing_is_made_up() {
    let page = page_of(&fixed::inspect());
    for text in [
        "<th scope=\"row\">device</th><td>unknown</td><td>a device does not say</td>",
        "<th scope=\"row\">link</th><td>600 MB&#x2f;s</td>",
        "the firmware does not tell",
        "--pap device=3500MB&#x2f;s",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(!verdict(&page).contains("advertises"), "its device does not: {page}");
    // The file on the loop device on the file system on the disk.
    let tree = page.split("<ul class=\"tree\">").collect::<Vec<_>>();
    assert_eq!(tree.len() - 1, 4, "four levels, one within another");
    let mut reading = fixed::drop_cache();
    let Figures::DropCache(dropped) = &mut reading.figures else { unreachable!() };
    dropped.targets[0].steps.truncate(1);
    dropped.targets[0].steps[0].cached_after = None;
    let page = page_of(&reading);
    assert!(verdict(&page).contains("Cold or not, nobody knows"), "{page}");
    assert!(page.contains("<rect width=\"0.0%\""), "no bar for what is not known");
}
