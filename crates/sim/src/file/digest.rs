//! What a machine file says, spelled in one way: a digest of it tells whether two files say the same, whatever their comments,
//! their order and their spaces.

use std::fmt::Write;
use toml::de::{DeTable, DeValue};

/// A table's keys in the order of their names, each with its value.
pub(super) fn spell_table(table: &DeTable<'_>, said: &mut String) {
    let mut entries: Vec<_> = table.iter().map(|(key, value)| (key.get_ref(), value.get_ref())).collect();
    entries.sort_by_key(|(key, _)| *key);
    said.push('{');
    for (key, value) in entries {
        let _ = write!(said, "{key:?}=");
        spell(value, said);
    }
    said.push('}');
}

fn spell(value: &DeValue<'_>, said: &mut String) {
    let _ = match value {
        DeValue::String(text) => write!(said, "{text:?};"),
        DeValue::Integer(number) => write!(said, "{}:{};", number.radix(), number.as_str()),
        DeValue::Float(number) => write!(said, "{};", number.as_str()),
        DeValue::Boolean(is_so) => write!(said, "{is_so};"),
        DeValue::Datetime(time) => write!(said, "{time};"),
        DeValue::Array(items) => {
            said.push('[');
            items.iter().for_each(|item| spell(item.get_ref(), said));
            said.push(']');
            Ok(())
        }
        DeValue::Table(table) => {
            spell_table(table, said);
            Ok(())
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let mut said = String::new();
        spell_table(DeTable::parse(text).unwrap().get_ref(), &mut said);
        said
    }

    #[test]
    fn files_that_say_the_same_are_the_same_and_others_are_not() {
        let file = "a = 1\n[b.c]\nd = [1.5, true]\ne = \"4KiB\"\n";
        let same = "# Fitted.\nb.c.e  = '4KiB' # of the sheet\nb.c.d = [\n  1.5,\n  true,\n]\na = 1\n";
        assert_eq!(said(file), said(same));
        assert_eq!(said(file), r#"{"a"=10:1;"b"={"c"={"d"=[1.5;true;]"e"="4KiB";}}}"#);
        for (one, other) in [("1.5", "1.6"), ("true", "false"), ("4KiB", "8KiB"), ("d =", "f ="), ("a = 1", "a = 2")] {
            assert_ne!(said(file), said(&file.replace(one, other)), "{other}");
        }
        assert_ne!(said("a = ['b', 'c']"), said("a = ['b;c']"));
    }
}
