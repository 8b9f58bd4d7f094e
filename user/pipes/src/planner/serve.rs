//! Stages that another partition asks for: taken, refused, ended
//!
//! Who asks has solved them and counts what they take here; that it is right about that is not believed. Every word is looked at
//! before it is used (`bulkhead_stages::wanted`); threads, memory, the core with every decision counted, and what is promised of pipes that are wholly here,
//! are looked at as for a flow that is typed, before anything is touched. Who asked and starts anew has forgotten all of it, so all of
//! it ends, and no buffer is used again before that.

mod forget;
mod moves;
mod why;

use super::change::{Settings, tell, until};
use super::{Planner, Told, promise};
use crate::memory::{self, Lines};
use crate::seats::{self, Budgets};
use crate::stage::{self, STAGES, is_vacant};
use crate::table::{self, Entry, PIPES};
use crate::through::{Across, Place, Whom};
use crate::{CORE, device, ends, say, serving, share, watch};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_analysis::Reservation;
use bulkhead_component::clock::{self, ticks};
use bulkhead_flows::command::is_name;
use bulkhead_flows::propose::{self, Promise};
use bulkhead_slite::Mutex;
use bulkhead_stages::request::{
    self, Answerer, CROSSINGS, LONGEST_WAIT_NS, MESSAGE_BYTES, Request, Verb,
};
use bulkhead_stages::wanted::{Unfit, Wanted};
use core::sync::atomic::Ordering::Relaxed;
use why::{Text, Why};

/// A thread that has no stage rests long before this: it may not have run at all since the partition began. Who asks waits for longer.
const REST_NS: u64 = 500_000_000;
/// What went into a pipe comes out of it within this, beside its periods.
const END_NS: u64 = 1_000_000_000;

/// Who asks, and what it has here.
pub(super) struct Server {
    place: Place,
    answerer: Answerer,
    /// Its start that is known.
    epoch: u32,
    /// What a former start left may lie in the buffers, and what it had forgotten is described.
    unclean: bool,
    /// What is to be answered once its stages have ended.
    due: Option<Due>,
    /// The pipe of each buffer, counted from 1; 0: nobody's.
    owners: [u8; CROSSINGS],
    /// The pipe that other cores were told to forget, until it is not there any more.
    leaves: Option<usize>,
}

/// Stages that are to end.
#[derive(Clone, Copy)]
struct Due {
    id: u64,
    /// Those of these pipes, by bit.
    pipes: u64,
    /// The tick at which the last end of a task went into them.
    ended: u64,
    /// By then all of it has come out.
    until: u64,
}

/// What is promised of pipes that end here, until it can be said.
static PENDING: [Mutex<Option<Told>>; PIPES] = [const { Mutex::new(None) }; PIPES];

/// A request, where it is aligned.
#[repr(C, align(8))]
struct Message([u8; MESSAGE_BYTES]);

/// What is certain to fit.
struct Plan {
    number: usize,
    /// Numbers of its stages.
    seats: [usize; STAGES],
    /// Of pipes that are wholly here.
    promises: [Option<Promise>; PIPES],
}

impl Server {
    pub(super) fn new(place: Place) -> Option<Self> {
        let epoch = place.link.read().epoch;
        serving::set_epoch(epoch);
        Some(Self {
            place,
            answerer: Answerer::attach(place.region)?,
            epoch,
            unclean: false,
            due: None,
            owners: [0; CROSSINGS],
            leaves: None,
        })
    }

    /// Nobody here has a buffer any more, and the other one has none before it is answered.
    fn clean(&self) {
        let buffers = (0..self.place.buffers).map(|one| request::buffer(self.place.region, one));
        buffers.flatten().for_each(|region| region.clear());
    }

    fn release(&mut self, pipe: usize) {
        let own = |owner: &&mut u8| usize::from(**owner) == pipe + 1;
        self.owners
            .iter_mut()
            .filter(own)
            .for_each(|owner| *owner = 0);
    }
}

/// Whether the end of a task that went in at that tick came to the last stages here, on whichever core, and out of them. Of a pipe that begins here, out of all stages: who asks
/// does not see it where it has none behind them.
fn is_over(pipe: &Entry, ended: u64) -> bool {
    let is_read = |to: u32| pipe.stages().any(|(_, stage)| stage.from == to);
    let begins = forget::begins_here(pipe);
    let mut awaited = pipe
        .within()
        .filter(|(_, stage)| begins || !is_read(stage.to));
    awaited.all(|(number, stage)| {
        let came = stage::shared(number).ended.load(Relaxed) >= ended;
        came && (ended == 0 || share::is_over(number, &stage))
    })
}

