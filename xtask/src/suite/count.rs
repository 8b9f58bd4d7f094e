//! Test counts in the output of a part

use std::ops::Add;

/// Tests that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }
}

impl Count {
    /// Of a runner (`counts`), sums `test result: …` lines of cargo, else takes the last line with
    /// `N passed, N failed`; a check is one test. A command that failed has at least one failure,
    /// whatever it printed, and so has a runner that ran nothing.
    pub(super) fn of(output: &str, success: bool, counts: bool) -> Self {
        if !counts {
            return Self {
                passed: usize::from(success),
                failed: usize::from(!success),
            };
        }
        let results = output
            .lines()
            .filter(|line| line.starts_with("test result: "));
        let mut count = results.filter_map(read).fold(Self::default(), Self::add);
        if count == Self::default() {
            count = output.lines().rev().find_map(read).unwrap_or_default();
        }
        let failed = !success || count == Self::default();
        Self {
            failed: count.failed.max(usize::from(failed)),
            ..count
        }
    }
}

/// The numbers before the words `passed` and `failed`.
fn read(line: &str) -> Option<Count> {
    let words: Vec<&str> = line
        .split([' ', ',', ';', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    let before = |what: &str| {
        let at = words.iter().position(|word| *word == what)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    Some(Count {
        passed: before("passed")?,
        failed: before("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::Count;

    fn count(passed: usize, failed: usize) -> Count {
        Count { passed, failed }
    }

    #[test]
    fn reads_what_runners_print() {
        let cargo = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n\
                     test result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(Count::of(cargo, false, true), count(4, 2));
        assert_eq!(
            Count::of("ok a\n12 passed, 0 failed\n", true, true),
            count(12, 0)
        );
        assert_eq!(
            Count::of("1 passed, 0 failed\n3 passed, 0 failed\n", true, true),
            count(3, 0)
        );
    }

    #[test]
    fn a_failed_command_is_a_failure_whatever_it_printed() {
        assert_eq!(Count::of("", false, true), count(0, 1));
        assert_eq!(Count::of("5 passed, 0 failed", false, true), count(5, 1));
        assert_eq!(Count::of("5 passed, 3 failed", false, true), count(5, 3));
        assert_eq!(Count::of("5 passed, 0 failed", false, false), count(0, 1));
    }

    #[test]
    fn a_check_is_one_test_and_a_runner_must_run() {
        assert_eq!(Count::of("anything", true, false), count(1, 0));
        assert_eq!(Count::of("Nothing to be done.", true, true), count(0, 1));
    }
}
