//! Requests of the client partition: run, reject and end stages
//!
//! The client has solved the flow and claims what it takes here; the claim is not trusted. Every
//! word is validated before it is used (`bulkhead_stages::deploy_request`). Threads, memory, the core
//! (scheduling overhead included) and the guarantees of pipes that are wholly here are checked as
//! for a flow that is entered here, before anything changes. A client that restarts has lost all
//! its requests, so all of its stages end, and no buffer is used again before that.

mod commands;
mod rejection;
mod withdrawal;

use super::deployment::{Settings, tell, until};
use super::{PathGuarantees, Planner, announce_guarantees};
use crate::memory::{self, Lines};
use crate::remote_partition::{PeerChannel, PeerRole, RemoteEdge};
use crate::runtime::{CORE, say};
use crate::stage::{self, STAGES, is_vacant};
use crate::table::{self, Entry, PIPES};
use crate::vcpu_pool::{self, Budgets};
use crate::{client_pipes, device, endpoints, fanout, recorder};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_analysis::Reservation;
use bulkhead_component::clock::{self, ticks};
use bulkhead_flows::command::is_name;
use bulkhead_flows::pipe_admission::{self, Guarantee};
use bulkhead_slite::Mutex;
use bulkhead_stages::deploy_request::{DeployRequest, Unfit};
use bulkhead_stages::request::{
    self, CROSSINGS, LONGEST_WAIT_NS, MESSAGE_BYTES, Request, Responder, Verb,
};
use core::sync::atomic::Ordering::Relaxed;
use rejection::{Rejection, Text};

/// A thread without a stage comes to rest long before this; it may not have run at all since the
/// partition began. The client waits longer.
const REST_NS: u64 = 500_000_000;
/// Messages leave a pipe within this, in addition to its periods.
const END_NS: u64 = 1_000_000_000;

/// State of the client, and its resources here.
pub(super) struct Server {
    place: PeerChannel,
    answerer: Responder,
    /// Its last known epoch.
    epoch: u32,
    /// Buffers may contain messages of the client's former start, and static pipes that it removed
    /// have to run again.
    unclean: bool,
    /// The request that is answered once its stages have ended.
    due: Option<Due>,
    /// Owner of each buffer: a pipe, counted from 1; 0: free.
    owners: [u8; CROSSINGS],
    /// The pipe that other cores were commanded to release, until it is removed.
    leaves: Option<usize>,
}

/// Stages that are ending.
#[derive(Clone, Copy)]
struct Due {
    id: u64,
    /// Their pipes, by bit.
    pipes: u64,
    /// Tick at which the last end of a task entered them.
    ended: u64,
    /// Tick by which everything has left them.
    until: u64,
}

/// Guarantees of pipes that end here, until they can be recorded.
static PENDING: [Mutex<Option<PathGuarantees>>; PIPES] = [const { Mutex::new(None) }; PIPES];

/// A request in aligned memory.
#[repr(C, align(8))]
struct Message([u8; MESSAGE_BYTES]);

/// Resources reserved for the request; starting its stages cannot fail.
struct Plan {
    number: usize,
    /// Numbers of its stages.
    slots: [usize; STAGES],
    /// Guarantees of pipes that are wholly here.
    guarantees: [Option<Guarantee>; PIPES],
}

impl Server {
    pub(super) fn new(place: PeerChannel) -> Option<Self> {
        let epoch = place.link.read().epoch;
        client_pipes::set_epoch(epoch);
        Some(Self {
            place,
            answerer: Responder::attach(place.region)?,
            epoch,
            unclean: false,
            due: None,
            owners: [0; CROSSINGS],
            leaves: None,
        })
    }

    /// Clears all buffers: no stage here has one any more, and the client gets none before it is
    /// answered.
    fn clean(&self) {
        let buffers = (0..self.place.buffers).map(|one| request::buffer(self.place.region, one));
        buffers.flatten().for_each(|region| region.clear());
    }

    fn release(&mut self, pipe: usize) {
        let is_owner = |owner: &&mut u8| usize::from(**owner) == pipe + 1;
        self.owners
            .iter_mut()
            .filter(is_owner)
            .for_each(|owner| *owner = 0);
    }
}

