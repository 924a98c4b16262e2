//! The command line, its examples and those of the documents.

use super::*;
use clap::CommandFactory;
use std::fs;
use std::path::Path;

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_example_is_understood_and_fits_a_screen() {
    let commands = io::EXAMPLES.replace(" \\\n", " ");
    let commands: Vec<&str> = commands.lines().filter(|line| line.starts_with("  halfpower")).collect();
    assert!(commands.len() >= 14, "{}", commands.len());
    for command in commands {
        let parsed = Cli::try_parse_from(command.split_whitespace());
        let Command::Io(arguments) = parsed.unwrap_or_else(|error| panic!("{command}: {error}")).command else {
            panic!("{command} is no workload");
        };
        arguments.check().unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    assert!(io::EXAMPLES.lines().all(|line| line.chars().count() <= 80));
}

/// The words of a command as a shell splits them, up to a comment or what is no longer its own.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (letter, quote) {
            (_, Some(closing)) if letter == closing => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => break,
            ('|' | '>' | ';' | '&', None) => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Whether a line of a block is a command; columns of explanation have several blanks, a script what it computes.
fn is_command(line: &str) -> bool {
    line.starts_with("halfpower ") && !line.starts_with("halfpower  ") && !line.contains("$(")
}

#[test]
fn the_documents_name_commands_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    let mut commands = 0;
    for page in pages.iter().chain([&root.join("README.md")]) {
        let text = fs::read_to_string(page).unwrap();
        let shown = page.display();
        for (number, block) in text.split("\n```").enumerate().filter(|(number, _)| number % 2 == 1) {
            let block = block.replace("\\\n", " ");
            for line in block.lines().filter(|line| is_command(line)) {
                // Columns of explanation stand after three blanks.
                let command = words(line.split("   ").next().unwrap_or(line));
                let is_form = command.iter().any(|word| word.chars().all(|letter| letter.is_ascii_uppercase()));
                let parsed = Cli::try_parse_from(number::with_negatives_bound(command.iter().map(Into::into)));
                assert!(is_form || parsed.is_ok(), "{shown}, block {number}: {line}: {}", parsed.unwrap_err());
                commands += 1;
            }
        }
    }
    assert!(commands > 30, "{commands}");
}

/// Where the links of a page lead, those to other sites left out.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.contains("://"))
}

/// The address of a line that is a heading, as mdBook makes it.
fn address(line: &str) -> Option<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let heading: String = line.strip_prefix('#')?.chars().filter(is_kept).collect();
    Some(heading.trim().to_lowercase().replace(' ', "-"))
}

#[test]
fn every_link_of_the_site_leads_to_a_page_and_heading_or_to_a_copied_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let pages: Vec<_> = links(&read(&root.join("SUMMARY.md"))).map(|link| root.join(link)).collect();
    // As `just book` copies them.
    let copied = ["docs", "examples", "include", "machines", "studies", "LICENSE-MIT", "LICENSE-APACHE"];
    for page in &pages {
        for link in links(&read(page)) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let target = target.canonicalize().unwrap_or_default();
            let is_copied = copied.iter().any(|of| target.starts_with(root.join(of))) && target.is_file();
            let is_there = pages.contains(&target) || is_copied && target.extension().is_none_or(|end| end != "md");
            let has_heading = heading.is_empty() || read(&target).lines().filter_map(address).any(|it| it == heading);
            assert!(is_there && has_heading, "{}: {link}", page.display());
        }
    }
}
