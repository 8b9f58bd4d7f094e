//! Names of endpoints: `host:partition:address-space:endpoint` (003 §3.1.1)
//!
//! On Zenoh the parts are those of a key expression, `host/partition/address-space/endpoint`. A part contains only characters
//! without special meaning in a key expression.

use crate::Error;
use std::fmt;
use std::str::FromStr;

const PARTS: usize = 4;

/// The name of an endpoint of some machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name([String; PARTS]);

impl Name {
    /// Its key expression.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.join("/")
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Name(text.to_owned());
        let parts: Vec<String> = text.split(':').map(str::to_owned).collect();
        let parts: [String; PARTS] = parts.try_into().map_err(|_| wrong())?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let sound = |part: &String| !part.is_empty() && part.bytes().all(plain);
        parts
            .iter()
            .all(sound)
            .then_some(Self(parts))
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_a_key_and_says_itself() {
        let name: Name = "car:control:pipes:steer.2-3".parse().expect("a name");
        assert_eq!(name.key(), "car/control/pipes/steer.2-3");
        assert_eq!(name.to_string(), "car:control:pipes:steer.2-3");
    }

    #[test]
    fn what_zenoh_would_read_otherwise_is_no_name() {
        for text in [
            "",
            "a:b:c",
            "a:b:c:d:e",
            "a::c:d",
            "a:*:c:d",
            "a:b:c:d/e",
            "a:b:c:$x",
            "a:b:c:ü",
        ] {
            let wrong = text.parse::<Name>().expect_err(text).to_string();
            assert!(
                wrong.contains("host:partition:address-space:endpoint"),
                "{wrong}"
            );
        }
    }
}
