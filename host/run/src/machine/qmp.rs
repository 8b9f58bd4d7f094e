//! The emulator's control connection
//!
//! QEMU Machine Protocol (docs/interop/qmp-spec): one JSON object per line; replies carry `return`
//! or `error`, events carry `event` and are skipped. Each request has a number, which its reply repeats:
//! one that comes too late is skipped, too.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The connection.
#[derive(Debug)]
pub(super) struct Qmp {
    stream: BufReader<UnixStream>,
    /// The incomplete line received so far.
    line: String,
    requests: u64,
}

impl Qmp {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream: BufReader::new(stream),
            line: String::new(),
            requests: 0,
        }
    }

    /// How long an answer may take from now on.
    pub(super) fn be_patient(&mut self, patience: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(patience))
    }

    /// Waits for the greeting and enters command mode.
    pub(super) fn greet(&mut self) -> io::Result<()> {
        let greeting = self.receive()?;
        if greeting.get("QMP").is_none() {
            return Err(unexpected(&greeting));
        }
        self.execute("qmp_capabilities").map(drop)
    }

    /// A command without arguments; gives what it returns.
    pub(super) fn execute(&mut self, command: &str) -> io::Result<Value> {
        self.request(json!({ "execute": command }))
    }

    /// A 32-bit word at a physical address, devices included.
    pub(super) fn examine_word(&mut self, pa: u64) -> io::Result<u32> {
        let text = self.command(&format!("xp /1wx {pa:#x}"), 0)?;
        let digits = text.rsplit("0x").next().unwrap_or_default().trim();
        u32::from_str_radix(digits, 16).map_err(|_| unexpected(&text.into()))
    }

    /// Program counter and processor state of a core.
    pub(super) fn state(&mut self, core: usize) -> io::Result<[u64; 2]> {
        let text = self.command("info registers", core)?;
        let value = |name: &str| {
            let words = text.split_whitespace();
            let digits = words.filter_map(|word| word.strip_prefix(name)).next()?;
            u64::from_str_radix(digits, 16).ok()
        };
        let both = value("PC=").zip(value("PSTATE="));
        both.map_or_else(
            || Err(unexpected(&text.into())),
            |(pc, state)| Ok([pc, state]),
        )
    }

    /// 32-bit words at a virtual address of what a core executes; fewer where nothing is mapped.
    pub(super) fn examine_virtual(
        &mut self,
        core: usize,
        address: u64,
        words: usize,
    ) -> io::Result<Vec<u32>> {
        let text = self.command(&format!("x /{words}wx {address:#x}"), core)?;
        let hexadecimal = text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("0x"));
        Ok(hexadecimal
            .map_while(|digits| u32::from_str_radix(digits, 16).ok())
            .collect())
    }

    /// A command of the monitor for people, about a core.
    fn command(&mut self, line: &str, core: usize) -> io::Result<String> {
        let request = json!({
            "execute": "human-monitor-command",
            "arguments": { "command-line": line, "cpu-index": core },
        });
        let answer = self.request(request)?;
        answer
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| unexpected(&answer))
    }

    fn request(&mut self, mut request: Value) -> io::Result<Value> {
        self.requests += 1;
        request["id"] = self.requests.into();
        self.stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())?;
        loop {
            let mut answer = self.receive()?;
            if answer["id"] != self.requests {
                continue;
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                return Err(unexpected(error));
            }
        }
    }

    fn receive(&mut self) -> io::Result<Value> {
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended"));
        }
        let received = serde_json::from_str(&self.line).map_err(io::Error::from);
        self.line.clear();
        received
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
        let mut qmp = qmp(&["{\"event\":\"RESUME\"}\n{\"return\":{\"a\":1},\"id\":1}\n"]);
        assert_eq!(qmp.execute("cont").unwrap(), json!({ "a": 1 }));
    }

    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_the_next() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut qmp = Qmp::new(ours);
        qmp.be_patient(Duration::from_millis(1)).unwrap();
        theirs.write_all(b"{\"return\":").unwrap();
        let kind = qmp.execute("stop").unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::WouldBlock);
        let late = "\"late\",\"id\":1}\n{\"return\":\"in time\",\"id\":2}\n";
        theirs.write_all(late.as_bytes()).unwrap();
        assert_eq!(qmp.execute("stop").unwrap(), json!("in time"));
    }

    #[test]
    fn reads_a_register_from_what_people_are_shown() {
        let mut qmp = qmp(&["{\"return\":\"0000000009010000: 0x6955b900\\r\\n\",\"id\":1}\n"]);
        assert_eq!(qmp.examine_word(0x0901_0000).unwrap(), 0x6955_b900);
    }

    #[test]
    fn errors_and_nonsense_and_the_end_are_errors() {
        let mut cores = qmp(&[
            "{\"return\":\" PC=00000000004012a4 X00=0000000000000001\\r\\nX30=0 SP=1\\r\\nPSTATE=60000000 -ZC- EL0t\\r\\n\",\"id\":1}\n",
            "{\"return\":\"004012a4: 0x14000000 0xd65f03c0\\r\\n004012ac: Cannot access memory\\r\\n\",\"id\":2}\n",
        ]);
        assert_eq!(cores.state(1).unwrap(), [0x40_12A4, 0x6000_0000]);
        assert_eq!(
            cores.examine_virtual(1, 0x40_12A4, 3).unwrap(),
            [0x1400_0000, 0xD65F_03C0]
        );
        let mut refused = qmp(&["{\"error\":{\"desc\":\"no\"},\"id\":1}\n"]);
        assert!(refused.execute("x").unwrap_err().to_string().contains("no"));
        let mut nonsense = qmp(&["what?\n"]);
        assert!(nonsense.execute("x").is_err());
        let mut ended = qmp(&[]);
        assert!(ended.execute("x").is_err());
    }
}
