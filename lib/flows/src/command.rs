//! Pipe commands

use bulkhead_abi::NAME_LEN;
use bulkhead_abi::repository::{MAX_FLOW, MAX_LINE};
use core::fmt;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'l> {
    /// No command: the line is empty.
    Nothing,
    /// Prints the state of each pipe.
    List,
    /// Prints the functions of which pipes can be made, and the free resources.
    Functions,
    /// Ends a pipe in order.
    Stop(&'l str),
    /// Starts a pipe that rests.
    Start(&'l str),
    /// Ends a pipe in order and removes it.
    Remove(&'l str),
    /// Solves a flow and starts it under a new name.
    Add(NewPipe<'l>),
    /// Solves a flow and starts it in place of the pipe of that name.
    Replace(NewPipe<'l>),
}

/// A run-time pipe as entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewPipe<'l> {
    /// Its name.
    pub name: &'l str,
    /// Its flow.
    pub flow: &'l str,
    /// Bytes of the line before the flow.
    pub before: usize,
}

/// Reason for which a line is no command. Places are bytes of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong<'l> {
    /// The line is longer than [`MAX_LINE`].
    TooLong,
    /// The line is not UTF-8.
    NoText,
    /// The line begins with another word.
    Unknown(&'l str),
    /// `pipe`, followed by an unknown word.
    Verb(&'l str),
    /// A name is missing at this place.
    NoName(usize),
    /// The text at this place is no name.
    BadName(usize),
    /// A flow is missing at this place.
    NoFlow(usize),
    /// A flow is longer than [`MAX_FLOW`].
    LongFlow,
    /// There is more text than belongs to the command.
    More(usize),
}

const VERBS: &str = "pipe list, pipe functions, pipe stop NAME, pipe start NAME, pipe add NAME FLOW, pipe replace NAME FLOW, pipe remove NAME";

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |at: &usize| at + 1;
        match self {
            Self::TooLong => write!(
                out,
                "this line is longer than {MAX_LINE} bytes, and nothing of it was obeyed"
            ),
            Self::NoText => out.write_str("this is no command: it is not UTF-8"),
            Self::Unknown(word) => write!(out, "{word} is no command: {VERBS}"),
            Self::Verb(word) => write!(out, "pipe {word} is no command: {VERBS}"),
            Self::NoName(at) => write!(out, "at column {}: expected the name of a pipe", place(at)),
            Self::BadName(at) => write!(
                out,
                "at column {}: a name is a small letter, then up to 14 small letters, digits and `-`",
                place(at)
            ),
            Self::NoFlow(at) => write!(
                out,
                "at column {}: expected a flow, for example `* a | b, c | d [100/s, 10 ms]`",
                place(at)
            ),
            Self::LongFlow => write!(out, "a flow that is typed has at most {MAX_FLOW} bytes"),
            Self::More(at) => write!(out, "at column {}: expected the end", place(at)),
        }
    }
}

/// A line's words, one after the other.
struct Words<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Words<'l> {
    /// The rest of the line, from its first word on.
    fn rest(&mut self) -> &'l str {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let text = rest.trim_ascii_start();
        self.at += rest.len() - text.len();
        text.trim_ascii_end()
    }

    /// The next word and its place; empty at the end.
    fn next(&mut self) -> (&'l str, usize) {
        let word = self.rest().split_ascii_whitespace().next();
        let (word, at) = (word.unwrap_or_default(), self.at);
        self.at += word.len();
        (word, at)
    }

    fn name(&mut self) -> Result<&'l str, Wrong<'l>> {
        match self.next() {
            ("", at) => Err(Wrong::NoName(at)),
            (name, _) if is_name(name) => Ok(name),
            (_, at) => Err(Wrong::BadName(at)),
        }
    }

    fn flow(&mut self) -> Result<NewPipe<'l>, Wrong<'l>> {
        let name = self.name()?;
        match self.rest() {
            "" => Err(Wrong::NoFlow(self.at)),
            flow if flow.len() > MAX_FLOW => Err(Wrong::LongFlow),
            flow => Ok(NewPipe {
                name,
                flow,
                before: self.at,
            }),
        }
    }

    /// The command, if no text follows.
    fn alone(&mut self, command: Command<'l>) -> Result<Command<'l>, Wrong<'l>> {
        match self.rest() {
            "" => Ok(command),
            _ => Err(Wrong::More(self.at)),
        }
    }
}

