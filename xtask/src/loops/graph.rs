//! The instructions that can be reached, and how
//!
//! A walk from the entries: what is never reached is never looked at, so data between the code do no
//! harm. A call goes on behind itself only if what it calls comes back.

use super::decode::{Flow, flow};
use super::image::Image;
use super::jump;
use std::collections::{BTreeMap, BTreeSet};

/// Targets of jumps and calls through registers that no table in the image says, by address.
pub(super) type KnownTargets = BTreeMap<u64, Vec<u64>>;

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) word: u32,
    /// Successors in the same function.
    pub(super) next: Vec<u64>,
    /// Called functions.
    pub(super) calls: Vec<u64>,
}

/// All that can be reached from the entries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) nodes: BTreeMap<u64, Node>,
    /// Jumps and calls through registers with unknown targets.
    pub(super) lost: BTreeSet<u64>,
    /// Reached, but nothing that may come: traps, unknown instructions, what is not loaded.
    pub(super) broken: BTreeSet<u64>,
}

/// Walks from `entries` again and again, until it is known which functions come back.
pub(super) fn walk(image: &Image, entries: &[u64], targets: &KnownTargets) -> Graph {
    let ways = Ways {
        image,
        targets,
        tables: jump::tables(image),
    };
    let mut coming_back = BTreeSet::new();
    loop {
        let graph = walk_once(&ways, entries, &coming_back);
        let called: BTreeSet<u64> = graph.nodes.values().flat_map(|n| n.calls.clone()).collect();
        let found: BTreeSet<u64> = called
            .into_iter()
            .filter(|&function| graph.comes_back(function))
            .collect();
        if found == coming_back {
            return graph;
        }
        coming_back = found;
    }
}

/// Facts about control flow that are known beforehand.
struct Ways<'i> {
    image: &'i Image,
    targets: &'i KnownTargets,
    tables: BTreeSet<u64>,
}

fn walk_once(ways: &Ways<'_>, entries: &[u64], coming_back: &BTreeSet<u64>) -> Graph {
    let mut graph = Graph::default();
    let mut open = entries.to_vec();
    while let Some(at) = open.pop() {
        if graph.nodes.contains_key(&at) {
            continue;
        }
        let node = graph.visit(ways, at, coming_back);
        open.extend(node.next.iter().chain(&node.calls));
        graph.nodes.insert(at, node);
    }
    graph
}

impl Graph {
    fn visit(&mut self, ways: &Ways<'_>, at: u64, coming_back: &BTreeSet<u64>) -> Node {
        let Ways {
            image,
            targets,
            tables,
        } = ways;
        let word = image.word(at).unwrap_or_default();
        let targets = || targets.get(&at).cloned();
        let (next, calls) = match flow(word, at) {
            Flow::Next => (vec![at + 4], vec![]),
            Flow::Jump(to) => (vec![to], vec![]),
            Flow::Branch(to) => (vec![to, at + 4], vec![]),
            Flow::Call(to) => (vec![], vec![to]),
            Flow::JumpTo(register) => (
                self.or_lost(
                    at,
                    targets().or_else(|| jump::targets(image, tables, at, register)),
                ),
                vec![],
            ),
            Flow::CallTo(_) => (vec![], self.or_lost(at, targets())),
            Flow::Return | Flow::ExceptionReturn => (vec![], vec![]),
            Flow::Trap | Flow::Unknown => {
                self.broken.insert(at);
                (vec![], vec![])
            }
        };
        let returns = calls.iter().any(|callee| coming_back.contains(callee));
        let behind = returns.then_some(at + 4);
        let next = next.into_iter().chain(behind).collect();
        Node { word, next, calls }
    }

    fn or_lost(&mut self, at: u64, targets: Option<Vec<u64>>) -> Vec<u64> {
        targets.unwrap_or_else(|| {
            self.lost.insert(at);
            vec![]
        })
    }

    fn comes_back(&self, function: u64) -> bool {
        let returns = |at: &u64| flow(self.nodes[at].word, *at) == Flow::Return;
        self.reached(&[function], |node| node.next.clone())
            .iter()
            .any(returns)
    }

    /// Everything on the ways from `entries`, calls included.
    pub(super) fn reachable(&self, entries: &[u64]) -> BTreeSet<u64> {
        self.reached(entries, |node| [&node.next[..], &node.calls[..]].concat())
    }

    pub(super) fn reached(
        &self,
        from: &[u64],
        goes_on: impl Fn(&Node) -> Vec<u64>,
    ) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut open = from.to_vec();
        while let Some(at) = open.pop() {
            if let (true, Some(node)) = (found.insert(at), self.nodes.get(&at)) {
                open.extend(goes_on(node));
            }
        }
        found
    }
}
