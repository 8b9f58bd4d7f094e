//! A component of a partition as written

use crate::document::At;
use crate::draft::field::Field;
use crate::draft::pipe::EndpointDraft;
use crate::draft::section::Section;
use crate::kinds::Criticality;
use crate::registry::choices;
use crate::source::Span;
use bulkhead_abi::component::{OnFault, Part, Role};

/// A component.
#[derive(Clone, Debug)]
pub(crate) struct ComponentDraft {
    pub(crate) name: At<String>,
    pub(crate) role: Field<Role>,
    pub(crate) built: Field<String>,
    pub(crate) file: Field<String>,
    pub(crate) folder: Field<String>,
    pub(crate) sources: Field<Vec<At<String>>>,
    pub(crate) include: Field<Vec<At<String>>>,
    pub(crate) define: Field<Vec<At<String>>>,
    pub(crate) provides: Field<Vec<At<String>>>,
    pub(crate) needs: Field<Vec<At<String>>>,
    pub(crate) trusts: Field<Vec<At<String>>>,
    pub(crate) channels: Field<Vec<At<String>>>,
    pub(crate) doorbells: Field<Vec<At<String>>>,
    pub(crate) core: Field<u64>,
    pub(crate) every_core: Field<bool>,
    /// Numbers of parts.
    pub(crate) owns: Field<Vec<At<String>>>,
    pub(crate) memory: Field<u64>,
    pub(crate) stack: Field<u64>,
    pub(crate) priority: Field<u64>,
    pub(crate) tasks: Field<Vec<At<String>>>,
    pub(crate) budget: Field<u64>,
    pub(crate) period: Field<u64>,
    pub(crate) criticality: Field<Criticality>,
    pub(crate) on_fault: Field<OnFault>,
    pub(crate) restart_limit: Field<u64>,
    pub(crate) restart_per: Field<u64>,
    pub(crate) endpoints: Vec<EndpointDraft>,
}

/// Memory that components share.
#[derive(Clone, Debug)]
pub(crate) struct SharedDraft {
    pub(crate) name: At<String>,
    pub(crate) size: Field<u64>,
    pub(crate) components: Field<Vec<At<String>>>,
}

impl SharedDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        Self {
            size: section.number("size"),
            components: section.texts("components"),
            name: section.name,
        }
    }
}

/// Names of the parts of a partition that one component can own, in the order of [`Part`].
pub(crate) const PART_NAMES: [&str; Part::ALL.len()] = [
    "console",
    "trace",
    "heartbeat",
    "monitor",
    "interrupts",
    "admission",
];

/// Bytes of a stack where the description is silent.
pub(crate) const STACK_DEFAULT: u64 = 16 << 10;

impl ComponentDraft {
    pub(super) fn read(section: Section<'_>) -> Self {
        let [image, restart] = ["image", "restart"].map(|key| section.section(key));
        Self {
            role: section.choice("role", choices::ROLES.values),
            built: image.text("crate"),
            file: image.text("file"),
            folder: image.text("folder"),
            sources: image.texts("sources"),
            include: image.texts("include"),
            define: image.texts("define"),
            provides: section.texts("provides"),
            needs: section.texts("needs"),
            trusts: section.texts("trusts"),
            channels: section.texts("channels"),
            doorbells: section.texts("doorbells"),
            core: section.number("core"),
            every_core: section.flag("every_core"),
            owns: section.texts("owns"),
            memory: section.number("memory"),
            stack: section.number("stack"),
            priority: section.number("priority"),
            tasks: section.texts("tasks"),
            budget: section.number("budget"),
            period: section.number("period"),
            criticality: section.choice("criticality", choices::CRITICALITIES.values),
            on_fault: section.choice("on_fault", choices::ON_FAULT.values),
            restart_limit: restart.number("limit"),
            restart_per: restart.number("per"),
            endpoints: section.all("endpoint").map(EndpointDraft::read).collect(),
            name: section.name,
        }
    }

    /// Place of a field, or of the component's name.
    pub(crate) fn place<T>(&self, field: &Field<T>) -> Span {
        field.span().unwrap_or(&self.name.span).clone()
    }

    /// Its role; `None` if the field is broken.
    pub(crate) fn role(&self) -> Option<Role> {
        self.role.or(Role::Application)
    }

    /// Returns whether it is for that.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.role() == Some(role)
    }

    /// Returns whether it has a thread; yes where what gives it one is broken.
    pub(crate) fn has_thread(&self) -> bool {
        !self.priority.is_absent() || !self.tasks.is_absent()
    }

    /// Names of its tasks.
    pub(crate) fn task_names(&self) -> impl Iterator<Item = &String> {
        let tasks = self.tasks.given().into_iter();
        tasks.flat_map(|tasks| tasks.value.iter().map(|task| &task.value))
    }

    /// Number of its threads.
    pub(crate) fn thread_count(&self) -> usize {
        usize::from(!self.priority.is_absent()) + self.task_names().count()
    }

    /// Rank of its core in the partition; nothing where that is broken.
    pub(crate) fn core(&self) -> Option<u64> {
        self.core.or(0)
    }

    /// Returns whether it is the same program as another one.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let program = |one: &Self| [&one.built, &one.file, &one.folder].map(Field::value);
        let lists = |one: &Self| {
            [&one.sources, &one.include, &one.define].map(|list| {
                items(list)
                    .map(|item| item.value.clone())
                    .collect::<Vec<_>>()
            })
        };
        program(self) == program(other) && lists(self) == lists(other)
    }

    /// Returns whether threads of all cores may be in it.
    pub(crate) fn everywhere(&self) -> bool {
        self.every_core.value() == Some(true)
    }

    /// Returns whether threads of a core can invoke it; yes where the core is broken.
    pub(crate) fn serves(&self, core: Option<u64>) -> bool {
        self.everywhere() || core.is_none() || self.core().is_none() || self.core() == core
    }

    /// The parts it owns, as far as they are known, and where that is written.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &Span)> {
        items(&self.owns).filter_map(|item| Some((part(&item.value)?, &item.span)))
    }
}

/// The part of that name.
pub(crate) fn part(name: &str) -> Option<Part> {
    let named = PART_NAMES.iter().position(|part| *part == name)?;
    Part::ALL.get(named).copied()
}

/// The items of a list that may be missing.
pub(crate) fn items<T>(list: &Field<Vec<At<T>>>) -> impl Iterator<Item = &At<T>> {
    list.given().into_iter().flat_map(|list| &list.value)
}
