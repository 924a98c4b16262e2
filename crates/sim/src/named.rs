//! The words that machine files have for the variants of an enum.

/// An enum with a word for each variant.
pub trait Named: Copy + 'static {
    /// Each word, and what it means.
    const WORDS: &'static [(&'static str, Self)];
}
