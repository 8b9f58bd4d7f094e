//! Did you mean …?

/// Least likeness (Jaro-Winkler) at which a name is worth suggesting.
const LIKENESS: f64 = 0.8;

/// The name most like `word`, if any is like it at all.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|one, right| one.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// Advice for a name that is none of `names`: the nearest, or all of them.
pub(crate) fn advice(word: &str, what: &str, names: &[&str]) -> String {
    match (nearest(word, names.iter().copied()), names) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, []) => format!("there is no {what} to name"),
        (None, names) => format!("there is {}", listed(names)),
    }
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn listed(names: &[&str]) -> String {
    let ticked: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match ticked.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_recognised() {
        assert_eq!(
            nearest("memmory", ["memory", "message", "kind"]),
            Some("memory")
        );
        assert_eq!(nearest("a", ["A", "B"]), Some("A"));
        assert_eq!(nearest("xyz", ["memory", "kind"]), None);
        assert_eq!(
            advice("q", "device", &["uart0", "rtc0"]),
            "there is `uart0` and `rtc0`"
        );
    }
}
