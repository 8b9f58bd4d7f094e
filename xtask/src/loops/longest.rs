//! The longest way through an executable, in instructions
//!
//! A loop counts as often as the table says that it runs, each time with the longest way through its body. A call
//! counts with the longest way through what it calls. Branches that exclude each other are not told apart, so the
//! figure is an upper bound. Retries of exclusive pairs, which successes of other cores cause, and entries of the
//! monitor are not contained.

use super::cycles::{components, header};
use super::graph::{Graph, Node};
use std::collections::{BTreeMap, BTreeSet};

/// Measures ways.
pub(super) struct Longest<'g> {
    graph: &'g Graph,
    /// How often a loop runs at most, by the address of its header.
    times: BTreeMap<u64, u64>,
    functions: BTreeMap<u64, u64>,
}

impl<'g> Longest<'g> {
    /// Of ways that do not enter the functions at `excluded`.
    pub(super) fn new(graph: &'g Graph, times: BTreeMap<u64, u64>, excluded: &[u64]) -> Self {
        let functions = excluded.iter().map(|&at| (at, 0)).collect();
        Self {
            graph,
            times,
            functions,
        }
    }

    /// Instructions of the longest way from `entry` until the function returns or the exception does.
    pub(super) fn from(&mut self, entry: u64) -> u64 {
        if let Some(&length) = self.functions.get(&entry) {
            return length;
        }
        // Recursion is refused elsewhere; here it ends.
        self.functions.insert(entry, 0);
        let body = self.graph.reached(&[entry], |node| node.next.clone());
        let body = body
            .into_iter()
            .filter(|at| self.graph.nodes.contains_key(at));
        let length = self.longest_path(&body.collect(), entry, None);
        self.functions.insert(entry, length);
        length
    }

    /// Functions with the longest ways, longest first.
    pub(super) fn functions(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = self.functions.iter().map(|(&at, &n)| (n, at)).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// Longest way from `entry` through `part` without edges to `closed`, the header of the loop that it is the body of.
    fn longest_path(&mut self, part: &BTreeSet<u64>, entry: u64, closed: Option<u64>) -> u64 {
        let graph = self.graph;
        let mut open = part.clone();
        closed.iter().for_each(|at| _ = open.remove(at));
        let loops = components(&open, |at| &graph.nodes[&at].next);
        let mut group: BTreeMap<u64, u64> = part.iter().map(|&at| (at, at)).collect();
        let mut lengths = BTreeMap::new();
        for one in &loops {
            let head = header(graph, one);
            one.iter().for_each(|&at| _ = group.insert(at, head));
            let times = self.times.get(&head).copied().unwrap_or(1);
            lengths.insert(head, times * self.longest_path(one, head, Some(head)));
        }
        let mut next: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (&at, &from) in &group {
            let Node {
                next: to, calls, ..
            } = &graph.nodes[&at];
            let to = to.iter().filter(|&&to| Some(to) != closed);
            let to = to.filter_map(|to| group.get(to)).filter(|&&to| to != from);
            next.entry(from).or_default().extend(to);
            if !loops.iter().any(|one| one.contains(&at)) {
                let called = calls.iter().map(|&callee| self.from(callee)).max();
                lengths.insert(at, 1 + called.unwrap_or(0));
            }
        }
        longest(group[&entry], &next, &lengths)
    }
}

/// Longest way from `entry` in a graph without cycles, the lengths of its nodes added.
fn longest(entry: u64, next: &BTreeMap<u64, BTreeSet<u64>>, lengths: &BTreeMap<u64, u64>) -> u64 {
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    let mut path = vec![entry];
    while let Some(&at) = path.last() {
        let open = next[&at].iter().find(|to| !found.contains_key(to));
        if let Some(&to) = open {
            path.push(to);
            continue;
        }
        let behind = next[&at].iter().map(|to| found[to]).max().unwrap_or(0);
        found.insert(at, lengths[&at] + behind);
        path.pop();
    }
    found[&entry]
}
