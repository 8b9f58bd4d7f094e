//! Configuration of the bridge
//!
//! Lines of words; what follows `#` is left out. The tool writes such a text into the partition's device tree; on any other
//! Linux it is a file (`doc/interfaces/bridge.md`).
//!
//! | line | meaning |
//! |---|---|
//! | `listen LOCATOR`, `connect LOCATOR` | own address, and addresses of peers |
//! | `node NAME` | name of the ROS 2 node |
//! | `channel NAME KIND BYTES MESSAGES FILE` | a channel in an ordinary file |
//! | `export CHANNEL ENDPOINT` | what comes by the channel is published as that endpoint |
//! | ENDPOINT | `HOST:PARTITION:SPACE:ENDPOINT`, or of ROS 2 `ros2:BYTES:DOMAIN/TOPIC/TYPE/HASH` |
//! | `import CHANNEL ENDPOINT [stage NS] [max-age NS] [fallback HEX]` | what is published as that endpoint goes into the channel; a stage's, at least so far apart |

use crate::{Address, Error};
use bulkhead_linux::{Kind, Partition};
use std::path::{Path, PathBuf};
use std::str::{FromStr, SplitAsciiWhitespace};
use std::time::Duration;

/// Kinds that carry bytes, by the names in descriptions.
const KINDS: [(&str, Kind); 2] = [("four-slot", Kind::FourSlot), ("ring", Kind::Ring)];

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Locators at which peers reach the bridge.
    pub listen: Vec<String>,
    /// Locators of peers.
    pub connect: Vec<String>,
    /// Name of the ROS 2 node.
    pub node: Option<String>,
    /// Channels in ordinary files; others are the partition's.
    pub channels: Vec<FileChannel>,
    /// Published endpoints.
    pub exports: Vec<Export>,
    /// Subscribed endpoints.
    pub imports: Vec<Import>,
}

/// A channel in an ordinary file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChannel {
    /// Its name.
    pub name: String,
    /// Four slots or a ring.
    pub kind: Kind,
    /// Bytes of a message.
    pub bytes: usize,
    /// Messages that it holds.
    pub messages: usize,
    /// Path of the file.
    pub file: PathBuf,
}

/// A channel that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The channel, of which the reading end is here.
    pub channel: String,
    /// The name of what comes by it.
    pub endpoint: Address,
}

/// A channel that is written from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The channel, of which the writing end is here.
    pub channel: String,
    /// Source of the values.
    pub endpoint: Address,
    /// Of a channel that a first stage of a pipe reads: the closest that its messages may be.
    pub stage: Option<Duration>,
    /// From what age on they are not to be gone by.
    pub max_age: Option<Duration>,
    /// Value that replaces stale ones.
    pub fallback: Option<Vec<u8>>,
}

/// The words of a line, and what to say about it.
struct Line<'t> {
    number: usize,
    text: &'t str,
    words: SplitAsciiWhitespace<'t>,
}

const FORMS: [(&str, &str); 6] = [
    ("listen", "`listen tcp/ADDRESS:PORT`"),
    ("connect", "`connect tcp/ADDRESS:PORT`"),
    ("node", "`node NAME`, of letters, digits and `_`"),
    (
        "channel",
        "`channel NAME four-slot|ring BYTES MESSAGES FILE`",
    ),
    (
        "export",
        "`export CHANNEL ENDPOINT`, HOST:PARTITION:SPACE:ENDPOINT or ros2:BYTES:DOMAIN/TOPIC/TYPE/HASH",
    ),
    (
        "import",
        "`import CHANNEL ENDPOINT [stage NANOSECONDS] [max-age NANOSECONDS] [fallback HEX]`",
    ),
];

