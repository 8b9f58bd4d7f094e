//! One run, from power-on to report

mod ended;
mod files;
mod progress;
mod starvation;

pub use ended::Ended;
pub use files::Files;

use bulkhead_plan::manifest::Manifest;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::figures::Kind;
use crate::machine::host_timed;
use crate::machine::{
    Command, ComponentCode, DEFAULT_SHIFT, Machine, RunFolder, Session, Timing, check_program,
    emulator,
};
use crate::ram::Ram;
use crate::report::{
    COMPONENT, FaultLog, Live, Recording, Report, Verdict, executing, fault_report,
    fill_from_buffer, judge, partition_reports, refused_reports,
};
use crate::watch::{Clock, Sight, Watch, ns_to_ticks};
use progress::Progress;
use starvation::Starvation;

/// How often the machine's memory is looked at.
const POLL: Duration = Duration::from_millis(10);
/// The machine runs on for so long after its length, so that lines and events with earlier stamps have surely
/// been written: a restart of Linux is the longest delay, because its stamps count from its start.
const MARGIN_NS: u64 = 500_000_000;
/// Memory the machine touches beside its partitions' and the image's, bytes.
const OVERHEAD: u64 = 64 << 20;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How time passes.
    pub timing: Timing,
    /// Length, nanoseconds of the machine's clock; `None` = until interrupted.
    pub for_ns: Option<u64>,
    /// File in which each exception is logged.
    pub interrupt_log: Option<PathBuf>,
    /// The machine is given up when its clock has stood still for so long on the host's.
    pub patience: Duration,
}

impl RunOptions {
    /// Options of the description.
    #[must_use]
    pub fn of_manifest(manifest: &Manifest) -> Self {
        Self {
            timing: match manifest.machine.cores {
                _ if !manifest.virtual_clock => Timing::Real,
                1 => Timing::path(DEFAULT_SHIFT),
                _ => Timing::DEFAULT,
            },
            for_ns: manifest.for_ns,
            interrupt_log: None,
            patience: Duration::from_secs(120),
        }
    }

    /// Kind of the run's times on a machine of `cores` cores.
    #[must_use]
    pub const fn kind(&self, cores: usize) -> Kind {
        match self.timing {
            Timing::Real => Kind::Emulated,
            Timing::Virtual { .. } if cores == 1 => Kind::Path,
            Timing::Virtual { .. } => Kind::Virtual,
        }
    }
}

/// Watches a run while it happens.
pub trait Observer {
    /// Partition `name` printed a line.
    fn line(&mut self, name: &str, text: &str);
    /// Some time has passed.
    fn live(&mut self, live: &Live);
    /// Something the user should know.
    fn notice(&mut self, text: &str);
}

/// An observer that looks away.
impl Observer for () {
    fn line(&mut self, _: &str, _: &str) {}
    fn live(&mut self, _: &Live) {}
    fn notice(&mut self, _: &str) {}
}

const NOT_REPEATABLE: &str = "the emulator did not load turns.so from the run folder (is it statically linked, or the folder \
     mounted noexec?); two runs may differ in single wake-ups";

