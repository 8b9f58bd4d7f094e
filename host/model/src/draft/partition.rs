//! A partition as written

use super::Field;
use super::section::{Section, list, number};
use super::{
    BridgeDraft, ComponentDraft, EndpointDraft, PipeFunctionDraft, ScheduleDraft, SharedDraft,
    SlotDraft, TaskDraft, VcpuDraft,
};
use crate::document::{At, Value};
use crate::registry::choices;
use crate::system::{Criticality, Kind, Span, Trapping};
use bulkhead_abi::status::{Action, CAUSES, Cause};

const ACTIONS: [Action; 5] = [
    Action::Inject,
    Action::Restart,
    Action::Alternate,
    Action::Failover,
    Action::Halt,
];

/// Keys of the causes' actions, in the order of [`Cause`]; that of `control` is the caller's
/// choice.
pub(crate) const ACTION_KEYS: [&str; CAUSES] = [
    "on_violation",
    "on_undefined",
    "on_hang",
    "on_panic",
    "on_reset",
    "on_off",
    "",
    "on_serror",
];

/// A partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionDraft {
    pub(crate) name: At<String>,
    pub(crate) kind: Field<Kind>,
    pub(crate) criticality: Field<Criticality>,
    pub(crate) cores: Field<CoresDraft>,
    pub(crate) memory: Field<u64>,
    pub(crate) colours: Field<Vec<At<u64>>>,
    pub(crate) image: Field<ImageDraft>,
    pub(crate) alternate: Field<ImageDraft>,
    pub(crate) devices: Field<Vec<At<String>>>,
    /// True if its devices may access memory past any SMMU.
    pub(crate) unconfined: Field<bool>,
    pub(crate) console: Field<String>,
    pub(crate) trace: Field<u64>,
    pub(crate) command_line: Field<String>,
    pub(crate) faults: Field<Vec<At<String>>>,
    pub(crate) privileged: Field<bool>,
    pub(crate) wfi: Field<Trapping>,
    pub(crate) tlbi: Field<Trapping>,
    pub(crate) ipi: Field<Trapping>,
    pub(crate) heartbeat: Field<u64>,
    pub(crate) progress: Field<String>,
    pub(crate) startup: Field<u64>,
    /// By cause.
    pub(crate) actions: [Field<Action>; CAUSES],
    pub(crate) restart: RestartDraft,
    pub(crate) standby: Field<String>,
    pub(crate) components: Vec<ComponentDraft>,
    pub(crate) shared: Vec<SharedDraft>,
    pub(crate) vcpus: Vec<VcpuDraft>,
    pub(crate) tasks: Vec<TaskDraft>,
    pub(crate) schedule: ScheduleDraft,
    pub(crate) slots: Vec<SlotDraft>,
    /// Pipe functions.
    pub(crate) functions: Vec<PipeFunctionDraft>,
    /// Endpoints of devices in Linux.
    pub(crate) endpoints: Vec<EndpointDraft>,
    /// The bridge to other machines.
    pub(crate) bridge: Field<BridgeDraft>,
    /// Stages that may be typed.
    pub(crate) spare_stages: Field<u64>,
    pub(crate) typed_through: Field<Vec<At<String>>>,
    /// Bytes of the buffers between them.
    pub(crate) spare_buffers: Field<u64>,
}

/// Cores as written.
#[derive(Clone, Debug)]
pub(crate) enum CoresDraft {
    Count(u64),
    These(Vec<At<u64>>),
}

/// An image as written.
#[derive(Clone, Debug)]
pub(crate) struct ImageDraft {
    pub(crate) built: Field<String>,
    pub(crate) file: Field<String>,
    pub(crate) load: Field<u64>,
    pub(crate) entry: Field<u64>,
    pub(crate) device_tree: Field<bool>,
    pub(crate) kernel: Field<String>,
    pub(crate) initrd: Field<String>,
    /// Keys that are written, with their places.
    pub(crate) keys: Vec<At<String>>,
}

/// A restart budget as written.
#[derive(Clone, Debug)]
pub(crate) struct RestartDraft {
    pub(crate) limit: Field<u64>,
    pub(crate) per: Field<u64>,
    pub(crate) backoff: Field<u64>,
    pub(crate) then: Field<Action>,
}

