//! The rules: one file each, with one id and a rejecting example
//!
//! A rule says what must hold and why. Most look at a draft as a whole; those about single values
//! are called where the value is read. The example of each is a description in `tests/golden/`
//! which the rule refuses, or warns about; it is compiled in for `bulkhead explain`.

use crate::diagnostic::Report;
use crate::pipes::solution::Solution;
use declaration::Check;
pub(crate) use declaration::Rule;

mod bridge;
mod channels;
mod colours;
mod components;
mod cores;
mod declaration;
mod devices;
mod freedom;
mod images;
mod memory;
pub(crate) mod pipes;
mod policy;
pub(crate) mod shape;
mod standby;
pub(crate) mod system;
pub(crate) mod time;

/// All rules by subject, in the order of the reference.
pub(crate) const GROUPS: &[(&str, &[&Rule])] = &[
    ("The text", shape::RULES),
    ("The system", system::RULES),
    ("Cores", cores::RULES),
    ("Memory", memory::RULES),
    ("Devices and consoles", devices::RULES),
    ("Images", images::RULES),
    ("Components", components::RULES),
    ("Channels", channels::RULES),
    ("Page colours", colours::RULES),
    ("Policies", policy::RULES),
    ("Standby partitions", standby::RULES),
    ("Time", time::RULES),
    ("Pipes", pipes::RULES),
    ("Endpoints beyond the machine", bridge::RULES),
    ("Freedoms and their price", freedom::RULES),
];

/// All rules.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| rules.iter().copied())
}

/// Applies every rule to a draft and the solution of its pipes.
pub(crate) fn check(solution: &Solution<'_>, report: &mut Report) {
    for rule in all() {
        match rule.check {
            Check::Value => {}
            Check::Draft(check) => check(solution.draft, report),
            Check::Solution(check) => check(solution, report),
        }
    }
}
