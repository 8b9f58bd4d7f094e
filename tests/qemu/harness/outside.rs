//! Messages from the host to a port that the system answers at

use crate::expectation::FromHost;
use std::collections::BTreeSet;
use std::io::Result;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Longer than any answer.
const LONGEST: usize = 64;
/// What is asked until there is an answer: then the system is up.
const GREETING: &str = "anybody?";

/// A port of the host, and what was answered through it.
pub(crate) struct Outside {
    socket: UdpSocket,
    /// Of the host, passed on to the device.
    port: u16,
    expected: FromHost,
    /// When the next message may leave, once the system is up.
    next: Option<Instant>,
    sent: usize,
    answered: BTreeSet<usize>,
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
            expected: expected.clone(),
            next: None,
            sent: 0,
            answered: BTreeSet::new(),
        })
    }

    /// Has the device's port reached through this one.
    pub(crate) fn change(&self, expected: &FromHost) -> String {
        let FromHost { device, port, .. } = expected;
        format!("device.{device}.forward=[{}, {port}]", self.port)
    }

    /// Notes the answers, and sends each message once, when it is time; whether enough were answered.
    pub(crate) fn look(&mut self) -> bool {
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

    fn send(&self, message: &str) {
        // Before the tool listens nobody takes it.
        let _refused = self
            .socket
            .send_to(message.as_bytes(), (Ipv4Addr::LOCALHOST, self.port));
    }

    /// What is missing.
    pub(crate) fn failure(&self) -> Option<String> {
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
