//! Messages from the host to a port that the system answers at

use crate::expectation::FromHost;
use std::io::Result;
use std::net::{Ipv4Addr, UdpSocket};

/// Longer than any answer.
const LONGEST: usize = 64;

/// A port of the host, and what was answered through it.
pub(crate) struct Outside {
    socket: UdpSocket,
    /// Of the host, passed on to the device.
    port: u16,
    messages: usize,
    answered: usize,
}

impl Outside {
    /// A port that nobody uses.
    pub(crate) fn new(expected: &FromHost) -> Result<Self> {
        let any = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let port = any()?.local_addr()?.port();
        let socket = any()?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            port,
            messages: expected.messages,
            answered: 0,
        })
    }

    /// Has the device's port reached through this one.
    pub(crate) fn change(&self, expected: &FromHost) -> String {
        let FromHost { device, port, .. } = expected;
        format!("device.{device}.forward=[{}, {port}]", self.port)
    }

    /// Sends the next message, again as long as its answer has not come; whether all have.
    pub(crate) fn look(&mut self) -> bool {
        let mut answer = [0; LONGEST];
        while let Ok(length) = self.socket.recv(&mut answer) {
            let expected = self.message();
            self.answered += usize::from(answer.get(..length) == Some(expected.as_bytes()));
        }
        if self.answered < self.messages {
            // Before the emulator listens nobody takes it.
            let to = (Ipv4Addr::LOCALHOST, self.port);
            let _refused = self.socket.send_to(self.message().as_bytes(), to);
        }
        self.answered >= self.messages
    }

    fn message(&self) -> String {
        format!("message {}", self.answered)
    }

    /// What is missing.
    pub(crate) fn failure(&self) -> Option<String> {
        let (answered, messages) = (self.answered, self.messages);
        let missing = answered < messages;
        missing.then(|| format!("{answered} of {messages} messages from the host were answered"))
    }
}
