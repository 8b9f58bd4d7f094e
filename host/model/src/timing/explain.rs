//! The analysis in words and numbers

use super::{CoreAnalysis, Timing, VcpuKind};
use crate::quantity::time_text;
use bulkhead_analysis::Time;
use std::fmt::{self, Write};

impl Timing {
    /// A table per core: utilisation, and each VCPU and task with its bound and slack. With `formulas`, also
    /// how each number comes about and where that is from.
    #[must_use]
    pub fn table(&self, formulas: bool) -> String {
        let mut text = String::new();
        for core in self.analyse() {
            // Writing to a string does not fail.
            let _ = self.core_table(&mut text, &core, formulas);
        }
        text
    }

    fn core_table(&self, text: &mut String, core: &CoreAnalysis, formulas: bool) -> fmt::Result {
        writeln!(
            text,
            "  core {}: {:.2} % demanded, {:.2} % always fits",
            core.core,
            core.demand.percent(),
            core.rate_monotonic.percent()
        )?;
        if formulas {
            let terms = self.terms(core).join(" + ");
            writeln!(
                text,
                "    Σ C/T + Σ (2 − U)·U = {terms}; n(2^(1/n) − 1), n = {} (Liu and Layland 1973; 001 §4.1)",
                core.mains.len()
            )?;
        }
        self.vcpu_lines(text, core, formulas)?;
        self.task_lines(text, core, formulas)
    }

    fn vcpu_lines(&self, text: &mut String, core: &CoreAnalysis, formulas: bool) -> fmt::Result {
        for &(index, response) in &core.mains {
            let vcpu = &self.vcpus[index];
            let VcpuKind::Main {
                capacity_ns,
                period_ns,
            } = vcpu.kind
            else {
                continue;
            };
            let budget = format!("{} in {}", time_text(capacity_ns), time_text(period_ns));
            line(text, "vcpu", &vcpu.name, &budget, response, period_ns)?;
            if formulas {
                writeln!(
                    text,
                    "      R = C + Σ ⌈R/Tj⌉·Cj over {} more important + Σ (U·R + (2 − U)·U·T) over {} I/O (Joseph and Pandya 1986; 001 §4.1.3)",
                    core.mains
                        .iter()
                        .take_while(|(other, _)| *other != index)
                        .count(),
                    core.io.len()
                )?;
            }
        }
        for (index, io) in &core.io {
            let vcpu = &self.vcpus[*index];
            let longest = time_text(io.longest);
            let share = format!("{:.0} %, up to {longest}", io.utilisation.percent());
            writeln!(text, "    {:<5} {:<16} {share}", "i/o", vcpu.name)?;
        }
        Ok(())
    }

    fn task_lines(&self, text: &mut String, core: &CoreAnalysis, formulas: bool) -> fmt::Result {
        for &(index, bound) in &core.tasks {
            let task = &self.tasks[index];
            let load = format!(
                "{} in {}",
                time_text(task.wcet_ns),
                time_text(task.period_ns)
            );
            line(text, "task", &task.name, &load, bound, task.deadline_ns)?;
            if formulas {
                writeln!(
                    text,
                    "      all that can wait on `{0}`, w: R of `{0}` where w ≤ C and no period < T; else ⌈w/C⌉·T + R (001 eq. 4.1)",
                    self.vcpus[task.vcpu].name
                )?;
            }
        }
        Ok(())
    }

    fn terms(&self, core: &CoreAnalysis) -> Vec<String> {
        let mains = core
            .mains
            .iter()
            .filter_map(|(index, _)| match self.vcpus[*index].kind {
                VcpuKind::Main {
                    capacity_ns,
                    period_ns,
                } => Some(format!(
                    "{}/{}",
                    time_text(capacity_ns),
                    time_text(period_ns)
                )),
                VcpuKind::Io { .. } => None,
            });
        let io = core.io.iter().map(|(_, io)| {
            let share = io.utilisation.percent() / 100.0;
            format!("(2 − {share:.2})·{share:.2}")
        });
        mains.chain(io).collect()
    }
}

fn line(
    text: &mut String,
    what: &str,
    name: &str,
    load: &str,
    bound: Option<Time>,
    deadline: Time,
) -> fmt::Result {
    let answer = match bound {
        Some(bound) if bound <= deadline => format!(
            "responds within {}, slack {}",
            time_text(bound),
            time_text(deadline - bound)
        ),
        Some(bound) => format!(
            "responds within {}, {} too late",
            time_text(bound),
            time_text(bound - deadline)
        ),
        None => format!("does not respond within {}", time_text(deadline)),
    };
    writeln!(text, "    {what:<5} {name:<16} {load:<22} {answer}")
}
