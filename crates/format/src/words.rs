//! [`words!`](crate::words): an enum whose values have a word each, in files, in JSON and on the command line.

/// Declares an enum with a word for each variant: `as_str` gives it, `from_word` reads it, `ALL` lists the values.
///
/// The enum is written as any other, with its own derives; `as_str` needs `Copy`. A word stands once: serde's and
/// schemars' `rename_all` are to give the same ones, and a variant for which they do not has a `rename`. Further words
/// that `from_word` understands follow after `|`. A public type of this crate says `in` which module a user finds it;
/// its methods then have an example.
///
/// An enum that may grow says `growing` first, and gets `as_str` alone: the length of `ALL` would be a promise.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident $(in $path:path)? {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal $(| $other_word:literal)*),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $type { $($(#[$variant_meta])* $variant),+ }

        impl $type {
            /// All of them, in the order of their declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            #[doc = concat!("The word for it, one of" $(, " `", $word, "`")+, ".")]
            $(#[doc = concat!(
                "\n```\nuse ", stringify!($path), "::", stringify!($type), ";\n\n",
                "let words = ", stringify!($type), "::ALL.map(", stringify!($type), "::as_str);\n",
                "assert!(words.iter().all(|word| ", stringify!($type), "::from_word(word).is_some()));\n```",
            )])?
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value with this word.
            $(#[doc = concat!(
                "\n```\nuse ", stringify!($path), "::", stringify!($type), ";\n\n",
                "for value in ", stringify!($type), "::ALL {\n",
                "    assert_eq!(", stringify!($type), "::from_word(value.as_str()), Some(value));\n}\n",
                "assert_eq!(", stringify!($type), "::from_word(\"other\"), None);\n```",
            )])?
            #[must_use]
            $vis fn from_word(word: &str) -> Option<Self> {
                match word { $($word $(| $other_word)* => Some(Self::$variant),)+ _ => None }
            }
        }
    };
    (
        growing
        $(#[$meta:meta])*
        $vis:vis enum $type:ident in $path:path {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $type { $($(#[$variant_meta])* $variant),+ }

        impl $type {
            /// The word for it.
            ///
            #[doc = concat!("```\nuse ", stringify!($path), "::", stringify!($type), ";\n")]
            $(#[doc = concat!("assert_eq!(", stringify!($type), "::", stringify!($variant), ".as_str(), \"", $word, "\");")])+
            /// ```
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
