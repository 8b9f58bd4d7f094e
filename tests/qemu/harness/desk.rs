//! A Zenoh program on the host, connected to a TCP port of the system
//!
//! The program is the bridge's own program, which runs on any Linux. It receives and publishes as
//! the case demands, over buffers in files.

use crate::expectation::Desk;
use crate::outside::{Outside, free_port};
use bulkhead_image::crates::build_for_host;
use std::fs::File;
use std::io::{BufRead, BufReader, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Folder of the program in the checkout.
const PROGRAM: &str = "linux/bridge";
/// Bytes of a file, more than any of its buffers.
const BUFFER: usize = 64 << 10;

/// The running program, its output, and the expected output.
pub(crate) struct Beside {
    child: Child,
    /// File with its output.
    output: PathBuf,
    port: u16,
    expected: Desk,
}

impl Beside {
    /// Starts the program; it tries to connect until the system answers.
    pub(crate) fn new(
        expected: &Desk,
        root: &Path,
        out: &Path,
    ) -> std::result::Result<Self, String> {
        let program = build_for_host(root, PROGRAM).map_err(|error| error.message)?;
        Self::start(expected, &program, out).map_err(|error| error.to_string())
    }

    fn start(expected: &Desk, program: &Path, out: &Path) -> Result<Self> {
        let folder = out.join("desk");
        std::fs::create_dir_all(&folder)?;
        for name in &expected.files {
            std::fs::write(folder.join(name), vec![0; BUFFER])?;
        }
        let port = free_port()?;
        let connect = format!("connect tcp/127.0.0.1:{port}");
        let lines: Vec<_> = [connect].iter().chain(&expected.lines).cloned().collect();
        std::fs::write(folder.join("lines"), lines.join("\n"))?;
        let output = folder.join("output");
        let mut command = Command::new(program);
        command.arg("lines").current_dir(&folder);
        command.stdin(Stdio::null()).stdout(File::create(&output)?);
        Ok(Self {
            child: command.spawn()?,
            output,
            port,
            expected: expected.clone(),
        })
    }

    /// Number of expected patterns that have not appeared yet.
    fn missing(&self) -> usize {
        let output = File::open(&self.output).map(BufReader::new);
        let lines = output
            .into_iter()
            .flat_map(|output| output.lines().map_while(Result::ok));
        let mut awaited = self.expected.says.as_slice();
        for line in lines {
            if let [next, rest @ ..] = awaited
                && next.is_in(&line)
            {
                awaited = rest;
            }
        }
        awaited.len()
    }
}

impl Outside for Beside {
    fn change(&self) -> String {
        let Desk { device, port, .. } = &self.expected;
        format!("device.{device}.forward_tcp=[{}, {port}]", self.port)
    }

    fn look(&mut self) -> bool {
        self.missing() == 0
    }

    fn failure(&self) -> Option<String> {
        let all = &self.expected.says;
        let next = all.get(all.len() - self.missing())?;
        let output = self.output.display();
        Some(format!(
            "the program on the host did not print `{next}` ({output})"
        ))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ended_by_itself = self.child.kill();
        let _ = self.child.wait();
    }
}
