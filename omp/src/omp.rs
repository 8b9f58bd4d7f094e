//! The `omp_*` functions, for C and (with an underscore behind the name) for Fortran.
#![expect(unsafe_code, reason = "exported names; pointers from the program")]

pub mod affinity;
pub mod allocator;
pub mod control;
pub mod device;
pub mod interop;
pub mod lock;
pub mod realtime;
pub mod state;

/// Exports functions without arguments under their C and Fortran names.
macro_rules! query {
    ($($(#[$doc:meta])* $name:ident, $fortran:ident -> $type:ty $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $type $body

        /// For Fortran.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $type {
            $name()
        }
    )*};
}

/// Exports functions of one `int` under their C name and both Fortran names.
macro_rules! set {
    ($($(#[$doc:meta])* $name:ident, $fortran:ident, $fortran_8:ident ($arg:ident) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($arg: core::ffi::c_int) $body

        /// For Fortran.
        ///
        /// # Safety
        /// The argument points to a default integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($arg: *const i32) {
            // SAFETY: the caller's promise.
            $name(unsafe { $arg.read() });
        }

        /// For Fortran with 8-byte integers.
        ///
        /// # Safety
        /// The argument points to an 8-byte integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran_8($arg: *const i64) {
            // SAFETY: the caller's promise.
            let value = unsafe { $arg.read() };
            $name(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);
        }
    )*};
}

/// Exports functions from `int` to `int` under their C name and both Fortran names.
macro_rules! lookup {
    ($($(#[$doc:meta])* $name:ident, $fortran:ident, $fortran_8:ident ($arg:ident) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($arg: core::ffi::c_int) -> core::ffi::c_int $body

        /// For Fortran.
        ///
        /// # Safety
        /// The argument points to a default integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($arg: *const i32) -> core::ffi::c_int {
            // SAFETY: the caller's promise.
            $name(unsafe { $arg.read() })
        }

        /// For Fortran with 8-byte integers.
        ///
        /// # Safety
        /// The argument points to an 8-byte integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran_8($arg: *const i64) -> core::ffi::c_int {
            // SAFETY: the caller's promise.
            let value = unsafe { $arg.read() };
            $name(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
        }
    )*};
}

pub(crate) use {lookup, query, set};
