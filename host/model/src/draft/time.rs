//! VCPUs and tasks as written

use super::{Field, PartitionDraft, Section};
use crate::document::At;
use crate::timing::{Task, Timing, Vcpu, VcpuKind};

/// Kinds of VCPUs, in the order of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindDraft {
    Main,
    Io,
}

/// A VCPU.
#[derive(Clone, Debug)]
pub(crate) struct VcpuDraft {
    pub(crate) name: At<String>,
    pub(crate) kind: Field<KindDraft>,
    pub(crate) capacity: Field<u64>,
    pub(crate) period: Field<u64>,
    pub(crate) utilisation: Field<u64>,
    pub(crate) core: Field<u64>,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct TaskDraft {
    pub(crate) name: At<String>,
    pub(crate) vcpu: Field<String>,
    pub(crate) cause: Field<String>,
    pub(crate) wcet: Field<u64>,
    pub(crate) period: Field<u64>,
    pub(crate) deadline: Field<u64>,
}

impl VcpuDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            kind: section.choice("kind", &[KindDraft::Main, KindDraft::Io]),
            capacity: section.number("C"),
            period: section.number("T"),
            utilisation: section.number("utilisation"),
            core: section.number("core"),
            name: section.name,
        }
    }

    /// Its kind; nothing where that is broken.
    pub(crate) fn is(&self, kind: KindDraft) -> bool {
        self.kind.or(KindDraft::Main) == Some(kind)
    }

    fn resolve(&self) -> Option<Vcpu> {
        let kind = match self.kind.or(KindDraft::Main)? {
            KindDraft::Main => VcpuKind::Main {
                capacity_ns: self.capacity.value()?,
                period_ns: self.period.value()?,
            },
            KindDraft::Io => VcpuKind::Io {
                percent: u32::try_from(self.utilisation.value()?).ok()?,
            },
        };
        Some(Vcpu {
            name: self.name.value.clone(),
            span: self.name.span.clone(),
            kind,
            core: self.core.or(0)? as usize,
        })
    }
}

impl TaskDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            vcpu: section.text("vcpu"),
            cause: section.text("for"),
            wcet: section.number("wcet"),
            period: section.number("period"),
            deadline: section.number("deadline"),
            name: section.name,
        }
    }

    fn resolve(&self, vcpus: &[VcpuDraft]) -> Option<Task> {
        let named = |name: &str| vcpus.iter().position(|vcpu| vcpu.name.value == name);
        let vcpu = named(&self.vcpu.value()?)?;
        let period_ns = self.period.value()?;
        Some(Task {
            name: self.name.value.clone(),
            span: self.name.span.clone(),
            vcpu,
            cause: match self.cause.given() {
                Some(name) => named(&name.value)?,
                None => vcpu,
            },
            wcet_ns: self.wcet.value()?,
            period_ns,
            deadline_ns: self.deadline.or(period_ns)?,
        })
    }
}

impl PartitionDraft {
    /// The VCPU of that name.
    pub(crate) fn vcpu(&self, name: &str) -> Option<&VcpuDraft> {
        self.vcpus.iter().find(|vcpu| vcpu.name.value == name)
    }

    /// Its VCPUs and tasks, where all of them could be read.
    pub(crate) fn timing(&self) -> Option<Timing> {
        let vcpus: Option<_> = self.vcpus.iter().map(VcpuDraft::resolve).collect();
        let tasks = self.tasks.iter().map(|task| task.resolve(&self.vcpus));
        Some(Timing {
            vcpus: vcpus?,
            tasks: tasks.collect::<Option<_>>()?,
        })
    }
}
