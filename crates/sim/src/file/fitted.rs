//! `[fitted]`: which numbers of a machine file were chosen with a published figure in view.
//!
//! `"drive.fireball-lct08.read-miss" = ["atlas.random"]` names a key and the figures, or groups of figures, of
//! `studies/published.toml`. A place may go into a list: `drive.atlas-10k.zones.0.2`. The simulation ignores the table.

use super::error::Wrong;
use toml::de::{DeTable, DeValue};

/// Numbers of a machine file that were chosen to meet published figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Place of the numbers in the file, such as `bus.pci.rate`.
    pub key: String,
    /// Count of the numbers there; a word, such as a scheduler, counts as one.
    pub numbers: usize,
    /// Ids of figures, or of groups of them.
    pub figures: Vec<String>,
}

/// The count of numbers at each place of `[fitted]`.
///
/// # Errors
/// If the file has no such place, or an entry names no figure.
pub(super) fn counted<'a>(
    entries: impl IntoIterator<Item = (&'a String, &'a Vec<String>)>,
    table: &DeTable<'_>,
) -> Result<Vec<Fitted>, Wrong> {
    let counted = |(key, figures): (&String, &Vec<String>)| {
        let wrong = |message| Wrong::at(&["fitted", key], message);
        let numbers = numbers_at(table, key).ok_or_else(|| wrong("the file has no such key; name an existing one"))?;
        if figures.is_empty() {
            return Err(wrong("no figure is named; name the published figures it was chosen for"));
        }
        Ok(Fitted { key: key.clone(), numbers, figures: figures.clone() })
    };
    entries.into_iter().map(counted).collect()
}

fn numbers_at(table: &DeTable<'_>, place: &str) -> Option<usize> {
    let (first, rest) = place.split_once('.').map_or((place, None), |(first, rest)| (first, Some(rest)));
    let mut value = table.get(first)?.get_ref();
    for word in rest.into_iter().flat_map(|rest| rest.split('.')) {
        value = match value {
            DeValue::Table(entries) => entries.get(word)?.get_ref(),
            DeValue::Array(items) => items.get(word.parse::<usize>().ok()?)?.get_ref(),
            _ => return None,
        };
    }
    Some(numbers(value))
}

fn numbers(value: &DeValue<'_>) -> usize {
    match value {
        DeValue::Array(items) => items.iter().map(|item| numbers(item.get_ref())).sum(),
        DeValue::Table(entries) => entries.iter().map(|(_, value)| numbers(value.get_ref())).sum(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use crate::file::MachineFile;
    use crate::shipped::machine_text;

    fn read(entry: &str) -> Result<Vec<(String, usize)>, String> {
        let text = machine_text("win2k-pentium3").unwrap();
        let text = text.split("\n[fitted]").next().unwrap();
        let file = MachineFile::parse("test", &format!("{text}\n[fitted]\n{entry}\n")).map_err(|e| e.to_string())?;
        Ok(file.fitted().iter().map(|fitted| (fitted.key.clone(), fitted.numbers)).collect())
    }

    #[test]
    fn numbers_are_counted_in_tables_and_lists() {
        for (key, numbers) in [
            ("bus.pci.rate", 1),
            ("controller.ide.driver-read", 2),
            ("drive.atlas-10k.zones.0", 5),
            ("drive.atlas-10k.zones.12.3", 1),
            ("drive.atlas-10k.scheduler", 1),
        ] {
            assert_eq!(read(&format!("\"{key}\" = [\"x\"]")), Ok(vec![(key.to_owned(), numbers)]));
        }
    }

    #[test]
    fn an_entry_needs_an_existing_key_and_a_figure() {
        for key in ["bus.pci.speed", "drive.atlas-10k.zones.13", "bus.pci.rate.x", "busses"] {
            let error = read(&format!("\"{key}\" = [\"x\"]")).unwrap_err();
            assert!(error.contains("the file has no such key"), "{key}: {error}");
        }
        assert!(read("\"bus.pci.rate\" = []").unwrap_err().contains("no figure is named"));
    }
}
