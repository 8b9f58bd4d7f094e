//! The analysis in words and numbers

use super::{CoreAnalysis, NO_DEADLINE, Order, Place, Timing, Vcpu, VcpuKind};
use crate::quantity::{time_text, time_text_down};
use bulkhead_analysis::overhead::Overhead;
use bulkhead_analysis::{Reservation, Time};
use std::fmt::{self, Write};

impl Timing {
    /// A table per core: utilisation, and each VCPU and task with its bound and slack. With
    /// `formulas`, also how each number comes about and where that is from.
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
        write!(
            text,
            "  core {}: {:.2} % demanded",
            core.core,
            core.demand.percent()
        )?;
        if core.overhead_share.0 > 0 {
            let overhead = core.overhead_share.percent();
            let budgets = core.demand.percent() - overhead;
            write!(
                text,
                " ({budgets:.2} % by budgets, {overhead:.2} % by decisions)"
            )?;
        }
        match core.always_fits {
            Some(fits) => writeln!(text, ", {:.2} % always fits", fits.percent())?,
            None => writeln!(text)?,
        }
        if formulas {
            let terms = self.terms(core).join(" + ");
            let fits = match self.schedule.order {
                Order::RateMonotonic => {
                    format!(
                        "; n(2^(1/n) − 1), n = {} (Liu and Layland 1973; 001 §4.1)",
                        core.mains.len()
                    )
                }
                Order::EarliestDeadline => {
                    "; h(t) + I(t) ≤ t at all deadlines (Baruah, Mok, Rosier 1990)".into()
                }
                Order::FixedPriority => String::new(),
            };
            writeln!(text, "    Σ C/T + Σ (2 − U)·U = {terms}{fits}")?;
        }
        let Overhead {
            decision,
            interrupt,
            job,
            ..
        } = self.overhead;
        if formulas && decision > 0 {
            writeln!(
                text,
                "    a decision D takes {} at most, a doorbell {}: C' = C + D·(ends + chunks) in each T, D for each \
                 release, two for each piece of a bottom half and each slot, ahead of all (Katcher, Arakawa, \
                 Strosnider 1993; `bulkhead bench budgets`); of each job the runtime takes {} of its budget",
                time_text(decision),
                time_text(interrupt),
                time_text(job)
            )?;
        }
        self.slot_lines(text, core, formulas)?;
        self.vcpu_lines(text, core, formulas)?;
        self.task_lines(text, core, formulas)
    }

    /// The time table, and how much longer bands need its slots to be.
    fn slot_lines(&self, text: &mut String, core: &CoreAnalysis, formulas: bool) -> fmt::Result {
        for &(index, longer) in &core.slots {
            let slot = &self.schedule.slots[index];
            let end = time_text(slot.start_ns + slot.length_ns);
            let share = format!(
                "TP{}, {} to {end}",
                slot.partition,
                time_text(slot.start_ns)
            );
            let longer = match longer {
                Some(0) => "as it is".into(),
                Some(longer) => format!("inflate by {} for the bands", time_text(longer)),
                None => "no length is enough for the bands".into(),
            };
            writeln!(
                text,
                "    {:<5} {:<16} {share:<22} {longer}",
                "slot", slot.name
            )?;
            if formulas {
                writeln!(
                    text,
                    "      S' = S + Σ ⌈(S' + R − C)/T⌉·C over reservations of bands that are as important (002; spec §5)"
                )?;
            }
        }
        Ok(())
    }

    fn vcpu_lines(&self, text: &mut String, core: &CoreAnalysis, formulas: bool) -> fmt::Result {
        let by_priority = self.schedule.order == Order::FixedPriority;
        for (rank, &(index, response)) in core.mains.iter().enumerate() {
            let vcpu = &self.vcpus[index];
            let Some(Reservation { capacity, period }) = vcpu.budget() else {
                continue;
            };
            let budget = format!("{} in {}", time_text(capacity), time_text(period));
            let what = match vcpu.kind {
                VcpuKind::Reservation { .. } => "edf",
                _ => "vcpu",
            };
            line(text, what, &vcpu.name, &budget, response, period)?;
            if by_priority {
                let Place {
                    partition,
                    priority,
                } = vcpu.place;
                let inflated = match core.inflation.get(rank).copied().flatten() {
                    Some(0) | None => String::new(),
                    Some(more) => format!(", inflated by {} for the bands", time_text(more)),
                };
                writeln!(text, "      TP{partition}, priority {priority}{inflated}")?;
            }
            if formulas {
                self.formula(text, core, rank, vcpu)?;
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

    fn formula(
        &self,
        text: &mut String,
        core: &CoreAnalysis,
        rank: usize,
        vcpu: &Vcpu,
    ) -> fmt::Result {
        let io = core.io.len();
        match (self.schedule.order, vcpu.kind, vcpu.place.partition) {
            (Order::RateMonotonic, ..) => writeln!(
                text,
                "      R = C + Σ ⌈R/Tj⌉·Cj over {rank} more important + Σ (U·R + (2 − U)·U·T) over {io} I/O (Joseph and Pandya 1986; 001 §4.1.3)"
            ),
            (Order::EarliestDeadline, ..) => {
                writeln!(
                    text,
                    "      R = max L(a) − a over deadlines of its own that are others', too; L = I(L) + (1 + ⌊a/T⌋)·C + Σ min(⌈L/Tj⌉, 1 + ⌊(a + T − Tj)/Tj⌋)·Cj (Spuri 1996)"
                )
            }
            (_, VcpuKind::Reservation { .. }, _) => writeln!(
                text,
                "      R = max L(a) − a within the band, behind Σ ⌈(R + J)/T⌉·C over what is more important (Spuri 1996)"
            ),
            (_, _, 0) => writeln!(
                text,
                "      R = C + Σ ⌈(R + J)/T⌉·C over what is as important, J = T − C of other time partitions (Audsley et al. 1993)"
            ),
            _ => writeln!(
                text,
                "      R: every window of R has slots for C + Σ ⌈R/T⌉·C over TP0 and its own partition, what is as important (002; ARINC 653)"
            ),
        }
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
                    "      all that can wait on `{0}`, with what the runtime takes, w: R of `{0}` where w ≤ C and no period < T; else ⌈w/C⌉·T + R (001 eq. 4.1)",
                    self.vcpus[task.vcpu].name
                )?;
                if let Some(before) = task.after.and_then(|index| self.tasks.get(index)) {
                    writeln!(
                        text,
                        "      and the bound of `{}`, which releases it; its period is shorter here by the deadline of \
                         that task",
                        before.name
                    )?;
                }
            }
        }
        Ok(())
    }

    fn terms(&self, core: &CoreAnalysis) -> Vec<String> {
        let mains = core.mains.iter().filter_map(|(index, _)| {
            let Reservation { capacity, period } = self.vcpus[*index].budget()?;
            Some(format!("{}/{}", time_text(capacity), time_text(period)))
        });
        let io = core.io.iter().map(|(_, io)| {
            let share = io.utilisation.percent() / 100.0;
            format!("(2 − {share:.2})·{share:.2}")
        });
        mains.chain(io).collect()
    }
}

pub(super) fn line(
    text: &mut String,
    what: &str,
    name: &str,
    load: &str,
    bound: Option<Time>,
    deadline: Time,
) -> fmt::Result {
    let answer = match bound {
        _ if deadline == NO_DEADLINE => "no deadline of its own".into(),
        Some(bound) if bound <= deadline => format!(
            "responds within {}, slack {}",
            time_text(bound),
            time_text_down(deadline - bound)
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