/// Runs the system of `manifest`, built in the folder `out`, until its length is reached or
/// `interrupted` becomes true; leaves its results in `out/run/`.
///
/// # Errors
/// The machine could not be started or watched, or nothing in it started.
pub fn run(
    manifest: &Manifest,
    out: &Path,
    options: &RunOptions,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<Report, RunError> {
    let emulator = emulator(manifest)?;
    check_program(&emulator.program, &emulator.minimum_version)?;
    let folder = RunFolder::new(out, &manifest.name);
    let _lock = folder.take()?;
    let ram = ram(manifest, out, &folder)?;
    let mut command = Command::of_manifest(
        manifest,
        &out.join(&manifest.image),
        ram.fd(),
        options.timing,
    )?;
    command.interrupt_log.clone_from(&options.interrupt_log);
    let mut machine = Machine::start(&command, folder.path())?;
    if options.timing != Timing::Real && !machine.is_repeatable() {
        observer.notice(NOT_REPEATABLE);
    }
    folder.announce(&Session {
        pid: std::process::id(),
        ram_fd: ram.fd(),
        kind: options.kind(manifest.machine.cores),
    })?;
    let started = Instant::now();
    let mut course = Course::new(manifest, options, &ram, &folder)?;
    let ended = course.follow(&mut machine, observer, interrupted)?;
    let executed: Vec<_> = match ended {
        Ended::Emulator => Vec::new(),
        _ => (0..manifest.machine.cores)
            .filter_map(|core| machine.component_code(core))
            .collect(),
    };
    let report = course.report(ended, started.elapsed(), &executed);
    machine.quit();
    let report = report?;
    report.save(folder.path())?;
    Ok(report)
}

fn ram(manifest: &Manifest, out: &Path, folder: &RunFolder) -> Result<Ram, RunError> {
    let memory = manifest
        .partitions
        .iter()
        .flat_map(|partition| &partition.memory);
    let image = std::fs::metadata(out.join(&manifest.image)).map_or(0, |file| file.len());
    let expected = memory.map(|region| region.size).sum::<u64>() + 2 * image + OVERHEAD;
    let machine = &manifest.machine;
    let expected = expected.min(machine.memory_size);
    Ram::create(
        folder.path(),
        &machine.memory,
        machine.memory_size,
        expected,
    )
}

/// Beginning of the line by which the boot part refuses to start anything.
const REFUSED: &str = "bulkhead: not started: ";

/// A run in progress.
struct Course<'m> {
    manifest: &'m Manifest,
    ram: &'m Ram,
    options: &'m RunOptions,
    watch: Watch<'m>,
    clock: Clock,
    recording: Recording,
    /// Faults of which the first of each kind was shown.
    displayed: FaultLog,
    /// The core that kept the machine's clock from moving, in words.
    culprit: Option<String>,
}

impl<'m> Course<'m> {
    fn new(
        manifest: &'m Manifest,
        options: &'m RunOptions,
        ram: &'m Ram,
        folder: &RunFolder,
    ) -> Result<Self, RunError> {
        let hz = manifest.machine.counter_hz;
        let clock = Clock::new(hz);
        let cut_ticks = options.for_ns.map_or(u64::MAX, |ns| ns_to_ticks(ns, hz));
        let files = Files::new(folder.path());
        let recording = Recording::new(manifest, cut_ticks, &clock, files);
        Ok(Self {
            manifest,
            ram,
            options,
            watch: Watch::new(ram, manifest, folder)?,
            clock,
            recording,
            displayed: FaultLog::default(),
            culprit: None,
        })
    }