impl Line<'_> {
    fn wrong(&self, what: &'static str, form: &str) -> Error {
        let forms = FORMS.iter().find(|(name, _)| *name == form);
        Error::Line {
            line: self.number,
            what,
            text: self.text.to_owned(),
            help: forms.map_or(
                "a line begins with listen, connect, node, channel, export or import",
                |(_, help)| help,
            ),
        }
    }

    fn word(&mut self, form: &str) -> Result<String, Error> {
        let word = self.words.next().map(str::to_owned);
        word.ok_or_else(|| self.wrong("a word is missing", form))
    }

    fn number<T: FromStr>(&mut self, form: &str) -> Result<T, Error> {
        let word = self.word(form)?;
        word.parse()
            .map_err(|_| self.wrong("a whole number is expected", form))
    }

    fn endpoint(&mut self, form: &str) -> Result<Address, Error> {
        self.word(form)?.parse()
    }
}

impl Config {
    /// Parses the text.
    ///
    /// # Errors
    /// A line is invalid, or repeats a unique entry.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut config = Self::default();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            if !content.is_empty() {
                let words = content.split_ascii_whitespace();
                config.line(Line {
                    number: index + 1,
                    text: content,
                    words,
                })?;
            }
        }
        Ok(config)
    }

    /// Reads and parses a file.
    ///
    /// # Errors
    /// The file is not readable, or as for [`Config::parse`].
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path);
        Self::parse(&text.map_err(|source| Error::Unreadable {
            path: path.into(),
            source,
        })?)
    }

    /// Returns the configuration in the partition's device tree, if there is one.
    ///
    /// # Errors
    /// See [`Config::parse`].
    pub fn of_partition(partition: &Partition) -> Result<Self, Error> {
        Self::parse(&partition.bridge().ok_or(Error::Nothing)?)
    }

    fn line(&mut self, mut line: Line<'_>) -> Result<(), Error> {
        let form = line.word("")?;
        match form.as_str() {
            "listen" => self.listen.push(line.word(&form)?),
            "connect" => self.connect.push(line.word(&form)?),
            "node" => self.node = Some(node(&mut line)?),
            "channel" => self.channels.push(channel(&mut line)?),
            "export" => self.export(&mut line)?,
            "import" => self.import(&mut line)?,
            _ => return Err(line.wrong("there is no such line", "")),
        }
        match line.words.next() {
            None => Ok(()),
            Some(_) => Err(line.wrong("there is a word too many", &form)),
        }
    }

    fn export(&mut self, line: &mut Line<'_>) -> Result<(), Error> {
        let export = Export {
            channel: line.word("export")?,
            endpoint: line.endpoint("export")?,
        };
        let channel = |one: &Export| one.channel == export.channel;
        if self.exports.iter().any(channel) {
            return Err(twice(
                line,
                &export.channel,
                "what comes by a channel can be taken out once",
            ));
        }
        let is_endpoint = export.endpoint.topic().is_none();
        let endpoint = |one: &Export| one.endpoint == export.endpoint;
        if is_endpoint && self.exports.iter().any(endpoint) {
            return Err(twice(
                line,
                &export.endpoint.to_string(),
                "an endpoint has one source",
            ));
        }
        self.exports.push(export);
        Ok(())
    }

    fn import(&mut self, line: &mut Line<'_>) -> Result<(), Error> {
        let mut import = Import {
            channel: line.word("import")?,
            endpoint: line.endpoint("import")?,
            stage: None,
            max_age: None,
            fallback: None,
        };
        while let Some(word) = line.words.next() {
            match word {
                "stage" => import.stage = Some(Duration::from_nanos(line.number("import")?)),
                "max-age" => import.max_age = Some(Duration::from_nanos(line.number("import")?)),
                "fallback" => {
                    let bytes = bytes(&line.word("import")?);
                    import.fallback = Some(
                        bytes.ok_or_else(|| line.wrong("the fallback is no bytes", "import"))?,
                    );
                }
                _ => return Err(line.wrong("there is no such word", "import")),
            }
        }
        if import.fallback.is_some() && import.max_age.is_none() {
            return Err(line.wrong("nothing raises the fallback without a max-age", "import"));
        }
        if import.fallback.is_some() && import.stage.is_some() {
            return Err(line.wrong("a stage falls back by itself", "import"));
        }
        if self.imports.iter().any(|one| one.channel == import.channel) {
            return Err(twice(line, &import.channel, "a channel has one writer"));
        }
        self.imports.push(import);
        Ok(())
    }
}

