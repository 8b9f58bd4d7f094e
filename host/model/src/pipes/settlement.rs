//! The pipes of a description, solved together
//!
//! Each pipe is solved beside all VCPUs of the cores involved, including those of other pipes. A
//! later pipe can take time from an earlier one: then the earlier one is solved again, until all
//! requirements hold. Pipes without requirements come last, as slow as needed so that no other pipe
//! is solved again.

use super::catalogue::Catalogue;
use super::flow::{ROOM, flows, parse};
use super::functions::What;
use super::pipe::Pipe;
use super::remark::{Remark, advised, missed, reason, takes};
use super::schedule::late;
use super::{crossing, solved};
use crate::document::At;
use bulkhead_analysis::Reservation;
use bulkhead_tpipe::assessment::{Judge, budget};
use bulkhead_tpipe::binding::{Bound, DEVICES, IOS};
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::repository::{Load, Repository, Runs};
use bulkhead_tpipe::solver::{self, Answer, Least, Solution};
use std::collections::BTreeSet;

/// Solving each anew beside the others so often settles what can be settled.
const ROUNDS: usize = 8;

/// By pipe; none where it is not solved yet.
type Answers = Vec<Option<Answer<ROOM>>>;

/// Why a pipe cannot be had.
#[derive(Debug)]
pub(crate) struct Failed<'d> {
    pub(crate) name: &'d At<String>,
    pub(crate) flow: &'d At<String>,
    pub(crate) remark: Remark,
    /// Requirements in place of its own that it would meet beside the pipes as they are solved, which may have to be solved anew
    /// for it.
    pub(crate) least: Box<Least>,
}

/// A valid flow with fitting functions.
struct Sound<'d> {
    name: &'d At<String>,
    flow: &'d At<String>,
    max_age_ns: Option<u64>,
    pipeline: Pipeline<'d, ROOM>,
}

impl<'d> Sound<'d> {
    const fn requires(&self) -> bool {
        self.pipeline.requirement.is_some()
    }

    fn failed(&self, remark: Remark) -> Failed<'d> {
        Failed {
            name: self.name,
            flow: self.flow,
            remark,
            least: Box::default(),
        }
    }

    fn unmet(&self, bound: &Bound<'_, ROOM>, answer: &Answer<ROOM>) -> Failed<'d> {
        let remark = missed(&self.flow.value, bound, answer);
        Failed {
            least: Box::new(answer.least.unwrap_or_default()),
            ..self.failed(remark.with_help(advised(&[])))
        }
    }
}

/// The pipes, beside each other.
struct Settling<'s, 'd> {
    catalogue: &'s Catalogue<'d>,
    sound: Vec<Sound<'d>>,
}

/// A limit of the solver that the system exceeds.
pub(crate) struct Crowded {
    pub(crate) what: &'static str,
    pub(crate) count: usize,
    pub(crate) most: usize,
}

impl<'d> Catalogue<'d> {
    /// The flow of each pipe of which all functions are described, and the partitions of its stages.
    pub(crate) fn partitions_of_stages(&self) -> Vec<(&'d At<String>, Vec<usize>)> {
        let pipes = flows(self.draft).filter_map(|flow| {
            let pipeline = parse(&flow.value).ok()?;
            let stages = pipeline.stages().iter();
            let partitions = stages.map(|stage| self.partition_of(stage.name));
            Some((flow, partitions.collect::<Option<_>>()?))
        });
        pipes.collect()
    }

    /// The first limit of the solver that the system exceeds.
    pub(crate) fn crowded(&self) -> Option<Crowded> {
        let stages: usize = self
            .partitions_of_stages()
            .iter()
            .map(|(_, partitions)| partitions.len())
            .sum();
        let [vcpus, ios, devices] = self.pipes.sizes();
        let counts = [
            ("VCPUs", stages + vcpus, ROOM),
            ("I/O VCPUs", ios, IOS),
            ("endpoints that I/O VCPUs serve", devices, DEVICES),
        ];
        let (what, count, most) = counts.into_iter().find(|(_, count, most)| count > most)?;
        Some(Crowded { what, count, most })
    }