/// Returns whether the end of a task that entered at tick `ended` has left the last stages here, on
/// all cores. Of a pipe that begins here, whether it has left all stages, because the client does
/// not see it if it has no later stage.
fn is_over(pipe: &Entry, ended: u64) -> bool {
    let is_read = |to: u32| pipe.stages().any(|(_, stage)| stage.from == to);
    let begins = withdrawal::begins_here(pipe);
    let mut awaited = pipe
        .within()
        .filter(|(_, stage)| begins || !is_read(stage.to));
    awaited.all(|(number, stage)| {
        let received = stage::shared(number).ended.load(Relaxed) >= ended;
        received && (ended == 0 || fanout::is_over(number, &stage))
    })
}

/// Ticks within which everything that entered these pipes has left them: two periods of each stage
/// for each message that may wait there.
fn patience(pipes: u64) -> u64 {
    let all = table::all().filter(|(number, _)| pipes >> number & 1 != 0);
    let periods = all.map(|(_, pipe)| {
        let each = pipe.within().map(|(_, stage)| {
            let messages = u64::from(stage.buffer).saturating_add(1);
            stage.period_ns.saturating_mul(2).saturating_mul(messages)
        });
        each.fold(0, u64::saturating_add)
    });
    ticks(
        periods
            .fold(END_NS, u64::saturating_add)
            .min(LONGEST_WAIT_NS),
    )
}

/// Lets each stage end on its own, and releases its pipe: messages in it are dropped.
fn give_up(number: usize, pipe: &Entry) {
    stage::stop(number, pipe);
    stage::dismiss(number, pipe);
    stage::retire(number, pipe);
}

/// Returns whether a pipe is wholly here and was not requested by the client.
fn is_own(number: usize, pipe: &Entry) -> bool {
    !client_pipes::is_requested(number) && !pipe.crosses()
}

/// Announces the guarantees of pipes that end here, each once no former pipe of its name can record
/// anything any more.
fn announce() {
    for (number, pipe) in table::all() {
        let former = |(_, other): (usize, Entry)| {
            other.generation < pipe.generation && other.pipe.name == pipe.pipe.name
        };
        let Some(place) = PENDING.get(number).filter(|_| !table::all().any(former)) else {
            continue;
        };
        if let Ok(Some(guarantees)) = place.with(&CORE.threads, Option::take) {
            tell(number, &guarantees);
        }
    }
}

impl Planner {
    /// Handles the client's requests, once. It does not wait for stages to end: the next call looks
    /// again. Not inlined, so that its stack frame does not add to that of the solver.
    #[inline(never)]
    pub(super) fn serve(&mut self) {
        self.notice_start();
        self.end_what_is_over();
        self.collect();
        announce();
        let ends = table::all().any(|(number, _)| {
            client_pipes::is_client_controlled(number) && stage::is_retired(number)
        });
        let Some(server) = self.server.as_mut().filter(|_| !ends) else {
            return;
        };
        if core::mem::take(&mut server.unclean) {
            server.clean();
            self.take_up_again();
        }
        let Some(server) = self.server.as_mut() else {
            return;
        };
        if let Some(due) = server.due {
            if table::all().any(|(number, _)| due.pipes >> number & 1 != 0) {
                return;
            }
            server.due = None;
            server.answerer.settle(due.id, None);
        }
        let mut message = Message([0; MESSAGE_BYTES]);
        let Some((request, length)) = server.answerer.take(&mut message.0) else {
            return;
        };
        let bytes = message.0.get(size_of::<Request>()..length);
        match Verb::of(request.verb) {
            Some(Verb::Run) => self.run_requested(request.id, bytes.unwrap_or_default()),
            Some(Verb::End) => {
                let pipes = self.requested(request.id);
                let pipes = pipes.fold(0, |bits, (number, _)| bits | 1 << number);
                self.have_end(request, pipes);
            }
            Some(Verb::Forget) => match self.withdrawable(bytes.unwrap_or_default()) {
                Ok(pipes) => self.have_end(request, pipes),
                Err(reason) => self.refuse(request, reason),
            },
            Some(verb @ (Verb::Start | Verb::Stop)) => {
                let body = bytes.unwrap_or_default();
                let reason = self.execute(&request, verb, body).err();
                if let Some(server) = &mut self.server {
                    server.answerer.settle(request.id, reason);
                }
            }
            None => self.refuse(request, "it asks for what is not known here"),
        }
    }

