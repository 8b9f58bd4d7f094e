//! Report of an experiment

mod html;
mod plot;

pub use html::html;

use bulkhead_run::figures::Kind;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Results of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub id: String,
    /// Kind of all its figures.
    pub kind: Kind,
    /// Paper and table or figure.
    pub reproduces: String,
    /// The guarantee.
    #[serde(rename = "promise")]
    pub guarantee: String,
    /// One row per thing measured.
    pub rows: Vec<Row>,
}

/// Something measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Name.
    pub name: String,
    /// Figures by name, the one that the bound is about first.
    pub figures: Figures,
    /// Unit of the first figure and of the bound.
    pub unit: String,
    /// The first figure may not be larger; `None` = no promise.
    pub bound: Option<f64>,
    /// The promise holds.
    pub ok: bool,
}

/// Figures by name, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Figures(pub Vec<(String, f64)>);

impl From<Map<String, Value>> for Figures {
    fn from(map: Map<String, Value>) -> Self {
        let figure = |(name, value): (String, Value)| (name, value.as_f64().unwrap_or(f64::NAN));
        Self(map.into_iter().map(figure).collect())
    }
}

impl From<Figures> for Map<String, Value> {
    fn from(figures: Figures) -> Self {
        figures
            .0
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect()
    }
}

impl Row {
    /// A row with a first figure of at most `bound`.
    #[must_use]
    pub fn at_most(name: &str, figures: &[(&str, f64)], unit: &str, bound: f64) -> Self {
        let first = figures.first().map_or(f64::NAN, |(_, value)| *value);
        // A figure that is not a number keeps no promise.
        let ok = first <= bound;
        Self {
            bound: Some(bound),
            ok,
            ..Self::unbounded(name, figures, unit)
        }
    }

    /// A row without a promise.
    #[must_use]
    pub fn unbounded(name: &str, figures: &[(&str, f64)], unit: &str) -> Self {
        let figures = figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        Self {
            name: name.into(),
            figures: Figures(figures),
            unit: unit.into(),
            bound: None,
            ok: true,
        }
    }
}

impl Report {
    /// Returns `true` if every promise holds.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.rows.iter().all(|row| row.ok)
    }

    /// A table for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["", "figure", "bound", "unit", "", "further figures"]);
        for row in &self.rows {
            table.add_row(row_text(row));
        }
        for column in table.column_iter_mut().skip(1).take(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let verdict = if self.is_ok() { "holds" } else { "BROKEN" };
        format!(
            "{} ({}; {})\n{}\npromise: {} - {verdict}\n",
            self.id,
            self.kind,
            self.reproduces,
            table.trim_fmt(),
            self.guarantee
        )
    }
}

fn row_text(row: &Row) -> [String; 6] {
    let mut figures = row.figures.0.iter();
    let first = figures
        .next()
        .map_or_else(String::new, |(_, value)| number(*value));
    let rest: Vec<_> = figures
        .map(|(name, value)| format!("{name} {}", number(*value)))
        .collect();
    let verdict = match (row.bound, row.ok) {
        (_, false) => "BROKEN",
        (Some(_), true) => "ok",
        (None, true) => "",
    };
    let bound = row.bound.map_or_else(String::new, number);
    [
        row.name.clone(),
        first,
        bound,
        row.unit.clone(),
        verdict.into(),
        rest.join(", "),
    ]
}

/// As many digits as say something.
fn number(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1e5 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            id: "x".into(),
            kind: Kind::Path,
            reproduces: "000 table I".into(),
            guarantee: "small".into(),
            rows: vec![
                Row::at_most("a", &[("avg", 2.5), ("max", 7.0)], "us", 3.0),
                Row::unbounded("b", &[("count", 4.0)], ""),
            ],
        }
    }

    #[test]
    fn figures_keep_their_order_in_json() {
        let text = serde_json::to_string(&report()).unwrap();
        assert!(
            text.contains(r#""figures":{"avg":2.5,"max":7.0}"#),
            "{text}"
        );
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(back.rows[0].figures, report().rows[0].figures);
    }

    #[test]
    fn a_guarantee_is_kept_or_broken() {
        assert!(report().is_ok());
        assert!(!Row::at_most("a", &[("avg", 3.1)], "us", 3.0).ok);
        assert!(!Row::at_most("a", &[("avg", f64::NAN)], "us", 3.0).ok);
        assert!(!Row::at_most("a", &[], "us", 3.0).ok);
    }

    #[test]
    fn the_table_shows_all_figures() {
        let text = report().text();
        assert!(text.contains("2.500") && text.contains("max 7"), "{text}");
        assert!(text.ends_with("promise: small - holds\n"), "{text}");
    }
}
