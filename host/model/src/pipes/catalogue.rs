//! The pipes and functions of a description, in the solver's terms

use super::endpoints::{End, Served, endpoints, half_of, linux_end};
use super::flow::{local_name, parse};
use super::functions::{Decisions, Function, Pipes, USUAL_PERIOD_NS, What};
use super::message_type::{WORDS, message_type};
use super::network_card;
use super::pipe::Place;
use super::run_time_catalogue::Offered;
use crate::document::At;
use crate::draft::{Draft, EndpointDraft, Field, PartitionDraft, PipeFunctionDraft};
use crate::system::{Kind, PartitionId};
use crate::timing::{Order, Timing};
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_abi::repository::{PAUSE_NS, RECORDER_NS};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::Jobs;
use bulkhead_tpipe::binding::{BindError, Bound};
use bulkhead_tpipe::repository::{Load, Policy, Runs};

/// Pipes and functions in the solver's terms.
pub(crate) struct Catalogue<'d> {
    pub(super) draft: &'d Draft,
    pub(crate) pipes: Pipes,
    /// By function of `pipes`.
    pub(super) places: Vec<Place>,
    /// By device of `pipes`.
    pub(super) served: Vec<Served>,
}

/// A partition that offers functions.
struct Owner<'p> {
    id: PartitionId,
    name: &'p str,
    linux: bool,
    first_core: usize,
    /// Of functions that name none: the first; in Linux the last, so that its own work can keep to
    /// the first.
    usual_core: u64,
    ends: Vec<End<'p>>,
    draft: &'p PartitionDraft,
    /// Imports from other machines, each with its device.
    imports: Vec<(String, usize)>,
}

impl<'p> Owner<'p> {
    /// The endpoint that a field names; none where it names nothing, or what is no device's.
    fn end(&self, field: &Field<String>) -> Option<&End<'p>> {
        let local = self.local(field)?;
        self.ends.iter().find(|(path, ..)| *path == local)
    }

    /// The import that a field names.
    fn import(&self, field: &Field<String>) -> Option<usize> {
        let local = self.local(field)?;
        let mut imports = self.imports.iter();
        imports
            .find(|(path, _)| *path == local)
            .map(|(_, device)| *device)
    }

    /// The name in a field, without the partition before it.
    fn local(&self, field: &Field<String>) -> Option<String> {
        Some(local_name(self.name, &field.given()?.value).to_owned())
    }
}

impl<'d> Catalogue<'d> {
    /// Of a draft of which each VCPU, endpoint and function is sound, else nothing.
    pub(crate) fn of(draft: &'d Draft) -> Option<Self> {
        let mut catalogue = Self {
            draft,
            pipes: Pipes::default(),
            places: Vec::new(),
            served: Vec::new(),
        };
        let types = draft.messages.iter().map(|one| one.name.value.clone());
        catalogue.pipes.message_types = [WORDS.to_owned()].into_iter().chain(types).collect();
        for (index, partition) in draft.partitions.iter().enumerate() {
            catalogue.partition(PartitionId(index), partition)?;
        }
        catalogue.short_names();
        catalogue.count_sharers();
        Some(catalogue)
    }

