//! Source lines of code by layer: neither blank nor comment, tests left out

use std::path::Path;

/// Line with which the tests of a file begin.
const TESTS: &str = "#[cfg(test)]";

/// Source lines of all Rust files below `folder`; `tests` folders do not count.
pub(crate) fn lines_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            let skipped = ["tests", "benches", "examples", "target"];
            if skipped.iter().any(|skip| name == *skip) {
                0
            } else {
                lines_below(path)
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs"
        {
            std::fs::read_to_string(path).map_or(0, |text| lines_of(&text))
        } else {
            0
        }
    };
    entries.map(|entry| count(&entry.path())).sum()
}

fn lines_of(text: &str) -> usize {
    let code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    // House style: the test module is the last item of its file.
    text.lines()
        .map(str::trim)
        .take_while(|line| *line != TESTS)
        .filter(code)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_counts() {
        let text = "//! x\n\nfn a() {\n    // why\n    b();\n}\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(lines_of(text), 3);
    }
}
