use super::builtin::FILES;
use super::diagnostic::Diagnostic;
use super::*;
use halfpower_model::{Among, Buffering, Bytes, Nanoseconds, Operation, Personality, WorkloadSpec};
use proptest::prelude::*;

const SMALL: &str = r#"
name = "small"
[trial]
duration = "100ms"
repetitions = 3
[workload]
buffering = "direct"
personality = "sync"
[[sweep]]
operation = ["read", "write"]
request_size = { from = "4KiB", to = "16KiB", factor = 2 }
[[sweep]]
name = "deep"
depth = [2, 4]
personality = "auto"
request_size = 4096
"#;

fn errors(text: &str) -> StudyErrors {
    Study::parse("x.toml", text).expect_err("a study with a mistake")
}

/// The only mistake of a text.
fn only(text: &str) -> Diagnostic {
    let errors = errors(text);
    assert_eq!(errors.diagnostics.len(), 1, "{errors}");
    errors.diagnostics[0].clone()
}

#[test]
fn a_study_crosses_its_lists_over_the_defaults() {
    let study = Study::parse("small.toml", SMALL).unwrap();
    assert_eq!((study.name.as_str(), study.cells()), ("small", 8));
    assert_eq!(study.trial.repetitions, Repetitions { min: 3, max: 3, precision: None });
    let first = &study.sweeps[0].cells;
    let sizes: Vec<_> = first.iter().map(|cell| (cell.operation.unwrap(), cell.request_size.unwrap().0)).collect();
    let (read, write) = (Operation::Read, Operation::Write);
    assert_eq!(sizes, [(read, 4096), (read, 8192), (read, 16384), (write, 4096), (write, 8192), (write, 16384)]);
    assert_eq!(study.sweeps[0].name, "sweep 1");
    for cell in first {
        assert_eq!((cell.buffering, cell.personality), (Some(Buffering::Direct), Some(Personality::Sync)));
        assert_eq!(cell.duration, Some(Nanoseconds(100_000_000)));
    }
    let deep = &study.sweeps[1];
    assert_eq!((deep.name.as_str(), deep.cells.len(), deep.cells[1].depth), ("deep", 2, Some(4)));
    assert!(deep.cells.iter().all(|cell| cell.personality.is_none() && cell.buffering == Some(Buffering::Direct)));
}

#[test]
fn every_mistake_is_reported_at_once_with_its_place() {
    let text = "nam = \"x\"\n[trial]\nduration = \"3 fortnights\"\nrepetitions = { min = 5, max = 2, precision = nan }\n\
                [workload]\nbuffering = \"buffred\"\n[[sweep]]\niodepth = 4\ndepth = [1, 0, 1]\n\
                request_size = { from = \"1MiB\", to = \"2KiB\", factor = 1 }\n";
    let shown = errors(text).to_string();
    insta::assert_snapshot!(shown);
}

#[test]
fn columns_count_characters_and_carets_stand_below() {
    let error = only("name = \"x\"\r\n[[sweep]]\r\n\t\"größe\" = 1 # ü\r\n");
    assert_eq!((error.line, error.column), (3, 2));
    let text = errors("name = \"x\"\r\n[[sweep]]\r\n\t\"größe\" = 1 # ü\r\n").to_string();
    assert!(text.contains(" 3 |     \"größe\" = 1 # ü\n   |     ^^^^^^^\n"), "{text}");
    let long = format!("name = \"x\"\n[[sweep]]\ndepth = [{} 0]\n", "1,".repeat(300).replace("1,", "     "));
    let text = errors(&long).to_string();
    assert!(text.lines().all(|line| line.chars().count() < 130) && text.contains("0]"), "{text}");
}

#[test]
fn a_syntax_error_hides_only_what_follows_from_it() {
    let text = errors("[trial]\nseed = -1\nduration = \"1s\n[[sweep]]\ndepth = 0\n").to_string();
    assert!(text.contains("x.toml:2:8: this number is out of range"), "{text}");
    assert!(text.contains("x.toml:3:"), "{text}");
    assert!(!text.contains("no `name`"), "{text}");
}

