use super::*;
use crate::simulator::published;
use halfpower_sim::file::Fitted;

fn figures(ids: &[&str]) -> Vec<Figure> {
    let all = published::figures();
    ids.iter().map(|id| all.iter().find(|figure| figure.id == *id).unwrap_or_else(|| panic!("{id}")).clone()).collect()
}

#[test]
fn a_figure_is_judged_by_its_tolerance() {
    let [mut good, absent, left] =
        <[Figure; 3]>::try_from(figures(&["atlas.outer", "atlas.outer", "parallel-writers.buffered.1"])).unwrap();
    let absent = Figure { targets: vec!["cray-1:drum".to_owned()], ..absent };
    let found = check(&[good.clone(), absent, left]);
    let shown: Vec<_> = found.iter().map(|figure| (figure.pass, figure.simulated.is_some())).collect();
    assert_eq!(shown, [(Some(true), true), (Some(false), false), (None, false)]);
    assert_eq!(found[1].reason.as_deref(), Some("there is no machine cray-1"));
    assert_eq!(Tally::of(&found), Tally { figures: 2, within: 1, not_simulated: 1, left_out: 1 });
    good.tolerance.most = found[0].error.unwrap().abs() * 0.99;
    assert_eq!(check(&[good])[0].pass, Some(false));
}

#[test]
fn the_same_machine_gives_the_same_figures_on_any_number_of_cpus() {
    let figures = figures(&["fireball-dma.random.write.depth-4", "scsi-1.read.fixed", "atlas.read-2k.depth-2"]);
    let shown = |found: Vec<Checked>| serde_json::to_string(&found).unwrap();
    assert_eq!(shown(check(&figures)), shown(check(&figures)));
}

#[test]
fn enough_is_nine_of_ten() {
    let tally = |within| Tally { figures: 20, within, not_simulated: 0, left_out: 3 };
    assert!(tally(18).is_enough() && !tally(17).is_enough());
}

#[test]
fn a_missed_figure_needs_a_reason_and_a_met_one_none() {
    let [met] = <[Figure; 1]>::try_from(figures(&["atlas.outer"])).unwrap();
    let missed = Figure { published: met.published * 2.0, ..met.clone() };
    let reason = |figure: &Figure| Figure { missed: Some("physics".to_owned()), ..figure.clone() };
    let faults: Vec<_> = check(&[met.clone(), missed.clone(), reason(&met), reason(&missed)])
        .into_iter()
        .map(|figure| figure.fault.map(|fault| fault.split([' ', ';']).next().unwrap()))
        .collect();
    assert_eq!(faults, [None, Some("missed"), Some("met"), None]);
}

#[test]
fn free_numbers_stand_beside_the_figures_of_their_machine() {
    let checked = check(&figures(&["atlas.outer", "table-3.uw.prefetch.1KiB"]));
    let fitted = |key: &str, numbers| Fitted { key: key.to_owned(), numbers, figures: Vec::new() };
    let entries = [("win2k-pentium3", fitted("a", 2)), ("nt4-pentium-pro", fitted("b", 5)), ("other", fitted("c", 9))];
    let rows = summary::rows(&checked, &entries);
    let found: Vec<_> = rows.iter().map(|row| (row.machine.as_str(), row.free_numbers, row.figures.figures)).collect();
    assert_eq!(found, [("win2k-pentium3", 2, 1), ("nt4-pentium-pro", 5, 1), ("all", 7, 2)]);
    let reached: Vec<_> = summary::goals(&rows[2]).into_iter().map(|goal| goal.reached).collect();
    assert_eq!(reached, [true, false, true]);
}
