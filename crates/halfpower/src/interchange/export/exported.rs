//! Exported samples, and those that the format cannot hold.

use crate::store::StoredSample;

/// The exported file, and the samples left out.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    pub(crate) content: Vec<u8>,
    /// Samples that the format cannot hold, each with the reason.
    pub(crate) left_out: Vec<String>,
}

impl Exported {
    /// A heading and the text of each sample; samples that the format cannot hold are left out with the reason.
    pub(super) fn of(
        heading: &str,
        samples: &[StoredSample],
        text: impl Fn(&StoredSample) -> Result<String, &'static str>,
    ) -> Exported {
        let mut exported = Exported { content: heading.into(), ..Exported::default() };
        for stored in samples {
            match text(stored) {
                Ok(text) => exported.content.extend(text.into_bytes()),
                Err(reason) => exported.leave_out(stored, reason),
            }
        }
        exported
    }

    pub(super) fn leave_out(&mut self, stored: &StoredSample, reason: &str) {
        self.left_out.push(format!("sample {}: {reason}", stored.id));
    }
}
