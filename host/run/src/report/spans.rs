//! Spans of time in which promises about a task or a path were broken

/// Broken promises closer together than this are one span, nanoseconds.
const GAP_NS: u64 = 10_000_000;
/// Spans kept; the last one is extended over all further ones.
const MOST_SPANS: usize = 256;

/// Spans in the order of time, nanoseconds of the machine's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    spans: Vec<[u64; 2]>,
}

impl Spans {
    /// Adds a promise that was broken at that time.
    pub(super) fn add(&mut self, at_ns: u64) {
        let is_full = self.spans.len() >= MOST_SPANS;
        match self.spans.last_mut() {
            Some([_, to]) if is_full || at_ns <= to.saturating_add(GAP_NS) => *to = at_ns.max(*to),
            _ => self.spans.push([at_ns; 2]),
        }
    }

    /// Adds later spans.
    pub(super) fn extend(&mut self, others: &Self) {
        for [from, to] in &others.spans {
            self.add(*from);
            if let Some([_, end]) = self.spans.last_mut() {
                *end = (*end).max(*to);
            }
        }
    }

    /// Returns the spans in seconds.
    pub(super) fn seconds(&self) -> Vec<[f64; 2]> {
        let spans = self.spans.iter();
        spans.map(|span| span.map(|ns| ns as f64 / 1e9)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_close_together_is_one_span_and_nothing_is_forgotten() {
        let mut spans = Spans::default();
        for at_ms in [1, 5, 14, 900, 905] {
            spans.add(at_ms * 1_000_000);
        }
        assert_eq!(spans.seconds(), [[0.001, 0.014], [0.9, 0.905]]);
        for at_s in 1..1000 {
            spans.add(at_s * 1_000_000_000);
        }
        let all = spans.seconds();
        assert_eq!(all.len(), MOST_SPANS);
        assert_eq!(all[MOST_SPANS - 1][1], 999.0);
    }
}
