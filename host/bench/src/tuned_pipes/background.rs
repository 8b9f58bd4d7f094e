//! Work that ran beside the pipes, as the working programs report it
//!
//! Programs in both Linux partitions say twice a second what they have done since they began, each line stamped by its
//! Linux: `can0: sent=N unsent=N`, `can0: taken=N`, `traffic: copied=BYTES packets=N idle-ms=N`. What was done from the
//! last line before the pipes' begin to the last one counts.

use crate::error::BenchError;
use crate::report::Row;
use crate::setting::Setting;

/// Bits per second of a channel.
const RATE: f64 = 500_000.0;
/// Of the frames that keep it busy, 8 bytes without a stuffed bit, and the space behind: they are longer, not shorter.
const FRAME_BITS: f64 = 111.0;
/// Percent of a channel's bits, by channel.
const BUSY: [f64; 3] = [20.0, 30.0, 40.0];

/// Output of a partition's programs.
struct Output {
    lines: Vec<String>,
    from_s: f64,
}

/// So much of something, in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Done {
    count: f64,
    seconds: f64,
}

impl Done {
    fn per_s(self) -> f64 {
        self.count / self.seconds
    }
}

/// A row for each channel, and one for the other load. `first` is the number of the first of Linux's interfaces to them.
///
/// # Errors
/// A console cannot be read.
pub(super) fn rows(
    setting: &Setting,
    first: usize,
    from_ms: u64,
    number: u64,
) -> Result<Vec<Row>, BenchError> {
    let output_of = |partition: &str| {
        let lines = setting.console(partition)?;
        let from_s = from_ms as f64 / 1000.0;
        Ok::<_, BenchError>(Output { lines, from_s })
    };
    let (linux, ecus) = (output_of("linux")?, output_of("ecus")?);
    let channel = |(place, busy): (usize, &f64)| {
        let interfaces = [place, place + first].map(|one| format!("can{one}"));
        let name = format!("channel {} at {busy} %, run {number}", place + 1);
        channel_row(&name, *busy, interfaces, &ecus, &linux)
    };
    let mut rows: Vec<Row> = BUSY.iter().enumerate().map(channel).collect();
    let cores = setting.manifest.partitions.iter();
    let cores = cores.filter(|one| one.name == "linux");
    let cores: usize = cores.map(|one| one.cores.len()).sum();
    rows.push(load_row(
        &format!("Linux's load, run {number}"),
        &linux,
        cores,
    ));
    Ok(rows)
}

/// Frames may not be further apart than the share asks for.
fn channel_row(
    name: &str,
    busy: f64,
    [from, to]: [String; 2],
    ecus: &Output,
    linux: &Output,
) -> Row {
    let [sent, unsent] = ["sent", "unsent"].map(|what| ecus.done(&from, what));
    let taken = linux.done(&to, "taken");
    let rate = sent.map_or(0.0, Done::per_s);
    let count = |done: Option<Done>| done.map_or(0.0, |done| done.count);
    let figures = [
        ("us from frame to frame", 1e6 / rate),
        ("frames per second", rate),
        ("sent", count(sent)),
        ("not taken by the controller", count(unsent)),
        ("received per second", taken.map_or(0.0, Done::per_s)),
    ];
    let bound = 1e8 * FRAME_BITS / RATE / busy;
    Row::at_most(name, &figures, "us", bound)
}

/// There has to be one.
fn load_row(name: &str, linux: &Output, cores: usize) -> Row {
    let [copied, packets, idle] =
        ["copied", "packets", "idle-ms"].map(|what| linux.done("traffic", what));
    let per_s = |done: Option<Done>| done.map_or(0.0, Done::per_s);
    let busy = idle.map(|idle| 100.0 - idle.per_s() / 10.0 / cores as f64);
    let figures = [
        ("MB copied per second", per_s(copied) / 1e6),
        ("MB copied", copied.map_or(0.0, |done| done.count / 1e6)),
        ("packets per second", per_s(packets)),
        ("busy %", busy.unwrap_or(f64::NAN)),
    ];
    let mut row = Row::unbounded(name, &figures, "MB/s");
    row.ok = [copied, packets].iter().all(|done| per_s(*done) > 0.0);
    row
}

impl Output {
    /// Amount of `what` that a program did.
    fn done(&self, who: &str, what: &str) -> Option<Done> {
        let counts: Vec<_> = self
            .lines
            .iter()
            .filter_map(|line| count(line, who, what))
            .collect();
        let first = counts.iter().rfind(|(second, _)| *second <= self.from_s)?;
        let last = counts.last()?;
        (last.0 > first.0).then_some(Done {
            count: last.1 - first.1,
            seconds: last.0 - first.0,
        })
    }
}

/// Second and count of a line `[SECOND] PROGRAM: … WHAT=COUNT …`; a console may have put a stamp before it.
fn count(line: &str, who: &str, what: &str) -> Option<(f64, f64)> {
    let (stamps, rest) = line.rsplit_once(']')?;
    let (_, stamp) = stamps.rsplit_once('[')?;
    let (said_by, counts) = rest.trim_start().split_once(": ")?;
    let mut counts = counts
        .split_whitespace()
        .filter_map(|one| one.split_once('='));
    let (_, count) = counts.find(|(name, _)| said_by == who && *name == what)?;
    Some((stamp.trim().parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(lines: &[&str]) -> Output {
        Output {
            lines: lines.iter().map(ToString::to_string).collect(),
            from_s: 8.0,
        }
    }

    #[test]
    fn what_was_done_counts_from_the_pipes_begin_to_the_last_word() {
        let output = output(&[
            "[    6.900000] can0: sent=700 unsent=1",
            "[    8.100000] [    7.900000] can0: sent=1700 unsent=2",
            "[    8.200000] can1: sent=1 unsent=0",
            "[    8.900000] can0: sent=2800 unsent=2",
            "[    9.900000] can0: sent=3900 unsent=2",
        ]);
        let done = output.done("can0", "sent").expect("two lines");
        assert_eq!((done.count, done.per_s()), (2200.0, 1100.0));
        assert_eq!(
            output.done("can0", "unsent").map(|done| done.count),
            Some(0.0)
        );
        assert_eq!(output.done("can1", "sent"), None);
        assert_eq!(output.done("can0", "taken"), None);
    }

    #[test]
    fn a_channel_that_is_less_busy_than_it_should_be_breaks_the_guarantee() {
        let row = |last: &str| {
            let ecus = output(&["[ 8.0] can0: sent=0 unsent=0", last]);
            let linux = output(&["[ 8.0] can1: taken=0", "[ 9.0] can1: taken=890"]);
            let interfaces = ["can0".into(), "can1".into()];
            channel_row("x", 20.0, interfaces, &ecus, &linux)
        };
        assert!(row("[ 9.0] can0: sent=910 unsent=0").ok);
        assert!(!row("[ 9.0] can0: sent=890 unsent=0").ok);
        assert!(!row("").ok);
    }

    #[test]
    fn a_load_that_did_nothing_is_none() {
        let none = load_row("x", &output(&[]), 1);
        let busy = load_row(
            "x",
            &output(&[
                "[ 8.0] traffic: copied=0 packets=0 idle-ms=0",
                "[10.0] traffic: copied=4000000 packets=10 idle-ms=500",
            ]),
            1,
        );
        assert!(!none.ok && busy.ok);
        let figures: Vec<_> = busy.figures.0.iter().map(|(_, value)| *value).collect();
        assert_eq!(figures, [2.0, 4.0, 5.0, 75.0]);
    }
}