    /// Lets the machine run to the end, and freezes it.
    fn follow(
        &mut self,
        machine: &mut Machine,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<Ended, RunError> {
        let mut progress = Progress::new(self.manifest.machine.rtc, machine)?;
        let mut starvation = Starvation::new(self.manifest, self.options.patience);
        machine.resume()?;
        let ended = loop {
            std::thread::sleep(POLL);
            self.look(observer)?;
            if interrupted.load(Ordering::Relaxed) {
                break Ended::Interrupted;
            }
            if machine.has_ended() {
                break Ended::Emulator;
            }
            let end_ns = self.end_ns();
            if let Some(liar) = progress.check(&mut self.clock, end_ns, machine)? {
                let name = &self.manifest.partitions[liar].name;
                observer.notice(&format!(
                    "`{name}` lies about the time and is not listened to"
                ));
            }
            if end_ns.is_some_and(|end_ns| self.clock.now_ns() >= end_ns) {
                break Ended::Length;
            }
            if progress.should_have_started() || self.is_refused() {
                self.check_started()?;
            }
            if progress.standstill() > self.options.patience {
                self.culprit = starvation.holder(machine);
                break Ended::Stalled;
            }
            self.culprit = starvation.look(machine);
            if self.culprit.is_some() {
                break Ended::Stalled;
            }
        };
        match ended {
            Ended::Length => machine.freeze()?,
            // If it cannot be frozen any more, its memory is read as it is: there is a report in any case.
            Ended::Interrupted | Ended::Stalled => drop(machine.freeze()),
            Ended::Emulator => {}
        }
        self.look(observer)?;
        if ended != Ended::Interrupted {
            self.check_started()?;
        }
        Ok(ended)
    }

    fn end_ns(&self) -> Option<u64> {
        self.options.for_ns.map(|ns| ns.saturating_add(MARGIN_NS))
    }

    /// Takes in what is new.
    fn look(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        for (partition, ticks) in self.watch.heartbeats(self.manifest) {
            self.clock.hear(partition, ticks);
        }
        for sight in self.watch.poll() {
            if let Sight::Event {
                partition, event, ..
            } = &sight
            {
                self.clock.hear(*partition, event.ticks);
            }
            self.recording.take(&sight, &self.clock)?;
            self.show(&sight, observer);
        }
        observer.live(&self.recording.live(&self.clock));
        Ok(())
    }

    fn show(&mut self, sight: &Sight, observer: &mut dyn Observer) {
        let manifest = self.manifest;
        let name = |index: usize| manifest.partitions[index].name.as_str();
        match sight {
            Sight::Line { partition, text } => {
                observer.line(partition.map_or(crate::report::BOOT, name), text);
            }
            Sight::Fault { partition, fault } => {
                if self.displayed.add(*partition, fault) {
                    let partition = &self.manifest.partitions[*partition];
                    let fault = fault_report(partition, fault, &self.clock);
                    observer.notice(&fault.sentence());
                }
            }
            Sight::Missed { what, count, .. } => {
                observer.notice(&format!(
                    "{count} {what} were overwritten before they were read"
                ));
            }
            Sight::Event { .. }
            | Sight::Record { .. }
            | Sight::Gap { .. }
            | Sight::Up { .. }
            | Sight::Unseen { .. } => {}
        }
    }

    /// Returns `true` if the boot part has reported why it starts nothing.
    fn is_refused(&self) -> bool {
        let lines = self.recording.first_lines();
        lines.iter().any(|line| line.contains(REFUSED))
    }

    /// Gives up if no partition was ever started.
    fn check_started(&self) -> Result<(), RunError> {
        // The boot part prepares link pages before it looks at the other cores.
        let refused = self.is_refused();
        let started = self
            .watch
            .snapshot(self.manifest)
            .iter()
            .any(|state| state.link.is_some_and(|link| link.epoch > 0 || !refused));
        if started {
            return Ok(());
        }
        let output = self.recording.first_lines().join("; ");
        let message = if output.is_empty() {
            "the boot part printed nothing (console, memory.load)".into()
        } else {
            output
        };
        Err(RunError::BootFailed { message })
    }

    fn report(
        &mut self,
        ended: Ended,
        wall: Duration,
        executed: &[ComponentCode],
    ) -> Result<Report, RunError> {
        self.recording.finish()?;
        let manifest = self.manifest;
        let kind = self.options.kind(manifest.machine.cores);
        let missed = self.recording.missed().clone();
        let whole = self.recording.digests_are_whole();
        let host_timed = host_timed(&manifest.machine.devices).map(str::to_owned);
        let comparable =
            ended == Ended::Length && kind != Kind::Emulated && whole && host_timed.is_none();
        let recording = &self.recording;
        let faults = recording.faults().reports(manifest, &self.clock);
        let mut report = Report {
            system: manifest.name.clone(),
            image: manifest.digest.clone(),
            kind,
            ended: ended.sentence().into(),
            culprit: self.culprit.clone(),
            for_s: self.options.for_ns.map(|ns| ns as f64 / 1e9),
            length_s: self.clock.now_ns() as f64 / 1e9,
            wall_s: wall.as_secs_f64(),
            digest: comparable.then(|| recording.digests().total()),
            digests: recording.digests().by_source(),
            host_timed,
            partitions: partition_reports(manifest, &self.watch.snapshot(manifest), &self.clock),
            channels: recording.channels(),
            paths: recording.paths(&self.clock),
            tasks: recording.tasks(&self.clock),
            tracking: recording.tracking(),
            events: recording.events(&faults),
            unlisted: recording.unlisted(),
            faults,
            refused: refused_reports(manifest, self.ram),
            missed,
            executing: executed
                .iter()
                .filter_map(|found| executing(manifest, found))
                .collect(),
            verdict: Verdict::default(),
        };
        for (partition, ticks) in self.watch.heartbeats(manifest) {
            let beat = report.partitions.get_mut(partition);
            if let Some(partition) = beat.filter(|_| ticks != 0) {
                partition.last_sign_s = Some(self.clock.ns(ticks) as f64 / 1e9);
            }
        }
        let channels = report.channels.iter_mut().zip(&manifest.channels);
        for (channel, built) in channels {
            fill_from_buffer(channel, built, |pa| self.ram.read(pa));
        }
        for (index, partition) in report.partitions.iter_mut().enumerate() {
            partition.ups_s = recording.ups_s(index);
            let of_partition = report
                .faults
                .iter()
                .filter(|fault| fault.partition == partition.name);
            let components = of_partition.filter(|fault| fault.cause == COMPONENT && !fault.ended);
            partition.component_faults = components.map(|fault| fault.count).sum();
        }
        report.verdict = judge(&report, manifest);
        Ok(report)
    }
}