    fn refuse(&mut self, request: Request, reason: &str) {
        if let Some(server) = &mut self.server {
            server.answerer.settle(request.id, Some(reason));
        }
    }

    /// Handles a restart of the client, which has lost all its requests.
    fn notice_start(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        let epoch = server.place.link.read().epoch;
        if core::mem::replace(&mut server.epoch, epoch) == epoch {
            return;
        }
        server.unclean = true;
        client_pipes::set_epoch(epoch);
        self.keep_static();
        self.resume_held();
        let count = self.retire_requested(|_| true);
        if count > 0 {
            say!(
                "{} started anew: {count} stages of flows that were typed there end",
                self.client_name()
            );
        }
    }

    /// Lets stages of these pipes end; the client is answered once they have.
    fn have_end(&mut self, request: Request, pipes: u64) {
        let until = clock::now().saturating_add(patience(pipes));
        if let Some(server) = &mut self.server {
            server.due = Some(Due {
                id: request.id,
                pipes,
                ended: request.ended,
                until,
            });
        }
        self.end_what_is_over();
    }

    /// Ends stages through which no message comes any more, because the end of task that entered
    /// last has left them, or because they are late.
    fn end_what_is_over(&self) {
        let Some(due) = self.server.as_ref().and_then(|server| server.due) else {
            return;
        };
        let late = clock::now() > due.until;
        for (number, pipe) in table::all().filter(|(number, _)| due.pipes >> number & 1 != 0) {
            if !stage::is_retired(number) && (late || is_over(&pipe, due.ended)) {
                give_up(number, &pipe);
            }
        }
    }

    /// Ends stages of the requests for which `which` holds. Returns the number of stages.
    fn retire_requested(&self, which: impl Fn(u64) -> bool) -> usize {
        let mut count = 0;
        for (number, pipe) in table::all().filter(|(number, _)| client_pipes::is_requested(*number))
        {
            if self.ids.get(number).is_some_and(|id| which(*id)) {
                count += pipe.here().count();
                give_up(number, &pipe);
            }
        }
        count
    }

    /// Frees the resources of pipes after their stages have ended.
    fn collect(&mut self) {
        for (number, pipe) in table::all() {
            // The pipe was started on another console since.
            if !stage::is_stopped(number) {
                client_pipes::set_held(number, false);
            }
            let ended = client_pipes::is_client_controlled(number) && stage::is_retired(number);
            let rests = || pipe.within().all(|(stage, _)| is_vacant(stage));
            let over = ended && rests() && recorder::is_drained(&pipe);
            if over && self.is_forgotten_there(number, &pipe) {
                pipe.numbers().for_each(device::detach);
                memory::release(number);
                table::set(number, None);
                device::work_for_most_important(&self.timing);
                if self.is_due(number) && !client_pipes::is_requested(number) {
                    say!("pipe {} was removed in {}", pipe.name(), self.client_name());
                }
                client_pipes::set_requested(number, false);
                client_pipes::set_held(number, false);
                if let Some(server) = &mut self.server {
                    server.release(number);
                }
            }
        }
    }

    /// Name of the client.
    pub(super) fn client_name(&self) -> &str {
        client_pipes::client_name(self.catalogue.packed()).unwrap_or("?")
    }

    fn run_requested(&mut self, id: u64, bytes: &[u8]) {
        let buffers = self.server.as_ref().map_or(0, |one| one.place.buffers);
        let done = DeployRequest::read(bytes, buffers).map_err(Rejection::Unfit);
        let done = done.and_then(|request| {
            let plan = self.plan_requested(&request)?;
            self.start_requested(id, &request, &plan)?;
            let ends = request.tails().next().is_some();
            let guarantees = ends.then(|| PathGuarantees::new(request::path_guarantees(bytes)));
            if let Some(place) = PENDING.get(plan.number) {
                let _kept = place.with(&CORE.threads, |place| *place = guarantees);
            }
            Ok(())
        });
        announce();
        let client = client_pipes::client_name(self.catalogue.packed()).unwrap_or("?");
        let refused = done.err().map(|reason| self.text_of(&reason));
        match &refused {
            None => say!("stages run that were typed in {client}"),
            Some(text) => say!(
                "stages that were typed in {client} are refused: {}",
                text.text()
            ),
        }
        if let Some(server) = &mut self.server {
            server.answerer.settle(id, refused.as_ref().map(Text::text));
        }
    }

