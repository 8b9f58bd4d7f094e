//! A flow with found and fitting functions
//!
//! The language excludes cycles and loose ends. This step rejects the rest: a function that does
//! not exist or does not allow the buffers, more producers or consumers than it handles, a first
//! stage without an input, a device in the middle.

use crate::language::{Buffering, Pipeline, SOURCE, Span};
use crate::repository::{Device, Function, Repository};
use core::fmt;

/// Most I/O VCPUs.
pub const IOS: usize = 16;
/// Most device pipes.
pub const DEVICES: usize = 32;

/// A pipeline and what it is made of.
#[derive(Clone, Debug)]
pub struct Bound<'a, const N: usize> {
    /// As written.
    pub pipeline: &'a Pipeline<'a, N>,
    /// Functions and devices.
    pub repository: &'a Repository<'a>,
    functions: [u16; N],
    /// True if what feeds a stage is in another address space.
    crosses: [bool; N],
    /// Messages under way at once: declared, or the ends in this pipeline where these are more.
    io_sharers: [u64; IOS],
    device_sharers: [u64; DEVICES],
}

/// An error with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindError {
    /// Place of the error.
    pub span: Span,
    /// The error.
    pub fault: Misfit,
}

/// Kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// There is no such function.
    UnknownFunction,
    /// The function allows only other buffers.
    Buffering(Buffering),
    /// More stages feed it than it has inputs.
    Inputs {
        /// Number of producers.
        wired: u32,
        /// Its own.
        most: u32,
    },
    /// The function feeds more stages than it has outputs.
    Outputs {
        /// Number of consumers.
        wired: u32,
        /// Its own.
        most: u32,
    },
    /// The message types of a stage and of its reader differ.
    Message {
        /// The stage that writes.
        writer: usize,
    },
    /// A first stage has inputs and reads no device.
    Unconnected,
    /// A device is read after the first stage.
    SourceInside,
    /// A device is written before the last stage.
    SinkInside,
    /// The system has more VCPUs, I/O VCPUs or devices than there is room for.
    Room,
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFunction => out.write_str("there is no such function"),
            Self::Buffering(Buffering::FourSlot) => {
                out.write_str("this function allows four-slot buffers only; drop the `*`")
            }
            Self::Buffering(Buffering::Fifo) => {
                out.write_str("this function allows lossless buffers only; start with `*`")
            }
            Self::Inputs { wired, most: 0 } => {
                write!(out, "this function takes no input, {wired} would feed it")
            }
            Self::Inputs { wired, most } => {
                write!(
                    out,
                    "this function has {most} inputs, {wired} are connected"
                )
            }
            Self::Outputs { wired, most } => {
                write!(
                    out,
                    "this function has {most} outputs, {wired} are connected"
                )
            }
            Self::Message { writer } => write!(
                out,
                "this function reads messages of another type than stage {} writes",
                writer + 1
            ),
            Self::Unconnected => out.write_str(
                "nothing feeds this function: a first stage reads a device, or has no inputs",
            ),
            Self::SourceInside => {
                out.write_str("this function reads a device and can only be a first stage")
            }
            Self::SinkInside => {
                out.write_str("this function writes to a device and can only be a last stage")
            }
            Self::Room => {
                out.write_str("the system has more VCPUs or devices than there is room for")
            }
        }
    }
}

impl<'a, const N: usize> Bound<'a, N> {
    /// Finds and checks the functions.
    ///
    /// # Errors
    /// The first that does not fit.
    pub fn new(
        pipeline: &'a Pipeline<'a, N>,
        repository: &'a Repository<'a>,
    ) -> Result<Self, BindError> {
        let mut bound = Self {
            pipeline,
            repository,
            functions: [0; N],
            crosses: [false; N],
            io_sharers: [0; IOS],
            device_sharers: [0; DEVICES],
        };
        let servers = pipeline.stages().len() + repository.loads.len() + repository.devices.len();
        let room = servers <= N
            && repository.ios.len() <= IOS
            && repository.devices.len() <= DEVICES
            && u16::try_from(repository.functions.len()).is_ok();
        if !room {
            return Err(BindError {
                span: Span::default(),
                fault: Misfit::Room,
            });
        }
        for (index, stage) in pipeline.stages().iter().enumerate() {
            let misfit = |fault| BindError {
                span: stage.span,
                fault,
            };
            let found = repository
                .functions
                .iter()
                .position(|f| f.name == stage.name);
            let found = found.ok_or(misfit(Misfit::UnknownFunction))?;
            bound.functions[index] = found as u16;
            bound.check(index).map_err(misfit)?;
        }
        bound.find_crossings();
        bound.count_sharers();
        Ok(bound)
    }

