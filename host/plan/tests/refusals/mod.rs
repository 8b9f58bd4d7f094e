//! Refusals of run-time flows: the place, the reason, and what would have to give way

use super::*;

/// A flow, and what is said about it where so many stages are free.
const REFUSED: &[(&str, usize, &[&str])] = &[
    (
        "sample | | emit",
        9,
        &[
            "at column 22:",
            "expected the name",
            "found |",
            "           ^",
        ],
    ),
    ("sample | (emit", 9, &["at column 22:", "never closed"]),
    ("sample | emit [ms]", 9, &["expected a loss"]),
    (
        "sample | emitt",
        9,
        &["at column 22:", "no function `emitt`", "^^^^^"],
    ),
    (
        "* sample | fresh | emit",
        9,
        &["`fresh`", "four-slot buffers only"],
    ),
    ("fuse | emit", 9, &["`fuse`", "nothing feeds"]),
    ("sample | sample | emit", 9, &["`sample`"]),
    (
        "sample | mix | filter | mix | emit",
        9,
        &["at column 37:", "`mix` would feed itself"],
    ),
    (
        "sample | slow | emit",
        9,
        &["at column 22:", "`slow` is a function of another partition"],
    ),
    (
        "bare | emit",
        9,
        &["`bare` reads an endpoint without an I/O VCPU"],
    ),
    (
        "read, read, read, read | fuse | emit",
        9,
        &[
            "at column 31:",
            "no stage more may use `pipes.can-in`, which has `sharers = 3`",
            "give it more `sharers`",
        ],
    ),
    (
        "sample, sample, sample, sample, sample | wide | emit",
        9,
        &["more than 4 stages would feed `wide`, or be fed by it"],
    ),
    (
        "((sample, sample) | mix), ((sample, sample) | fuse), sample | wide | emit",
        9,
        &["`sample` is one first stage too many"],
    ),
    (
        "sample | filter | emit",
        2,
        &["it has 3 stages, and 2 are free"],
    ),
    (
        "sample | filter | emit [1 %, 200 us]",
        9,
        &[
            "at column 36:",
            "no budgets and periods",
            "would need",
            "what can be kept: [",
        ],
    ),
];

#[test]
fn what_is_refused_says_where_and_why() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    for (flow, free, expected) in REFUSED {
        let refused = pipe_admission::solve(&catalogue, flow, &[], *free).expect_err(flow);
        let diagnostic = Diagnostic {
            flow,
            before: "pipe add it ".len(),
            catalogue: &catalogue,
            standing: &|_| ["", ""],
            refused,
        };
        let diagnostic = diagnostic.to_string();
        for words in *expected {
            assert!(diagnostic.contains(words), "{flow}: {words}: {diagnostic}");
        }
    }
}

/// A refusal names the holders of places at an endpoint, and a removed pipe leaves its place.
#[test]
fn pipes_that_share_an_endpoint_are_named() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let settings: Vec<_> = base.pipes.iter().map(setting).collect();
    let both = base.pipes.iter().zip(&settings);
    let stand: Vec<_> = both
        .map(|(pipe, (setting, _))| AdmittedPipe {
            flow: &pipe.solved.flow,
            setting,
            most: None,
        })
        .collect();
    let flow = "read, read, read | fuse | emit";
    let refused = pipe_admission::solve(&catalogue, flow, &stand, 9).expect_err("one too many");
    let diagnostic = Diagnostic {
        flow,
        before: 0,
        catalogue: &catalogue,
        standing: &|number| [&base.pipes[number].name, &base.pipes[number].solved.flow],
        refused,
    };
    let diagnostic = diagnostic.to_string();
    assert!(
        diagnostic.contains("at column 13:")
            && diagnostic.contains("it is used by pipe can: remove or replace"),
        "{diagnostic}"
    );
    let solved = pipe_admission::solve(&catalogue, flow, &stand[1..], 9);
    assert!(solved.is_ok(), "{solved:?}");
}

/// A short delay at a high rate takes from an existing pipe, and the refusal names its functions.
#[test]
fn pipes_that_would_miss_their_requirement_are_named() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let pipe = &base.pipes[2];
    let (setting, _) = setting(pipe);
    let stands = |most| AdmittedPipe {
        flow: &pipe.solved.flow,
        setting: &setting,
        most,
    };
    assert!(pipe_admission::judge(&catalogue, &[stands(None)], |_, _| {}).is_ok());
    let greedy = [(400_000, 1), (400_000, 1)];
    let new = AdmittedPipe {
        flow: "sample | emit",
        setting: &greedy,
        most: None,
    };
    let refused = pipe_admission::judge(&catalogue, &[stands(Some(1)), new], |_, _| {});
    assert!(
        matches!(refused, Err(Refused::Takes { pipe: 0, .. })),
        "{refused:?}"
    );
    let wide = [(300_000, 1), (300_000, 1)];
    let new = AdmittedPipe {
        setting: &wide,
        ..new
    };
    let refused =
        pipe_admission::judge(&catalogue, &[stands(None), new], |_, _| {}).expect_err("too much");
    let diagnostic = Diagnostic {
        flow: "sample | emit",
        before: 0,
        catalogue: &catalogue,
        standing: &|_| ["log", &pipe.solved.flow],
        refused,
    };
    let diagnostic = diagnostic.to_string();
    assert!(
        diagnostic.contains("pipe log, which is there") && diagnostic.contains("core `control:0`"),
        "{diagnostic}"
    );
}
