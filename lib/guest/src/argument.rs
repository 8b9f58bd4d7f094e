//! Argument words of a partition
//!
//! The text is a list of words, `key=value` or bare, separated by blanks; the first match counts.

/// The value of `key=value` in `text`; `""` for the bare word `key`.
#[must_use]
pub fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split_ascii_whitespace()
        .find_map(|word| match word.split_once('=') {
            Some((name, value)) => (name == key).then_some(value),
            None => (word == key).then_some(""),
        })
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn finds_words_whole() {
        let text = " fault=plant-hang verbose  rate=10 rate=20 x==y";
        assert_eq!(value(text, "fault"), Some("plant-hang"));
        assert_eq!(value(text, "verbose"), Some(""));
        assert_eq!(value(text, "rate"), Some("10"), "the first match counts");
        assert_eq!(value(text, "x"), Some("=y"));
        assert_eq!(value(text, "faul"), None);
        assert_eq!(value("", "fault"), None);
    }
}