    /// How many stages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pipeline.stages().len()
    }

    /// Returns whether it has no stages; none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Function of a stage.
    #[must_use]
    pub fn function(&self, stage: usize) -> &'a Function<'a> {
        &self.repository.functions[usize::from(self.functions[stage])]
    }

    /// Returns whether a stage is a first one.
    #[must_use]
    pub fn is_head(&self, stage: usize) -> bool {
        self.pipeline.stages()[stage].from == SOURCE
    }

    /// Returns whether a stage is a last one.
    #[must_use]
    pub fn is_tail(&self, stage: usize) -> bool {
        self.pipeline.stages()[stage].to == self.pipeline.sink()
    }

    /// Returns whether a stage's input comes from another address space: from a stage, or for a
    /// first stage from the component that serves the device.
    #[must_use]
    pub fn crosses(&self, stage: usize) -> bool {
        self.crosses[stage]
    }

    /// Devices that a stage reads and writes.
    pub fn devices(&self, stage: usize) -> impl Iterator<Item = usize> + use<N> {
        let function = self.function(stage);
        function.source.into_iter().chain(function.sink)
    }

    /// Messages that are under way at once at an I/O VCPU and in the device itself.
    #[must_use]
    pub fn sharers(&self, device: usize) -> (u64, u64) {
        let io = self.repository.devices[device].io;
        (self.io_sharers[io], self.device_sharers[device])
    }

    fn check(&self, index: usize) -> Result<(), Misfit> {
        let function = self.function(index);
        let stages = self.pipeline.stages();
        let at = &stages[index];
        if let Some(only) = function
            .buffering
            .filter(|only| *only != self.pipeline.buffering)
        {
            return Err(Misfit::Buffering(only));
        }
        let count = |end: fn(&crate::language::Stage<'_>) -> u16, junction| {
            let there = stages.iter().filter(|stage| end(stage) == junction);
            u32::try_from(there.count()).unwrap_or(u32::MAX)
        };
        let (head, tail) = (self.is_head(index), self.is_tail(index));
        let fed = if head {
            0
        } else {
            count(|stage| stage.to, at.from)
        };
        let feeds = if tail {
            0
        } else {
            count(|stage| stage.from, at.to)
        };
        let inputs = fed + u32::from(function.source.is_some());
        let outputs = feeds + u32::from(function.sink.is_some());
        let problems = [
            (
                head && inputs == 0 && function.inputs > 0,
                Misfit::Unconnected,
            ),
            (!head && function.source.is_some(), Misfit::SourceInside),
            (!tail && function.sink.is_some(), Misfit::SinkInside),
            (
                inputs > function.inputs,
                Misfit::Inputs {
                    wired: inputs,
                    most: function.inputs,
                },
            ),
            (
                outputs > function.outputs,
                Misfit::Outputs {
                    wired: outputs,
                    most: function.outputs,
                },
            ),
        ];
        let found = problems.into_iter().find(|(wrong, _)| *wrong);
        if let Some((_, misfit)) = found {
            return Err(misfit);
        }
        let mut before = (0..index).filter(|&writer| stages[writer].to == at.from);
        let other =
            before.find(|&writer| self.function(writer).messages[1] != function.messages[0]);
        other.map_or(Ok(()), |writer| Err(Misfit::Message { writer }))
    }

    /// Stages come behind those that feed them: of each junction, the space of its first writer,
    /// and whether another has a different one.
    fn find_crossings(&mut self) {
        let mut writers: [Option<(usize, bool)>; N] = [None; N];
        for (index, stage) in self.pipeline.stages().iter().enumerate() {
            let on = |core: usize| self.repository.cores[core].space;
            let space = on(self.function(index).core);
            let source = self.function(index).source;
            let served =
                source.map(|device| self.repository.ios[self.repository.devices[device].io].core);
            let fed = match stage.from {
                SOURCE => served.map(|core| (on(core), false)),
                from => writers[usize::from(from) - 1],
            };
            self.crosses[index] = fed.is_some_and(|(first, mixed)| mixed || first != space);
            let slot = &mut writers[usize::from(stage.to) - 1];
            *slot = Some(slot.map_or((space, false), |(first, mixed)| {
                (first, mixed || first != space)
            }));
        }
    }

    fn count_sharers(&mut self) {
        for stage in 0..self.len() {
            for device in self.devices(stage) {
                self.io_sharers[self.repository.devices[device].io] += 1;
                self.device_sharers[device] += 1;
            }
        }
        let ios = self.io_sharers.iter_mut().zip(self.repository.ios);
        ios.for_each(|(count, io)| *count = io.sharers.max(*count).max(1));
        let devices = self.device_sharers.iter_mut().zip(self.repository.devices);
        devices.for_each(|(count, device)| *count = device.sharers.max(*count).max(1));
    }
}

/// Period that a device pipe adds to a sum of periods.
#[must_use]
pub fn device_periods(repository: &Repository<'_>, device: &Device<'_>) -> u64 {
    let main = device.main.map_or(0, |main| main.period);
    repository.ios[device.io].period().saturating_add(main)
}
