//! A table of figures with their bounds.

use serde::{Serialize, Serializer};

/// One line of a table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Measured program or construct.
    pub(crate) name: String,
    /// Figures by name; the first is what the first promise is about.
    #[serde(serialize_with = "in_order")]
    pub(crate) figures: Vec<(&'static str, f64)>,
    /// Unit of the figures that are not ratios or counts.
    pub(crate) unit: &'static str,
    /// Bound of the first figure; nothing if the row only informs.
    pub(crate) bound: Option<f64>,
    /// True if the promise holds.
    pub(crate) ok: bool,
    /// Peers that do not do the row's work: they fail, or their result is another.
    pub(crate) left_out: Vec<&'static str>,
}

fn in_order<S: Serializer>(figures: &[(&str, f64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(figures.iter().copied())
}

impl Row {
    /// A row that promises nothing.
    pub(crate) fn plain(name: impl Into<String>, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            figures: Vec::new(),
            unit,
            bound: None,
            ok: true,
            left_out: Vec::new(),
        }
    }

    /// Adds a figure.
    pub(crate) fn with(mut self, name: &'static str, value: f64) -> Self {
        self.figures.push((name, value));
        self
    }

    /// Names peers that are not compared.
    pub(crate) fn without(mut self, peers: Vec<&'static str>) -> Self {
        self.left_out = peers;
        self
    }

    /// Adds a promise: `value` is at most `bound`.
    pub(crate) fn at_most(mut self, value: f64, bound: f64) -> Self {
        self.bound = self.bound.or(Some(bound));
        self.ok &= value <= bound;
        self
    }
}

/// One table.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    id: &'static str,
    kind: &'static str,
    reproduces: &'static str,
    rows: Vec<Row>,
}

impl Report {
    /// A table of figures of the kind *host*.
    pub(crate) fn new(id: &'static str, reproduces: &'static str, rows: Vec<Row>) -> Self {
        Self {
            id,
            kind: "host",
            reproduces,
            rows,
        }
    }

    /// True if all promises hold.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.ok)
    }

    /// To standard output, as JSON or as a table.
    pub(crate) fn print(&self, json: bool) {
        if json {
            println!("{}", serde_json::to_string(self).unwrap_or_default());
            return;
        }
        println!("{} ({}, {})", self.id, self.kind, self.reproduces);
        for row in &self.rows {
            let figures: Vec<String> = row
                .figures
                .iter()
                .map(|(name, value)| format!("{name} {}", short(*value)))
                .collect();
            let bound = row
                .bound
                .map_or(String::new(), |bound| format!(" [≤ {}]", short(bound)));
            let left_out = match row.left_out.as_slice() {
                [] => String::new(),
                peers => format!(
                    " (without {}: it fails or has another result)",
                    peers.join(", ")
                ),
            };
            let verdict = if row.ok { "ok  " } else { "MISS" };
            println!(
                "  {verdict} {:28} {} {}{bound}{left_out}",
                row.name,
                figures.join(", "),
                row.unit
            );
        }
    }
}

/// Four significant digits.
fn short(value: f64) -> String {
    let digits = 3 - (value.abs().max(1e-9).log10().floor() as i32).clamp(-3, 3);
    format!("{value:.*}", digits.max(0) as usize)
}
