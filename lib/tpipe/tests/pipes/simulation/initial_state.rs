//! The world before anything happens

use super::{Arrivals, Budget, Input, MESSAGES, OUTSIDE, Seen, Server, Work, World};
use crate::random::{ROOM, Random};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::{Buffering, SOURCE};
use bulkhead_tpipe::repository::{LONGEST, Policy};
use bulkhead_tpipe::solver::Solution;
use std::collections::VecDeque;

impl<'a, 'b, 'r> World<'a, 'b, 'r> {
    pub(super) fn new(
        bound: &'a Bound<'b, ROOM>,
        solution: &'a Solution<ROOM>,
        arrivals: Arrivals,
        random: &'r mut Random,
    ) -> Self {
        let mut world = Self {
            bound,
            solution,
            arrivals,
            random,
            servers: vec![],
            of_stage: vec![],
            of_main: vec![],
            of_io: vec![],
            inputs: vec![],
            phases: vec![],
            released: vec![VecDeque::new(); bound.len()],
            paced: vec![],
            to_come: vec![],
            now: 0,
            seen: Seen::default(),
        };
        world.phases = (0..bound.len())
            .map(|stage| world.random.below(solution.setting.period[stage]))
            .collect();
        world.occupy();
        world.wire();
        world.schedule_sources();
        world.seen.written = vec![(0, 0); bound.len()];
        world.seen.most_waiting = vec![0; bound.len()];
        world
    }

    /// Servers of all there is.
    fn occupy(&mut self) {
        let repository = self.bound.repository;
        for load in repository.loads {
            let server = self.serve(load.core, load.server.capacity, load.server.period);
            let phase = match self.arrivals {
                Arrivals::Worst => 0,
                _ => self.random.below(load.server.period),
            };
            let server = &mut self.servers[server];
            match &mut server.budget {
                Budget::Sporadic(chunks) => chunks[0].0 = phase,
                Budget::Bandwidth(_, deadline) | Budget::Io(deadline) => *deadline = phase,
            }
            server.queue.push_back((Work::Load, LONGEST));
        }
        for device in repository.devices {
            let core = repository.ios[device.io].core;
            let main = device
                .main
                .map(|main| self.serve(core, main.capacity, main.period));
            self.of_main.push(main);
        }
        for stage in 0..self.bound.len() {
            let capacity = bulkhead_tpipe::assessment::budget(
                self.bound,
                stage,
                self.solution.setting.messages[stage],
            );
            let server = self.serve(
                self.bound.function(stage).core,
                capacity,
                self.solution.setting.period[stage],
            );
            self.of_stage.push(server);
        }
        for io in repository.ios {
            let server = self.serve(io.core, io.wcet, io.period());
            self.servers[server].budget = Budget::Io(0);
            self.of_io.push(server);
        }
    }

    fn serve(&mut self, core: usize, capacity: u64, period: u64) -> usize {
        let budget = match self.bound.repository.cores[core].policy {
            Policy::RateMonotonic => Budget::Sporadic([(0, capacity)].into()),
            Policy::Edf | Policy::Deadline => Budget::Bandwidth(0, 0),
        };
        let order = self.servers.len();
        let (queue, job) = (VecDeque::new(), None);
        self.servers.push(Server {
            core,
            capacity,
            period,
            order,
            budget,
            queue,
            job,
        });
        order
    }

    fn wire(&mut self) {
        let stages = self.bound.pipeline.stages();
        for stage in stages {
            let producers: Vec<usize> = match stage.from {
                SOURCE => vec![OUTSIDE],
                from => (0..stages.len())
                    .filter(|&other| stages[other].to == from)
                    .collect(),
            };
            let input = |producer| Input {
                producer,
                ..Input::default()
            };
            self.inputs.push(producers.into_iter().map(input).collect());
        }
    }

    fn schedule_sources(&mut self) {
        let heads: Vec<usize> = (0..self.bound.len())
            .filter(|&stage| self.bound.is_head(stage))
            .collect();
        for stage in heads {
            let device = self.bound.function(stage).source;
            let given = device.and_then(|device| self.bound.repository.devices[device].distance);
            let taken = match self.bound.pipeline.buffering {
                Buffering::FourSlot => self.solution.setting.period[stage],
                Buffering::Fifo => self.solution.assessment.interval,
            };
            let distance = given.unwrap_or(taken);
            let mut at = match self.arrivals {
                Arrivals::Worst => 0,
                _ => self.random.below(3 * distance),
            };
            for _ in 0..MESSAGES {
                self.to_come.push((at, stage));
                at += distance;
                if self.arrivals == Arrivals::Sparse && self.random.below(3) == 0 {
                    at += self.random.below(2 * distance);
                }
            }
            self.seen.sent = MESSAGES;
        }
        self.to_come.sort_unstable_by(|one, other| other.cmp(one));
        self.seen.first_input = self.to_come.last().map_or(0, |first| first.0);
    }
}
