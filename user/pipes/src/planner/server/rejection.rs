//! Reasons for which the client's stages do not run here, as text of the answer

use super::super::Planner;
use super::super::deployment::{Settings, nanoseconds};
use crate::table::{self, PIPES};
use bulkhead_abi::{NAME_LEN, name_text};
use bulkhead_analysis::admission;
use bulkhead_flows::diagnostic::{Diagnostic, Shown};
use bulkhead_flows::pipe_admission::Refused;
use bulkhead_stages::deploy_request::Unfit;
use bulkhead_stages::request::TEXT_BYTES;
use core::fmt::{self, Write};

/// Text of an answer.
pub(super) struct Text {
    bytes: [u8; TEXT_BYTES],
    length: usize,
}

impl Write for Text {
    /// Text that does not fit is cut off.
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            let end = self.length + bytes.len();
            if let Some(place) = self.bytes.get_mut(self.length..end) {
                place.copy_from_slice(bytes);
                self.length = end;
            }
        }
        Ok(())
    }
}

impl Text {
    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut written = Self {
            bytes: [0; TEXT_BYTES],
            length: 0,
        };
        let _never_fails = written.write_fmt(text);
        written
    }

    pub(super) fn text(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Reason for which stages do not run here.
pub(super) enum Rejection {
    Unfit(Unfit),
    /// Its name is not valid, or belongs to a pipe that is not the client's.
    Name,
    Named,
    Pipes,
    /// There is no such function, or it uses an endpoint.
    Function([u8; NAME_LEN]),
    Endpoint([u8; NAME_LEN]),
    Stages {
        needed: usize,
        free: usize,
    },
    Buffers {
        needed: usize,
        free: usize,
    },
    /// A buffer of the channel belongs to another pipe.
    Taken,
    /// A pipe that is wholly here would lose its guarantee.
    Refused(Refused),
    Core(bulkhead_slite::Refused),
    /// A thread of its stages does not come to rest.
    Restless,
    Failed,
}

impl Planner {
    pub(super) fn text_of(&self, reason: &Rejection) -> Text {
        match reason {
            Rejection::Unfit(unfit) => Text::of(format_args!("{unfit}")),
            Rejection::Name => Text::of(format_args!("its name is none")),
            Rejection::Named => Text::of(format_args!("another pipe has its name there")),
            Rejection::Pipes => Text::of(format_args!("there are {PIPES} pipes, remove one")),
            Rejection::Function(name) => Text::of(format_args!(
                "`{}` is no function of the program there",
                name_text(name)
            )),
            Rejection::Endpoint(name) => Text::of(format_args!(
                "`{}` reads or writes a device there",
                name_text(name)
            )),
            Rejection::Stages { needed, free } => Text::of(format_args!(
                "{needed} stages of it are there, and {free} are free: remove a pipe, or give it more `spare_stages`"
            )),
            Rejection::Buffers { needed, free } => Text::of(format_args!(
                "buffers between its stages take {needed} bytes, and {free} are free: remove a pipe, or give it more `spare_buffers`"
            )),
            Rejection::Taken => Text::of(format_args!("its buffers are another pipe's")),
            Rejection::Refused(refused) => self.text_of_refused(*refused),
            Rejection::Core(bulkhead_slite::Refused::Admission(admission::Refused::Misfit(
                misfit,
            ))) => Text::of(format_args!(
                "{} would lack {} of its budget, scheduling overhead included: remove a pipe, or ask for a longer delay",
                self.vcpu(misfit.vcpu),
                Shown(nanoseconds(misfit.lacks))
            )),
            Rejection::Core(_) => Text::of(format_args!(
                "there is no room to count its VCPUs and decisions"
            )),
            Rejection::Restless => {
                Text::of(format_args!("a thread of its stages does not come to rest"))
            }
            Rejection::Failed => Text::of(format_args!("its stages cannot be connected")),
        }
    }

    fn text_of_refused(&self, refused: Refused) -> Text {
        let settings = Settings::all_except(None);
        let numbers = settings.numbers();
        let names =
            numbers.map(|number| table::get(number).map_or([0; NAME_LEN], |one| one.pipe.name));
        let standing = |index: usize| {
            let number = numbers.get(index).copied().unwrap_or(PIPES);
            [names.get(index).map_or("?", name_text), self.flow(number)]
        };
        let rejection = Diagnostic {
            flow: "",
            before: 0,
            catalogue: &self.catalogue,
            standing: &standing,
            refused,
        };
        Text::of(format_args!("{rejection}"))
    }
}
