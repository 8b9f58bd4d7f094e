//! Files of messages of last stages with `writes = "trace"`: a text file for each stage
//!
//! A line is `LEFT ENTERED NUMBER WORD WORD`: two ticks, the number of the newest first message
//! from which it was made (0: none, a stage ran its fallback), and both data words in hexadecimal.
//! The recording thread writes the files, so that no stage waits for them. They are in memory, and
//! therefore bounded.

use crate::stage::Left;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Size at which a file replaces the previous one and a new file begins.
const MOST: u64 = 512 << 10;

/// The file of a stage.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl TraceFile {
    /// Creates the file `PIPE.STAGE.trace`, stages counted from 1, empty at each start.
    pub(crate) fn new(folder: &Path, pipe: &str, place: usize) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{pipe}.{}.trace", place + 1));
        Ok(Self {
            file: File::create(&path)?,
            path,
            bytes: 0,
        })
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines for messages that left.
    pub(crate) fn write(&mut self, exits: &[&Left]) -> io::Result<()> {
        let text: String = exits.iter().map(|exits| line(exits)).collect();
        if self.bytes + text.len() as u64 > MOST {
            fs::rename(&self.path, self.path.with_extension("trace.old"))?;
            self.file = File::create(&self.path)?;
            self.bytes = 0;
        }
        self.file.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

fn line(exit: &Left) -> String {
    let entries = exit.message.entries.iter();
    let newest = entries.max_by_key(|entry| entry.at);
    let (number, at) = newest.map_or((0, 0), |entry| (entry.number, entry.at));
    let [first, second] = exit.message.data;
    format!("{} {at} {number} {first:x} {second:x}\n", exit.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Places;
    use bulkhead_stages::message::{Entry, Message};

    fn left(number: u64) -> Left {
        let mut message = Message {
            data: [number, 0xab],
            ..Message::default()
        };
        message.entries[1] = Entry { number, at: 7 };
        Left {
            message,
            at: 9,
            places: Places {
                pipe: "log".into(),
                heads: [0].into(),
                tail: 2,
            },
        }
    }

    #[test]
    fn lines_say_when_and_what_and_files_do_not_grow_for_ever() {
        let folder = std::env::temp_dir().join(format!("bulkhead-trace-{}", std::process::id()));
        let mut file = TraceFile::new(&folder, "log", 2).expect("a file");
        assert_eq!(file.path(), folder.join("log.3.trace"));
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
        file.write(&[&left(1), &left(2)]).expect("written");
        assert_eq!(read("log.3.trace"), "9 7 1 1 ab\n9 7 2 2 ab\n");
        for number in 0..MOST / 10 {
            file.write(&[&left(number)]).expect("written");
        }
        assert!(read("log.3.trace").len() as u64 <= MOST);
        assert!(read("log.3.trace.old").len() as u64 <= MOST);
        assert!(read("log.3.trace").ends_with(&format!(" {0} {0:x} ab\n", MOST / 10 - 1)));
        fs::remove_dir_all(folder).expect("removed");
    }
}