#[test]
fn single_mistakes_say_what_was_expected() {
    let sweep = |line: &str| format!("name = \"x\"\n[[sweep]]\n{line}\n");
    let cases = [
        ("[[sweep]]".to_owned(), "no `name`"),
        ("name = \"x\"".to_owned(), "no sweep"),
        ("name = \"\"\n[[sweep]]".to_owned(), "empty"),
        ("name = \"x\"\nsweep = 3".to_owned(), "no list of sweeps"),
        ("name = \"x\"\n[sweep]\ndepth = 1".to_owned(), "write [[sweep]]"),
        ("name = \"x\"\nsweep = [3]".to_owned(), "a sweep with"),
        ("name = \"x\"\ntarget = 3\n[[sweep]]".to_owned(), "expected `target`"),
        (sweep("depth = 99999999999999999999999999999999999999999999"), "out of range"),
        (sweep("depth = 0x10000"), "from 1 to 16384"),
        (sweep("depth = 1979-05-27T07:32:00Z"), "date or time"),
        (sweep("depth = inf"), "fraction"),
        (sweep("depth = []"), "has 0 values"),
        (sweep("depth = [[1]]"), "a list is not"),
        (sweep("pattern = { from = 1 }"), "no ranges"),
        (sweep("depth = { from = 1, to = 8 }"), "no `factor`"),
        (sweep("depth = { from = 1, to = 8, factor = 2, step = 1 }"), "unknown key `step`"),
        (sweep("cpus = [0, -1]"), "out of range"),
        (sweep("operation = \"raed\""), "did you mean `read`"),
        (sweep("duration = \"9000h\""), "7 days"),
        (sweep("request_size = \"2GiB\""), "1 GiB"),
        (sweep("size = 0"), "a size of 1 B or more"),
        (sweep("size = -1"), "below zero"),
        (sweep("offset = -1"), "below zero"),
        (sweep("offset = 99999999999999999999"), "larger than any file can be"),
        (sweep("requests = 0"), "a whole number of 1 or more"),
        (sweep("warmup = true"), "duration such as"),
        (sweep("depth = 1\n[[sweep]]\ndepth = [1, 2]"), "1 of this sweep's cells are in the sweep at line 2"),
        (sweep("sizes = \"4KiB/8KiB\"\nrequest_size = \"4KiB\""), "`sizes` and `request_size` exclude each other"),
        ("name = \"x\"\nsweep = [{ depth = 1 }, { depth = 1 }]".to_owned(), "as well"),
    ];
    for (text, needle) in cases {
        let errors = errors(&text);
        assert_eq!(errors.diagnostics.len(), 1, "{text}\n{errors}");
        assert!(errors.to_string().contains(needle), "{text}\n{errors}");
    }
}