    /// Plans the stages of a request, if all of it fits.
    fn plan_requested(&self, request: &DeployRequest<'_>) -> Result<Plan, Rejection> {
        let name = name_text(&request.pipe.name);
        if !is_name(name) {
            return Err(Rejection::Name);
        }
        // A pipe of the client's is replaced by the client: it releases the old one next.
        let mut pipes = table::all().filter(|(number, pipe)| is_own(*number, pipe));
        if pipes.any(|(_, pipe)| pipe.name() == name) {
            return Err(Rejection::Named);
        }
        let number = (0..PIPES).find(|&number| table::get(number).is_none());
        let number = number.ok_or(Rejection::Pipes)?;
        for (_, stage) in request.here() {
            self.become_own(stage)?;
        }
        let owners = |buffer: usize| self.server.as_ref()?.owners.get(buffer).copied();
        if request
            .crossings()
            .any(|(buffer, _)| owners(buffer) != Some(0))
        {
            return Err(Rejection::Taken);
        }
        let slots = Self::slots(request)?;
        let sizes = || {
            let bytes = request.between().map(|shape| shape.header_bytes());
            bytes.map(|bytes| bytes.unwrap_or(usize::MAX >> 8).next_multiple_of(64))
        };
        memory::fits(Lines::now(), self.buffers, number, sizes)
            .map_err(|[needed, free]| Rejection::Buffers { needed, free })?;
        let guarantees = self.judge_own(request.here().map(|(_, stage)| stage))?;
        let mut budgets: Budgets = vcpu_pool::budgets(None);
        for (place, stage) in request.here() {
            let slot = slots.get(place).copied().unwrap_or(STAGES);
            vcpu_pool::add_budget(&mut budgets, slot, &self.become_own(stage)?);
        }
        vcpu_pool::admit(&self.timing, &budgets).map_err(Rejection::Core)?;
        Ok(Plan {
            number,
            slots,
            guarantees,
        })
    }

    /// Chooses a number with a thread for each stage here, and numbers without a thread for stages
    /// in other partitions.
    fn slots(request: &DeployRequest<'_>) -> Result<[usize; STAGES], Rejection> {
        let count = request.here().count();
        let free = vcpu_pool::free(None).count();
        let (mut here, mut elsewhere) = (
            vcpu_pool::free(None),
            vcpu_pool::without_thread().chain(vcpu_pool::free(None).skip(count)),
        );
        let mut slots = [0; STAGES];
        for (place, stage) in slots.iter_mut().zip(request.stages()) {
            let found = match stage.is_here() {
                true => here.next(),
                false => elsewhere.next(),
            };
            *place = found.ok_or(Rejection::Stages {
                needed: count,
                free,
            })?;
        }
        Ok(slots)
    }

    /// A stage with the parameters of this partition's own repository: those of the request are not
    /// trusted.
    fn become_own(&self, stage: &Stage) -> Result<Stage, Rejection> {
        let elsewhere = Stage {
            function: stage.function,
            core: NONE,
            vcpu: NONE,
            io: NONE,
            scatter: [NONE; 2],
            from: stage.from,
            to: stage.to,
            messages: stage.messages,
            buffer: stage.buffer,
            message_bytes: stage.message_bytes,
            ..Stage::default()
        };
        if !stage.is_here() {
            return Ok(elsewhere);
        }
        let name = stage.function;
        let packed = self.catalogue.packed();
        let is_here = endpoints::is_here(*packed);
        let mut functions = packed.functions.iter();
        let function = functions.find(|one| one.function == name && is_here(one));
        let function = function.filter(|_| self.common.has(name_text(&name)));
        let function = function.ok_or(Rejection::Function(name))?;
        if function.has_endpoint() {
            return Err(Rejection::Endpoint(name));
        }
        if function.message_bytes != stage.message_bytes {
            return Err(Rejection::Unfit(Unfit::Messages(name)));
        }
        let budget = function.wcet_ns.saturating_mul(stage.messages.into());
        if budget > stage.capacity_ns {
            return Err(Rejection::Unfit(Unfit::Numbers(name)));
        }
        Ok(Stage {
            core: stage.core,
            endpoint_kinds: function.endpoint_kinds,
            on_overrun: function.on_overrun,
            identifiers: function.identifiers,
            wcet_ns: function.wcet_ns,
            capacity_ns: stage.capacity_ns,
            period_ns: stage.period_ns,
            ..elsewhere
        })
    }

