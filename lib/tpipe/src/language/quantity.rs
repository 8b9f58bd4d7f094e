//! Losses, throughputs and delays, exactly
//!
//! A number that cannot be kept exactly in its smallest unit is refused, never rounded.

use super::error::{Expected, Fault, SyntaxError};
use super::scanner::{Scanner, Word};
use crate::language::syntax::{Buffering, Flow, Loss, MILLION, Requirement, Span, Throughput};
use core::fmt;

/// Units of delay, nanoseconds each.
const DELAYS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];
/// Longest delay: a day, far from where sums overflow.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// Highest throughput: a message per nanosecond.
const HIGHEST: u64 = 1_000_000_000 * MILLION;
/// Units of throughput, in [`Throughput`]'s own.
const THROUGHPUTS: [(&str, u64); 2] = [("s", MILLION), ("ms", 1_000 * MILLION)];

/// Loss or throughput, according to the buffers.
pub(super) fn flow(scanner: &mut Scanner<'_>, buffering: Buffering) -> Result<Flow, SyntaxError> {
    let fifo = buffering == Buffering::Fifo;
    let what = if fifo {
        Expected::Throughput
    } else {
        Expected::Loss
    };
    let (number, span) = number(scanner, what)?;
    match scanner.peek() {
        (Word::Mark(b'%'), unit) if fifo => Err(at(join(span, unit), Fault::LossOfFifo)),
        (Word::Mark(b'/'), unit) if !fifo => Err(at(join(span, unit), Fault::ThroughputOfFourSlot)),
        (Word::Mark(b'%'), _) => {
            scanner.next();
            loss(number, span, MILLION / 100)
        }
        (Word::Mark(b'/'), _) => {
            scanner.next();
            let factor = unit(scanner, &THROUGHPUTS, what)?;
            throughput(number, span, factor)
        }
        _ if fifo => throughput(number, span, MILLION),
        _ => loss(number, span, MILLION),
    }
}

/// A delay, nanoseconds.
pub(super) fn delay(scanner: &mut Scanner<'_>) -> Result<u64, SyntaxError> {
    let (number, span) = number(scanner, Expected::Delay)?;
    let factor = match scanner.peek().0 {
        Word::Name => unit(scanner, &DELAYS, Expected::Delay)?,
        _ => return Err(at(span, Fault::NoUnit)),
    };
    positive(scaled(number, span, factor, LONGEST_NS)?, span)
}

fn loss(number: &str, span: Span, factor: u64) -> Result<Flow, SyntaxError> {
    let parts = scaled(number, span, factor, u64::from(u32::MAX))?;
    match u32::try_from(parts) {
        Ok(parts) if u64::from(parts) < MILLION => Ok(Flow::Loss(Loss(parts))),
        _ => Err(at(span, Fault::LosesAll)),
    }
}

fn throughput(number: &str, span: Span, factor: u64) -> Result<Flow, SyntaxError> {
    let value = positive(scaled(number, span, factor, HIGHEST)?, span)?;
    Ok(Flow::Throughput(Throughput(value)))
}

const fn at(span: Span, fault: Fault) -> SyntaxError {
    SyntaxError { span, fault }
}

const fn join(first: Span, last: Span) -> Span {
    Span {
        start: first.start,
        end: last.end,
    }
}

fn number<'t>(scanner: &mut Scanner<'t>, what: Expected) -> Result<(&'t str, Span), SyntaxError> {
    match scanner.next() {
        (Word::Number, span) => Ok((scanner.text(span), span)),
        (_, span) => Err(at(span, Fault::Expected(what))),
    }
}

fn unit(
    scanner: &mut Scanner<'_>,
    units: &[(&str, u64)],
    what: Expected,
) -> Result<u64, SyntaxError> {
    let (word, span) = scanner.next();
    let text = scanner.text(span);
    let found = units.iter().find(|(name, _)| *name == text);
    match found {
        Some(&(_, factor)) if word == Word::Name => Ok(factor),
        _ => Err(at(span, Fault::UnknownUnit(what))),
    }
}

fn positive(value: u64, span: Span) -> Result<u64, SyntaxError> {
    if value == 0 {
        return Err(at(span, Fault::Zero));
    }
    Ok(value)
}

/// `number * factor`, if that is a whole number up to `most`.
fn scaled(number: &str, span: Span, factor: u64, most: u64) -> Result<u64, SyntaxError> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || decimals.contains('.') {
        return Err(at(span, Fault::BadNumber));
    }
    let too_large = at(span, Fault::TooLarge);
    let mut value = whole
        .parse::<u64>()
        .ok()
        .and_then(|whole| whole.checked_mul(factor))
        .ok_or(too_large)?;
    let mut unit = factor;
    for digit in decimals.trim_end_matches('0').bytes() {
        if !unit.is_multiple_of(10) {
            return Err(at(span, Fault::BadNumber));
        }
        unit /= 10;
        let part = u64::from(digit - b'0') * unit;
        value = value.checked_add(part).ok_or(too_large)?;
    }
    if value > most {
        Err(too_large)
    } else {
        Ok(value)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(out, u64::from(self.0), MILLION / 100)?;
        out.write_str(" %")
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(out, self.0, MILLION)?;
        out.write_str("/s")
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(loss) => loss.fmt(out),
            Self::Throughput(throughput) => throughput.fmt(out),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |&&(name, factor): &&(&str, u64)| {
            !name.is_empty() && name.is_ascii() && self.delay_ns.is_multiple_of(factor)
        };
        let &(unit, factor) = DELAYS.iter().rev().find(fits).unwrap_or(&DELAYS[0]);
        write!(out, "[{}, {} {unit}]", self.flow, self.delay_ns / factor)
    }
}

/// `value / unit` with as many digits after the point as there are; `unit` is a power of ten.
fn decimal(out: &mut fmt::Formatter<'_>, value: u64, unit: u64) -> fmt::Result {
    write!(out, "{}", value / unit)?;
    let (mut rest, mut unit) = (value % unit, unit);
    if rest > 0 {
        out.write_str(".")?;
    }
    while rest > 0 {
        unit /= 10;
        write!(out, "{}", rest / unit)?;
        rest %= unit;
    }
    Ok(())
}
