//! The emulator's control connection
//!
//! QEMU Machine Protocol (docs/interop/qmp-spec): one JSON object per line; replies carry `return`
//! or `error`, events carry `event` and are skipped.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long an answer may take; a loaded host is slow, not dead.
const PATIENCE: Duration = Duration::from_secs(60);

/// The connection.
#[derive(Debug)]
pub(super) struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Waits for the greeting and enters command mode.
    pub(super) fn greet(&mut self) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(PATIENCE))?;
        let greeting = self.receive()?;
        if greeting.get("QMP").is_none() {
            return Err(unexpected(&greeting));
        }
        self.execute("qmp_capabilities").map(drop)
    }

    /// A command without arguments; gives what it returns.
    pub(super) fn execute(&mut self, command: &str) -> io::Result<Value> {
        self.request(&json!({ "execute": command }))
    }

    /// A 32-bit word at a physical address, devices included.
    pub(super) fn examine_word(&mut self, pa: u64) -> io::Result<u32> {
        let line = format!("xp /1wx {pa:#x}");
        let request = json!({
            "execute": "human-monitor-command",
            "arguments": { "command-line": line },
        });
        let answer = self.request(&request)?;
        let text = answer.as_str().unwrap_or_default();
        let digits = text.rsplit("0x").next().unwrap_or_default().trim();
        u32::from_str_radix(digits, 16).map_err(|_| unexpected(&answer))
    }

    fn request(&mut self, request: &Value) -> io::Result<Value> {
        self.stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())?;
        loop {
            let mut answer = self.receive()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                return Err(unexpected(error));
            }
        }
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended"));
        }
        serde_json::from_str(&line).map_err(io::Error::from)
    }
}

fn unexpected(answer: &Value) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it answered {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Plays an emulator that answers each request with the next of `answers`.
    fn qmp(answers: &'static [&'static str]) -> Qmp {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut stream = BufReader::new(theirs);
            for answer in answers {
                let mut request = String::new();
                if stream.read_line(&mut request).unwrap() == 0 {
                    return;
                }
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        Qmp::new(ours)
    }

    #[test]
    fn skips_events_and_returns_the_answer() {
        let mut qmp = qmp(&["{\"event\":\"RESUME\"}\n{\"return\":{\"a\":1}}\n"]);
        assert_eq!(qmp.execute("cont").unwrap(), json!({ "a": 1 }));
    }

    #[test]
    fn reads_a_register_from_what_people_are_shown() {
        let mut qmp = qmp(&["{\"return\":\"0000000009010000: 0x6955b900\\r\\n\"}\n"]);
        assert_eq!(qmp.examine_word(0x0901_0000).unwrap(), 0x6955_b900);
    }

    #[test]
    fn errors_and_nonsense_and_the_end_are_errors() {
        let mut refused = qmp(&["{\"error\":{\"desc\":\"no\"}}\n"]);
        assert!(refused.execute("x").unwrap_err().to_string().contains("no"));
        let mut nonsense = qmp(&["what?\n"]);
        assert!(nonsense.execute("x").is_err());
        let mut ended = qmp(&[]);
        assert!(ended.execute("x").is_err());
    }
}
