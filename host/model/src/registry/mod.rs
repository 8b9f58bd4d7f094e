//! Every key there is: its type, default, meaning and an example
//!
//! The one table behind the check for unknown keys, `bulkhead explain`, the reference and the
//! template of a new description. In a path, `*` stands for a name the user gives.

mod board_keys;
mod bridge_keys;
mod channel_keys;
pub(crate) mod choices;
mod component_keys;
mod device_keys;
mod emulator_keys;
mod function_file_keys;
mod image_keys;
mod key;
mod partition_keys;
mod pipe_keys;
mod system_keys;
mod time_keys;
pub(crate) use key::{Key, Presence, Shape, quoted};

/// The keys of one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registry {
    groups: &'static [&'static [Key]],
}

/// Keys of a system description.
pub(crate) const DESCRIPTION: Registry = Registry {
    groups: &[
        system_keys::KEYS,
        partition_keys::KEYS,
        image_keys::KEYS,
        component_keys::KEYS,
        time_keys::KEYS,
        channel_keys::KEYS,
        device_keys::KEYS,
        pipe_keys::KEYS,
        bridge_keys::KEYS,
    ],
};

/// Keys of a board file.
pub(crate) const BOARD: Registry = Registry {
    groups: &[board_keys::KEYS, emulator_keys::KEYS],
};

/// Keys of a file of pipe functions.
pub(crate) const FUNCTIONS: Registry = Registry {
    groups: &[function_file_keys::KEYS],
};

impl Registry {
    /// All keys, in the order of the reference.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The key of that name directly below a path pattern.
    pub(crate) fn key(&self, path: &str, name: &str) -> Option<&'static Key> {
        let path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        self.keys().find(|key| key.path == path)
    }

    /// Shape of the key of that path pattern.
    #[cfg(test)]
    pub(crate) fn shape(&self, path: &str) -> Option<Shape> {
        self.keys()
            .find(|key| key.path == path)
            .map(|key| key.shape)
    }

    /// The keys directly below a path pattern; the empty one is the whole file.
    pub(crate) fn below(&self, path: &str) -> impl Iterator<Item = &'static Key> {
        let path = path.to_owned();
        self.keys().filter(move |key| is_below(key.path, &path))
    }
}

/// Returns whether a key's path is a path and one more part.
fn is_below(key: &str, path: &str) -> bool {
    let rest = match path {
        "" => Some(key),
        _ => key
            .strip_prefix(path)
            .and_then(|rest| rest.strip_prefix('.')),
    };
    rest.is_some_and(|name| !name.contains('.'))
}