    fn partition(&mut self, id: PartitionId, partition: &PartitionDraft) -> Option<()> {
        if partition.functions.is_empty() {
            return Some(());
        }
        let timing = self.draft.timing(partition)?;
        let linux = partition.kind.value()? == Kind::Linux;
        let policy = match timing.schedule.order {
            _ if linux => Policy::Deadline,
            Order::EarliestDeadline => Policy::Edf,
            _ => Policy::RateMonotonic,
        };
        let first_core = self.cores(partition, policy);
        self.loads(partition, &timing, first_core);
        for core in partition.stage_cores() {
            self.decisions(&timing, first_core, core, partition.polls());
        }
        let mut ends = Vec::new();
        for (path, endpoint) in endpoints(partition) {
            let device = self.endpoint(&path, endpoint, &timing, first_core)?;
            self.served.extend(device.map(|_| Served {
                partition: id,
                io: endpoint.vcpu.value().unwrap_or_default(),
                scatter: endpoint.scatter.value(),
            }));
            ends.push((path, endpoint, device));
        }
        let imports = partition.imports_read();
        let imports = imports.map(|(path, import)| {
            let device = self.import_device(&path, import);
            self.served.push(Served {
                partition: id,
                io: String::new(),
                scatter: None,
            });
            (path, device)
        });
        let imports = imports.collect();
        let owner = Owner {
            id,
            name: &partition.name.value,
            linux,
            first_core,
            usual_core: match linux {
                true => partition.core_count().saturating_sub(1) as u64,
                false => 0,
            },
            ends,
            draft: partition,
            imports,
        };
        let mut functions = partition.functions.iter();
        functions.try_for_each(|function| self.function(&owner, function))
    }

    /// Adds the cores of a partition; the number of the first.
    fn cores(&mut self, partition: &PartitionDraft, policy: Policy) -> usize {
        let first = self.pipes.cores.len();
        let name = &partition.name;
        for core in 0..partition.core_count().max(1) {
            let value = match partition.core_count() {
                0 | 1 => name.value.clone(),
                _ => format!("{}:{core}", name.value),
            };
            let span = name.span.clone();
            self.pipes.names[What::Core as usize].push(At { value, span });
            self.pipes.cores.push(policy);
            self.pipes.firsts.push(first);
            // Linux's stages are threads of one program; others are run by a component on each core.
            self.pipes.spaces.push(match policy {
                Policy::Deadline => first,
                _ => first + core,
            });
        }
        first
    }

    /// Adds the main VCPUs of a partition, but those that are counted with the devices they scatter
    /// for.
    fn loads(&mut self, partition: &PartitionDraft, timing: &Timing, first_core: usize) {
        let scatters = |name: &str| {
            let given =
                |end: &EndpointDraft| end.scatter.given().is_some_and(|at| at.value == name);
            endpoints(partition).any(|(_, end)| given(end))
        };
        let vcpus = timing.vcpus.iter().enumerate();
        for (index, vcpu) in vcpus.filter(|(_, vcpu)| !scatters(&vcpu.name)) {
            if let Some(server) = vcpu.budget() {
                let core = first_core + vcpu.core;
                let jobs = timing.jobs_in(index, server.period);
                let runs = Runs::Tasks { jobs };
                self.pipes.loads.push(Load { core, server, runs });
            }
        }
    }

    /// Counts the scheduling overhead of a core on which stages run, with the recorder on the first
    /// core of its partition and the runtime's thread that `polls`.
    fn decisions(&mut self, timing: &Timing, first: usize, number: usize, polls: bool) {
        let [capacity, period] = RECORDER_NS;
        let looks = Jobs::each(PAUSE_NS);
        let core = first + number;
        if let (0, Some(server)) = (number, Reservation::new(capacity, period)) {
            let jobs = looks.within(period);
            let runs = Runs::Tasks { jobs };
            self.pipes.loads.push(Load { core, server, runs });
        }
        let lookers = usize::from(number == 0) + usize::from(polls);
        let lookers = std::iter::repeat_n(looks, lookers);
        self.pipes.decisions.push(Decisions {
            core,
            overhead: timing.overhead,
            keeping: timing.keeping(),
            jobs: timing.jobs_on(number).chain(lookers).collect(),
            doorbells: timing.doorbells.clone(),
        });
    }

