//! Memory in which translation tables are built
//!
//! Pages from a fixed physical address on, handed out in order; a coloured partition's tables take
//! only pages of its colours, and what they skip goes to the next that can use it.

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::tables::{ENTRIES, Root, TableMemory, Walk};

use crate::memory::Colours;

type Table = [u64; ENTRIES as usize];

/// The tables of a system.
#[derive(Clone, Debug)]
pub struct Arena {
    base: Pa,
    pages: Vec<Option<Box<Table>>>,
    /// Colours of the pages handed out now; `None` = any.
    colours: Option<Colours>,
    handed_out: usize,
}

impl Arena {
    /// An empty arena from `base` on, a multiple of the page size.
    #[must_use]
    pub const fn new(base: Pa) -> Self {
        Self {
            base,
            pages: Vec::new(),
            colours: None,
            handed_out: 0,
        }
    }

    /// Start address.
    #[must_use]
    pub const fn base(&self) -> Pa {
        self.base
    }

    /// From now on hands out pages of these colours.
    pub fn confine(&mut self, colours: Option<Colours>) {
        self.colours = colours;
    }

    /// Pages handed out so far.
    #[must_use]
    pub const fn handed_out(&self) -> usize {
        self.handed_out
    }

    /// Bytes from the first to the last page.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    /// A new, empty root. Coloured tables have a root of one page.
    pub fn new_root(&mut self, walk: Walk) -> Root {
        Root {
            pa: self.run((walk.root_size() / PAGE) as usize),
            walk,
        }
    }

    /// Zeroed pages one after the other, aligned to their size: a power of two.
    pub fn run(&mut self, pages: usize) -> Pa {
        let mut first = 0;
        while !self.fits(first, pages) {
            first += 1;
        }
        (first..first + pages).for_each(|page| self.hand_out(page));
        self.address(first)
    }

    fn first_free(&self) -> usize {
        self.pages
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.pages.len())
    }

    fn address(&self, page: usize) -> Pa {
        self.base.plus(page as u64 * PAGE)
    }

    /// Returns `true` if `count` pages from `first` on are free, allowed and aligned to their size.
    fn fits(&self, first: usize, count: usize) -> bool {
        let free = |page: usize| self.pages.get(page).is_none_or(Option::is_none);
        let allowed = |page| {
            self.colours
                .as_ref()
                .is_none_or(|colours| colours.allow(self.address(page)))
        };
        let aligned = self.address(first).is_aligned(count as u64 * PAGE);
        aligned && (first..first + count).all(|page| free(page) && allowed(page))
    }

    fn hand_out(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        self.pages[page] = Some(Box::new([0; ENTRIES as usize]));
        self.handed_out += 1;
    }

    fn position(&self, at: Pa) -> (usize, usize) {
        let offset = at.0.wrapping_sub(self.base.0);
        ((offset / PAGE) as usize, (offset % PAGE / 8) as usize)
    }

    /// The tables' bytes, padded with zeros to `size`.
    #[must_use]
    pub fn bytes(&self, size: u64) -> Vec<u8> {
        let empty: Table = [0; ENTRIES as usize];
        let words = self
            .pages
            .iter()
            .flat_map(|page| page.as_deref().unwrap_or(&empty));
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(size as usize, 0);
        bytes
    }
}

impl TableMemory for Arena {
    fn entry(&self, at: Pa) -> u64 {
        let (page, entry) = self.position(at);
        self.pages
            .get(page)
            .and_then(Option::as_deref)
            .map_or(0, |table| table[entry])
    }

    fn set_entry(&mut self, at: Pa, value: u64) {
        let (page, entry) = self.position(at);
        if let Some(table) = self.pages.get_mut(page).and_then(Option::as_deref_mut) {
            table[entry] = value;
        }
    }

    fn new_table(&mut self) -> Option<Pa> {
        let mut page = if self.colours.is_some() {
            0
        } else {
            self.first_free()
        };
        while !self.fits(page, 1) {
            page += 1;
        }
        self.hand_out(page);
        Some(self.address(page))
    }
}
