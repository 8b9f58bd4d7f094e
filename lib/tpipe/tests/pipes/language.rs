//! The language: what it means, what it refuses and where, and that nothing breaks it

use bulkhead_tpipe::language::{
    Buffering, Expected, Fault, Flow, Loss, Pipeline, SyntaxError, Throughput,
};
use proptest::prelude::*;

type Pipe<'t> = Pipeline<'t, 64>;

fn graph(text: &str) -> Vec<(String, u16, u16)> {
    let pipe = Pipe::parse(text).expect(text);
    let of =
        |stage: &bulkhead_tpipe::language::Stage<'_>| (stage.name.to_owned(), stage.from, stage.to);
    pipe.stages().iter().map(of).collect()
}

fn edges(list: &[(&str, u16, u16)]) -> Vec<(String, u16, u16)> {
    list.iter()
        .map(|&(name, from, to)| (name.to_owned(), from, to))
        .collect()
}

/// Figure 5 of paper 003.
#[test]
fn the_paper_s_example() {
    let expected = edges(&[
        ("A", 0, 1),
        ("B", 1, 2),
        ("C", 0, 2),
        ("D", 2, 3),
        ("E", 3, 4),
        ("F", 3, 4),
    ]);
    assert_eq!(graph("(A | B), C | D | E, F"), expected);
    let pipe = Pipe::parse("[*](A|B),C|D|E,F[1000/s,10ms]").expect("correct");
    assert_eq!(pipe.buffering, Buffering::Fifo);
    assert_eq!(pipe.to_string(), "* (A | B), C | D | E, F [1000/s, 10 ms]");
    assert_eq!(pipe.sink(), 4);
}

#[test]
fn groups_within_groups_share_their_ends() {
    let expected = edges(&[
        ("A", 0, 1),
        ("B", 1, 2),
        ("C", 1, 2),
        ("D", 0, 2),
        ("E", 2, 3),
    ]);
    assert_eq!(graph("((A | (B, (C))), D | E)"), expected);
    assert_eq!(graph("(A) | ((B))"), edges(&[("A", 0, 1), ("B", 1, 2)]));
}

#[test]
fn quantities_are_exact() {
    let requirement = |text: &str| {
        let pipe = Pipe::parse(text).expect(text);
        pipe.requirement.expect("given")
    };
    let cases = [
        ("A [20 %, 11 ms]", Flow::Loss(Loss(200_000)), 11_000_000),
        ("A [0.2, 11000 us]", Flow::Loss(Loss(200_000)), 11_000_000),
        ("A [0, 1 s]", Flow::Loss(Loss(0)), 1_000_000_000),
        ("A [0.0001 %, 7 ns]", Flow::Loss(Loss(1)), 7),
        ("A [0 %, 1.5 \u{b5}s]", Flow::Loss(Loss(0)), 1_500),
        (
            "* A [12.5, 1 ms]",
            Flow::Throughput(Throughput(12_500_000)),
            1_000_000,
        ),
        (
            "* A [0.1 / ms, 1 ms]",
            Flow::Throughput(Throughput(100_000_000)),
            1_000_000,
        ),
    ];
    for (text, flow, delay) in cases {
        let found = requirement(text);
        assert_eq!((found.flow, found.delay_ns), (flow, delay), "{text}");
    }
    assert_eq!(Throughput(100_000_000).interval_ns(), 10_000_000);
}

