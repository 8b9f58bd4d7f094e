//! What the host does while a system runs: messages to a UDP port that the system answers at

use crate::expectation::FromHost;
use std::collections::BTreeSet;
use std::io::Result;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

/// Longer than any answer.
const LONGEST: usize = 64;
/// What is asked until there is an answer: then the system is up.
const GREETING: &str = "anybody?";

/// Somebody on the host whom the system has to do with. The run is by the host's clock.
pub(crate) trait Outside {
    /// Has the device's port reached through one of the host.
    fn change(&self) -> String;
    /// Goes on; whether it has done all that is expected.
    fn look(&mut self) -> bool;
    /// What is missing.
    fn failure(&self) -> Option<String>;
}

/// A TCP port of the host that nobody uses.
pub(crate) fn free_port() -> Result<u16> {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(any.local_addr()?.port())
}

/// A port of the host, and what was answered through it.
pub(crate) struct Messages {
    socket: UdpSocket,
    /// Of the host, passed on to the device.
    port: u16,
    expected: FromHost,
    /// When the next message may leave, once the system is up.
    next: Option<Instant>,
    sent: usize,
    answered: BTreeSet<usize>,
}

impl Messages {
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

    fn send(&self, message: &str) {
        // Before the tool listens nobody takes it.
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

    /// Notes the answers, and sends each message once, when it is time.
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
