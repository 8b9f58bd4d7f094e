//! A wire that can be cut: connections through this process

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards connections from its port to another one.
pub(crate) struct Wire {
    pub(crate) port: u16,
    carried: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let local_port = listener.local_addr().expect("its address").port();
        let carried = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&carried);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Without a listener the connecting side gets an error.
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                carry(&near, &far);
                carry(&far, &near);
                kept.lock().expect("nobody panics").extend([near, far]);
            }
        });
        Self {
            port: local_port,
            carried,
        }
    }

    /// Ends all connections, with what is under way in them.
    pub(crate) fn cut(&self) {
        for stream in self.carried.lock().expect("nobody panics").drain(..) {
            let _ended_before = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(from: &TcpStream, to: &TcpStream) {
    let ends = from
        .try_clone()
        .and_then(|from| Ok((from, to.try_clone()?)));
    let (mut from, mut to) = ends.expect("a handle");
    thread::spawn(move || {
        let _until_cut = copy(&mut from, &mut to);
        let _ended_before = to.shutdown(Shutdown::Both);
    });
}
