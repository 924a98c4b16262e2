//! Golden files of every instrument's page and text, from fixed figures and hostile names, and what holds for every page.
//!
//! `INSTA_UPDATE=always cargo test -p halfpower instrument` rewrites the golden files.

mod fixed;

use super::show::{ReadingInput, reading_html, reading_text};
use crate::reading::map::DeviceMap;
use crate::reading::{Figures, Reading};
use crate::report::tests::markup;
use halfpower_model::TargetKind;

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
fn the_pages_are_as_they_were_well_formed_and_what_records_say_stays_text() {
    for reading in fixed::all() {
        let page = page_of(&reading);
        insta::assert_snapshot!(reading.instrument(), markup::without(&page, &["style"]));
        insta::assert_snapshot!(format!("{}-text", reading.instrument()), reading_text(&reading, 80));
        markup::check_nesting(&page);
        markup::check_ids(&page);
        for raw in ["<script", "<b>", "<img", "\u{1b}", "\u{0}", "\u{9b}", "\u{7f}"] {
            assert!(!page.contains(raw), "{}: {raw:?}", reading.instrument());
        }
        assert!(page.contains(crate::output::MARK), "without it no later page could replace it");
    }
}

#[test]
fn a_map_shows_the_loss_first_and_draws_reads_and_bands() {
    let page = page_of(&fixed::map());
    assert!(
        verdict(&page).contains(
            "<p>3 bands: 200 MB&#x2f;s in the first, 110 MB&#x2f;s in the last, 45 % [44.5 to 45.5] less.</p>"
        )
    );
    assert!(!verdict(&page).contains("caution"), "all places were read");
    let chart = markup::elements(&page, "svg").find(|svg| svg.contains("class=\"chart\"")).unwrap();
    assert_eq!(chart.matches("h0").count(), 64, "a point a read: {chart}");
    assert!(chart.contains("var(--line-1)"), "{chart}");
    // Three bands: level, down, level, down, level.
    let lines = chart.split("<path d=\"M").skip(1).filter(|rest| rest.contains("\" stroke=\"var(--line-1)\""));
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
fn flat_and_unfinished_maps_are_recognisable() {
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
    assert!(verdict(&flat).contains("<p>Flat: 200 MB&#x2f;s from the first byte to the last.</p>"), "{flat}");
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
fn what_is_unknown_has_no_bar() {
    let mut reading = fixed::drop_cache();
    let Figures::DropCache(dropped) = &mut reading.figures else { unreachable!() };
    dropped.targets[0].steps.truncate(1);
    dropped.targets[0].steps[0].cached_after = None;
    let page = page_of(&reading);
    assert!(verdict(&page).contains("Cold or not is unknown"), "{page}");
    assert!(page.contains("<rect width=\"0.0%\""), "{page}");
}
