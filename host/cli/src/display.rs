//! Display of a running system
//!
//! Console lines, labelled and coloured by partition, on standard output; one line that tells how
//! things stand, on standard error and only where that is a terminal.

use bulkhead_run::Observer;
use bulkhead_run::report::Live;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};

/// Signals shown in the status line, in this order, with the factor and unit people think in.
const SIGNALS: [(&str, f64, &str); 2] = [("speed", 3.6, "km/h"), ("setpoint", 3.6, "km/h")];
/// ANSI colours of the labels.
const COLOURS: [u8; 6] = [36, 33, 32, 35, 34, 31];

/// Shows a run.
#[derive(Debug)]
pub(crate) struct Display {
    names: Vec<String>,
    width: usize,
    consoles: bool,
    colour: bool,
    status: ProgressBar,
}

impl Display {
    /// For partitions of these names; with or without their consoles.
    pub(crate) fn new(names: &[String], consoles: bool) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let status = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            status.set_style(style);
        }
        Self {
            width: names.iter().map(String::len).max().unwrap_or(0).max(4),
            names: names.to_vec(),
            consoles,
            colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            status,
        }
    }

    /// Removes the status line.
    pub(crate) fn finish(&self) {
        self.status.finish_and_clear();
    }

    fn label(&self, name: &str) -> String {
        let width = self.width;
        let index = self.names.iter().position(|listed| listed == name);
        match index.and_then(|index| COLOURS.get(index % COLOURS.len())) {
            Some(colour) if self.colour => format!("\x1b[{colour}m{name:>width$}\x1b[0m"),
            _ => format!("{name:>width$}"),
        }
    }
}

impl Observer for Display {
    fn line(&mut self, name: &str, text: &str) {
        if self.consoles {
            let line = format!("{} | {text}\n", self.label(name));
            // A closed pipe, as after `head`, is no reason to end the run.
            self.status
                .suspend(|| drop(std::io::stdout().write_all(line.as_bytes())));
        }
    }

    fn live(&mut self, live: &Live) {
        self.status.set_message(status_line(live));
    }

    fn notice(&mut self, text: &str) {
        self.status
            .suspend(|| drop(writeln!(std::io::stderr(), "bulkhead: {text}")));
    }
}

fn status_line(live: &Live) -> String {
    let mut parts = vec![format!("{:8.3} s", live.now_ns as f64 / 1e9)];
    for (name, factor, unit) in SIGNALS {
        if let Some(value) = live.signals.get(name) {
            parts.push(format!("{name} {:6.2} {unit}", value * factor));
        }
    }
    if let Some(ns) = live.worst_lateness_ns {
        parts.push(format!("latest job {:.1} us", ns as f64 / 1e3));
    }
    if live.faults > 0 {
        parts.push(format!("faults {}", live.faults));
    }
    parts.join("   ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_speaks_of_what_there_is() {
        assert_eq!(status_line(&Live::default()), "   0.000 s");
        let live = Live {
            now_ns: 1_500_000_000,
            signals: [("speed".to_owned(), 10.0)].into(),
            worst_lateness_ns: Some(20_500),
            faults: 1,
        };
        assert_eq!(
            status_line(&live),
            "   1.500 s   speed  36.00 km/h   latest job 20.5 us   faults 1"
        );
    }

    #[test]
    fn labels_line_up() {
        let display = Display::new(&["a".into(), "control".into()], true);
        assert_eq!(display.label("a").len(), display.label("control").len());
    }
}
