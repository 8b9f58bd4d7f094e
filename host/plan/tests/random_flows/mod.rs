//! Flows at random, the same every time

/// Marsaglia's xorshift64*: the same cases every time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % limit
    }

    fn pick(&mut self, items: &[&str]) -> String {
        items[self.below(items.len() as u64) as usize].to_owned()
    }

    /// Flows that no user would write.
    pub(crate) fn odd(&mut self) -> String {
        if self.below(2) == 0 {
            let words = (0..self.below(14)).map(|_| self.pick(WORDS));
            return words.collect::<Vec<_>>().join(" ");
        }
        let first = self.pick(&[
            "* sample",
            "sample",
            "* sample | mix",
            "(sample, sample) | fuse",
        ]);
        format!("{first} | emit {}", self.pick(ENDS))
    }

    /// Mostly what begins and ends here, and has stages in Linux.
    pub(crate) fn flow_through(&mut self) -> String {
        let linux = [
            "slow",
            "quick",
            "(slow | quick)",
            "slow, quick",
            "linux.quick",
        ];
        let here = ["fuse", "mix", "filter | mix"];
        let mut flow = self.pick(&["sample", "sample, sample", "sample | filter"]);
        for _ in 0..=self.below(2) {
            flow = format!("{flow} | {}", self.pick(&linux));
            if self.below(3) == 0 {
                flow = format!("{flow} | {}", self.pick(&here));
            }
        }
        let last = self.pick(&["emit", "emit", "emit", "fuse | emit", "quick"]);
        let delay = 1_000 * (30 + self.below(250));
        match self.below(4) {
            0 => format!("{flow} | {last}"),
            1 => format!("* {flow} | {last} [{}/s, {delay} us]", 2 + self.below(20)),
            _ => format!("{flow} | {last} [{} %, {delay} us]", 1 + self.below(60)),
        }
    }

    /// Mostly what fits together.
    pub(crate) fn flow(&mut self) -> String {
        let first = match self.below(10) {
            0 => self.pick(&["filter", "slow", "nobody", "emit"]),
            1..5 => self.pick(&["read", "control.scan"]),
            _ => self.pick(&["sample", "control.sample"]),
        };
        let heads = match self.below(12) {
            0 => 5,
            1..8 => 1,
            _ => 2 + self.below(2),
        };
        let heads = (0..heads).map(|_| first.clone());
        let mut flow = heads.collect::<Vec<_>>().join(", ");
        let mut middles = vec![
            "filter",
            "fuse",
            "wide",
            "mix",
            "fresh",
            "(filter | mix), fuse",
        ];
        for _ in 0..self.below(3) {
            let middle = match self.below(14) {
                0 => "slow",
                1 => "filter",
                _ => middles.swap_remove(self.below(middles.len() as u64) as usize),
            };
            flow = format!("{flow} | {middle}");
        }
        let tail = self.pick(&["emit", "emit", "write", "spread"]);
        let tails = (0..1 + self.below(4) / 3).map(|_| tail.clone());
        flow = format!("{flow} | {}", tails.collect::<Vec<_>>().join(", "));
        let delay = match self.below(3) {
            0 => 4_000 + self.below(60_000),
            _ => 20_000 * (1 + self.below(60)),
        };
        match self.below(5) {
            0 => flow,
            1 => format!("* {flow}"),
            2 => format!("* {flow} [{}/s, {delay} us]", 1 + self.below(12)),
            _ => format!("{flow} [{} %, {delay} us]", 5 + self.below(80)),
        }
    }
}

/// Words of flows.
const WORDS: &[&str] = &[
    "sample",
    "filter",
    "fuse",
    "emit",
    "wide",
    "mix",
    "slow",
    "read",
    "x",
    "|",
    "|",
    "|",
    ",",
    ",",
    "(",
    ")",
    "*",
    "[",
    "]",
    "%",
    "/s",
    "/ms",
    "ms",
    "s",
    "ns",
    "us",
    "1",
    "0",
    "99.9999",
    "0.000001",
    "18446744073709551615",
    "86400",
    "é",
    "\u{7}",
];
/// Requirements that no user would write.
const ENDS: &[&str] = &[
    "[0.000001 %, 1 ns]",
    "[99.9999 %, 86400 s]",
    "[1 %, 18446744073 s]",
    "[4000000000/s, 1 us]",
    "[0.000001/s, 86400 s]",
    "[1/s, 9223372036 s]",
    "[100/s, 1 ns]",
];