impl PartitionDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            kind: section.choice("kind", choices::KINDS.values),
            criticality: section.choice("criticality", choices::CRITICALITIES.values),
            cores: section.field("cores", cores),
            memory: section.number("memory"),
            colours: section.numbers("colours"),
            image: image(&section, "image"),
            alternate: image(&section, "alternate"),
            devices: section.texts("devices"),
            unconfined: section.choice("dma", &[false, true]),
            console: section.text("console"),
            trace: section.number("trace"),
            command_line: section.text("command_line"),
            faults: section.texts("faults"),
            privileged: section.flag("privileged"),
            wfi: section.choice("wfi", choices::TRAPPING.values),
            tlbi: section.choice("tlbi", choices::TRAPPING.values),
            ipi: section.choice("ipi", choices::TRAPPING.values),
            heartbeat: section.number("heartbeat"),
            progress: section.text("progress"),
            startup: section.number("startup"),
            actions: ACTION_KEYS.map(|key| section.choice(key, &ACTIONS)),
            restart: RestartDraft::read(&section.section("restart")),
            standby: section.text("standby"),
            components: section.all("component").map(ComponentDraft::read).collect(),
            shared: section.all("shared").map(SharedDraft::read).collect(),
            vcpus: section.all("vcpu").map(VcpuDraft::read).collect(),
            tasks: section.all("task").map(TaskDraft::read).collect(),
            schedule: ScheduleDraft::read(&section.section("schedule")),
            slots: section.all("slot").map(SlotDraft::read).collect(),
            endpoints: section.all("endpoint").map(EndpointDraft::read).collect(),
            bridge: BridgeDraft::read(&section),
            functions: section
                .all("function")
                .map(PipeFunctionDraft::read)
                .collect(),
            spare_stages: section.number("spare_stages"),
            typed_through: section.texts("typed_through"),
            spare_buffers: section.number("spare_buffers"),
            name: section.name,
        }
    }

    /// How many cores it has; 1 where that is not known.
    pub(crate) fn core_count(&self) -> usize {
        match self.cores.given().map(|cores| &cores.value) {
            Some(CoresDraft::Count(count)) => *count as usize,
            Some(CoresDraft::These(list)) => list.len(),
            None => 1,
        }
    }

    /// The cores it names.
    pub(crate) fn listed_cores(&self) -> impl Iterator<Item = &At<u64>> {
        match self.cores.given().map(|cores| &cores.value) {
            Some(CoresDraft::These(list)) => list.iter(),
            _ => [].iter(),
        }
    }

    /// Action for a cause, defaults included.
    pub(crate) fn action(&self, cause: Cause) -> Option<Action> {
        self.actions[cause as usize].or(default_action(self.kind.value()?, cause))
    }

    /// Returns, for each cause, true if the description names its action.
    pub(crate) fn has_policy(&self) -> [bool; CAUSES] {
        core::array::from_fn(|cause| self.actions[cause].given().is_some())
    }

    /// Every action that can happen, and the place where it is written.
    pub(crate) fn written_actions(&self) -> impl Iterator<Item = &At<Action>> {
        let then = self.restart.then.given();
        self.actions.iter().filter_map(Field::given).chain(then)
    }

    /// Its images, first and alternate.
    pub(crate) fn images(&self) -> impl Iterator<Item = &At<ImageDraft>> {
        [&self.image, &self.alternate]
            .into_iter()
            .filter_map(Field::given)
    }

    /// Place of a field, or of the partition's name.
    pub(crate) fn place<T>(&self, field: &Field<T>) -> Span {
        field.span().unwrap_or(&self.name.span).clone()
    }
}

impl ImageDraft {
    /// Its image sources, without places.
    pub(crate) fn sources(&self) -> Vec<Option<String>> {
        let sources = [&self.built, &self.file, &self.kernel, &self.initrd];
        sources.map(Field::value).into()
    }
}

impl RestartDraft {
    fn read(section: &Section<'_>) -> Self {
        Self {
            limit: section.number("limit"),
            per: section.number("per"),
            backoff: section.number("backoff"),
            then: section.choice("then", &ACTIONS),
        }
    }
}

/// Default action for a cause.
pub(crate) const fn default_action(kind: Kind, cause: Cause) -> Action {
    match (cause, kind) {
        (Cause::Violation | Cause::Undefined | Cause::SError, Kind::Linux | Kind::Image) => {
            Action::Inject
        }
        (Cause::Off, _) => Action::Halt,
        _ => Action::Restart,
    }
}

fn cores(value: &Value) -> Option<CoresDraft> {
    match value {
        Value::List(_) => list(value, number).map(CoresDraft::These),
        _ => number(value).map(CoresDraft::Count),
    }
}

fn image(parent: &Section<'_>, key: &str) -> Field<ImageDraft> {
    let section = parent.section(key);
    let keys = |value: &Value| match value {
        Value::Table(table) => Some(
            table
                .entries
                .iter()
                .map(|entry| entry.key.clone())
                .collect(),
        ),
        _ => None,
    };
    parent.field(key, |value| {
        Some(ImageDraft {
            keys: keys(value)?,
            built: section.text("crate"),
            file: section.text("file"),
            load: section.number("load"),
            entry: section.number("entry"),
            device_tree: section.flag("device_tree"),
            kernel: section.text("kernel"),
            initrd: section.text("initrd"),
        })
    })
}