#[test]
fn every_key_reads_the_values_it_shows() {
    for key in super::setting::keys() {
        let halfpower_model::key::Kind::Word(choices) = key.about.kind else { continue };
        let values: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
        let text = format!("name = \"x\"\n[[sweep]]\n{} = [{}]\n", key.name, values.join(", "));
        let study = Study::parse("x.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(study.cells(), values.len(), "{}", key.name);
        let wrong = format!("name = \"x\"\n[[sweep]]\n{} = \"nonsense\"\n", key.name);
        let error = errors(&wrong).to_string();
        assert!(choices.iter().all(|choice| error.contains(choice)), "{}: {error}", key.name);
    }
}

#[test]
fn keys_say_what_the_command_line_says() {
    let lines = "layout = \"stripe=64KiB\"\nrate = \"100MB/s\"\narrivals = \"poisson\"\nsizes = \"4KiB:70/64KiB:30\"\n\
                 file_state = \"last_first\"\ndurability = \"fsync=10\"\ntime_close = true\ncpu_count = 1\n\
                 processes = \"on\"\nsharing = \"cursor\"\nalign = \"4KiB\"\noffset = \"12KiB\"\nwait_batch = 4\n";
    let study = Study::parse("x.toml", &format!("name = \"x\"\n[[sweep]]\n{lines}")).unwrap();
    let keys = lines.lines().map(|line| line.split_once(" = ").unwrap());
    let said =
        keys.map(|(name, text)| halfpower_model::Key::named(name).unwrap().read(text.trim_matches('"')).unwrap());
    let all = said.fold(WorkloadSpec::default(), |all, one| one.or(&all));
    assert_eq!(study.sweeps[0].cells, [all]);
}

#[test]
fn giant_sweeps_are_refused_before_they_are_made() {
    let range = "{ from = 1, to = 9223372036854775807, factor = 2 }";
    let text = format!("name = \"x\"\n[[sweep]]\nrequests = {range}\nbytes = {range}\nsize = {range}\n");
    assert!(only(&text).message.contains("10000 cells"));
    let list = (1..=900).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let text = format!("name = \"x\"\n[[sweep]]\ndepth = [{list}]\nworkers = [{list}]\n");
    assert!(only(&text).message.contains("10000 cells"));
    let list = "1,".repeat(2000);
    assert!(only(&format!("name = \"x\"\n[[sweep]]\ndepth = [{list}]\n")).message.contains("2000 values"));
    let text = "x".repeat(2 << 20);
    assert!(only(&text).message.contains("2 MiB"));
}

#[test]
fn hostile_texts_end_in_messages() {
    let deep = |open: &str| format!("name = \"x\"\n[[sweep]]\ndepth = {}", open.repeat(100_000));
    let keys = |form: &str| form.replace('K', &vec!["a"; 100_000].join("."));
    for text in [
        deep("["),
        format!("name = \"x\"\n[[sweep]]\ndepth = {{ from = 1, to = 9999 }}\ncpus = [{}]", "1,".repeat(100_000)),
        deep("{a="),
        keys("K = 1"),
        keys("[K]"),
        keys("[[K]]"),
        "[[sweep]]\n".repeat(50_000),
        "[a]\n[a]\n[a.b]\n[[a]]\na = 1".to_owned(),
        "\u{feff}name = 3".to_owned(),
        "\u{0}\u{1b}[31m = \u{7}".to_owned(),
        "name = \"\\u{D800}\"".to_owned(),
        "=".repeat(10_000),
        "\"".repeat(9_999),
        format!("name = \"x\"\ninclude = \"{}\"", "x".repeat(100_000)),
        format!("name = \"x\"\n[[sweep]]\n{}", "include = \"y\"\n".repeat(90)).replace('y', &"x".repeat(10_000)),
    ] {
        let shown = errors(&text).to_string();
        assert!(shown.len() < 100_000 && !shown.contains('\u{1b}'), "{} bytes", shown.len());
    }
}

#[test]
fn built_in_studies_are_right_and_named_like_their_files() {
    for (name, _) in FILES.iter().filter(|(name, _)| !name.ends_with("/study")) {
        let study = Study::builtin(name).unwrap();
        assert_eq!(study.name, *name);
        // The intervals of `limits` are within its long measurements.
        assert!((study.trial.repetitions.min >= 5 || *name == LIMITS) && study.question.is_some());
    }
    let folders: Vec<Study> = Study::builtins().filter(|study| study.exhibits().len() > 5).collect();
    assert_eq!(folders.iter().map(|study| study.name.as_str()).collect::<Vec<_>>(), ["nt4", "win2000"]);
    assert!(Study::builtin("nothing").is_none() && Study::builtin("nt4/study").is_none());
}

/// Reads `main` of some files, given as name and text.
fn read_from(files: &[(&str, &str)], main: &str) -> Result<Study, StudyErrors> {
    let open = |file: &str| {
        let found = files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("cannot read {file}"))
    };
    match main.strip_suffix('/') {
        Some(folder) => {
            let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
            Study::of_folder(folder, &names, Shelf::of(&open))
        }
        None => Study::parse_with(main, &open(main).unwrap(), Shelf::of(&open)),
    }
}

const HEAD: &str = "name = \"f\"\nquestion = \"why?\"\n[target]\npath = \"sim:a:b\"\n[trial]\nrepetitions = 7\nduration = \"1s\"\n\
                    [workload]\ndepth = [1, 2]\nbuffering = \"direct\"\n";

