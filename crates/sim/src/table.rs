//! Tables of a machine file, each written once: its struct, how it is read, and its rows in machines/README.md.

/// What a key accepts.
pub trait Value {
    /// What it is once it is read.
    type Plain;

    /// That.
    fn plain(self) -> Self::Plain;

    /// In the words of machines/README.md.
    fn allowed() -> String;

    /// What an optional key has if a file leaves it out.
    fn default_text() -> String {
        "none".to_owned()
    }
}

impl Value for String {
    type Plain = String;

    fn plain(self) -> String {
        self
    }

    fn allowed() -> String {
        "text".to_owned()
    }
}

impl Value for bool {
    type Plain = bool;

    fn plain(self) -> bool {
        self
    }

    fn allowed() -> String {
        "true or false".to_owned()
    }

    fn default_text() -> String {
        bool::default().to_string()
    }
}

impl<T: Value> Value for Option<T> {
    type Plain = Option<T::Plain>;

    fn plain(self) -> Self::Plain {
        self.map(T::plain)
    }

    fn allowed() -> String {
        format!("{}; optional", T::allowed())
    }
}

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

        impl $crate::table::Named for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $name::$variant)),+];
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as $crate::table::Named>::WORDS[0].1
            }
        }
    };
}
pub(crate) use named;

/// Lists of a fixed length, of several types.
macro_rules! tuples {
    ($(($($item:ident $place:tt),+))+) => {
        $(impl<$($item: Value),+> Value for ($($item,)+) {
            type Plain = ($($item::Plain,)+);

            fn plain(self) -> Self::Plain {
                ($(self.$place.plain(),)+)
            }

            fn allowed() -> String {
                format!("[{}]", [$($item::allowed()),+].join("; "))
            }
        })+
    };
}
tuples! { (A 0, B 1) (A 0, B 1, C 2, D 3, E 4) }

/// Declares a struct of keys. A key's doc comment is its meaning in machines/README.md. With `= default` it is optional.
macro_rules! table {
    (
        $(#[$about:meta])*
        $visible:vis $table:ident { $($(#[doc = $meaning:literal])+ $key:ident: $value:ty $(= $default:ident)?,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        $visible struct $table {
            $($(#[doc = $meaning])+ $visible $key: <$value as $crate::table::Value>::Plain,)+
        }

        impl<'de> serde::Deserialize<'de> for $table {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields, rename_all = "kebab-case")]
                struct Keys {
                    $($(#[serde($default)])? $key: $value,)+
                }
                let Keys { $($key),+ } = serde::Deserialize::deserialize(deserializer)?;
                Ok($table { $($key: $crate::table::Value::plain($key)),+ })
            }
        }

        impl $crate::table::Value for $table {
            type Plain = $table;

            fn plain(self) -> $table {
                self
            }

            fn allowed() -> String {
                "table".to_owned()
            }
        }

        #[cfg(test)]
        impl $table {
            /// Its table in machines/README.md.
            pub(crate) fn rows() -> String {
                use $crate::table::Value;
                let mut rows = "| Key | Values | Meaning |\n|---|---|---|\n".to_owned();
                $(
                    let allowed = <$value>::allowed() $(+ "; " + stringify!($default) + " " + &<$value>::default_text())?;
                    let meaning = concat!($($meaning),+).trim();
                    rows += &format!("| `{}` | {allowed} | {meaning} |\n", stringify!($key).replace('_', "-"));
                )+
                rows
            }
        }
    };
}
pub(crate) use table;