/// Ticks within which all that went into pipes has come out of them: two of each stage's periods for each message that may wait there.
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

/// Has stages end each by itself, and forget their pipe: nobody has a use for what is under way in it.
fn give_up(number: usize, pipe: &Entry) {
    stage::stop(number, pipe);
    stage::dismiss(number, pipe);
    stage::retire(number, pipe);
}

/// Whether a pipe is wholly here, and nobody else's.
fn is_own(number: usize, pipe: &Entry) -> bool {
    !serving::is_asked(number) && !pipe.crosses()
}

/// Has the recorder say what is promised of pipes that end here, each once no former one of its name can say anything any more.
fn announce() {
    for (number, pipe) in table::all() {
        let former = |(_, other): (usize, Entry)| {
            other.generation < pipe.generation && other.pipe.name == pipe.pipe.name
        };
        let Some(place) = PENDING.get(number).filter(|_| !table::all().any(former)) else {
            continue;
        };
        if let Ok(Some(told)) = place.with(&CORE.threads, Option::take) {
            tell(number, &told);
        }
    }
}

impl Planner {
    /// Looks after what the other partition asks for, once. Does not wait for stages to end: that is looked after again. Not inlined: the
    /// stack that it takes is not there beside what solving takes.
    #[inline(never)]
    pub(super) fn serve(&mut self) {
        self.notice_start();
        self.end_what_is_over();
        self.collect();
        announce();
        let ends =
            table::all().any(|(number, _)| serving::is_others(number) && stage::is_retired(number));
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
            Some(Verb::Run) => self.run_asked(request.id, bytes.unwrap_or_default()),
            Some(Verb::End) => {
                let pipes = self.asked(request.id);
                let pipes = pipes.fold(0, |bits, (number, _)| bits | 1 << number);
                self.have_end(request, pipes);
            }
            Some(Verb::Forget) => match self.forgettable(bytes.unwrap_or_default()) {
                Ok(pipes) => self.have_end(request, pipes),
                Err(why) => self.refuse(request, why),
            },
            Some(verb @ (Verb::Start | Verb::Stop)) => {
                let body = bytes.unwrap_or_default();
                let why = self.move_asked(&request, verb, body).err();
                if let Some(server) = &mut self.server {
                    server.answerer.settle(request.id, why);
                }
            }
            None => self.refuse(request, "it asks for what is not known here"),
        }
    }

    fn refuse(&mut self, request: Request, why: &str) {
        if let Some(server) = &mut self.server {
            server.answerer.settle(request.id, Some(why));
        }
    }

    /// Who asked and starts anew knows of nothing that it asked for.
    fn notice_start(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        let epoch = server.place.link.read().epoch;
        if core::mem::replace(&mut server.epoch, epoch) == epoch {
            return;
        }
        server.unclean = true;
        serving::set_epoch(epoch);
        self.keep_described();
        self.go_on_held();
        let count = self.retire_asked(|_| true);
        if count > 0 {
            say!(
                "{} started anew: {count} stages of flows that were typed there end",
                self.who()
            );
        }
    }

    /// Stages of these pipes are to end, and who asked is answered once they have.
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

    /// Has those stages end that are to, and through which nothing comes any more: the end came out that went in last.
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

    /// Has stages that were asked for by these numbers end; how many.
    fn retire_asked(&self, which: impl Fn(u64) -> bool) -> usize {
        let mut count = 0;
        for (number, pipe) in table::all().filter(|(number, _)| serving::is_asked(*number)) {
            if self.ids.get(number).is_some_and(|id| which(*id)) {
                count += pipe.here().count();
                give_up(number, &pipe);
            }
        }
        count
    }

    /// Takes back what those had whose stages have ended.
    fn collect(&mut self) {
        for (number, pipe) in table::all() {
            // Whoever started it since.
            if !stage::is_stopped(number) {
                serving::set_held(number, false);
            }
            let ended = serving::is_others(number) && stage::is_retired(number);
            let rests = || pipe.within().all(|(stage, _)| is_vacant(stage));
            let over = ended && rests() && watch::is_drained(&pipe);
            if over && self.is_forgotten_there(number, &pipe) {
                pipe.numbers().for_each(device::detach);
                memory::release(number);
                table::set(number, None);
                device::work_for_most_important(&self.timing);
                if self.is_due(number) && !serving::is_asked(number) {
                    say!("pipe {} was removed in {}", pipe.name(), self.who());
                }
                serving::set_asked(number, false);
                serving::set_held(number, false);
                if let Some(server) = &mut self.server {
                    server.release(number);
                }
            }
        }
    }

    /// Who asks.
    pub(super) fn who(&self) -> &str {
        serving::who(self.known.packed()).unwrap_or("?")
    }

    fn run_asked(&mut self, id: u64, bytes: &[u8]) {
        let buffers = self.server.as_ref().map_or(0, |one| one.place.buffers);
        let done = Wanted::read(bytes, buffers).map_err(Why::Unfit);
        let done = done.and_then(|wanted| {
            let plan = self.plan_asked(&wanted)?;
            self.start_asked(id, &wanted, &plan)?;
            let ends = wanted.tails().next().is_some();
            let told = ends.then(|| Told::new(request::promised(bytes)));
            if let Some(place) = PENDING.get(plan.number) {
                let _kept = place.with(&CORE.threads, |place| *place = told);
            }
            Ok(())
        });
        announce();
        let who = serving::who(self.known.packed()).unwrap_or("?");
        let refused = done.err().map(|why| self.text_of(&why));
        match &refused {
            None => say!("stages run that were typed in {who}"),
            Some(text) => say!(
                "stages that were typed in {who} are refused: {}",
                text.text()
            ),
        }
        if let Some(server) = &mut self.server {
            server.answerer.settle(id, refused.as_ref().map(Text::text));
        }
    }

    /// What it takes, if all of it fits.
    fn plan_asked(&self, wanted: &Wanted<'_>) -> Result<Plan, Why> {
        let name = name_text(&wanted.pipe.name);
        if !is_name(name) {
            return Err(Why::Name);
        }
        // One that crosses to who asks is that one's to replace: it is forgotten next.
        let mut own = table::all().filter(|(number, pipe)| is_own(*number, pipe));
        if own.any(|(_, pipe)| pipe.name() == name) {
            return Err(Why::Named);
        }
        let number = (0..PIPES).find(|&number| table::get(number).is_none());
        let number = number.ok_or(Why::Pipes)?;
        for (_, stage) in wanted.here() {
            self.become_own(stage)?;
        }
        let owners = |buffer: usize| self.server.as_ref()?.owners.get(buffer).copied();
        if wanted.across().any(|(buffer, _)| owners(buffer) != Some(0)) {
            return Err(Why::Taken);
        }
        let seats = Self::seats(wanted)?;
        let sizes = || {
            let bytes = wanted.between().map(|kind| kind.bytes());
            bytes.map(|bytes| bytes.unwrap_or(usize::MAX >> 8).next_multiple_of(64))
        };
        memory::fits(Lines::now(), self.buffers, number, sizes)
            .map_err(|[wanted, free]| Why::Buffers { wanted, free })?;
        let promises = self.judge_own(wanted.here().map(|(_, stage)| stage))?;
        let mut budgets: Budgets = seats::budgets(None);
        for (place, stage) in wanted.here() {
            let seat = seats.get(place).copied().unwrap_or(STAGES);
            seats::seat(&mut budgets, seat, &self.become_own(stage)?);
        }
        seats::admit(&self.timing, &budgets).map_err(Why::Core)?;
        Ok(Plan {
            number,
            seats,
            promises,
        })
    }

    /// A thread for each stage here; to those that are elsewhere, first, numbers that have none.
    fn seats(wanted: &Wanted<'_>) -> Result<[usize; STAGES], Why> {
        let count = wanted.here().count();
        let free = seats::free(None).count();
        let (mut here, mut elsewhere) = (
            seats::free(None),
            seats::without_thread().chain(seats::free(None).skip(count)),
        );
        let mut seats = [0; STAGES];
        for (place, stage) in seats.iter_mut().zip(wanted.stages()) {
            let found = match stage.is_here() {
                true => here.next(),
                false => elsewhere.next(),
            };
            *place = found.ok_or(Why::Stages {
                wanted: count,
                free,
            })?;
        }
        Ok(seats)
    }

    /// A stage as who runs it knows it: what the function needs is known here, and not believed.
    fn become_own(&self, stage: &Stage) -> Result<Stage, Why> {
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
            ..Stage::default()
        };
        if !stage.is_here() {
            return Ok(elsewhere);
        }
        let name = stage.function;
        let packed = self.known.packed();
        let own = ends::own(*packed);
        let mut functions = packed.functions.iter();
        let function = functions.find(|one| one.function == name && own(one));
        let function = function.filter(|_| self.common.has(name_text(&name)));
        let function = function.ok_or(Why::Function(name))?;
        if function.endpoint != 0 {
            return Err(Why::Endpoint(name));
        }
        let budget = function.wcet_ns.saturating_mul(stage.messages.into());
        if budget > stage.capacity_ns {
            return Err(Why::Unfit(Unfit::Numbers(name)));
        }
        Ok(Stage {
            core: stage.core,
            sink: function.sink,
            on_overrun: function.on_overrun,
            identifiers: function.identifiers,
            wcet_ns: function.wcet_ns,
            capacity_ns: stage.capacity_ns,
            period_ns: stage.period_ns,
            ..elsewhere
        })
    }

    /// What is promised of pipes that are wholly here, beside all that was asked for and these: who asks judges all others.
    fn judge_own<'s>(
        &self,
        wanted: impl Iterator<Item = &'s Stage>,
    ) -> Result<[Option<Promise>; PIPES], Why> {
        let mut asked = [None; STAGES];
        let there = table::all().filter(|(number, _)| serving::is_asked(*number));
        let mut places = asked.iter_mut();
        for (_, pipe) in there {
            for ((_, stage), place) in pipe.here().zip(&mut places) {
                *place = load(&stage);
            }
        }
        for (stage, place) in wanted.zip(places) {
            *place = load(stage);
        }
        let settings = Settings::but(None);
        let is_judged = |index: usize| {
            let number = settings.pipe(index);
            let own = number.and_then(|number| Some(is_own(number, &table::get(number)?)));
            own.unwrap_or(false)
        };
        let mut promises = [const { None }; PIPES];
        let judged = self.standing(&settings, None, |standing| {
            let asked = asked.iter().flatten().copied();
            propose::judge_beside(&self.known, standing, is_judged, asked, |index, promise| {
                let number = settings.pipe(index).unwrap_or(PIPES);
                if let Some(place) = promises.get_mut(number) {
                    *place = Some(*promise);
                }
            })
        });
        judged.map_err(Why::Refused)?;
        Ok(promises)
    }

    fn start_asked(&mut self, id: u64, wanted: &Wanted<'_>, plan: &Plan) -> Result<(), Why> {
        self.pipes += 1;
        let stages = wanted.stages().iter();
        let heads = stages.clone().enumerate();
        let heads = heads.filter(|(_, stage)| stage.from == 0);
        let heads = heads.map(|(place, _)| place);
        let entry = Entry::new(*wanted.pipe, plan.seats, heads, self.pipes);
        for (number, stage) in entry.numbers().zip(stages) {
            let own = self.become_own(stage)?;
            stage::shared(number).become_stage(own);
            if own.is_here() && !until(REST_NS, || seats::give(number, &own)) {
                return Err(Why::Restless);
            }
        }
        serving::set_asked(plan.number, true);
        table::set(plan.number, Some(entry));
        if let Some(place) = self.ids.get_mut(plan.number) {
            *place = id;
        }
        let across = self.take_buffers(wanted, plan.number);
        let across = across.into_iter().flatten();
        if stage::connected(&self.common, plan.number, &entry, across).is_err() {
            table::set(plan.number, None);
            serving::set_asked(plan.number, false);
            memory::release(plan.number);
            if let Some(server) = &mut self.server {
                server.release(plan.number);
            }
            return Err(Why::Failed);
        }
        promise(&plan.promises);
        // Who asked says when it begins what has its first stages here.
        if !wanted.begins_here() {
            stage::begin(plan.number, &entry);
        }
        Ok(())
    }

    /// The buffers of the channel become the pipe's.
    fn take_buffers(&mut self, wanted: &Wanted<'_>, pipe: usize) -> [Option<Across>; CROSSINGS] {
        let mut all = [None; CROSSINGS];
        let Some(server) = &mut self.server else {
            return all;
        };
        for ((buffer, [from, to]), place) in wanted.across().zip(&mut all) {
            if let Some(owner) = server.owners.get_mut(buffer) {
                *owner = pipe as u8 + 1;
            }
            *place = request::buffer(server.place.region, buffer).map(|region| Across {
                from,
                to,
                region,
                link: server.place.link,
                whom: Whom::Asks,
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