#[test]
fn a_file_is_laid_over_what_it_includes() {
    let own = "name = \"f/one\"\ninclude = \"study.toml\"\nfigure = \"Figure 1\"\n[[sweep]]\nset = [\"volume=x\", \"volume=y\"]\n\
               [[sweep]]\ndepth = 9\n";
    let other = "name = \"f/two\"\ninclude = \"one.toml\"\nfigure = \"Figure 2\"\nshows = \"cpu\"\n[trial]\nseed = 3\n\
                 [[sweep]]\ndepth = 5\n";
    let files = [("f/study.toml", HEAD), ("f/one.toml", own), ("f/two.toml", other)];
    let one = read_from(&files, "f/one.toml").unwrap();
    assert_eq!((one.name.as_str(), one.question.as_deref(), one.path.as_deref()), ("f/one", None, Some("sim:a:b")));
    assert_eq!((one.trial.repetitions.min, one.trial.seed, one.cells()), (7, 1, 5));
    assert_eq!(one.volumes(), ["x", "y"]);
    assert!(one.sweeps[1].cells[0].depth == Some(9) && one.sweeps[1].cells[0].buffering == Some(Buffering::Direct));
    assert_eq!(one.sweeps[1].cells[0].duration, Some(Nanoseconds(1_000_000_000)));
    let two = read_from(&files, "f/two.toml").unwrap();
    assert_eq!((two.cells(), two.trial.seed, two.trial.repetitions.min), (6, 3, 7));
    let exhibits = two.exhibits();
    assert_eq!((exhibits.len(), exhibits[0].label.as_str(), exhibits[0].shows), (1, "Figure 2", Shows::Cpu));
    assert!(two.text.starts_with("# f/one.toml\n# f/study.toml\nname") && two.text.ends_with(other), "{}", two.text);
}

#[test]
fn what_cannot_be_included_is_reported_at_its_include() {
    let file = |include: &str| format!("name = \"x\"\ninclude = \"{include}\"\n[[sweep]]\n");
    let refused =
        |text: &str, other: &str| read_from(&[("x.toml", text), ("y.toml", other)], "x.toml").unwrap_err().to_string();
    let missing = refused(&file("z.toml"), "");
    let place = missing.starts_with("x.toml:2:11: cannot read z.toml");
    assert!(place && missing.contains("a built-in study"), "{missing}");
    assert!(refused(&file("x.toml"), "").contains("x.toml includes this file"));
    assert!(refused(&file("y.toml"), &file("x.toml")).starts_with("y.toml:2:11: x.toml includes"));
    assert!(refused(&file("y.toml"), "name = \"y\"\ndepht = 3\n").starts_with("y.toml:2:1: unknown key"));
    assert!(refused("name = \"x\"\ninclude = \"y.toml\"", "name = \"y\"").contains("no sweep"));
    assert!(refused("name = \"x\"\nshows = \"parts\"\n[[sweep]]", "").contains("add figure"));
    let builtin = read_from(&[("x.toml", &file("nt4/figure-3.toml"))], "x.toml").unwrap();
    assert_eq!(builtin.cells(), Study::builtin("nt4/figure-3").unwrap().cells() + 16);
}

#[test]
fn a_folder_is_the_study_of_its_files_in_their_order() {
    let file = |name: &str, depth: u32| {
        format!(
            "name = \"{name}\"\ninclude = \"study.toml\"\nfigure = \"{name}\"\n[[sweep]]\nname = \"{name}\"\ndepth = {depth}\n"
        )
    };
    let (ten, nine) = (file("ten", 3), file("nine", 3));
    let files = [("f/study.toml", HEAD), ("f/b.toml", nine.as_str()), ("f/a.toml", ten.as_str())];
    let whole = read_from(&files, "f/").unwrap();
    let names: Vec<_> = whole.sweeps.iter().map(|sweep| sweep.name.as_str()).collect();
    assert_eq!((whole.name.as_str(), names, whole.cells()), ("f", vec!["nine", "ten"], 1));
    assert_eq!((whole.question.as_deref(), whole.exhibits().len()), (Some("why?"), 2));
    let refused = |files: &[(&str, &str)]| read_from(files, "f/").unwrap_err().to_string();
    assert!(refused(&files[1..]).contains("cannot read f/study.toml"));
    assert!(refused(&files[..1]).contains("no sweep"));
    // It would go to the folder's all the same.
    for (what, own) in [("trial", "seed = 4"), ("target", "path = \"sim:a:c\"")] {
        let own = format!("{ten}[{what}]\n{own}\n");
        let refused = refused(&[files[0], ("f/other.toml", &own)]);
        assert!(refused.starts_with(&format!("f/other.toml:1:1: its {what} is not that of f/study")), "{refused}");
    }
}

