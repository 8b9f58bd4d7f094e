//! All experiments on one self-contained page

use super::plot::plot;
use super::{Report, row_text};

const STYLE: &str = "body{font:15px sans-serif;max-width:60em;margin:2em auto;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}\
td.n{text-align:right;font-variant-numeric:tabular-nums}.bad{color:#b00;font-weight:bold}.good{color:#070}\
.k{background:#eef;border-radius:.3em;padding:0 .4em}";

/// The page.
#[must_use]
pub fn html(reports: &[Report]) -> String {
    let sections: String = reports.iter().map(section).collect();
    let kept = reports.iter().filter(|report| report.is_ok()).count();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Bulkhead: experiments</title>\
         <style>{STYLE}</style><h1>Experiments</h1><p>{kept} of {} promises hold. Figures of \
         different kinds say different things and are never compared.</p>{sections}</html>\n",
        reports.len()
    )
}

fn section(report: &Report) -> String {
    let rows: String = report.rows.iter().map(row).collect();
    let verdict = verdict(if report.is_ok() { "holds" } else { "BROKEN" });
    format!(
        "<h2>{} <small class=\"k\">{}</small></h2><p>Reproduces {}. Promise: {} &ndash; {verdict}</p>{}\
         <table><tr><th></th><th>figure</th><th>bound</th><th>unit</th><th></th><th>further figures</th></tr>{rows}</table>\n",
        escape(&report.id),
        report.kind,
        escape(&report.reproduces),
        escape(&report.guarantee),
        plot(report),
    )
}

fn row(row: &super::Row) -> String {
    let [name, figure, bound, unit, ok, rest] = row_text(row).map(|text| escape(&text));
    let ok = verdict(&ok);
    format!(
        "<tr><td>{name}</td><td class=\"n\">{figure}</td><td class=\"n\">{bound}</td>\
         <td>{unit}</td><td>{ok}</td><td>{rest}</td></tr>"
    )
}

fn verdict(text: &str) -> String {
    match text {
        "BROKEN" => "<span class=\"bad\">BROKEN</span>".into(),
        "" => String::new(),
        kept => format!("<span class=\"good\">{kept}</span>"),
    }
}

/// Text inside of an element.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;
    use bulkhead_run::figures::Kind;

    #[test]
    fn the_page_needs_nothing_else_and_cannot_be_broken_by_names() {
        let report = Report {
            id: "<x>".into(),
            kind: Kind::Host,
            reproduces: "a & b".into(),
            guarantee: "p".into(),
            rows: vec![Row::at_most("<script>", &[("n", 2.0)], "us", 1.0)],
        };
        let page = html(&[report]);
        assert!(
            !page.contains("<script>") && !page.contains("http"),
            "{page}"
        );
        assert!(
            page.contains("0 of 1 promises hold") && page.contains("BROKEN"),
            "{page}"
        );
    }
}
