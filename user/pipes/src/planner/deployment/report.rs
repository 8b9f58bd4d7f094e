//! Console text of deployments

use super::{Change, Planner, Settings, Stopped, nanoseconds};
use crate::planner::cores::explain_common;
use crate::runtime::say;
use crate::table::{self, PIPES};
use crate::vcpu_pool;
use bulkhead_abi::{name_field, name_text};
use bulkhead_analysis::admission::{self, Misfit};
use bulkhead_flows::diagnostic::{Diagnostic, Percent, Shown};
use bulkhead_flows::pipe_admission::Solved;

impl Planner {
    /// Prints the solution.
    pub(super) fn show(&self, change: &Change<'_>, solved: &Solved) {
        let name = change.entered.name;
        for stage in solved.stages() {
            say!(
                "pipe {name} stage {}: C {}, T {}, m {}, responds within {}, buffer {}",
                self.function(stage.function),
                Shown(stage.capacity),
                Shown(stage.period),
                stage.messages,
                Shown(stage.response),
                stage.buffer
            );
        }
        let end = |place: usize| {
            let stage = solved.stages().get(place);
            stage.map_or("?", |stage| self.function(stage.function))
        };
        for path in solved.guarantee.paths() {
            say!(
                "pipe {name} path {} -> {}: within {}, periods sum up to {}, {} lost at most",
                end(path.head),
                end(path.tail),
                Shown(path.bound),
                Shown(path.periods),
                Percent(solved.guarantee.loss)
            );
        }
    }

    fn function(&self, number: usize) -> &str {
        let function = self.catalogue.packed().functions.get(number);
        function.map_or("?", |function| name_text(&function.function))
    }

    /// Prints why the flow is rejected.
    pub(super) fn explain(&self, change: &Change<'_>, line: &[u8], stopped: Stopped) {
        let entered = &change.entered;
        let name = entered.name;
        let before = line.get(..entered.before).unwrap_or_default();
        let before = core::str::from_utf8(before).map_or(0, |text| text.chars().count());
        match stopped {
            Stopped::Refused(refused) => {
                let settings = Settings::all_except(change.old.map(|(number, _)| number));
                let numbers = settings.pipes;
                let names = numbers.map(|number| {
                    table::get(number).map_or(name_field("?"), |pipe| pipe.pipe.name)
                });
                let standing = |index: usize| {
                    let number = numbers.get(index).copied().unwrap_or(PIPES);
                    let name = names.get(index).map_or("?", name_text);
                    match index < settings.count {
                        true => [name, self.flow(number)],
                        false => [entered.name, entered.flow],
                    }
                };
                let rejection = Diagnostic {
                    flow: entered.flow,
                    before,
                    catalogue: &self.catalogue,
                    standing: &standing,
                    refused,
                };
                say!("pipe {name} is not started: {rejection}");
            }
            Stopped::Missing(missing) => self.explain_missing(name, &missing),
            Stopped::Stages(missing) => self.explain_stages(name, &missing),
            Stopped::Common(bytes) => explain_common(name, bytes),
            Stopped::Contents(bytes) => say!(
                "pipe {name} is not started: the long messages of a buffer take {bytes} bytes, more than are free in one piece: remove a pipe, \
                 or give the partition more `spare_buffers`"
            ),
            Stopped::Pipes => {
                say!("pipe {name} is not started: there are {PIPES} pipes, remove one")
            }
            Stopped::Program(stage) => say!(
                "pipe {name} is not started: stage {} has a function that the description knows and this program has not",
                stage + 1
            ),
            Stopped::Device(stage) => say!(
                "pipe {name} is not started: stage {} reads or writes a controller, and none answered when the partition began",
                stage + 1
            ),
            Stopped::Core(
                core,
                bulkhead_slite::Refused::Admission(admission::Refused::Misfit(misfit)),
            ) => self.explain_misfit(change, core, misfit),
            Stopped::Core(..) => say!(
                "pipe {name} is not started: there is no room to count its VCPUs and decisions"
            ),
        }
        self.goes_on(change);
    }

    /// Prints which budget a core would miss.
    fn explain_misfit(&self, change: &Change<'_>, core: u32, misfit: Misfit) {
        let old = change.old.map(|(number, _)| number);
        let lacks = match vcpu_pool::admit_on(&self.timing, &vcpu_pool::budgets(old), core) {
            Ok(()) => "",
            Err(_) => "; a VCPU there lacks budget even without this pipe",
        };
        say!(
            "pipe {} is not started: {} would lack {} of its budget on {}, scheduling overhead included{lacks}: remove a pipe, or ask for a longer delay",
            change.entered.name,
            self.vcpu(misfit.vcpu),
            Shown(nanoseconds(misfit.lacks)),
            self.core(core),
        );
    }

    pub(super) fn goes_on(&self, change: &Change<'_>) {
        if change.old.is_some() {
            say!("pipe {} goes on as it was", change.entered.name);
        }
    }
}