#[test]
fn mistakes_have_a_place_and_an_expectation() {
    use Expected as E;
    let cases: [(&str, &str, Fault); 34] = [
        ("", "", Fault::Expected(E::Item)),
        ("*", "", Fault::Expected(E::Item)),
        ("A |", "", Fault::Expected(E::Item)),
        ("| A", "|", Fault::Expected(E::Item)),
        ("A , | B", "|", Fault::Expected(E::Item)),
        ("A B", "B", Fault::Expected(E::AfterItem)),
        ("A * B", "*", Fault::Expected(E::AfterItem)),
        ("(A B)", "B", Fault::Expected(E::AfterItemInside)),
        ("(A [0, 1 ms])", "[", Fault::Expected(E::AfterItemInside)),
        ("A | (B, C", "(", Fault::NeverClosed),
        ("A)", ")", Fault::NothingToClose),
        ("()", ")", Fault::Expected(E::Item)),
        ("A \u{e9}", "\u{e9}", Fault::Expected(E::AfterItem)),
        ("\u{b5}s | A", "\u{b5}s", Fault::Expected(E::Item)),
        ("7up", "7", Fault::Expected(E::Item)),
        ("A [", "", Fault::Expected(E::Loss)),
        ("* A []", "]", Fault::Expected(E::Throughput)),
        ("A [-1 %, 1 ms]", "-", Fault::Expected(E::Loss)),
        ("A [0 %", "[", Fault::NeverClosed),
        ("A [0 %]", "]", Fault::Expected(E::Comma)),
        ("A [0 %, ms]", "ms", Fault::Expected(E::Delay)),
        ("A [0 %, 1 ms", "[", Fault::NeverClosed),
        ("A [0 %, 1 ms, 2]", ",", Fault::Expected(E::Bracket)),
        ("A [0 %, 1 ms] B", "B", Fault::Expected(E::End)),
        ("A [0 %, 1 parsec]", "parsec", Fault::UnknownUnit(E::Delay)),
        (
            "* A [3/fortnight, 1 ms]",
            "fortnight",
            Fault::UnknownUnit(E::Throughput),
        ),
        ("A [1..2 %, 1 ms]", "1..2", Fault::BadNumber),
        ("A [0, 0.5 ns]", "0.5", Fault::BadNumber),
        ("A [100 %, 1 ms]", "100", Fault::LosesAll),
        (
            "A [0, 99999999999999999999 s]",
            "99999999999999999999",
            Fault::TooLarge,
        ),
        ("A [0, 2000000 s]", "2000000", Fault::TooLarge),
        ("A [0, 0 ms]", "0", Fault::Zero),
        ("* A [20 %, 1 ms]", "20 %", Fault::LossOfFifo),
        ("A [100/s, 1 ms]", "100/", Fault::ThroughputOfFourSlot),
    ];
    for (text, place, fault) in cases {
        let error = Pipe::parse(text).expect_err(text);
        assert_eq!((error.span.of(text), error.fault), (place, fault), "{text}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn limits_are_said() {
    let deep = format!("{}A", "(".repeat(100_000));
    let error = Pipe::parse(&deep).expect_err("deep");
    assert_eq!((error.span.start, error.fault), (64, Fault::TooDeep));
    let at_depth = format!("{}A{}", "(".repeat(64), ")".repeat(64));
    assert!(Pipe::parse(&at_depth).is_ok());
    let many = vec!["A"; 65].join("|");
    let error = Pipe::parse(&many).expect_err("many");
    assert_eq!(error.fault, Fault::TooManyStages { room: 64 });
    let long = "A".repeat(32);
    let error: SyntaxError = Pipe::parse(&long).expect_err("long");
    assert_eq!(error.fault, Fault::NameTooLong);
}

/// Texts of the language, laid out at random.
fn texts() -> impl Strategy<Value = String> {
    let name = "[A-Za-z_][A-Za-z0-9_.:-]{0,8}";
    let series = name
        .prop_map(|name| name)
        .prop_recursive(6, 20, 4, |inner| {
            let item = prop_oneof![inner.clone(), inner.prop_map(|inner| format!("({inner} )"))];
            let parallel = prop::collection::vec(item, 1..4).prop_map(|items| items.join(" ,"));
            prop::collection::vec(parallel, 1..4).prop_map(|parts| format!("({})", parts.join("|")))
        });
    let loss = (0u32..1_000_000, 1u64..86_400_000_000_000)
        .prop_map(|(loss, delay)| ("", format!(" [0.{loss:06},{delay}ns]")));
    let throughput = (1u64..1_000_000_000, 0u32..1_000_000, 1u64..86_400_000)
        .prop_map(|(whole, part, delay)| ("*", format!("[{whole}.{part:06} /s , {delay} us ]")));
    let start = prop_oneof![Just("*"), Just("[ * ]"), Just("")];
    let none = start.prop_map(|start| (start, String::new()));
    (prop_oneof![none, loss, throughput], series)
        .prop_map(|((start, requirement), series)| format!("{start}{series}{requirement}"))
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(text in texts()) {
        let pipe = Pipe::parse(&text);
        prop_assume!(!matches!(
            pipe, Err(SyntaxError { fault: Fault::TooManyStages { .. }, .. })
        ));
        let pipe = pipe.map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let printed = pipe.to_string();
        let again = Pipe::parse(&printed).expect("what is printed is correct");
        prop_assert_eq!(&pipe, &again);
        prop_assert_eq!(printed.clone(), again.to_string());
        let sink = pipe.sink();
        let stages = pipe.stages();
        for (index, stage) in stages.iter().enumerate() {
            let feeds = stages.iter().any(|other| other.from == stage.to);
            let fed = stages[..index].iter().any(|other| other.to == stage.from);
            prop_assert!(stage.from == 0 || fed);
            prop_assert!(feeds != (stage.to == sink));
            prop_assert!(stages[index..].iter().all(|other| other.to != stage.from));
        }
    }

    #[test]
    fn no_text_makes_it_fall(text: String) {
        let _ = Pipe::parse(&text);
    }

    #[test]
    fn no_near_miss_makes_it_fall(text in "[AB7.*|,()\\[\\]%/ \u{b5}ms-]{0,60}") {
        match Pipe::parse(&text) {
            Ok(pipe) => {
                let printed = pipe.to_string();
                prop_assert_eq!(Pipe::parse(&printed).expect("correct"), pipe);
            }
            Err(error) => prop_assert!(text.get(error.span.start..error.span.end).is_some()),
        }
    }
}

/// Bytes struck out, doubled and replaced in correct texts, many more than the properties try.
#[test]
fn mangled_texts_are_refused_or_read() {
    let seeds = [
        "[*] (A | B), C | D | E, F [1000/s, 10 ms]",
        "((A, B | C), D) | E [20 %, 11.5 ms]",
    ];
    let marks = "*|,()[]%/ .0aZ_\u{b5}";
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below.max(1)
    };
    let mut read = 0;
    for round in 0..100_000 {
        let mut text: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..=random(4) {
            let at = random(text.len());
            match random(3) {
                0 => drop(text.splice(at..(at + 1).min(text.len()), [])),
                1 => text.insert(
                    at,
                    marks
                        .chars()
                        .nth(random(marks.chars().count()))
                        .expect("within"),
                ),
                _ => text.insert(at, text.get(at).copied().unwrap_or('|')),
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(pipe) = Pipe::parse(&text) {
            read += 1;
            assert_eq!(Pipe::parse(&pipe.to_string()).as_ref(), Ok(&pipe), "{text}");
        }
    }
    assert!(
        read > 1_000,
        "the fuzzing reaches correct texts, too: {read}"
    );
}
