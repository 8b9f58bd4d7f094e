//! A child that cannot outlive its parent
#![expect(unsafe_code, reason = "the kernel is asked between fork and exec")]

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets `command` inherit the open files `fds`, be killed when this thread ends, and stay out of the
/// way of the terminal's Ctrl-C, which is the tool's to handle.
pub(super) fn bind_to_parent(command: &mut Command, fds: &[i32]) {
    let fds = fds.to_vec();
    let parent = nix::unistd::getpid();
    command.process_group(0);
    let prepare = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != parent {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        fds.iter().try_for_each(|&fd| inherit(fd))
    };
    // SAFETY: runs in the child of a possibly multi-threaded process; `prepare` makes only the
    // system calls prctl, getppid and fcntl and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

fn inherit(fd: i32) -> io::Result<()> {
    // SAFETY: the descriptors are open in the parent during `spawn`, hence in its fresh copy.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}
