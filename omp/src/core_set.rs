//! Sets of cores.

use core::fmt;

/// Up to [`CoreSet::CAPACITY`] cores, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreSet {
    words: [u64; 16],
}

impl CoreSet {
    /// No core.
    pub const EMPTY: Self = Self { words: [0; 16] };
    /// Core numbers are below this.
    pub const CAPACITY: i64 = 1024;

    fn locate(core: i64) -> Option<(usize, u64)> {
        let core = usize::try_from(core).ok().filter(|core| *core < 1024)?;
        Some((core / 64, 1 << (core % 64)))
    }

    fn change(&mut self, core: i64, apply: impl FnOnce(&mut u64, u64)) -> bool {
        let Some((word, bit)) = Self::locate(core) else {
            return false;
        };
        self.words
            .get_mut(word)
            .map(|word| apply(word, bit))
            .is_some()
    }

    /// Adds a core; false for numbers out of range.
    pub fn insert(&mut self, core: i64) -> bool {
        self.change(core, |word, bit| *word |= bit)
    }

    /// Removes a core; false for numbers out of range.
    pub fn remove(&mut self, core: i64) -> bool {
        self.change(core, |word, bit| *word &= !bit)
    }

    /// One core.
    pub fn single(core: i64) -> Self {
        let mut set = Self::EMPTY;
        set.insert(core);
        set
    }

    /// The set as a bit mask, least significant core first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The cores, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        let has = |core: &i64| {
            let place = Self::locate(*core);
            place.is_some_and(|(word, bit)| self.words.get(word).is_some_and(|w| w & bit != 0))
        };
        (0..Self::CAPACITY).filter(has)
    }

    /// Every core's number plus `offset`; nothing if one leaves the range.
    pub fn shifted(&self, offset: i64) -> Option<Self> {
        let mut moved = Self::EMPTY;
        let fits = self
            .iter()
            .all(|core| core.checked_add(offset).is_some_and(|c| moved.insert(c)));
        fits.then_some(moved)
    }

    /// The cores that `other` has too.
    pub fn among(mut self, other: &Self) -> Self {
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(word, mask)| *word &= mask);
        self
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, core) in self.iter().enumerate() {
            write!(f, "{}{core}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
