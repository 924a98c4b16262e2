//! Tables of a machine file, each written once: its struct for serde, and its rows in machines/README.md.

/// What a key accepts, in the words of machines/README.md.
pub(super) trait Value {
    fn allowed() -> String;
    /// What an optional key has if a file leaves it out.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test that writes the page asks"))]
    fn default_text() -> String {
        "none".to_owned()
    }
}

impl Value for String {
    fn allowed() -> String {
        "text".to_owned()
    }
}

impl Value for bool {
    fn allowed() -> String {
        "true or false".to_owned()
    }

    fn default_text() -> String {
        bool::default().to_string()
    }
}

impl<T: Value> Value for Option<T> {
    fn allowed() -> String {
        format!("{}; optional", T::allowed())
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    fn allowed() -> String {
        format!("[{}; {}]", A::allowed(), B::allowed())
    }
}

impl<A: Value, B: Value, C: Value, D: Value, E: Value> Value for (A, B, C, D, E) {
    fn allowed() -> String {
        format!("[{}; {}; {}; {}; {}]", A::allowed(), B::allowed(), C::allowed(), D::allowed(), E::allowed())
    }
}

/// Declares a struct of keys. A key's doc comment is its meaning in machines/README.md. With `= default` it is optional.
macro_rules! table {
    ($table:ident { $($(#[doc = $meaning:literal])+ $key:ident: $value:ty $(= $default:ident)?,)+ }) => {
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub(super) struct $table {
            $($(#[doc = $meaning])+ $(#[serde($default)])? pub(super) $key: $value,)+
        }

        impl $crate::file::table::Value for $table {
            fn allowed() -> String {
                "table".to_owned()
            }
        }

        #[cfg(test)]
        impl $table {
            /// Its table in machines/README.md.
            pub(super) fn rows() -> String {
                use $crate::file::table::Value;
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
pub(super) use table;