    /// Guarantees of pipes that are wholly here, beside all stages of the client and these; the
    /// client judges all other pipes.
    fn judge_own<'s>(
        &self,
        stages: impl Iterator<Item = &'s Stage>,
    ) -> Result<[Option<Guarantee>; PIPES], Rejection> {
        let mut client_budgets = [None; STAGES];
        let there = table::all().filter(|(number, _)| client_pipes::is_requested(*number));
        let mut places = client_budgets.iter_mut();
        for (_, pipe) in there {
            for ((_, stage), place) in pipe.here().zip(&mut places) {
                *place = load(&stage);
            }
        }
        for (stage, place) in stages.zip(places) {
            *place = load(stage);
        }
        let settings = Settings::all_except(None);
        let is_judged = |index: usize| {
            let number = settings.pipe(index);
            let is_judged_here =
                number.and_then(|number| Some(is_own(number, &table::get(number)?)));
            is_judged_here.unwrap_or(false)
        };
        let mut guarantees = [const { None }; PIPES];
        let judged = self.standing(&settings, None, |standing| {
            let client_budgets = client_budgets.iter().flatten().copied();
            pipe_admission::judge_beside(
                &self.catalogue,
                standing,
                is_judged,
                client_budgets,
                |index, guarantee| {
                    let number = settings.pipe(index).unwrap_or(PIPES);
                    if let Some(place) = guarantees.get_mut(number) {
                        *place = Some(*guarantee);
                    }
                },
            )
        });
        judged.map_err(Rejection::Refused)?;
        Ok(guarantees)
    }

    fn start_requested(
        &mut self,
        id: u64,
        request: &DeployRequest<'_>,
        plan: &Plan,
    ) -> Result<(), Rejection> {
        self.pipes += 1;
        let stages = request.stages().iter();
        let heads = stages.clone().enumerate();
        let heads = heads.filter(|(_, stage)| stage.from == 0);
        let heads = heads.map(|(place, _)| place);
        let entry = Entry::new(*request.pipe, plan.slots, heads, self.pipes);
        for (number, stage) in entry.numbers().zip(stages) {
            let stage_here = self.become_own(stage)?;
            stage::shared(number).become_stage(stage_here);
            if stage_here.is_here() && !until(REST_NS, || vcpu_pool::give(number, &stage_here)) {
                return Err(Rejection::Restless);
            }
        }
        client_pipes::set_requested(plan.number, true);
        table::set(plan.number, Some(entry));
        if let Some(place) = self.ids.get_mut(plan.number) {
            *place = id;
        }
        let remote_edges = self.take_buffers(request, plan.number);
        let remote_edges = remote_edges.into_iter().flatten();
        if stage::connected(&self.common, plan.number, &entry, remote_edges).is_err() {
            table::set(plan.number, None);
            client_pipes::set_requested(plan.number, false);
            memory::release(plan.number);
            if let Some(server) = &mut self.server {
                server.release(plan.number);
            }
            return Err(Rejection::Failed);
        }
        announce_guarantees(&plan.guarantees);
        // The client starts a pipe that has its first stages here.
        if !request.begins_here() {
            stage::begin(plan.number, &entry);
        }
        Ok(())
    }

    /// Assigns buffers of the channel to the pipe.
    fn take_buffers(
        &mut self,
        request: &DeployRequest<'_>,
        pipe: usize,
    ) -> [Option<RemoteEdge>; CROSSINGS] {
        let mut all = [None; CROSSINGS];
        let Some(server) = &mut self.server else {
            return all;
        };
        for ((buffer, [from, to]), place) in request.crossings().zip(&mut all) {
            if let Some(owner) = server.owners.get_mut(buffer) {
                *owner = pipe as u8 + 1;
            }
            *place = request::buffer(server.place.region, buffer).map(|region| RemoteEdge {
                from,
                to,
                region,
                link: server.place.link,
                role: PeerRole::Client,
            });
        }
        all
    }
}

/// C and T of a stage, and its jobs in T.
fn load(stage: &Stage) -> Option<(Reservation, u64)> {
    let server = Reservation::new(stage.capacity_ns, stage.period_ns)?;
    Some((server, stage.messages.into()))
}
