//! `qsort`: heap sort, which needs no memory and is never quadratic

use core::ptr;

type Compare = extern "C" fn(*const u8, *const u8) -> i32;

struct Elements {
    base: *mut u8,
    bytes: usize,
    compare: Compare,
}

impl Elements {
    fn at(&self, index: usize) -> *mut u8 {
        self.base.wrapping_add(index * self.bytes)
    }

    fn less(&self, one: usize, other: usize) -> bool {
        (self.compare)(self.at(one), self.at(other)) < 0
    }

    fn swap(&self, one: usize, other: usize) {
        if one != other {
            // SAFETY: two elements of the caller's array, which do not overlap.
            unsafe { ptr::swap_nonoverlapping(self.at(one), self.at(other), self.bytes) };
        }
    }

    /// Lets the element at `root` sink in the heap of the first `count`.
    fn sink(&self, mut root: usize, count: usize) {
        loop {
            let left = 2 * root + 1;
            if left >= count {
                return;
            }
            let right = left + 1;
            let child = match right < count && self.less(left, right) {
                true => right,
                false => left,
            };
            if !self.less(root, child) {
                return;
            }
            self.swap(root, child);
            root = child;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn qsort(base: *mut u8, count: usize, bytes: usize, compare: Compare) {
    let elements = Elements {
        base,
        bytes,
        compare,
    };
    for root in (0..count / 2).rev() {
        elements.sink(root, count);
    }
    for last in (1..count).rev() {
        elements.swap(0, last);
        elements.sink(0, last);
    }
}
