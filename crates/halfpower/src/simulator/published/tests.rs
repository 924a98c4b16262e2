use super::*;

#[test]
fn the_figures_of_the_file_are_whole() {
    let figures = figures();
    assert!(figures.len() > 300, "{}", figures.len());
    for figure in &figures {
        let targets = figure.targets.iter().filter(|target| target.split_once(':').is_some()).count();
        assert!(targets == figure.targets.len() && (1..=2).contains(&targets), "{}: {:?}", figure.id, figure.targets);
        assert!(["nt4", "w2k", "lkml"].contains(&figure.source.as_str()), "{}: {}", figure.id, figure.source);
        assert!(figure.published > 0.0 && figure.tolerance.most() > 0.0, "{}", figure.id);
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
    let read = |rest: &str| read::figures(&format!("{HEAD}measure = \"megabytes\"\n{rest}")).unwrap();
    let each = read("published = [1, 2.5]\ndepth = [1, 8]\n");
    let found: Vec<_> = each.iter().map(|figure| (figure.id.as_str(), figure.published, figure.cells.len())).collect();
    assert_eq!(found, [("x.depth-1", 1.0, 1), ("x.depth-8", 2.5, 1)]);
    let all = read("published = 7\ndepth = [1, 8]\napproximate = true\n");
    assert_eq!((all.len(), all[0].cells.len(), all[0].tolerance), (1, 2, Tolerance::Percent(10.0)));
    let points = read("published = 7\ntolerance = \"3 points\"\n");
    assert_eq!((points[0].tolerance.error(9.5, 7.0), points[0].tolerance.most()), (2.5, 3.0));
    assert_eq!(all[0].tolerance.error(7.7, 7.0).round(), 10.0);
}

#[test]
fn a_mistake_names_its_figure() {
    for (rest, wrong) in [
        ("measure = \"megabytes\"\npublished = [1, 2]", "x: 2 figures for 1 workloads"),
        ("measure = \"megabytes\"\npublished = 1\ndepht = 3", "x: unknown key `depht`"),
        ("measure = \"megabytes\"\npublished = 1\ndepth = 0", "x: depth: "),
        ("measure = \"megabytes\"\npublished = 1\ntolerance = \"5\"", "x: `5` is not a tolerance"),
        ("measure = \"megabytes\"", "missing field `published`"),
        ("measure = \"megabites\"\npublished = 1", "unknown variant `megabites`"),
        ("measure = \"busy_percent\"\npublished = 1", "missing field `part`"),
    ] {
        let found = read::figures(&format!("{HEAD}{rest}\n")).unwrap_err();
        assert!(found.contains(wrong), "{rest}: {found}");
    }
    let one = format!("{HEAD}measure = \"megabytes\"\npublished = 1\n");
    assert_eq!(read::figures(&one.repeat(2)).unwrap_err(), "two figures are called x");
}
