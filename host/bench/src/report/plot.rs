//! Bars with their bounds, as inline SVG

use super::html::escape;
use super::{Report, Row};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const LABEL: f64 = 240.0;
const BAR: f64 = 16.0;
const GAP: f64 = 8.0;

/// A plot per unit: rows of different units share no axis.
pub(super) fn plot(report: &Report) -> String {
    let mut units: Vec<&str> = report.rows.iter().map(|row| row.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let one = |unit| {
        let rows: Vec<_> = report.rows.iter().filter(|row| row.unit == unit).collect();
        bars(unit, &rows)
    };
    units.into_iter().map(one).collect()
}

fn bars(unit: &str, rows: &[&Row]) -> String {
    let largest = rows
        .iter()
        .flat_map(|row| [first(row), row.bound.unwrap_or(0.0)]);
    let largest = largest
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    if largest <= 0.0 {
        return String::new();
    }
    let scale = (WIDTH - LABEL - 90.0) / largest;
    let height = rows.len() as f64 * (BAR + GAP) + 20.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" font-size=\"12\">\
         <text x=\"{LABEL}\" y=\"12\" fill=\"#666\">{}</text>",
        escape(unit)
    );
    for (index, row) in rows.iter().enumerate() {
        bar(&mut svg, row, 18.0 + index as f64 * (BAR + GAP), scale);
    }
    svg + "</svg>"
}

fn bar(svg: &mut String, row: &Row, y: f64, scale: f64) {
    let length = if first(row).is_finite() {
        first(row).max(0.0) * scale
    } else {
        0.0
    };
    let colour = if row.ok { "#4a7" } else { "#c33" };
    let text_y = y + BAR - 4.0;
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{text_y}\" text-anchor=\"end\">{}</text>\
         <rect x=\"{LABEL}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{text_y}\">{}</text>",
        LABEL - 8.0,
        escape(&row.name),
        LABEL + length + 6.0,
        super::number(first(row)),
    );
    if let Some(bound) = row.bound {
        let x = LABEL + bound * scale;
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"#000\" stroke-dasharray=\"3 2\"/>",
            y - 3.0,
            y + BAR + 3.0
        );
    }
}

fn first(row: &Row) -> f64 {
    row.figures.0.first().map_or(f64::NAN, |(_, value)| *value)
}
