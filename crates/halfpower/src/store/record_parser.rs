//! Parses the records of a run and shares the parts that a sample has in common with the one before: environment,
//! program, options that the kernel granted. An environment with the same text is not parsed again: it is a third of a
//! record, and rarely changes within a run.

use super::run::json;
use halfpower_model::{Environment, Sample};
use serde::de::IgnoredAny;

/// Key of the environment in records of this program. Inside a string its quotes would be escaped.
const KEY: &str = r#""environment":"#;

/// Parses the records of a run in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Parser {
    before: Option<Before>,
}

/// A record that was parsed.
#[derive(Clone, Debug)]
struct Before {
    /// Text of its environment.
    text: String,
    /// Text of the shortest environment, parsed in its place.
    short: String,
    sample: Sample,
}

impl Parser {
    /// Parses a record, sharing what it has in common with the one before.
    pub(super) fn parse(&mut self, record: &str) -> serde_json::Result<Sample> {
        if let Some(sample) = self.before.as_ref().and_then(|before| before.parse(record)) {
            return Ok(sample);
        }
        let mut sample: Sample = serde_json::from_str(record)?;
        if let Some(before) = &self.before {
            sample.share(&before.sample);
        }
        self.before = environment_of(record).map(|text| Before {
            text: text.to_owned(),
            short: json(&Environment::unknown("", None)),
            sample: sample.clone(),
        });
        Ok(sample)
    }
}

impl Before {
    /// A record with the same environment; none if it differs, or if the record is damaged: parsed whole, the error has
    /// the right place.
    fn parse(&self, record: &str) -> Option<Sample> {
        let start = start_of_environment(record)?;
        let rest = record[start..].strip_prefix(self.text.as_str())?;
        let mut sample: Sample = serde_json::from_str(&[&record[..start], &self.short, rest].concat()).ok()?;
        sample.environment = self.sample.environment.clone();
        sample.share(&self.sample);
        Some(sample)
    }
}

/// Start of the environment in a record.
fn start_of_environment(record: &str) -> Option<usize> {
    record.match_indices('{').map(|(start, _)| start).find(|start| record[..*start].ends_with(KEY))
}

/// Text of the environment.
fn environment_of(record: &str) -> Option<&str> {
    let text = &record[start_of_environment(record)?..];
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(&text[..values.byte_offset()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Workload;

    fn sample(path: &str, seed: u64) -> Sample {
        let mut sample = Sample::empty(Workload { seed, ..Workload::default() }, Environment::unknown(path, None));
        // Text that resembles the key, before it and after it.
        sample.program.version = r#"{"environment":{"#.to_owned();
        sample.note = Some(r#"{"environment":{"host":"}"#.to_owned());
        sample.instrument.obtained = vec!["sqpoll".to_owned()].into();
        sample
    }

    #[test]
    fn an_environment_of_the_same_text_is_parsed_once() {
        let mut parser = Parser::default();
        let (one, other) = (sample("/data/a", 1), sample("/data/a", 23));
        let first = parser.parse(&json(&one)).unwrap();
        let common = parser.before.clone().unwrap();
        assert_eq!(common.text, json(&one.environment));
        assert!(common.parse(&json(&other)).is_some(), "without a look at it");
        let second = parser.parse(&json(&other)).unwrap();
        assert_eq!((&first, &second), (&one, &other));
        assert!(second.environment.is(&first.environment));
        assert!(second.program.is(&first.program));
        assert!(second.instrument.obtained.is(&first.instrument.obtained));
    }

    #[test]
    fn another_environment_is_kept_apart() {
        let mut parser = Parser::default();
        for (path, seed) in [("/data/a", 1), ("/data/b", 2), ("/data/b", 3), ("/data/a", 4)] {
            let sample = sample(path, seed);
            assert_eq!(parser.parse(&json(&sample)).unwrap(), sample);
        }
        // With its fields in another order the text differs, but the environment is shared.
        let sorted = serde_json::to_value(sample("/data/a", 5)).unwrap().to_string();
        let before = parser.before.clone().unwrap();
        assert!(before.parse(&sorted).is_none());
        assert!(parser.parse(&sorted).unwrap().environment.is(&before.sample.environment));
    }

    #[test]
    fn a_damaged_record_says_where_it_is_damaged() {
        let mut parser = Parser::default();
        let record = json(&sample("/data/a", 1));
        parser.parse(&record).unwrap();
        for damaged in [record.replace("\"note\"", "\"note"), record.replace("\"path\":", ""), record[..99].to_owned()]
        {
            let expected = serde_json::from_str::<Sample>(&damaged).unwrap_err().to_string();
            assert_eq!(parser.parse(&damaged).unwrap_err().to_string(), expected);
        }
    }
}
