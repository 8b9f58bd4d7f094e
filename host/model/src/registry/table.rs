//! Declaration of a table of a file: its keys, and the struct that has their values as written
//!
//! ```text
//! table! {
//!     /// What the table describes.
//!     StructName [field: Type = function] in "path.of.the.table." {
//!         field "key": Shape, presence, "key = example",
//!             "Meaning.";
//!     }
//! }
//! ```
//!
//! An entry declares a key of the registry and a field with its value. The field's name is the key's where no
//! `"key"` follows it. A table that is read at a second path as well declares the keys of its fields there, under `keys in`.
//! Fields in brackets are not keys: a function reads them from the [`Section`](crate::draft::section::Section).

/// Declares a table; see the module.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        $table:ident $([$($extra:ident: $type:ty = $read:path),*])?
        $(in $path:literal {
            $(
                $field:ident $($key:literal)?: $shape:ident $(($($of:tt)*))?, $presence:expr, $example:literal,
                $meaning:expr;
            )*
        })+
        $(keys in $other:literal {
            $(
                $own:literal: $kind:ident $(($($kind_of:tt)*))?, $is:expr, $line:literal,
                $text:expr;
            )*
        })?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        pub(crate) struct $table {
            $($(pub(crate) $extra: $type,)*)?
            $($(pub(crate) $field: $crate::registry::table::field!($shape $(($($of)*))?),)*)+
        }

        impl $table {
            /// Its keys.
            pub(crate) const KEYS: &[$crate::registry::key::Key] = &[$($(
                $crate::registry::key::Key {
                    path: concat!($path, $crate::registry::table::name!($field $($key)?)),
                    shape: $crate::registry::table::shape!($shape $(($($of)*))?),
                    presence: $presence,
                    meaning: $meaning,
                    example: $example,
                },
            )*)+ $($(
                $crate::registry::key::Key {
                    path: concat!($other, $own),
                    shape: $crate::registry::table::shape!($kind $(($($kind_of)*))?),
                    presence: $is,
                    meaning: $text,
                    example: $line,
                },
            )*)?];

            /// Reads it. The caller has checked its shape.
            pub(crate) fn read(section: &$crate::draft::section::Section<'_>) -> Self {
                Self {
                    $($($extra: $read(section),)*)?
                    $($($field: $crate::registry::table::value!(
                        section, $crate::registry::table::name!($field $($key)?), $shape $(($($of)*))?
                    ),)*)+
                }
            }
        }
    };
}

/// Name of an entry's key.
macro_rules! name {
    ($field:ident $key:literal) => {
        $key
    };
    ($field:ident) => {
        stringify!($field)
    };
}

/// Type of the field of a shape.
macro_rules! field {
    (Named($table:ty)) => { Vec<$table> };
    (Section($table:ty)) => { $table };
    (Optional($table:ty)) => { $crate::draft::field::Field<$table> };
    (Like($table:ty, $path:literal)) => { $crate::draft::field::Field<$table> };
    (Choice($type:ty, $choice:expr)) => { $crate::draft::field::Field<$type> };
    (Text) => { $crate::draft::field::Field<String> };
    (Flag) => { $crate::draft::field::Field<bool> };
    (Texts) => { $crate::draft::field::Field<Vec<$crate::document::At<String>>> };
    (TextOrTexts) => { $crate::draft::field::Field<Vec<$crate::document::At<String>>> };
    (Numbers $of:tt) => { $crate::draft::field::Field<Vec<$crate::document::At<u64>>> };
    (NumberOrNumbers $of:tt) => { $crate::draft::field::Field<$crate::draft::section::CoresDraft> };
    ($number:ident $($of:tt)?) => { $crate::draft::field::Field<u64> };
}

/// The [`Shape`](crate::registry::key::Shape) of a shape.
macro_rules! shape {
    (Named $of:tt) => { $crate::registry::key::Shape::Named };
    (Section $of:tt) => { $crate::registry::key::Shape::Section };
    (Optional $of:tt) => { $crate::registry::key::Shape::Section };
    (Like($table:ty, $path:literal)) => { $crate::registry::key::Shape::Like($path) };
    (Choice($type:ty, $choice:expr)) => { $crate::registry::key::Shape::Choice($choice.words) };
    ($($shape:tt)+) => { $crate::registry::key::Shape::$($shape)+ };
}

/// Reads the field of a shape.
macro_rules! value {
    ($section:ident, $key:expr, Named($table:ty)) => {
        $section.all($key).map(|one| <$table>::read(&one)).collect()
    };
    ($section:ident, $key:expr, Section($table:ty)) => {
        <$table>::read(&$section.section($key))
    };
    ($section:ident, $key:expr, Optional($table:ty)) => {
        $section.optional($key, <$table>::read)
    };
    ($section:ident, $key:expr, Like($table:ty, $path:literal)) => {
        $section.optional($key, <$table>::read)
    };
    ($section:ident, $key:expr, Choice($type:ty, $choice:expr)) => {
        $section.choice($key, $choice.values)
    };
    ($section:ident, $key:expr, Text) => {
        $section.text($key)
    };
    ($section:ident, $key:expr, Flag) => {
        $section.flag($key)
    };
    ($section:ident, $key:expr, Texts) => {
        $section.texts($key)
    };
    ($section:ident, $key:expr, TextOrTexts) => {
        $section.texts($key)
    };
    ($section:ident, $key:expr, Numbers $of:tt) => {
        $section.numbers($key)
    };
    ($section:ident, $key:expr, NumberOrNumbers $of:tt) => {
        $section.field($key, $crate::draft::section::CoresDraft::read)
    };
    ($section:ident, $key:expr, $number:ident $($of:tt)?) => {
        $section.number($key)
    };
}

pub(crate) use {field, name, shape, table, value};