    fn function(&mut self, owner: &Owner<'_>, function: &PipeFunctionDraft) -> Option<()> {
        let [source, sink] = function.ends().map(|field| owner.end(field));
        let import = owner.import(&function.reads);
        let by_timer = source.is_none() && import.is_none() && !function.reads.is_absent();
        let core = function.core.or(owner.usual_core)? as usize;
        let ends = [&function.input_message, &function.output_message];
        let [input, output] = ends.map(|field| message_type(self.draft, field));
        let messages = [input?, output?];
        self.pipes.names[What::Function as usize].push(At {
            value: format!("{}.{}", owner.name, function.name.value),
            span: function.name.span.clone(),
        });
        self.pipes.functions.push(Function {
            core: owner.first_core + core,
            wcet: function.wcet.value()?,
            // The clock is an input that needs no connection.
            inputs: (function.inputs.or(1)? as u32).saturating_sub(u32::from(by_timer)),
            outputs: function.outputs.or(1)? as u32,
            messages,
            buffering: function.buffering.or(None)?,
            reads: source.and_then(|(.., device)| *device).or(import),
            writes: sink.and_then(|(.., device)| *device),
            period: function.period.or(USUAL_PERIOD_NS)?,
        });
        let both = || [source, sink].into_iter().flatten();
        let halves: Vec<_> = both().filter_map(|(_, end, _)| half_of(end)).collect();
        self.places.push(Place {
            partition: owner.id,
            core,
            function: function.name.value.clone(),
            io: halves.first().map(|half| half.io.clone()),
            source: owner.local(&function.reads),
            sink: owner.local(&function.writes),
            identifiers: [source, sink].map(|end| identifier(end?.1)),
            at_card: network_card::at_card(
                owner.draft,
                [source, sink].map(|end| end.map(|(path, end, _)| (path.as_str(), *end))),
            ),
            on_overrun: function.on_overrun.or(OnOverrun::default())?,
            message_bytes: messages.map(|one| one.bytes),
            fallback: function.fallback.value(),
            wcmt_ns: self
                .draft
                .measured
                .measured(owner.name, &function.name.value)
                .map(|measured| measured.wcmt_ns),
            halves,
            linux: owner.linux,
            is_run: owner.linux || owner.draft.runs_stages(core as u64),
            at_endpoint: [source.is_some() || import.is_some(), sink.is_some()],
            ends: [source, sink].map(|end| linux_end(end?)),
            scatter: [source, sink].map(|end| end?.1.scatter.value()),
            distance_ns: import
                .or_else(|| source.and_then(|(.., device)| *device))
                .and_then(|device| self.pipes.devices[device].distance),
        });
        Some(())
    }

    /// Adds unique function names without the partition before them.
    fn short_names(&mut self) {
        let count = self.places.len();
        for index in 0..count {
            let name = self.places[index].function.clone();
            let alike = self.places[..count].iter();
            if alike.filter(|place| place.function == name).count() > 1 {
                continue;
            }
            let names = &mut self.pipes.names[What::Function as usize];
            let span = names[index].span.clone();
            names.push(At { value: name, span });
            let function = self.pipes.functions[index].clone();
            self.pipes.functions.push(function);
            self.places.push(self.places[index].clone());
        }
    }

    /// The partition of the function of that name.
    pub(crate) fn partition_of(&self, name: &str) -> Option<usize> {
        Some(self.place(name)?.partition.0)
    }

    /// The place of the function of that name.
    pub(crate) fn place(&self, name: &str) -> Option<&Place> {
        let mut names = self.pipes.names[What::Function as usize].iter();
        self.places.get(names.position(|at| at.value == name)?)
    }

    /// The functions and endpoints for run-time pipes.
    pub(crate) fn offered(&self) -> Offered {
        Offered {
            pipes: self.pipes.clone(),
            places: self.places.clone(),
            served: self.served.clone(),
        }
    }

    /// The error in a flow, if it does not fit.
    pub(crate) fn misfit(&self, flow: &str) -> Option<BindError> {
        let pipeline = parse(flow).ok()?;
        self.pipes.with(|all| Bound::new(&pipeline, all).err())
    }
}

/// The CAN identifier or the port of an endpoint.
fn identifier(endpoint: &EndpointDraft) -> Option<u16> {
    let port = network_card::address(endpoint).map(|address| address.port());
    port.or_else(|| Some(endpoint.identifier.given()?.value as u16))
}
