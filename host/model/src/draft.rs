//! A description as written: typed, with places, perhaps with errors
//!
//! Rules check the draft and not the finished system, so that one mistake does not hide the next. A
//! field that was reported as wrong is [`Field::Broken`], and no rule reports it again.

mod channel;
mod component;
pub(crate) mod field;
mod partition;
mod pipe;
mod relations;
pub(crate) mod section;
mod time;

pub(crate) use crate::kinds::KindDraft;
pub(crate) use crate::registry::bridge_keys::{BridgeDraft, ImportDraft, TopicDraft};
pub(crate) use crate::registry::channel_keys::{ChannelDraft, RateDraft};
pub(crate) use crate::registry::component_keys::{ComponentDraft, SharedDraft};
pub(crate) use crate::registry::device_keys::FunctionDraft;
pub(crate) use crate::registry::image_keys::ImageDraft;
pub(crate) use crate::registry::partition_keys::PartitionDraft;
pub(crate) use crate::registry::pipe_keys::{
    EndpointDraft, MessageDraft, PipeDraft, PipeFunctionDraft,
};
pub(crate) use crate::registry::time_keys::{ScheduleDraft, SlotDraft, TaskDraft, VcpuDraft};
pub(crate) use channel::{HOST, MessageSizes};
pub(crate) use component::{PART_NAMES, STACK_DEFAULT, items, part};
pub(crate) use field::Field;
pub(crate) use section::{CoresDraft, Section};

use crate::board::{Board, Device, FunctionKind};
use crate::document::{At, Table, Value};
use crate::profile::Named;
use crate::registry::system_keys::{RunDraft, SystemDraft, Tables};
use crate::source::Sources;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A description.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Root of the checkout: boards, crates, fetched kernels.
    pub(crate) root: PathBuf,
    /// Folder of the description.
    pub(crate) folder: PathBuf,
    pub(crate) sources: Arc<Sources>,
    pub(crate) system: SystemDraft,
    pub(crate) run: RunDraft,
    pub(crate) measured: Named,
    /// `None` where it could not be read.
    pub(crate) board: Option<Board>,
    pub(crate) partitions: Vec<PartitionDraft>,
    /// True if partitions are described in a way that could not be read.
    pub(crate) partitions_broken: bool,
    pub(crate) channels: Vec<ChannelDraft>,
    pub(crate) functions: Vec<FunctionDraft>,
    pub(crate) messages: Vec<MessageDraft>,
    pub(crate) pipes: Vec<PipeDraft>,
}

/// Environment of a description: its place, and the names to which it may refer.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) root: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) sources: Arc<Sources>,
    pub(crate) board: Option<Board>,
}

impl Draft {
    /// Reads a table. The caller has checked its shape.
    pub(crate) fn read(table: &Table, around: Surroundings) -> Self {
        let tables = Tables::read(&Section::whole(table));
        Self {
            root: around.root,
            folder: around.folder,
            sources: around.sources,
            board: around.board,
            system: tables.system,
            run: tables.run,
            measured: Named::None,
            partitions: tables.partitions,
            partitions_broken: table
                .get("partition")
                .is_some_and(|entry| entry.node.value == Value::Broken),
            channels: tables.channels,
            functions: tables.functions,
            messages: tables.messages,
            pipes: tables.pipes,
        }
    }

    /// The partition of that name.
    pub(crate) fn partition(&self, name: &str) -> Option<&PartitionDraft> {
        self.partitions
            .iter()
            .find(|partition| partition.name.value == name)
    }

    /// The partition that names this one as its standby.
    pub(crate) fn primary_of(&self, standby: &PartitionDraft) -> Option<&PartitionDraft> {
        self.partitions.iter().find(|partition| {
            partition
                .standby
                .given()
                .is_some_and(|name| name.value == standby.name.value)
        })
    }

    /// PCIe functions that a partition lists.
    pub(crate) fn functions<'a>(
        &'a self,
        partition: &'a PartitionDraft,
    ) -> impl Iterator<Item = (&'a At<String>, &'a FunctionDraft)> {
        items(&partition.devices).filter_map(|name| {
            let named = |function: &&FunctionDraft| function.name.value == name.value;
            Some((name, self.functions.iter().find(named)?))
        })
    }

    /// Kind of a function, if the board knows it.
    pub(crate) fn kind_of(&self, function: &FunctionDraft) -> Option<&FunctionKind> {
        let kinds = &self.board.as_ref()?.pcie.as_ref()?.kinds;
        let name = function.kind.given()?;
        kinds.iter().find(|kind| kind.name == name.value)
    }

    /// Devices that a partition lists, as far as the board knows them.
    pub(crate) fn devices<'a>(
        &'a self,
        partition: &'a PartitionDraft,
    ) -> impl Iterator<Item = (&'a At<String>, &'a Device)> {
        let named = |name: &'a At<String>| {
            let board = self.board.as_ref()?;
            let device = board
                .devices
                .iter()
                .find(|device| device.name == name.value)?;
            Some((name, device))
        };
        partition
            .devices
            .given()
            .into_iter()
            .flat_map(|list| &list.value)
            .filter_map(named)
    }

    /// Cores of the machine: as described, or as board and partitions demand, with a spare one if a
    /// heartbeat is watched.
    pub(crate) fn machine_cores(&self) -> Option<usize> {
        let board = self.board.as_ref()?;
        let used = self.cores_used();
        let watched = self
            .partitions
            .iter()
            .any(|partition| !partition.heartbeat.is_absent());
        let required = used.max(self.cores_counted() + usize::from(watched));
        let default = required.max(board.default_cores).min(board.cores.len());
        self.system
            .cores
            .or(default as u64)
            .map(|cores| cores as usize)
    }

    /// Cores that belong to partitions.
    pub(crate) fn cores_counted(&self) -> usize {
        self.partitions.iter().map(PartitionDraft::core_count).sum()
    }

    /// Smallest machine on which all partitions have their cores.
    fn cores_used(&self) -> usize {
        let listed = self
            .partitions
            .iter()
            .flat_map(PartitionDraft::listed_cores);
        let highest = listed
            .map(|core| core.value as usize + 1)
            .max()
            .unwrap_or(0);
        self.cores_counted().max(highest)
    }

    /// A file that the description, or a change of it, names: relative names start from its folder.
    pub(crate) fn path(&self, name: &At<String>) -> PathBuf {
        join(&self.folder, &name.value)
    }
}

/// A file as people would name it: from the checkout if it is in there.
pub(crate) fn display(file: &Path, root: &Path) -> String {
    file.strip_prefix(root)
        .unwrap_or(file)
        .display()
        .to_string()
}

/// `folder/name`, without a leading `./`.
pub(crate) fn join(folder: &Path, name: &str) -> PathBuf {
    match folder.as_os_str().is_empty() {
        true => PathBuf::from(name),
        false => folder.join(name.trim_start_matches("./")),
    }
}
