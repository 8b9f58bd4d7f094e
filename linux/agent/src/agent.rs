//! The main loop of the agent: timer ticks, entered commands, changes of peers

use crate::bridge::Bridge;
use crate::command::{Command, HELP, parse};
use crate::console::{Lines, say, type_in};
use crate::drive::Drive;
use crate::fault::Fault;
use crate::pipes::Pipes;
use crate::status;
use bulkhead_linux::{Error, Link, Partition, frequency_hz};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Child;
use std::time::Duration;

/// Period of the loop.
const TICK: Duration = Duration::from_millis(20);

/// The agent.
pub(crate) struct Agent {
    partition: Partition,
    drive: Option<Drive>,
    fault: Option<Fault>,
    pipes: Option<Pipes>,
    bridge: Option<Bridge>,
    links: Vec<Link>,
    lines: Option<Lines>,
    shell: Option<Child>,
    timer: TimerFd,
    tick: u64,
}

/// Reason for which the loop woke.
struct Ready {
    timer: bool,
    input: bool,
    links: Vec<bool>,
}

impl Agent {
    /// Opens everything and announces the partition.
    pub(crate) fn start() -> Result<Self, Error> {
        let partition = Partition::open()?;
        let trace = partition.trace()?;
        let drive = Drive::open(&partition, &trace)?;
        let fault = Fault::of(&partition)?;
        let mut links = partition.links()?;
        links.retain(|link| link.partition() != partition.name());
        let second = 1000 / TICK.as_millis() as u64;
        let pipes = Pipes::start(&partition, &trace, second)?;
        let bridge = Bridge::start(&partition, second);
        let timer = timer()?;
        if let Err(error) = partition.announce() {
            say(format_args!("agent: not announced: {error}"));
        }
        trace.mark("agent-up", 0, 0);
        say(format_args!(
            "agent: partition {} is up; type `help`",
            partition.name()
        ));
        let lines = Some(Lines::default());
        Ok(Self {
            partition,
            drive,
            fault,
            pipes,
            bridge,
            links,
            lines,
            shell: None,
            timer,
            tick: 0,
        })
    }

    /// Runs until the timer or the poll fails.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let ready = self.wait()?;
            if ready.timer {
                self.on_tick()?;
            }
            if ready.input {
                self.on_input();
            }
            for (link, changed) in self.links.iter_mut().zip(ready.links) {
                if changed {
                    report(link)?;
                }
            }
        }
    }

    fn wait(&self) -> Result<Ready, Error> {
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let stdin = std::io::stdin();
        let mut fds = vec![readable(self.timer.as_fd())];
        fds.extend(self.links.iter().map(|link| readable(link.as_fd())));
        if self.lines.is_some() && self.shell.is_none() {
            fds.push(readable(stdin.as_fd()));
        }
        poll(&mut fds, PollTimeout::NONE).map_err(system("poll"))?;
        let woke: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        let links_end = 1 + self.links.len();
        Ok(Ready {
            timer: woke[0],
            links: woke[1..links_end].to_vec(),
            input: woke.get(links_end).copied().unwrap_or(false),
        })
    }

    fn on_tick(&mut self) -> Result<(), Error> {
        self.timer.wait().map_err(system("timerfd"))?;
        if let Some(drive) = &mut self.drive {
            drive.tick(self.tick);
        }
        if let Some(pipes) = &mut self.pipes {
            pipes.tick(self.tick);
        }
        if let Some(bridge) = &mut self.bridge {
            bridge.tick();
        }
        if let Some(fault) = &mut self.fault {
            let period = TICK.as_millis() as u64 * frequency_hz() / 1000;
            fault.tick(self.drive.as_mut(), period);
        }
        if self
            .shell
            .as_mut()
            .is_some_and(|shell| !matches!(shell.try_wait(), Ok(None)))
        {
            self.shell = None;
        }
        self.tick += 1;
        Ok(())
    }

    fn on_input(&mut self) {
        let Some(input) = self.lines.as_mut().and_then(Lines::read) else {
            self.lines = None;
            return;
        };
        for line in input {
            match parse(&line) {
                Ok(Some(command)) => self.obey(command),
                Ok(None) => {}
                Err(why) => say(format_args!("agent: {why}")),
            }
        }
    }

    fn obey(&mut self, command: Command) {
        let done = match command {
            Command::Set(speed_mps) => self.with_drive(|drive| drive.hold(speed_mps)),
            Command::Profile => self.with_drive(Drive::follow),
            Command::Status => status::show(&self.partition),
            Command::Control(control, name) => self.partition.control(&name, control),
            Command::Tell(name, text) => self.tell(&name, &text),
            Command::Shell => self.open_shell(),
            Command::Help => {
                HELP.lines().for_each(|line| say(format_args!("  {line}")));
                Ok(())
            }
        };
        if let Err(error) = done {
            say(format_args!("agent: {error}"));
        }
    }

    /// The partition's answer is on its console.
    fn tell(&self, name: &str, text: &str) -> Result<(), Error> {
        let consoles = self.partition.consoles()?;
        let console = consoles.iter().find(|one| one.partition == name);
        let tty = &console
            .ok_or_else(|| Error::NoConsole(name.to_owned()))?
            .tty;
        let failed = |source| Error::File {
            path: tty.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        // If no program reads the console any more, it takes no more; the agent does not wait for
        // it.
        let options = options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
        let mut file = options.open(tty).map_err(failed)?;
        type_in(&mut file, &format!("{text}\n")).map_err(failed)
    }

    fn with_drive(&mut self, act: impl FnOnce(&mut Drive)) -> Result<(), Error> {
        let missing = || Error::NoChannel("commands".to_owned());
        self.drive.as_mut().map(act).ok_or_else(missing)
    }

    fn open_shell(&mut self) -> Result<(), Error> {
        let path = "/bin/sh";
        let spawned = std::process::Command::new(path).spawn();
        let child = spawned.map_err(|source| Error::File {
            path: path.into(),
            source,
        })?;
        self.shell = Some(child);
        Ok(())
    }
}

fn report(link: &mut Link) -> Result<(), Error> {
    link.changed()?;
    let state = link.state();
    let name = link.partition();
    say(format_args!(
        "link: {name} is {:?}, start {}",
        state.state, state.epoch
    ));
    Ok(())
}

fn timer() -> Result<TimerFd, Error> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC);
    let timer = timer.map_err(system("timerfd"))?;
    let every = Expiration::Interval(TimeSpec::from_duration(TICK));
    timer
        .set(every, TimerSetTimeFlags::empty())
        .map_err(system("timerfd"))?;
    Ok(timer)
}

fn system(what: &'static str) -> impl FnOnce(nix::Error) -> Error {
    move |errno| Error::File {
        path: what.into(),
        source: errno.into(),
    }
}