    /// Solves all pipes; nothing where one cannot be read or does not fit.
    pub(crate) fn solve(&self) -> Option<Result<Vec<Pipe>, Failed<'d>>> {
        if self.crowded().is_some() {
            return None;
        }
        let sound = self.draft.pipes.iter().map(|pipe| {
            let flow = pipe.flow.given()?;
            let pipeline = parse(&flow.value).ok()?;
            self.misfit(&flow.value).is_none().then_some(Sound {
                name: &pipe.name,
                flow,
                max_age_ns: pipe.max_age.value(),
                pipeline,
            })
        });
        let settling = Settling {
            catalogue: self,
            sound: sound.collect::<Option<_>>()?,
        };
        let answers = settling.answers();
        Some(answers.map(|answers| settling.finish(&answers)))
    }
}

impl<'d> Settling<'_, 'd> {
    fn answers(&self) -> Result<Answers, Failed<'d>> {
        let mut answers = vec![None; self.sound.len()];
        self.settle_all(&mut answers, Sound::requires)?;
        let yielded = self.yield_all(&mut answers);
        let settled = self.settle_all(&mut answers, |_| true);
        settled.map_err(|failed| yielded.err().unwrap_or(failed))?;
        Ok(answers)
    }

    /// Settles those pipes until all of them hold.
    fn settle_all(
        &self,
        answers: &mut Answers,
        which: impl Fn(&Sound<'d>) -> bool,
    ) -> Result<(), Failed<'d>> {
        let mut unsettled = None;
        for _ in 0..ROUNDS {
            unsettled = None;
            for (index, pipe) in self.sound.iter().enumerate() {
                if which(pipe) && !self.settle(answers, index)? {
                    unsettled = Some(pipe);
                }
            }
            if unsettled.is_none() {
                break;
            }
        }
        unsettled.map_or(Ok(()), |pipe| {
            Err(pipe.failed(Remark::all(
                &pipe.flow.value,
                "the pipes take from each other without end",
                "no budgets and periods were found that hold for all of them at once",
                "give them longer delays, or other cores",
            )))
        })
    }

    /// Judges a pipe beside the others, and solves it anew where it does not hold; whether it held.
    fn settle(&self, answers: &mut Answers, index: usize) -> Result<bool, Failed<'d>> {
        let pipe = &self.sound[index];
        let former = answers[index];
        let (answer, held) = self.beside(answers, index, |bound| {
            let former = former.map(|former| judged(bound, &former));
            let held = former.filter(|former| former.best.holds());
            let answer = held.unwrap_or_else(|| solver::solve(bound));
            match answer.best.holds() {
                true => Ok((answer, held.is_some())),
                false => Err(pipe.unmet(bound, &answer)),
            }
        })??;
        answers[index] = Some(answer);
        Ok(held)
    }

    /// Slows down pipes without requirements that share cores until all requirements are kept.
    /// Returns the violation of the first pipe for which that does not help.
    fn yield_all(&self, answers: &mut Answers) -> Result<(), Failed<'d>> {
        let mut result = Ok(());
        for sharers in self.sharers(answers)? {
            let mut found = Ok(answers.clone());
            for times in solver::yields(&self.sound[sharers[0]].pipeline) {
                found = self.yielding(answers, &sharers, times);
                if found.is_ok() {
                    break;
                }
            }
            match found {
                Ok(found) => *answers = found,
                Err(failed) => result = result.and(Err(failed)),
            }
        }
        result
    }

    /// Pipes without requirements, with all pipes that share cores with them, directly or not.
    fn sharers(&self, answers: &Answers) -> Result<Vec<Vec<usize>>, Failed<'d>> {
        let mut all: Vec<(Vec<usize>, BTreeSet<usize>)> = Vec::new();
        for index in (0..self.sound.len()).filter(|&index| !self.sound[index].requires()) {
            let mut cores: BTreeSet<_> = self.beside(answers, index, |bound| {
                let stages = 0..bound.len();
                stages.map(|stage| bound.function(stage).core).collect()
            })?;
            let mut these = Vec::new();
            all.retain(|(others, their)| {
                let is_disjoint = cores.is_disjoint(their);
                if !is_disjoint {
                    these.extend(others);
                    cores.extend(their);
                }
                is_disjoint
            });
            these.push(index);
            all.push((these, cores));
        }
        Ok(all.into_iter().map(|(these, _)| these).collect())
    }

    /// Answers with so many `times` the usual periods of these, which require nothing.
    fn yielding(
        &self,
        answers: &Answers,
        these: &[usize],
        times: u64,
    ) -> Result<Answers, Failed<'d>> {
        let taken = |other: &str, why: &str| {
            let names = these.iter().map(|&index| self.sound[index].name);
            let first = &self.sound[these[0]];
            first.failed(takes(&first.flow.value, names, other, why))
        };
        let mut answers = answers.clone();
        for &index in these {
            let pipe = &self.sound[index];
            answers[index] = Some(self.beside(&answers, index, |bound| {
                let answer = solver::solve_yielding(bound, times);
                match answer.best.holds() {
                    true => Ok(answer),
                    false => Err(pipe.unmet(bound, &answer)),
                }
            })??);
        }
        let sound = self.sound.iter().enumerate();
        for (index, other) in sound {
            let Some(answer) = answers[index] else {
                continue;
            };
            self.beside(&answers, index, |bound| {
                let judged = judged(bound, &answer);
                match judged.best.holds() {
                    true => Ok(()),
                    false => Err(taken(&other.name.value, &reason(bound, &judged.best))),
                }
            })??;
        }
        if let Some((task, _)) = late(self.catalogue.draft, &self.finish(&answers)).first() {
            return Err(taken(&task.name, "this task would be late"));
        }
        Ok(answers)
    }

    /// The repository for solving a pipe: all other solved stages are loads.
    fn beside<R>(
        &self,
        answers: &[Option<Answer<ROOM>>],
        index: usize,
        use_it: impl FnOnce(&Bound<'_, ROOM>) -> R,
    ) -> Result<R, Failed<'d>> {
        self.catalogue.pipes.with(|all| {
            let mut loads = all.loads.to_vec();
            let others = self.sound.iter().zip(answers).enumerate();
            for (_, (other, answer)) in others.filter(|(other, _)| *other != index) {
                let Some(answer) = answer else { continue };
                let Ok(bound) = Bound::new(&other.pipeline, all) else {
                    continue;
                };
                let setting = &answer.best.setting;
                loads.extend((0..bound.len()).filter_map(|stage| {
                    let capacity = budget(&bound, stage, setting.messages[stage]);
                    let server = Reservation::new(capacity, setting.period[stage])?;
                    let function = bound.function(stage);
                    Some(Load {
                        core: function.core,
                        server,
                        runs: Runs::Stage {
                            devices: [function.source, function.sink],
                            messages: setting.messages[stage],
                        },
                    })
                }));
            }
            let all = Repository {
                loads: &loads,
                ..*all
            };
            let pipe = &self.sound[index];
            // Bound before: the loads have changed, which nothing that is refused depends on but room.
            let bound = Bound::new(&pipe.pipeline, &all).map_err(|error| {
                pipe.failed(self.catalogue.pipes.misfit(&pipe.flow.value, &error))
            })?;
            Ok(use_it(&bound))
        })
    }

    fn finish(&self, answers: &[Option<Answer<ROOM>>]) -> Vec<Pipe> {
        let catalogue = self.catalogue;
        let names = &catalogue.pipes.names[What::Function as usize];
        let place = |name: &str| {
            let index = names.iter().position(|at| at.value == name)?;
            Some(catalogue.places[index].clone())
        };
        let both = self.sound.iter().zip(answers);
        let pipes = both.filter_map(|(pipe, answer)| {
            let answer = (*answer)?;
            catalogue.pipes.with(|all| {
                let bound = Bound::new(&pipe.pipeline, all).ok()?;
                let stages = pipe.pipeline.stages().iter();
                Some(Pipe {
                    name: pipe.name.value.clone(),
                    span: pipe.name.span.clone(),
                    solved: solved::Solved::of(&bound, &answer),
                    places: stages
                        .map(|stage| place(stage.name))
                        .collect::<Option<_>>()?,
                    crossings: Vec::new(),
                    max_age_ns: pipe.max_age_ns,
                })
            })
        });
        let mut pipes: Vec<_> = pipes.collect();
        crossing::find(&mut pipes, catalogue.draft.channels.len());
        pipes
    }
}

/// A former answer, judged anew.
fn judged(bound: &Bound<'_, ROOM>, former: &Answer<ROOM>) -> Answer<ROOM> {
    Answer {
        best: Solution::of(&mut Judge::new(bound), former.best.setting),
        ..*former
    }
}
