//! Golden files of every instrument's page and text, from fixed figures and hostile names, and checks of every page.
//!
//! `INSTA_UPDATE=always cargo test -p halfpower instrument` rewrites the golden files.

mod fixed;

use super::show::{ReadingInput, reading_html, reading_text};
use crate::reading::files::{Answerer, FileRates};
use crate::reading::link::SharingVerdict;
use crate::reading::map::DeviceMap;
use crate::reading::{Figures, Reading};
use crate::report::tests::markup;
use halfpower_model::reading::Kernel;
use halfpower_model::{Bytes, Estimate, TargetKind};

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
fn the_pages_are_as_they_were_well_formed_and_escape_records() {
    for reading in fixed::INSTRUMENTS.map(fixed::reading) {
        let page = page_of(&reading);
        insta::assert_snapshot!(reading.instrument(), markup::without(&page, &["style", "script"]));
        insta::assert_snapshot!(format!("{}-text", reading.instrument()), reading_text(&reading, 80));
        markup::check_nesting(&page);
        markup::check_ids(&page);
        for raw in ["<script>a", "<b>", "<img", "\u{1b}", "\u{0}", "\u{9b}", "\u{7f}"] {
            assert!(!page.contains(raw), "{}: {raw:?}", reading.instrument());
        }
        assert!(page.contains(crate::output::MARK), "without it no later page could replace it");
    }
}

/// The text of a reading, on long lines.
fn text(reading: &Reading) -> String {
    reading_text(reading, 400)
}

#[test]
fn the_verdict_of_a_map_is_of_what_was_read() {
    let of = |change: &dyn Fn(&mut DeviceMap)| {
        let mut reading = fixed::reading("map");
        let Figures::Map(map) = &mut reading.figures else { unreachable!() };
        change(map);
        reading
    };
    let flat = of(&|map| {
        map.bands.truncate(1);
        map.bands[0].to_bytes = map.size_bytes;
        map.loss = None;
    });
    assert!(text(&flat).starts_with("Flat: 200 MB/s from the first byte to the last."), "{}", text(&flat));
    let missing = "Not finished: 40 of 64 places were not read. `halfpower map --resume 7` reads them.";
    assert!(verdict(&page_of(&of(&|map| map.probes.truncate(24)))).contains(missing));
    let none = of(&|map| (map.probes, map.bands, map.loss) = (Vec::new(), Vec::new(), None));
    let page = page_of(&none);
    assert!(verdict(&page).contains("Too few places were read") && !page.contains("class=\"chart\""));
    markup::check_nesting(&page);
    let limited = of(&|map| map.limited = Some("24 MB/s".to_owned()));
    assert!(text(&limited).starts_with("No result: reads are throttled (24 MB/s)."));
    // An interval is shown if its ends have the same sign.
    for (value, low, high, expected) in
        [(-0.1, -0.2, -0.05, ", 10 % [5 to 20] more."), (0.02, -0.01, 0.05, ", 2 % less.")]
    {
        let lost = of(&|map| {
            let loss = map.loss.as_mut().unwrap();
            (loss.value, loss.low, loss.high) = (value, Some(low), Some(high));
        });
        assert!(text(&lost).contains(expected), "{}", text(&lost));
    }
}

#[test]
fn no_shared_bottleneck_is_claimed_unless_it_is_shown() {
    for (sharing, high, expected) in [
        (SharingVerdict::Nothing, 1.01, "60 MB/s from 3 targets; they share no bottleneck up to that throughput."),
        (
            SharingVerdict::Undecided,
            1.63,
            "a shared bottleneck is undecided: 83.3 % [82 to 163] of the sum of each alone.",
        ),
    ] {
        let mut reading = fixed::reading("link");
        let Figures::Link(link) = &mut reading.figures else { unreachable!() };
        (link.sharing, link.limit) = (Some(sharing), None);
        link.settings[4].of_alone.as_mut().unwrap().high = Some(high);
        assert!(text(&reading).contains(expected), "{}", text(&reading));
    }
}