fn node(line: &mut Line<'_>) -> Result<String, Error> {
    let node = line.word("node")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match node.bytes().all(plain) {
        true => Ok(node),
        false => Err(line.wrong("that is no name of a node", "node")),
    }
}

fn channel(line: &mut Line<'_>) -> Result<FileChannel, Error> {
    let name = line.word("channel")?;
    let kind = line.word("channel")?;
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    Ok(FileChannel {
        name,
        kind: found
            .ok_or_else(|| line.wrong("the kind is unknown", "channel"))?
            .1,
        bytes: line.number("channel")?,
        messages: line.number("channel")?,
        file: line.word("channel")?.into(),
    })
}

fn twice(line: &Line<'_>, name: &str, help: &'static str) -> Error {
    Error::Twice {
        line: line.number,
        name: name.to_owned(),
        help,
    }
}

/// Pairs of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair)
            .ok()
            .filter(|digits| digits.len() == 2)?;
        let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(digits, 16).ok())?
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{Config, bytes};
    use bulkhead_linux::Kind;
    use std::time::Duration;

    #[test]
    fn a_text_says_what_is_bridged() {
        let text = "# of the car\nlisten tcp/0.0.0.0:7447\nconnect tcp/10.0.0.2:7447  # the dock\n\
                    channel speed ring 16 64 /tmp/speed\n\nexport speed car:control:app:speed\n\
                    import goal dock:planner:app:goal max-age 100000000 fallback 00ff\n";
        let config = Config::parse(text).expect("a text");
        assert_eq!(
            (config.listen.len(), config.connect[0].as_str()),
            (1, "tcp/10.0.0.2:7447")
        );
        assert_eq!(
            (config.channels[0].kind, config.channels[0].messages),
            (Kind::Ring, 64)
        );
        assert_eq!(config.exports[0].endpoint.key(), "car/control/app/speed");
        assert_eq!(config.imports[0].max_age, Some(Duration::from_millis(100)));
        assert_eq!(config.imports[0].fallback, Some(vec![0, 255]));
        let config =
            Config::parse("import steer.1.in car:near:agent:steer.3 stage 5000").expect("a text");
        assert_eq!(config.imports[0].stage, Some(Duration::from_nanos(5000)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            (
                "\nlisten",
                "line 2: a word is missing: `listen`; `listen tcp/ADDRESS:PORT`",
            ),
            ("export a b:c:d:e f", "a word too many"),
            ("export a b:c", "`b:c` is no endpoint"),
            ("offer a", "a line begins with"),
            ("channel a mailbox 8 1 /x", "the kind is unknown"),
            ("channel a ring x 1 /x", "a whole number"),
            ("import a b:c:d:e max-age -1", "a whole number"),
            ("import a b:c:d:e max-age 1 fallback abc", "no bytes"),
            ("import a b:c:d:e fallback ab", "without a max-age"),
            ("import a b:c:d:e soon", "no such word"),
            ("import a b:c:d:e stage", "a word is missing"),
            (
                "import a b:c:d:e stage 1 max-age 1 fallback ab",
                "a stage falls back by itself",
            ),
            (
                "export a b:c:d:e\nexport a b:c:d:f",
                "line 2: `a` was named before",
            ),
            (
                "export a b:c:d:e\nexport b b:c:d:e",
                "an endpoint has one source",
            ),
            (
                "import a b:c:d:e\nimport a b:c:d:f",
                "a channel has one writer",
            ),
        ] {
            let wrong = Config::parse(text).expect_err(text).to_string();
            assert!(wrong.contains(says), "{text}: {wrong}");
        }
    }

    #[test]
    fn bytes_are_pairs_of_digits() {
        assert_eq!(bytes("00fFa0"), Some(vec![0, 255, 160]));
        for wrong in ["0", "0x", "+1", "é0", "zz"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