#[test]
fn files_are_in_the_order_of_their_names_and_numbers_as_numbers() {
    for (first, second) in [
        ("f/figure-9.toml", "f/figure-10.toml"),
        ("f/figure-9.toml", "f/figure-9-b.toml"),
        ("figure-2", "figure-2.5"),
        ("f/figure-38.toml", "f/table-1.toml"),
    ] {
        assert!(natural(first) < natural(second), "{first}, {second}");
    }
    for folder in ["nt4", "win2000"] {
        assert!(Study::files_of(folder).is_sorted_by_key(natural), "{folder}");
    }
}

#[test]
fn on_other_targets_one_stands_for_all_volumes_or_one_for_each() {
    let text = "name = \"x\"\n[trial]\nwrite_budget = \"1TiB\"\n[[sweep]]\nset = [\"volume=a\", \"volume=b\", \"volume=b,disks=2\"]\n\
                pattern = \"random\"\nsize = \"1TiB\"\nduration = \"60s\"\n";
    let study = || Study::parse("x.toml", text).unwrap();
    let one = study().moved(&StandIns::OneOfHost);
    assert_eq!((one.cells(), one.trial.write_budget), (1, None));
    let cell = &one.sweeps[0].cells[0];
    assert_eq!((&cell.set, cell.among, cell.size), (&None, None, None));
    assert_eq!(cell.duration, Some(Nanoseconds(10_000_000_000)), "a minute is long on a disk");
    let each = study().moved(&StandIns::EachOfHost);
    let among: Vec<_> = each.sweeps[0].cells.iter().map(|cell| cell.among).collect();
    assert_eq!(among, [Some(Among::Only(1)), Some(Among::Only(2))]);
    let set = |study: &Study| -> Vec<_> {
        study.sweeps[0].cells.iter().map(|cell| cell.set.as_ref().map(ToString::to_string)).collect()
    };
    let simulated = study().moved(&StandIns::OneSimulated);
    assert_eq!(set(&simulated), [None, Some("disks=2".to_owned())]);
    assert_eq!(simulated.trial.write_budget, Some(Bytes(1 << 40)));
    let own = ["volume=m:c,rate=9", "volume=d"].map(|set| set.parse().unwrap());
    let each = study().moved(&StandIns::EachSimulated(own.to_vec()));
    assert_eq!(set(&each), ["volume=m:c,rate=9", "volume=d", "volume=d,disks=2"].map(|set| Some(set.to_owned())));
    assert_eq!(each.sweeps[0].cells[0].duration, Some(Nanoseconds(60_000_000_000)));
}

const WORDS: &str = "nan|-inf|1979-05-27|true|[[sweep]]|[sweep]|{ from = 1, to = 8, factor = 2 }|\"\"\"|0x7f|1e999|\
    depth = 3\n|\u{1f980}";

/// Fragments that break a valid study.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<char>().prop_map(String::from),
        "[\\[\\]{}=\"'#,.\\n\\r\\t 0-9a-z_-]{0,6}",
        prop::sample::select(WORDS.split('|').collect::<Vec<_>>()).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn a_broken_study_never_panics(cuts in prop::collection::vec((0_usize..2000, 0_usize..40, fragment()), 1..5),
                                   base in prop::sample::select(vec![FILES[0].1, SMALL, ""]), any in any::<String>()) {
        let mut text = if base.is_empty() { any } else { base.to_owned() };
        for (at, length, put) in cuts {
            let start = (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            let end = ((start + length).min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            text.replace_range(start..end, &put);
        }
        match Study::parse("x.toml", &text) {
            Ok(study) => prop_assert!(study.cells() > 0),
            Err(errors) => {
                let lines = text.lines().count().max(1) + 1;
                for diagnostic in &errors.diagnostics {
                    prop_assert!(diagnostic.line >= 1 && diagnostic.line <= lines && diagnostic.column >= 1);
                }
                prop_assert!(!errors.to_string().is_empty());
            }
        }
    }
}
