use super::*;
use std::collections::HashSet;

#[test]
fn the_figures_of_the_file_are_whole() {
    let figures = figures();
    assert!(figures.len() > 300, "{}", figures.len());
    for figure in &figures {
        let targets = figure.targets.iter().filter(|target| target.split_once(':').is_some()).count();
        assert!(targets == figure.targets.len() && (1..=2).contains(&targets), "{}: {:?}", figure.id, figure.targets);
        assert!(["nt4", "w2k", "lkml"].contains(&figure.source.as_str()), "{}: {}", figure.id, figure.source);
        assert!(figure.published > 0.0, "{}", figure.id);
        let Tolerance { most, unit, range, source } = &figure.tolerance;
        assert_eq!((*most, *unit, *range) == (5.0, "%", None), source.is_none(), "{}", figure.id);
    }
    let curve: Vec<f64> = figures
        .iter()
        .filter(|figure| figure.id.starts_with("fireball-dma.random.read"))
        .map(|figure| figure.published)
        .collect();
    assert_eq!(curve, [66.97, 66.95, 72.97, 84.29, 94.32, 101.17]);
}

const HEAD: &str = "[[figure]]\nid = \"x\"\nsource = \"w2k\"\nwhere = \"table 1\"\ntarget = \"a:b\"\n";

#[test]
fn an_entry_has_a_figure_for_each_workload_or_one_for_all() {
    let read = |rest: &str| read::figures(&format!("{HEAD}measure = \"megabytes\"\n{rest}"), &[]).unwrap();
    let each = read("published = [1, 2.5]\ndepth = [1, 8]\n");
    let found: Vec<_> = each.iter().map(|figure| (figure.id.as_str(), figure.published, figure.cells.len())).collect();
    assert_eq!(found, [("x.depth-1", 1.0, 1), ("x.depth-8", 2.5, 1)]);
    let all = read("published = 7\ndepth = [1, 8]\nrange = [5, 7]\ntext = \"5 to 7\"\n");
    assert_eq!((all.len(), all[0].cells.len(), all[0].tolerance.range), (1, 2, Some((5.0, 7.0))));
    let errors = [4.5, 6.0, 7.7].map(|value| all[0].tolerance.error(value, 7.0).round());
    assert_eq!(errors, [-10.0, 0.0, 10.0]);
    for (published, most) in [("7", 2.0), ("1.2", 0.6)] {
        let points = read(&format!("published = {published}\ntolerance = \"shares of table 4\"\n"));
        assert_eq!((points[0].tolerance.error(9.5, 7.0), points[0].tolerance.most), (2.5, most));
    }
}

#[test]
fn a_figure_is_fitted_if_named_and_follows_if_it_repeats() {
    let text = format!("{HEAD}measure = \"megabytes\"\npublished = [10, 10.4, 12, 9]\ndepth = [1, 2, 4, 8]\n");
    let other = HEAD.replace("\"x\"", "\"y\"");
    let text = format!("{text}{other}measure = \"megabytes\"\npublished = 3\nfollows = \"x.depth-2\"\n");
    let names = |name: &str| {
        let figures = vec![name.to_owned()];
        [("m", Fitted { key: "k".to_owned(), numbers: 1, figures })]
    };
    let found = |name| {
        let figures = read::figures(&text, &names(name)).unwrap();
        figures.into_iter().map(|figure| (figure.basis, figure.follows)).collect::<Vec<_>>()
    };
    let first = || (Basis::Follows, Some("x.depth-1".to_owned()));
    let (fitted, predicted) = ((Basis::Fitted, None), (Basis::Predicted, None));
    let one = [predicted.clone(), first(), fitted.clone(), predicted.clone(), first()];
    assert_eq!(found("x.depth-4"), one);
    assert_eq!(found("x"), [fitted.clone(), first(), fitted.clone(), fitted, first()]);
    let unknown = read::figures(&text, &names("x.depth")).unwrap_err();
    assert_eq!(unknown, "[fitted] of m names x.depth, and no figure is called so");
}

/// Keys with "fitted" in the comment behind them, in the machines of the papers.
fn said_to_be_fitted(machine: &str) -> Vec<String> {
    let text = shipped::machine_text(machine).unwrap();
    let mut table = "";
    let mut keys = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']');
        }
        let comment = line.split_once(" # ").map_or("", |(_, comment)| comment).to_lowercase();
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        if comment.contains("fitted") && !key.is_empty() {
            keys.push(format!("{table}.{key}"));
        }
    }
    keys
}

#[test]
fn every_key_that_a_comment_calls_fitted_is_listed() {
    let listed = fitted();
    let machines: HashSet<&str> = listed.iter().map(|(machine, _)| *machine).collect();
    for machine in machines {
        for key in said_to_be_fitted(machine) {
            let is_it = |fitted: &Fitted| is_named(&fitted.key, &key);
            assert!(listed.iter().any(|(of, fitted)| *of == machine && is_it(fitted)), "{machine}: {key}");
        }
    }
    assert!(said_to_be_fitted("win2k-pentium3").len() > 20);
}

#[test]
fn a_mistake_names_its_figure() {
    for (rest, wrong) in [
        ("measure = \"megabytes\"\npublished = [1, 2]", "x: 2 figures for 1 workloads"),
        ("measure = \"megabytes\"\npublished = 1\ndepht = 3", "x: unknown key `depht`"),
        ("measure = \"megabytes\"\npublished = 1\ndepth = 0", "x: depth: "),
        ("measure = \"megabytes\"\npublished = 1\ntolerance = \"20 %\"", "x: unknown tolerance `20 %`"),
        ("measure = \"megabytes\"\npublished = 1\nrange = [1, 2]", "x: `range` needs `text`"),
        ("measure = \"megabytes\"\npublished = 3\nrange = [1, 2]\ntext = \"1 or 2\"", "x: `range` has to ascend"),
        ("measure = \"megabytes\"\npublished = 1\nfollows = \"z\"", "x follows z, which is no figure"),
        ("measure = \"megabytes\"\npublished = 1\nfollows = \"x\"", "x follows itself"),
        ("measure = \"megabytes\"\npublished = 1\nmissed = { read = \"why\" }", "x: `missed` names a figure"),
        ("measure = \"megabytes\"", "missing field `published`"),
        ("measure = \"megabites\"\npublished = 1", "unknown variant `megabites`"),
        ("measure = \"busy_percent\"\npublished = 1", "missing field `part`"),
    ] {
        let found = read::figures(&format!("{HEAD}{rest}\n"), &[]).unwrap_err();
        assert!(found.contains(wrong), "{rest}: {found}");
    }
    let one = format!("{HEAD}measure = \"megabytes\"\npublished = 1\n");
    assert_eq!(read::figures(&one.repeat(2), &[]).unwrap_err(), "two figures are called x");
}
