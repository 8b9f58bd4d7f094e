//! Commands of the agent's console

use bulkhead_abi::repository::MAX_LINE;
use bulkhead_drive_model::message::MAX_SPEED_MPS;
use bulkhead_drive_model::{kmph, mps};
use bulkhead_linux::Control;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Hold this speed, m/s.
    Set(f64),
    /// Follow the driving cycle.
    Profile,
    /// Show partitions, channels and counters.
    Status,
    /// Restart or halt a partition.
    Control(Control, String),
    /// Type a line into a partition's console: the remote shell of its components.
    Tell(String, String),
    /// A shell on this console.
    Shell,
    /// List the commands.
    Help,
}

pub(crate) const HELP: &str = "\
set SPEED          hold SPEED km/h
profile            follow the driving cycle
stop               come to a standstill
status             partitions, channels, entries to the monitor
restart PARTITION  from its pristine image (privileged partitions only)
halt PARTITION     stop it until it is restarted (privileged partitions only)
tell PARTITION X   type X into its console, e.g. `tell control pipe list`
shell              a shell; the agent goes on meanwhile
help               this list";

/// Parses `line`, which may begin with the word `drive`. The error is a text for the user.
pub(crate) fn parse(line: &str) -> Result<Option<Command>, String> {
    let mut words = line.split_ascii_whitespace().peekable();
    let _ = words.next_if_eq(&"drive");
    let words: Vec<&str> = words.collect();
    Ok(Some(match words[..] {
        [] => return Ok(None),
        ["set", speed] => Command::Set(speed_mps(speed)?),
        ["stop"] => Command::Set(0.0),
        ["profile"] => Command::Profile,
        ["status"] => Command::Status,
        ["restart", name] => Command::Control(Control::Restart, name.to_owned()),
        ["halt", name] => Command::Control(Control::Halt, name.to_owned()),
        ["tell", name, _, ..] => Command::Tell(name.to_owned(), rest_of_line(line)?),
        ["shell"] => Command::Shell,
        ["help"] => Command::Help,
        _ => {
            return Err(format!(
                "\"{}\" is no command; `help` lists them",
                line.trim()
            ));
        }
    }))
}

/// The text behind the partition's name, unchanged.
fn rest_of_line(line: &str) -> Result<String, String> {
    let word = |text: &str| {
        let text = text.trim_ascii_start();
        let end = text.find(|character: char| character.is_ascii_whitespace());
        text[end.unwrap_or(text.len())..].to_owned()
    };
    let line = line.trim_ascii_start();
    let behind = word(line.strip_prefix("drive").unwrap_or(line));
    let text = word(&behind).trim_ascii().to_owned();
    match text.len() {
        0..=MAX_LINE => Ok(text),
        long => Err(format!(
            "a line of {long} bytes was not told: at most {MAX_LINE} are taken at once"
        )),
    }
}

fn speed_mps(text: &str) -> Result<f64, String> {
    let limit = kmph(MAX_SPEED_MPS);
    match text.parse::<f64>() {
        Ok(speed) if (0.0..=limit).contains(&speed) => Ok(mps(speed)),
        _ => Err(format!(
            "\"{text}\" is no speed; give 0 to {limit:.0} km/h, such as `set 90`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, HELP, MAX_LINE, parse};
    use bulkhead_linux::Control;

    #[test]
    fn understands_what_it_lists() {
        assert_eq!(parse("set 90"), Ok(Some(Command::Set(25.0))));
        assert_eq!(parse("  drive set 36 "), Ok(Some(Command::Set(10.0))));
        assert_eq!(parse("stop"), Ok(Some(Command::Set(0.0))));
        assert_eq!(parse("profile"), Ok(Some(Command::Profile)));
        assert_eq!(parse(""), Ok(None));
        let halt = Command::Control(Control::Halt, "plant".into());
        assert_eq!(parse("halt plant"), Ok(Some(halt)));
        let tell = Command::Tell("control".into(), "pipe stop log".into());
        assert_eq!(parse("tell control pipe stop log "), Ok(Some(tell.clone())));
        assert_eq!(
            parse(" drive  tell  control  pipe stop log"),
            Ok(Some(tell))
        );
        let entered = "pipe add x * a |  b [50/s, 80 ms]";
        let tell = Command::Tell("control".into(), entered.into());
        assert_eq!(parse(&format!("tell control {entered}")), Ok(Some(tell)));
        assert!(parse("tell control").is_err());
        for line in HELP.lines() {
            let example = line[..18]
                .replace("SPEED", "50")
                .replace("PARTITION", "plant");
            assert!(matches!(parse(&example), Ok(Some(_))), "{line}");
        }
    }

    #[test]
    fn refuses_the_rest_in_words() {
        for line in [
            "tell control",
            "set",
            "set fast",
            "set -1",
            "set NaN",
            "set inf",
            "set 300",
            "sets 5",
            "halt",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn nothing_is_told_in_part() {
        let long = |length| format!("tell control {}", "x".repeat(length));
        assert!(parse(&long(MAX_LINE)).is_ok());
        let why = parse(&long(MAX_LINE + 1)).expect_err("too long");
        assert!(why.contains("321 bytes"), "{why}");
    }
}