/// Returns whether a name is valid for a pipe, as in the description.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() < NAME_LEN
        && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && name.bytes().all(fits)
}

/// Parses a line without its end.
///
/// # Errors
/// The reason for which it is no command.
pub fn parse(line: &[u8]) -> Result<Command<'_>, Wrong<'_>> {
    if line.len() > MAX_LINE {
        return Err(Wrong::TooLong);
    }
    let line = core::str::from_utf8(line).map_err(|_| Wrong::NoText)?;
    let mut words = Words { line, at: 0 };
    match words.next().0 {
        "" => return Ok(Command::Nothing),
        "pipe" => {}
        word => return Err(Wrong::Unknown(word)),
    }
    let command = match words.next().0 {
        "list" => Command::List,
        "functions" => Command::Functions,
        "stop" => Command::Stop(words.name()?),
        "start" => Command::Start(words.name()?),
        "remove" => Command::Remove(words.name()?),
        "add" => return words.flow().map(Command::Add),
        "replace" => return words.flow().map(Command::Replace),
        word => return Err(Wrong::Verb(word)),
    };
    words.alone(command)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    #[test]
    fn commands_are_parsed() {
        let read = |line: &'static str| parse(line.as_bytes());
        assert_eq!(read("  "), Ok(Command::Nothing));
        assert_eq!(read("pipe list "), Ok(Command::List));
        assert_eq!(read(" pipe\tfunctions"), Ok(Command::Functions));
        assert_eq!(read("pipe stop log"), Ok(Command::Stop("log")));
        assert_eq!(read("pipe start log"), Ok(Command::Start("log")));
        assert_eq!(read("pipe remove log"), Ok(Command::Remove("log")));
        let pipe = NewPipe {
            name: "extra",
            flow: "* a | b  [50/s, 80 ms]",
            before: 16,
        };
        assert_eq!(
            read("pipe add extra  * a | b  [50/s, 80 ms]  "),
            Ok(Command::Add(pipe))
        );
        let before = 19;
        assert_eq!(
            read("pipe replace extra * a | b  [50/s, 80 ms]"),
            Ok(Command::Replace(NewPipe { before, ..pipe }))
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (line, place, word) in [
            ("pipes list", "", "pipes"),
            ("pipe", "", "pipe add NAME FLOW"),
            ("pipe lists", "", "pipe lists"),
            ("pipe stop", "column 10", "name"),
            ("pipe add 1st a", "column 10", "small letter"),
            ("pipe add a-name-of-sixteen a", "column 10", "small letter"),
            ("pipe add x", "column 11", "flow"),
            ("pipe stop log now", "column 15", "end"),
            ("pipe list now", "column 11", "end"),
        ] {
            let message = parse(line.as_bytes()).expect_err(line).to_string();
            assert!(
                message.contains(place) && message.contains(word),
                "{line}: {message}"
            );
        }
        assert_eq!(parse(b"pipe \xff"), Err(Wrong::NoText));
    }

    #[test]
    fn nothing_of_what_is_too_long_is_obeyed() {
        let long = |length: usize| String::from_iter((0..length).map(|_| 'a'));
        assert_eq!(parse(long(MAX_LINE + 1).as_bytes()), Err(Wrong::TooLong));
        let line = String::from("pipe add x ") + &long(MAX_FLOW + 1);
        assert_eq!(parse(line.as_bytes()), Err(Wrong::LongFlow));
        let line = String::from("pipe add x ") + &long(MAX_FLOW);
        assert!(parse(line.as_bytes()).is_ok());
    }

    fn words() -> impl Strategy<Value = String> {
        let word = prop::sample::select(Vec::from([
            "pipe", "add", "replace", "stop", "list", "x", "é", "*", "|", "[", "]", " ", "\t", ",",
            "(", "9",
        ]));
        prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _answered = parse(&bytes).map_err(|wrong| wrong.to_string());
        }

        /// A parsed flow is the text at the reported place.
        #[test]
        fn places_are_those_of_the_line(line in words()) {
            if let Ok(Command::Add(typed) | Command::Replace(typed)) = parse(line.as_bytes()) {
                prop_assert_eq!(&line[typed.before..][..typed.flow.len()], typed.flow);
                prop_assert!(is_name(typed.name));
            }
        }
    }
}
