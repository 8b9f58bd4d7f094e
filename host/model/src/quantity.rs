//! Sizes and times as people write them
//!
//! A number and a unit, `256 KiB` or `1.5 ms`. Units are binary for bytes and decimal for seconds;
//! a result that is no whole byte or nanosecond is refused, never rounded.

/// Longest time of a description, nanoseconds: a day, far from where sums overflow.
pub(crate) const LONGEST_NS: u64 = 86_400_000_000_000;

/// Units of size, bytes each.
pub(crate) const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Units of time, nanoseconds each.
pub(crate) const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Most digits after the point; enough for a nanosecond of an hour.
const MAX_DECIMALS: usize = 12;

/// Reads a quantity in the given units.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub(crate) fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|character: char| !(character.is_ascii_digit() || ['.', '_'].contains(&character)))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    scale(number, factor(unit.trim(), units)?).ok_or_else(|| problem(number, text))
}

fn factor(unit: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let names = || {
        units
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    if unit.is_empty() {
        return Err(format!("the unit is missing: one of {}", names()));
    }
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| format!("`{unit}` is no unit: one of {}", names()))
}

fn problem(number: &str, text: &str) -> String {
    if number.is_empty() {
        format!("`{text}` does not start with a number")
    } else {
        format!("`{text}` is not a whole number of its smallest unit, or too large")
    }
}

/// `number * factor`, if that is a whole number that fits.
fn scale(number: &str, factor: u64) -> Option<u64> {
    let digits = number.replace('_', "");
    let (whole, decimals) = digits.split_once('.').unwrap_or((&digits, ""));
    let decimals = decimals.trim_end_matches('0');
    if whole.is_empty() || decimals.len() > MAX_DECIMALS {
        return None;
    }
    let denominator = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let numerator: u128 = format!("{whole}{decimals}").parse().ok()?;
    let product = numerator.checked_mul(u128::from(factor))?;
    product
        .is_multiple_of(denominator)
        .then(|| u64::try_from(product / denominator).ok())?
}

/// A size in the largest unit that keeps it whole.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    text(bytes, SIZE_UNITS)
}

/// A size for reading only: at most one digit after the point.
#[must_use]
pub(crate) fn approximate_size(bytes: u64) -> String {
    let (name, factor) = SIZE_UNITS
        .iter()
        .rev()
        .find(|unit| bytes >= unit.1)
        .unwrap_or(&("B", 1));
    let tenths = u128::from(bytes) * 10 / u128::from(*factor);
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        tenth => format!("{}.{tenth} {name}", tenths / 10),
    }
}

/// A time in the largest unit that it fills, with at most three digits after the point; what has more is rounded up.
#[must_use]
pub fn time_text(ns: u64) -> String {
    decimal_time(ns, u64::div_ceil)
}

/// A time as [`time_text`] writes it, rounded down, for a slack or a time that still fits.
pub(crate) fn time_text_down(ns: u64) -> String {
    decimal_time(ns, |ns, part| ns / part)
}

fn decimal_time(ns: u64, divide: fn(u64, u64) -> u64) -> String {
    let units = [TIME_UNITS[4], TIME_UNITS[3], TIME_UNITS[1]];
    let Some((name, factor)) = units.into_iter().find(|(_, factor)| ns >= *factor) else {
        return format!("{ns} ns");
    };
    let thousandths = divide(ns, factor / 1000);
    let digits = format!("{:03}", thousandths % 1000);
    match digits.trim_end_matches('0') {
        "" => format!("{} {name}", thousandths / 1000),
        digits => format!("{}.{digits} {name}", thousandths / 1000),
    }
}

fn text(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |&&(_, factor): &&(&str, u64)| value >= factor && value.is_multiple_of(factor);
    let (name, factor) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    format!("{} {name}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_exact() {
        let size = |text| parse(text, SIZE_UNITS);
        assert_eq!(size("256 KiB"), Ok(262_144));
        assert_eq!(size("1.5MiB"), Ok(1_572_864));
        assert_eq!(size("1_024 B"), Ok(1024));
        assert_eq!(parse("0.000001 ms", TIME_UNITS), Ok(1));
        for wrong in [
            "",
            "KiB",
            "12",
            "1 KB",
            "0.3 B",
            "1..2 B",
            "-1 B",
            "9999999999 TiB",
            "1 KiB x",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn texts_are_readable() {
        assert_eq!(size_text(512 << 20), "512 MiB");
        assert_eq!(size_text(4097), "4097 B");
        assert_eq!(size_text(0), "0 B");
        assert_eq!(time_text(20_000_000), "20 ms");
        assert_eq!(time_text(215_200), "215.2 us");
        assert_eq!(time_text(12_271_168), "12.272 ms");
        assert_eq!(time_text_down(12_271_168), "12.271 ms");
        assert_eq!(time_text(999), "999 ns");
        assert_eq!(approximate_size(1_600_000), "1.5 MiB");
        assert_eq!(approximate_size(0), "0 B");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value: u64) {
            prop_assert_eq!(parse(&size_text(value), SIZE_UNITS), Ok(value));
            let time = parse(&time_text(value), TIME_UNITS).unwrap_or(u64::MAX);
            prop_assert!(time >= value && time - value <= value / 1000 + 1);
            let time = parse(&time_text_down(value), TIME_UNITS).expect("no more than there is");
            prop_assert!(time <= value && value - time <= value / 1000);
        }

        #[test]
        fn no_text_makes_it_fall(text: String) {
            let _ = parse(&text, SIZE_UNITS);
        }
    }
}
