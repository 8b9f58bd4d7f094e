//! The grammar of `OMP_PLACES` and `OMP_PROC_BIND`.

use crate::core_set::CoreSet;

/// proc-bind-var, numbered as in `omp_proc_bind_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Binding {
    /// Threads are not bound.
    No = 0,
    /// Bound, as the runtime likes: `close` here.
    Yes = 1,
    /// To the leader's place.
    Master = 2,
    /// To the following places.
    Close = 3,
    /// Far apart.
    Spread = 4,
}

/// `true` or `false`.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("true") => Some(true),
        text if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A policy, or a list of policies by level of which the first counts.
pub(super) fn binding(text: &str) -> Option<Binding> {
    let mut levels = text.split(',').map(|level| match boolean(level) {
        Some(true) => Some(Binding::Yes),
        Some(false) => Some(Binding::No),
        None => policy(level.trim()),
    });
    let first = levels.next()??;
    levels.all(|level| level.is_some()).then_some(first)
}

fn policy(word: &str) -> Option<Binding> {
    let names = [
        ("master", Binding::Master),
        ("primary", Binding::Master),
        ("close", Binding::Close),
        ("spread", Binding::Spread),
    ];
    names
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, policy)| policy)
}

/// Fills `list` with the places that `text` names among `available` cores: how many.
pub(super) fn places(text: &str, available: &CoreSet, list: &mut [CoreSet]) -> Option<usize> {
    let text = text.trim();
    let count = if text.starts_with(['{', '!']) || text.starts_with(|c: char| c.is_ascii_digit()) {
        explicit(text, available, list)?
    } else {
        abstract_name(text, available, list)?
    };
    (count > 0).then_some(count)
}

/// `threads`, `cores` (the same here: one place per core), `sockets` (one place), with a count.
fn abstract_name(text: &str, available: &CoreSet, list: &mut [CoreSet]) -> Option<usize> {
    let (name, most) = match text.split_once('(') {
        Some((name, rest)) => (
            name.trim(),
            rest.trim().strip_suffix(')')?.trim().parse().ok()?,
        ),
        None => (text, usize::MAX),
    };
    if most == 0 {
        return None;
    }
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    if is("sockets") || is("numa_domains") || is("ll_caches") {
        *list.first_mut()? = *available;
        return Some(1);
    }
    if !is("threads") && !is("cores") {
        return None;
    }
    let single = available
        .iter()
        .take(most.min(list.len()))
        .map(CoreSet::single);
    Some(
        list.iter_mut()
            .zip(single)
            .map(|(slot, place)| *slot = place)
            .count(),
    )
}

/// Rest of the text.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn eat(&mut self, c: char) -> bool {
        let rest = self.0.trim_start();
        let found = rest.strip_prefix(c);
        self.0 = found.unwrap_or(rest);
        found.is_some()
    }

    fn number(&mut self) -> Option<i64> {
        let rest = self.0.trim_start();
        let signed = rest.strip_prefix('-').unwrap_or(rest);
        let digits = signed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(signed.len());
        let end = rest.len() - signed.len() + digits;
        let value = rest.get(..end)?.parse().ok()?;
        self.0 = rest.get(end..)?;
        Some(value)
    }

    /// `:length[:stride]`, 1 and 1 without.
    fn interval(&mut self) -> Option<(i64, i64)> {
        if !self.eat(':') {
            return Some((1, 1));
        }
        let length = self.number()?;
        let stride = if self.eat(':') { self.number()? } else { 1 };
        (length > 0).then_some((length, stride))
    }

    /// `{a, b:length:stride, !c}` or a single number.
    fn place(&mut self) -> Option<CoreSet> {
        let mut place = CoreSet::EMPTY;
        if !self.eat('{') {
            return place.insert(self.number()?).then_some(place);
        }
        loop {
            let excluded = self.eat('!');
            let first = self.number()?;
            let (length, stride) = self.interval()?;
            for i in 0..length.min(CoreSet::CAPACITY) {
                let core = first.checked_add(i.checked_mul(stride)?)?;
                let done = if excluded {
                    place.remove(core)
                } else {
                    place.insert(core)
                };
                if !done {
                    return None;
                }
            }
            if self.eat('}') {
                return Some(place);
            }
            if !self.eat(',') {
                return None;
            }
        }
    }
}

fn explicit(text: &str, available: &CoreSet, list: &mut [CoreSet]) -> Option<usize> {
    let mut cursor = Cursor(text);
    let mut count = 0;
    loop {
        let excluded = cursor.eat('!');
        let place = cursor.place()?;
        let (length, stride) = cursor.interval()?;
        for i in 0..length.min(CoreSet::CAPACITY) {
            let moved = place.shifted(i.checked_mul(stride)?)?.among(available);
            if excluded {
                let kept = list.get_mut(..count)?;
                let before = kept.len();
                kept.iter_mut()
                    .filter(|p| **p == moved)
                    .for_each(|p| *p = CoreSet::EMPTY);
                count = before;
            } else if moved != CoreSet::EMPTY {
                *list.get_mut(count)? = moved;
                count += 1;
            }
        }
        if cursor.0.trim().is_empty() {
            return Some(compact(list, count));
        }
        if !cursor.eat(',') {
            return None;
        }
    }
}

/// Moves excluded places out of the first `count`: how many stay.
fn compact(list: &mut [CoreSet], count: usize) -> usize {
    let mut kept = 0;
    for index in 0..count {
        if list
            .get(index)
            .is_some_and(|place| *place != CoreSet::EMPTY)
        {
            list.swap(kept, index);
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{CoreSet, binding, places};
    use proptest::prelude::proptest;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn list(text: &str) -> Option<Vec<String>> {
        let mut available = CoreSet::EMPTY;
        (0..8).for_each(|core| assert!(available.insert(core)));
        let mut slots = [CoreSet::EMPTY; 16];
        let count = places(text, &available, &mut slots)?;
        Some(slots.iter().take(count).map(ToString::to_string).collect())
    }

    #[test]
    fn the_specifications_examples_read_as_it_says() {
        let strings = |list: &[&str]| Some(list.iter().map(ToString::to_string).collect());
        assert_eq!(list("threads(2)"), strings(&["0", "1"]));
        assert_eq!(list("{0,1},{2,3}"), strings(&["0,1", "2,3"]));
        assert_eq!(list("{0:4},{4:4}"), strings(&["0,1,2,3", "4,5,6,7"]));
        assert_eq!(list("{0:2}:4:2"), strings(&["0,1", "2,3", "4,5", "6,7"]));
        assert_eq!(list("{0}:4,!{2}"), strings(&["0", "1", "3"]));
        assert_eq!(list("{0:4:2,!4}"), strings(&["0,2,6"]));
        for nonsense in [
            "",
            "{",
            "{}",
            "{0",
            "cores(0)",
            "threads(x)",
            "{0:0}",
            "{-1}",
            "{0}:",
            "99",
        ] {
            assert_eq!(list(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_never_panics(text in "[{}!:,0-9a-z() -]{0,24}") {
            let _ = (list(&text), binding(&text));
        }
    }
}
