//! Loops and recursion
//!
//! A strongly connected component of the flow within functions is a loop. Without its header, what is
//! still connected are the loops in it, and so on: every cycle goes through the header of one of the
//! loops that are found. A call within a component of the flow that follows calls is recursion, since
//! the function reaches its own call before it has come back.

use super::decode::{Exclusive, exclusive, is_plain};
use super::graph::{Graph, Node};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};

/// Code that retries an exclusive pair must fit into so many bytes for its progress to be guaranteed
/// (Arm ARM B2.9.5).
const PROGRESS_SPAN: u64 = 128;

/// A loop.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// The first of its instructions on the way in.
    pub(super) header: u64,
    /// Its instructions, those of loops in it left out.
    pub(super) instructions: BTreeSet<u64>,
}

impl Loop {
    /// True if the cycle retries a pair of a load- and a store-exclusive.
    pub(super) fn retries(&self, graph: &Graph) -> bool {
        self.exclusives(graph).next().is_some()
    }

    /// Returns true if the architecture guarantees that such a retry makes progress.
    pub(super) fn progress_is_guaranteed(&self, graph: &Graph) -> bool {
        let bases: BTreeSet<u32> = self
            .exclusives(graph)
            .map(|(Exclusive::Load(base) | Exclusive::Store(base))| base)
            .collect();
        let span = self
            .instructions
            .last()
            .zip(self.instructions.first())
            .map_or(0, |(last, first)| last + 4 - first);
        let plain = |at: &u64| {
            let word = graph.nodes[at].word;
            exclusive(word).is_some() || is_plain(word)
        };
        bases.len() == 1 && span <= PROGRESS_SPAN && self.instructions.iter().all(plain)
    }

    fn exclusives<'g>(&'g self, graph: &'g Graph) -> impl Iterator<Item = Exclusive> + 'g {
        self.instructions
            .iter()
            .filter_map(|at| exclusive(graph.nodes[at].word))
    }
}

/// All loops, inner ones too, by the address of their headers.
pub(super) fn loops(graph: &Graph) -> Vec<Loop> {
    let mut found = Vec::new();
    let mut open: Vec<BTreeSet<u64>> = vec![graph.nodes.keys().copied().collect()];
    while let Some(part) = open.pop() {
        for component in components(&part, |at| &graph.nodes[&at].next) {
            let header = header(graph, &component);
            let mut rest = component.clone();
            rest.remove(&header);
            let inner = components(&rest, |at| &graph.nodes[&at].next);
            let mut instructions = component;
            inner.iter().flatten().for_each(|at| {
                instructions.remove(at);
            });
            found.push(Loop {
                header,
                instructions,
            });
            open.extend(inner);
        }
    }
    found.sort_by_key(|one| one.header);
    found
}

/// Calls by which a function comes to itself again.
pub(super) fn recursions(graph: &Graph) -> Vec<u64> {
    let all: BTreeSet<u64> = graph.nodes.keys().copied().collect();
    let flow: BTreeMap<u64, Vec<u64>> = graph
        .nodes
        .iter()
        .map(|(&at, Node { next, calls, .. })| (at, [&next[..], &calls[..]].concat()))
        .collect();
    let within = |component: BTreeSet<u64>| {
        let calls_within = |at: &u64| {
            graph.nodes[at]
                .calls
                .iter()
                .any(|to| component.contains(to))
        };
        component
            .iter()
            .copied()
            .filter(calls_within)
            .collect::<Vec<_>>()
    };
    components(&all, |at| &flow[&at])
        .into_iter()
        .flat_map(within)
        .collect()
}

/// Returns the entry of a strongly connected component: its first instruction if there are several.
pub(super) fn header(graph: &Graph, component: &BTreeSet<u64>) -> u64 {
    let from_outside: BTreeSet<u64> = graph
        .nodes
        .iter()
        .filter(|(at, _)| !component.contains(at))
        .flat_map(|(_, node)| node.next.iter().chain(&node.calls))
        .copied()
        .collect();
    let entered = component.intersection(&from_outside).next();
    *entered
        .or(component.first())
        .expect("a component has an instruction")
}

/// Strongly connected components with a cycle, within `part`.
pub(super) fn components<'g>(
    part: &BTreeSet<u64>,
    next: impl Fn(u64) -> &'g Vec<u64>,
) -> Vec<BTreeSet<u64>> {
    let edges = part
        .iter()
        .flat_map(|&at| next(at).iter().map(move |&to| (at, to)));
    let within = edges.filter(|(_, to)| part.contains(to));
    let graph: DiGraphMap<u64, ()> = DiGraphMap::from_edges(within);
    let mut found = tarjan_scc(&graph);
    found.retain(|one| one.len() > 1 || graph.contains_edge(one[0], one[0]));
    found.into_iter().map(BTreeSet::from_iter).collect()
}
