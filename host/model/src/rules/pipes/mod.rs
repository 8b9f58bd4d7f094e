//! Rules about pipes, their functions and endpoints

pub(crate) mod endpoint_address;
pub(crate) mod endpoint_core;
pub(crate) mod endpoint_device;
pub(crate) mod endpoint_direction;
pub(crate) mod endpoint_driver;
pub(crate) mod endpoint_sharers;
pub(crate) mod endpoint_twice;
pub(crate) mod endpoint_vcpu;
pub(crate) mod function_changed;
pub(crate) mod function_component;
pub(crate) mod function_core;
pub(crate) mod function_endpoint;
pub(crate) mod function_fallback;
pub(crate) mod function_measured;
pub(crate) mod function_missing;
pub(crate) mod function_partition;
pub(crate) mod function_times;
pub(crate) mod function_wcet;
pub(crate) mod message_type;
pub(crate) mod pipe_age;
pub(crate) mod pipe_buffering;
pub(crate) mod pipe_component;
pub(crate) mod pipe_cycle;
pub(crate) mod pipe_fallback;
pub(crate) mod pipe_function;
pub(crate) mod pipe_idle;
pub(crate) mod pipe_input;
pub(crate) mod pipe_room;
pub(crate) mod pipe_syntax;
pub(crate) mod pipe_unmet;
pub(crate) mod profile_file;
pub(crate) mod spare_stages;
pub(crate) mod stage_core;
pub(crate) mod typed_through;

use crate::diagnostic::Report;
use crate::draft::PartitionDraft;
use crate::pipes::flow::flows;
use crate::pipes::rule_of;
use crate::pipes::solution::Solution;
use crate::rules::bridge::bridge_stage;
use crate::rules::{Rule, time};
use bulkhead_tpipe::binding::Misfit;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &function_partition::RULE,
    &function_core::RULE,
    &function_component::RULE,
    &function_times::RULE,
    &function_wcet::RULE,
    &function_measured::RULE,
    &function_changed::RULE,
    &profile_file::RULE,
    &function_endpoint::RULE,
    &function_fallback::RULE,
    &function_missing::RULE,
    &endpoint_vcpu::RULE,
    &endpoint_core::RULE,
    &endpoint_driver::RULE,
    &endpoint_device::RULE,
    &endpoint_direction::RULE,
    &endpoint_twice::RULE,
    &endpoint_sharers::RULE,
    &endpoint_address::RULE,
    &pipe_syntax::RULE,
    &pipe_function::RULE,
    &pipe_buffering::RULE,
    &pipe_input::RULE,
    &message_type::RULE,
    &pipe_cycle::RULE,
    &pipe_room::RULE,
    &pipe_unmet::RULE,
    &pipe_idle::RULE,
    &pipe_component::RULE,
    &pipe_age::RULE,
    &pipe_fallback::RULE,
    &stage_core::RULE,
    &spare_stages::RULE,
    &typed_through::RULE,
];

/// Returns whether the functions of a partition, its endpoints and its VCPUs are sound one by one.
pub(crate) fn is_sound(partition: &PartitionDraft) -> bool {
    partition.functions.is_empty() || time::is_sound(partition) && functions_are_sound(partition)
}

fn functions_are_sound(partition: &PartitionDraft) -> bool {
    function_partition::problem(partition).is_none()
        && function_times::problems(partition).next().is_none()
        && partition
            .functions
            .iter()
            .all(|function| !function.wcet.is_absent())
        && function_endpoint::unknown(partition).next().is_none()
        && endpoint_vcpu::problems(partition).is_empty()
        && endpoint_core::problems(partition).next().is_none()
        && endpoint_device::is_sound(partition)
        && endpoint_address::is_sound(partition)
        && bridge_stage::is_sound(partition)
}

/// Reports the misfits that are one rule's.
fn report_misfits(solution: &Solution<'_>, rule: &Rule, report: &mut Report) {
    let draft = solution.draft;
    let Some(catalogue) = solution.catalogue() else {
        return;
    };
    for flow in flows(draft) {
        let misfit = catalogue.misfit(&flow.value);
        // Room is counted for all pipes at once (`pipe_room`).
        let misfit = misfit.filter(|error| error.fault != Misfit::Room);
        if let Some(error) = misfit.filter(|error| rule_of(error.fault) == rule.id) {
            let remark = catalogue.pipes.misfit(&flow.value, &error);
            report.add(remark.within(rule.id, flow, &draft.sources));
        }
    }
}
