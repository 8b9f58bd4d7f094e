//! The constraint that fails, in the names of a flow

use super::{Percent, Shown};
use crate::ROOM;
use crate::catalogue::PipeCatalogue;
use bulkhead_analysis::utilisation::WHOLE;
use bulkhead_tpipe::assessment::{Owner, Violation};
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::repository::Repository;
use core::fmt;

/// A constraint of a flow.
pub(super) struct ShownViolation<'a> {
    pub(super) flow: &'a str,
    pub(super) catalogue: &'a PipeCatalogue<'a>,
    pub(super) violation: Violation,
}

/// The function of a stage of a flow.
pub(super) fn stage_of(flow: &str, at: usize) -> &str {
    let pipeline = Pipeline::<'_, ROOM>::parse(flow).ok();
    let stage = pipeline.and_then(|pipeline| Some(pipeline.stages().get(at)?.name));
    stage.unwrap_or("?")
}

impl fmt::Display for ShownViolation<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.catalogue.with([], |all| match self.violation {
            Violation::Core { .. } | Violation::Response { .. } => self.of_core(out, all),
            Violation::Device { device } => write!(
                out,
                "messages would come closer together at `{}` than it and its sharers allow",
                all.devices.get(device).map_or("?", |one| one.name)
            ),
            _ => self.of_stages(out),
        });
        written.unwrap_or(Ok(()))
    }
}

impl ShownViolation<'_> {
    fn of_core(&self, out: &mut fmt::Formatter<'_>, all: &Repository<'_>) -> fmt::Result {
        let name = |core: usize| all.cores.get(core).map_or("?", |core| core.name);
        match self.violation {
            Violation::Core { core, demand } => {
                let row = all.cores.get(core);
                let most = row.map_or(WHOLE, |core| core.policy.capacity());
                write!(
                    out,
                    "core `{}` would need {} of its time, scheduling overhead included, and gives {}",
                    name(core),
                    Percent(demand),
                    Percent(most)
                )
            }
            Violation::Response { core, owner } => {
                let who = match owner {
                    Owner::Load(_) => "what runs there besides",
                    Owner::Device(device) => all.devices.get(device).map_or("?", |one| one.name),
                    Owner::Stage(at) => stage_of(self.flow, at),
                };
                let core = name(core);
                write!(
                    out,
                    "`{who}` would not get its budget in time on core `{core}`"
                )
            }
            _ => Ok(()),
        }
    }

    fn of_stages(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = |at| stage_of(self.flow, at);
        match self.violation {
            Violation::Period { stage: at } => write!(
                out,
                "the budget of `{}` does not fit a period that its core allows",
                stage(at)
            ),
            Violation::Delay { periods, bound } => write!(
                out,
                "the longest path would take {}, its periods sum up to {}",
                Shown(bound),
                Shown(periods)
            ),
            Violation::Loss { stage: at, loss } => write!(
                out,
                "up to {} could be lost before `{}`",
                Percent(loss),
                stage(at)
            ),
            Violation::Throughput { stage: at } => write!(out, "`{}` would be too slow", stage(at)),
            Violation::Overrun { stage: at } => write!(
                out,
                "messages would come faster to `{}` than it takes them",
                stage(at)
            ),
            _ => out.write_str("more would have to be counted than there is room for: times are too long, or VCPUs and tasks too many"),
        }
    }
}
