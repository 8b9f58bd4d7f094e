//! Syntax of the variables' values.

/// A decimal number without sign.
pub(super) fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// True if `text` is `word`, in any case.
pub(super) fn is_word(text: &str, word: &str) -> bool {
    text.trim().eq_ignore_ascii_case(word)
}

/// Value that `words` assigns to `text`; upper and lower case are equal.
pub(super) fn word_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words
        .iter()
        .find(|(word, _)| is_word(text, word))
        .map(|(_, value)| *value)
}

/// `true` or `false`, or 1 or 0.
pub(super) fn boolean(text: &str) -> Option<bool> {
    word_of(
        text,
        &[("true", true), ("false", false), ("1", true), ("0", false)],
    )
}

/// A size: a number and B, K (the default), M or G.
pub(super) fn bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text.get(digits.len()..)?.trim();
    let shift = word_of(unit, &[("b", 0), ("", 10), ("k", 10), ("m", 20), ("g", 30)])?;
    let count: usize = number(digits)? as usize;
    count.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::{boolean, bytes, number};
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn sizes_have_units() {
        let cases = [
            ("1", Some(1024)),
            ("64B", Some(64)),
            (" 2 m ", Some(2 << 20)),
            ("3G", Some(3 << 30)),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text), expected, "{text}");
        }
        for text in ["", "M", "-1", "1T", "1.5M", "99999999999999999999G"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn booleans_are_words_or_digits() {
        assert_eq!(boolean(" TRUE"), Some(true));
        assert_eq!(boolean("0"), Some(false));
        assert_eq!(boolean("yes"), None);
    }

    proptest! {
        #[test]
        fn numbers_read_back(n: u32) {
            prop_assert_eq!(number(&std::format!(" {n} ")), Some(n));
        }

        #[test]
        fn nonsense_never_panics(text: std::string::String) {
            let _ = (number(&text), bytes(&text), boolean(&text));
        }
    }
}
