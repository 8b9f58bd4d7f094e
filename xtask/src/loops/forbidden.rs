//! Recursion, allocation, panics: what no reason excuses

use super::{Code, cycles};

/// Returns findings that no line of the table excuses.
pub(super) fn forbidden(code: &Code<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let calls = cycles::recursions(&code.graph);
    wrong.extend(
        calls
            .iter()
            .map(|&at| format!("{} calls itself in the end", code.name(at))),
    );
    let allocators = code.image.names().filter(|name| is_allocator(name));
    wrong.extend(allocators.map(|name| format!("there is an allocator: {name}")));
    let panics = code.after_boot.iter().filter(|&&at| {
        let function = code.image.function(at);
        is_panic(function) && code.image.symbol(function).is_ok_and(|start| start == at)
    });
    wrong.extend(panics.map(|&at| format!("{} can be reached after boot", code.name(at))));
    let traps = code
        .graph
        .broken
        .iter()
        .filter(|at| code.after_boot.contains(at));
    wrong.extend(traps.map(|&at| {
        format!(
            "{} is a trap or unknown, and can be reached after boot",
            code.name(at)
        )
    }));
    wrong
}

/// Symbols of the allocator's interface, the standard library's allocating half, and C's.
fn is_allocator(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    [
        "__rust_alloc",
        "__rust_dealloc",
        "__rust_realloc",
        "__rg_",
        "__rdl_",
        "alloc::",
        "__rustc::__r",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
        && !name.contains("no_alloc_shim_is_unstable")
        || ["malloc", "calloc", "realloc", "free"].contains(&name)
}

/// Returns true for entries of a panic: the handler, and functions of the library that end in it.
fn is_panic(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    let in_library = name.starts_with("core::") || name.starts_with("std::");
    let ends = ["_fail", "_failed", "_fail_rt", "_panic"];
    name.contains("core::panicking::")
        || name.contains("rust_begin_unwind")
        || name.contains("rust_panic")
        || in_library && (name.contains("panic") || ends.iter().any(|end| name.ends_with(end)))
}