#[test]
fn memory_that_was_not_measured_is_reported_as_such() {
    let mut reading = fixed::reading("memory");
    let Figures::Memory(speed) = &mut reading.figures else { unreachable!() };
    speed.bandwidth.retain(|cell| cell.kernel == Kernel::Read);
    assert!(text(&reading).contains(", write not measured, copy not measured."), "{}", text(&reading));
}

#[test]
fn what_is_unknown_is_not_cold_and_has_no_bar() {
    let of = |shares: &[Option<f64>]| {
        let mut reading = fixed::reading("drop-cache");
        let Figures::DropCache(dropped) = &mut reading.figures else { unreachable!() };
        dropped.targets[0].steps.truncate(1);
        let target = |share: &Option<f64>| {
            let mut target = dropped.targets[0].clone();
            target.steps[0].cached_after = *share;
            target
        };
        dropped.targets = shares.iter().map(target).collect();
        reading
    };
    for (shares, expected) in [
        (&[Some(0.002)][..], "Cold: 0.2 % of it is in the page cache."),
        (&[Some(0.01)], "Not cold: 1 % of it is in the page cache."),
        (&[None], "Cold or not is unknown: "),
        (&[Some(0.0), Some(0.0)], "Cold: all 2 targets."),
        (&[Some(0.0), None, Some(0.5)], "Not cold, or unknown: 2 of 3 targets."),
    ] {
        assert!(text(&of(shares)).starts_with(expected), "{}", text(&of(shares)));
    }
    assert!(page_of(&of(&[None])).contains("<rect width=\"0.0%\""));
}

#[test]
fn the_answer_about_files_names_what_answered_and_every_row_fits_a_terminal() {
    let of = |change: &dyn Fn(&mut FileRates)| {
        let mut reading = fixed::reading("files");
        let Figures::Files(rates) = &mut reading.figures else { unreachable!() };
        change(rates);
        reading
    };
    let answered = |rates: &mut FileRates, by: [Option<Answerer>; 2]| {
        rates.rates[1].answered_by = by[0];
        rates.rates[3].answered_by = by[1];
    };
    let (memory, storage) = (Some(Answerer::Memory), Some(Answerer::Storage));
    for (cold, by, expected) in [
        (false, [memory, memory], "Memory answered stat and read, not the storage"),
        (false, [None, None], "Memory of this host may have answered stat and read; --cold drops its caches before."),
        (false, [storage, storage], "The storage answered stat and read, at least in part; --cold"),
        (false, [memory, storage], "The storage answered stat and read, at least in part; --cold"),
        (true, [storage, storage], "were dropped before, so the storage answered stat and read."),
        (true, [None, None], "but those of a server or hypervisor may have answered stat and read."),
        (true, [memory, storage], "yet memory answered stat and read, or a part of them."),
    ] {
        let reading = of(&|rates| {
            rates.options.cold = cold;
            answered(rates, by);
        });
        assert!(text(&reading).contains(expected), "{}", text(&reading));
    }
    let few = of(&|rates| {
        rates.rates.drain(..3);
        (rates.options.size, rates.is_complete) = (Bytes(0), false);
    });
    let shown = text(&few);
    assert!(shown.starts_with("Reads ") && shown.contains(" empty files per second and deletes "), "{shown}");
    assert!(
        shown.contains("Memory answered read, not the storage") && shown.contains("Not finished: 5 of 5"),
        "{shown}"
    );
    let none = of(&|rates| rates.rates.clear());
    assert!(text(&none).starts_with("No phase was completed."));
    markup::check_nesting(&page_of(&none));
    let wide = of(&|rates| {
        for phase in &mut rates.rates {
            let rate = phase.files_per_s.value * 40.0;
            phase.files_per_s = Estimate { value: rate, low: Some(0.0), high: Some(rate * 3.3), ..phase.files_per_s };
        }
    });
    let lines = reading_text(&wide, 80);
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    let flushed = of(&|rates| rates.options.fsync = true);
    assert!(text(&flushed).contains(" files of 4 KiB per second, with an fsync each, stats "), "{}", text(&flushed));
}
