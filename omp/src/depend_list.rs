//! The compiler's lists of dependences, decoded.
//!
//! Until GCC 8: `[n, writers, addresses…]`. Since: `[0, n, writers, exclusive, readers, addresses…]`
//! and, behind the addresses of those three kinds, pointers to dependence objects
//! `{ address, kind }`.
#![expect(unsafe_code, reason = "reads an array that the compiler lays out")]

use core::ffi::c_void;

/// How a task uses an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `in`.
    Read,
    /// `out`, `inout`.
    Write,
    /// `mutexinoutset`.
    Exclusive,
    /// `inoutset`.
    Set,
}

/// One dependence. The null address with [`Kind::Write`] is `omp_all_memory`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Kind of an access.
    pub address: usize,
    /// How.
    pub kind: Kind,
}

impl Kind {
    fn from_number(number: usize) -> Self {
        match number {
            1 => Self::Read,
            4 => Self::Exclusive,
            5 => Self::Set,
            _ => Self::Write,
        }
    }
}

fn word(list: *const *mut c_void, index: usize) -> usize {
    // SAFETY: the caller of `decode` vouches for the list; indices follow from its own counts.
    unsafe { list.wrapping_add(index).read() as usize }
}

fn object(address: usize) -> Access {
    let object = address as *const usize;
    // SAFETY: the compiler passes the address of a live two-word dependence object.
    let address = unsafe { object.read() };
    // SAFETY: as above, its second word.
    let kind = unsafe { object.wrapping_add(1).read() };
    Access {
        address,
        kind: Kind::from_number(kind),
    }
}

/// The accesses in `list`.
///
/// # Safety
/// `list` is a dependence array as GCC passes it to `GOMP_task`, alive while the iterator is.
pub(crate) unsafe fn decode(list: *const *mut c_void) -> impl Iterator<Item = Access> {
    let old = word(list, 0) != 0;
    let total = if old { word(list, 0) } else { word(list, 1) };
    let writers = if old { word(list, 1) } else { word(list, 2) };
    let exclusive = writers + if old { 0 } else { word(list, 3) };
    let readers = if old {
        total
    } else {
        exclusive + word(list, 4)
    };
    let first = if old { 2 } else { 5 };
    (0..total).map(move |index| {
        let address = word(list, first + index);
        let kind = match index {
            index if index < writers => Kind::Write,
            index if index < exclusive => Kind::Exclusive,
            index if index < readers => Kind::Read,
            _ => return object(address),
        };
        Access { address, kind }
    })
}
