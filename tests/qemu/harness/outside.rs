//! Programs of the host during a run: a client that sends messages to a UDP port of the system

use crate::expectation::FromHost;
use std::collections::BTreeSet;
use std::io::Result;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

/// Longer than any answer.
const LONGEST: usize = 64;
/// Message that is repeated until the first answer: then the system is up.
const GREETING: &str = "anybody?";

/// A program on the host that exchanges messages with the system. The run uses the host's clock.
pub(crate) trait Outside {
    /// Change of the description that forwards a port of the host to the device.
    fn change(&self) -> String;
    /// Continues. Returns whether all expected messages have arrived.
    fn look(&mut self) -> bool;
    /// Describes missing messages.
    fn failure(&self) -> Option<String>;
}

/// An unused TCP port of the host.
pub(crate) fn free_port() -> Result<u16> {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(any.local_addr()?.port())
}

/// A UDP port of the host, and the answers received there.
pub(crate) struct Messages {
    socket: UdpSocket,
    /// Port of the host that is forwarded to the device.
    port: u16,
    expected: FromHost,
    /// Time of the next message, once the system is up.
    next: Option<Instant>,
    sent: usize,
    answered: BTreeSet<usize>,
}

impl Messages {
    /// Opens an unused port.
    pub(crate) fn new(expected: &FromHost) -> Result<Self> {
        let any = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let port = any()?.local_addr()?.port();
        let socket = any()?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            port,
            expected: expected.clone(),
            next: None,
            sent: 0,
            answered: BTreeSet::new(),
        })
    }

    fn send(&self, message: &str) {
        // Refused until the tool listens.
        let _refused = self
            .socket
            .send_to(message.as_bytes(), (Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Outside for Messages {
    fn change(&self) -> String {
        let FromHost { device, port, .. } = &self.expected;
        format!("device.{device}.forward=[{}, {port}]", self.port)
    }

    /// Receives answers, and sends each message once, when it is due.
    fn look(&mut self) -> bool {
        let now = Instant::now();
        let mut answer = [0; LONGEST];
        while let Ok(length) = self.socket.recv(&mut answer) {
            self.next.get_or_insert(now);
            let text = answer
                .get(..length)
                .and_then(|text| str::from_utf8(text).ok());
            let number = text.and_then(|text| text.strip_prefix("message ")?.parse::<usize>().ok());
            self.answered.extend(number);
        }
        match self.next {
            None => self.send(GREETING),
            Some(next) if next <= now && self.sent < self.expected.messages => {
                self.send(&format!("message {}", self.sent));
                self.sent += 1;
                self.next = Some(now + Duration::from_millis(self.expected.every_ms));
            }
            Some(_) => {}
        }
        self.failure().is_none()
    }

    fn failure(&self) -> Option<String> {
        let FromHost {
            messages, answers, ..
        } = self.expected;
        let answered = self.answered.len();
        let missing = self.sent < messages || answered < answers;
        missing.then(|| {
            format!(
                "of {messages} messages from the host {} were sent, {answered} were answered",
                self.sent
            )
        })
    }
}
