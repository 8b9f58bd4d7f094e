//! Every key there is: its type, default, meaning and an example
//!
//! The one table behind the check for unknown keys, `bulkhead explain`, the reference and the
//! template of a new description. In a path, `*` stands for a name the user gives.

mod board_keys;
pub(crate) mod bridge_keys;
pub(crate) mod channel_keys;
pub(crate) mod choices;
pub(crate) mod component_keys;
pub(crate) mod device_keys;
mod emulator_keys;
mod function_file_keys;
pub(crate) mod image_keys;
pub(crate) mod key;
pub(crate) mod partition_keys;
pub(crate) mod pipe_keys;
pub(crate) mod system_keys;
pub(crate) mod table;
pub(crate) mod time_keys;
pub(crate) use key::{Key, Presence, Shape, quoted};

/// The keys of one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registry {
    tables: &'static [&'static [Key]],
}

/// Keys of a system description.
pub(crate) const DESCRIPTION: Registry = Registry {
    tables: &[
        system_keys::Tables::KEYS,
        system_keys::SystemDraft::KEYS,
        system_keys::RunDraft::KEYS,
        partition_keys::PartitionDraft::KEYS,
        partition_keys::RestartDraft::KEYS,
        image_keys::ImageDraft::KEYS,
        component_keys::ComponentDraft::KEYS,
        component_keys::ProgramDraft::KEYS,
        component_keys::ComponentRestartDraft::KEYS,
        component_keys::SharedDraft::KEYS,
        time_keys::VcpuDraft::KEYS,
        time_keys::ScheduleDraft::KEYS,
        time_keys::SlotDraft::KEYS,
        time_keys::TaskDraft::KEYS,
        channel_keys::ChannelDraft::KEYS,
        channel_keys::RateDraft::KEYS,
        device_keys::FunctionDraft::KEYS,
        pipe_keys::MessageDraft::KEYS,
        pipe_keys::PipeDraft::KEYS,
        pipe_keys::PipeFunctionDraft::KEYS,
        pipe_keys::EndpointDraft::KEYS,
        bridge_keys::BridgeDraft::KEYS,
        bridge_keys::TopicDraft::KEYS,
        bridge_keys::ImportDraft::KEYS,
    ],
};

/// Keys of a board file.
pub(crate) const BOARD: Registry = Registry {
    tables: &[board_keys::KEYS, emulator_keys::KEYS],
};

/// Keys of a file of pipe functions.
pub(crate) const FUNCTIONS: Registry = Registry {
    tables: &[function_file_keys::KEYS],
};

impl Registry {
    /// All keys, in the order of the reference: those of a table follow its own.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys_within("").into_iter()
    }

    fn keys_within(&self, path: &str) -> Vec<&'static Key> {
        let with_nested = |key: &'static Key| {
            let nested = match key.shape {
                Shape::Section => self.keys_within(key.path),
                Shape::Named | Shape::Tables => self.keys_within(&format!("{}.*", key.path)),
                _ => Vec::new(),
            };
            std::iter::once(key).chain(nested)
        };
        self.below(path).flat_map(with_nested).collect()
    }

    fn all(&self) -> impl Iterator<Item = &'static Key> {
        self.tables.iter().flat_map(|table| table.iter())
    }

    /// The key of that name directly below a path pattern.
    pub(crate) fn key(&self, path: &str, name: &str) -> Option<&'static Key> {
        let path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        self.all().find(|key| key.path == path)
    }

    /// Shape of the key of that path pattern.
    #[cfg(test)]
    pub(crate) fn shape(&self, path: &str) -> Option<Shape> {
        self.all().find(|key| key.path == path).map(|key| key.shape)
    }

    /// The keys directly below a path pattern; the empty one is the whole file.
    pub(crate) fn below(&self, path: &str) -> impl Iterator<Item = &'static Key> {
        let path = path.to_owned();
        self.all().filter(move |key| is_below(key.path, &path))
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
