//! C headers of the Linux side, generated from the crate `abi`

use crate::workspace::Workspace;
use bulkhead_abi::{NAME_LEN, guest, hypercall, status};
use miette::{IntoDiagnostic, Result, miette};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::PathBuf;

const HEAD: &str = "\
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from the crate `abi` by `cargo xtask headers`; do not edit. */
#ifndef BULKHEAD_ABI_H
#define BULKHEAD_ABI_H

";

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join("linux/include/bulkhead_abi.h")
}

/// Writes the header.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    std::fs::write(path(workspace), header()).into_diagnostic()
}

/// An error unless the header in the repository is what would be written.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let path = path(workspace);
    if std::fs::read_to_string(&path).unwrap_or_default() == header() {
        return Ok(());
    }
    Err(miette!(
        help = "cargo xtask headers",
        "{} is not up to date",
        path.display()
    ))
}

fn header() -> String {
    let mut text = HEAD.to_owned();
    for (comment, constants) in sections() {
        let _ = writeln!(text, "/* {comment} */");
        for (name, value) in constants {
            let _ = writeln!(text, "#define BULKHEAD_{name} {value}");
        }
        text.push('\n');
    }
    text + "#endif\n"
}

type Section = (&'static str, Vec<(&'static str, String)>);

fn sections() -> Vec<Section> {
    vec![
        ("Calls to the monitor", calls()),
        ("Their answers", answers()),
        ("What a privileged partition may ask of another", controls()),
        ("Places in shared pages, bytes from their start", offsets()),
    ]
}

fn calls() -> Vec<(&'static str, String)> {
    [
        ("HVC_VERSION", hypercall::VERSION),
        ("HVC_UP", hypercall::UP),
        ("HVC_DOORBELL", hypercall::DOORBELL),
        ("HVC_ATTACH", hypercall::ATTACH),
        ("HVC_DETACH", hypercall::DETACH),
        ("HVC_FAIL", hypercall::FAIL),
        ("HVC_CONTROL", hypercall::CONTROL),
    ]
    .map(|(name, number)| (name, format!("{number:#x}UL")))
    .into()
}

fn answers() -> Vec<(&'static str, String)> {
    [
        ("OK", hypercall::OK),
        ("NOT_SUPPORTED", hypercall::NOT_SUPPORTED),
        ("INVALID", hypercall::INVALID),
        ("DENIED", hypercall::DENIED),
    ]
    .map(|(name, number)| (name, format!("({number}L)")))
    .into()
}

fn controls() -> Vec<(&'static str, String)> {
    [
        ("CONTROL_RESTART", hypercall::Control::Restart as u64),
        ("CONTROL_HALT", hypercall::Control::Halt as u64),
    ]
    .map(|(name, number)| (name, number.to_string()))
    .into()
}

fn offsets() -> Vec<(&'static str, String)> {
    [
        ("NAME_LEN", NAME_LEN),
        ("GUEST_HEARTBEAT", offset_of!(guest::GuestInfo, heartbeat)),
        ("LINK_STATE", offset_of!(status::LinkPage, state)),
        ("LINK_EPOCH", offset_of!(status::LinkPage, epoch)),
        ("STATUS_PARTITION", offset_of!(status::Status, partition)),
    ]
    .map(|(name, offset)| (name, offset.to_string()))
    .into()
}
