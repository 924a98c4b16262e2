//! The words that machine files have for the variants of an enum.

/// An enum with a word for each variant.
pub trait Named: Copy + 'static {
    /// Each word, and what it means; the first is the default.
    const WORDS: &'static [(&'static str, Self)];
}

/// Declares an enum and the word for each variant.
macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$meaning])* $variant,)+
        }

        impl $crate::named::Named for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $name::$variant)),+];
        }
    };
}
pub(crate) use named;
