//! A bridge as a process, and the partition's ends of its channels

use bulkhead_linux::{BytesReader, BytesWriter, Channel, Description, Kind, Role};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that happens at all.
pub(crate) const DEADLINE: Duration = Duration::from_secs(40);
/// Bytes of a test's message.
pub(crate) const BYTES: usize = 12;
const MESSAGES: usize = 64;

/// Returns an unused port.
pub(crate) fn free_port() -> u16 {
    let any = TcpListener::bind("127.0.0.1:0").expect("a port");
    any.local_addr().expect("its address").port()
}

/// Asks until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not come");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A message that says its number.
pub(crate) fn message(number: u64) -> [u8; BYTES] {
    let mut bytes = [0x5a; BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

pub(crate) fn number(message: &[u8]) -> u64 {
    assert_eq!(&message[8..], [0x5a; BYTES - 8], "all of it came");
    u64::from_le_bytes(message[..8].try_into().expect("8 bytes"))
}

/// A channel in a file.
pub(crate) struct Buffer {
    name: String,
    kind: Kind,
    bytes: usize,
    path: PathBuf,
}

impl Buffer {
    pub(crate) fn new(folder: &Path, name: &str, kind: Kind) -> Self {
        Self::of(folder, name, kind, BYTES)
    }

    /// Of messages of another length.
    pub(crate) fn of(folder: &Path, name: &str, kind: Kind, bytes: usize) -> Self {
        let path = folder.join(name);
        std::fs::write(&path, vec![0; 8192]).expect("a file");
        Self {
            name: name.into(),
            kind,
            bytes,
            path,
        }
    }

    /// Its line for the bridge.
    pub(crate) fn line(&self) -> String {
        let kind = if self.kind == Kind::Ring {
            "ring"
        } else {
            "four-slot"
        };
        format!(
            "channel {} {kind} {} {MESSAGES} {}",
            self.name,
            self.bytes,
            self.path.display()
        )
    }

    fn open(&self, role: Role) -> Channel {
        let description = Description {
            name: self.name.clone(),
            peer: String::new(),
            standby: None,
            kind: self.kind,
            role,
            message_bytes: self.bytes,
            messages: MESSAGES,
            read_only: false,
        };
        Channel::over_file(&self.path, description).expect("the file")
    }

    pub(crate) fn writer(&self) -> BytesWriter {
        self.open(Role::Writer)
            .bytes_writer()
            .expect("a writing end")
    }

    pub(crate) fn reader(&self) -> BytesReader {
        self.open(Role::Reader)
            .bytes_reader()
            .expect("a reading end")
    }
}

/// A bridge that runs, and what it said.
pub(crate) struct Machine {
    child: Child,
    printed: Arc<Mutex<Vec<String>>>,
}

impl Machine {
    pub(crate) fn start(folder: &Path, lines: &[String]) -> Self {
        let file = folder.join(format!("bridge-{}", free_port()));
        std::fs::write(&file, lines.join("\n")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead-bridge"));
        command
            .arg(&file)
            .args(["--report", "50"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (lines, output) = (
            Arc::clone(&printed),
            child.stdout.take().expect("its output"),
        );
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                lines.lock().expect("nobody panics with it").push(line);
            }
        });
        Self { child, printed }
    }

    /// Waits for a line that has all of these words in it, and gives the last such.
    pub(crate) fn says(&self, words: &[&str]) -> String {
        let end = Instant::now() + DEADLINE;
        loop {
            let printed = self.printed.lock().expect("nobody panics with it").clone();
            let found = printed
                .iter()
                .rfind(|line| words.iter().all(|word| line.contains(word)));
            if let Some(line) = found {
                return line.clone();
            }
            assert!(
                Instant::now() < end,
                "{words:?} was not said:\n{}",
                printed.join("\n")
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The number before a word in the last line that has it, 0 where none was said.
    pub(crate) fn said_count(&self, word: &str) -> u64 {
        let printed = self.printed.lock().expect("nobody panics with it").clone();
        let line = printed.iter().rfind(|line| line.contains(word));
        let before = line.and_then(|line| line.split(word).next()?.split_whitespace().last());
        before.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Ends by itself, and not well.
    pub(crate) fn fails(mut self) {
        let mut status = None;
        until("an end", || {
            status = self.child.try_wait().expect("its own child");
            status.is_some()
        });
        assert!(
            status.is_some_and(|status| status.code() == Some(1)),
            "{status:?}: no panic, and no success"
        );
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("its own child").is_none()
    }
}

impl Drop for Machine {
    /// Ends the machine as a power failure does.
    fn drop(&mut self) {
        let _ended_by_itself = self.child.kill();
        let _ = self.child.wait();
    }
}
