//! The showcase: trajectories to the controller, telemetry from it
//!
//! Telemetry is polled: a doorbell for each message would enter the monitor a hundred times a
//! second, faster than a person could read.

use crate::console::say;
use crate::record::{COLUMNS, Row};
use bulkhead_drive_model::cycle::Cycle;
use bulkhead_drive_model::kmph;
use bulkhead_drive_model::message::{Telemetry, Trajectory};
use bulkhead_linux::{
    Channel, Error, Partition, Received, Receiver, Sender, Trace, frequency_hz, ticks,
};

/// Horizon of a trajectory, seconds: the controller continues so long without Linux.
const HORIZON_S: f64 = 30.0;
/// Ticks of the agent between two trajectories: 10 Hz.
const TICKS_PER_COMMAND: u64 = 5;
/// Ticks of the agent between two lines: 1 Hz.
const TICKS_PER_LINE: u64 = 50;

/// Mode of the controller.
enum Wish {
    /// Hold a speed, m/s.
    Speed(f64),
    /// Follow the cycle.
    Cycle,
}

/// The channels of the showcase and what goes over them.
pub(crate) struct Drive {
    commands: Channel,
    trajectories: Sender<Trajectory>,
    telemetry: Receiver<Telemetry>,
    _telemetry: Channel,
    record: Option<Sender<Row>>,
    cycle: Cycle,
    from_ticks: u64,
    wish: Wish,
    latest: Option<Telemetry>,
    received: u64,
    missed: u64,
}

impl Drive {
    /// Opens the channels; `None` where the partition has none of this kind.
    pub(crate) fn open(partition: &Partition, trace: &Trace) -> Result<Option<Self>, Error> {
        let (commands, telemetry) = match (
            partition.channel("commands"),
            partition.channel("telemetry"),
        ) {
            (Err(Error::NoChannel(_)), _) | (_, Err(Error::NoChannel(_))) => return Ok(None),
            (commands, telemetry) => (commands?, telemetry?),
        };
        let mut drive = Self {
            trajectories: commands.sender(trace)?,
            telemetry: telemetry.receiver(trace)?,
            commands,
            _telemetry: telemetry,
            record: record(partition, trace)?,
            cycle: cycle(partition),
            from_ticks: from_ticks(partition),
            wish: Wish::Cycle,
            latest: None,
            received: 0,
            missed: 0,
        };
        drive.keep(&Row::text(COLUMNS));
        Ok(Some(drive))
    }

    /// Executes tick number `tick`.
    pub(crate) fn tick(&mut self, tick: u64) {
        self.receive();
        if tick.is_multiple_of(TICKS_PER_COMMAND) {
            self.command();
        }
        if tick.is_multiple_of(TICKS_PER_LINE) {
            self.show();
        }
    }

    /// Holds `speed_mps` from now on.
    pub(crate) fn hold(&mut self, speed_mps: f64) {
        self.wish = Wish::Speed(speed_mps);
        self.command();
    }

    /// Follows the cycle from now on.
    pub(crate) fn follow(&mut self) {
        self.wish = Wish::Cycle;
        self.command();
    }

    /// Rings doorbells and sends as fast as possible until `until_ticks`, like a Linux that runs
    /// amok.
    pub(crate) fn flood(&mut self, until_ticks: u64) {
        while ticks() < until_ticks {
            let _ = self.commands.ring();
            let _ = self.trajectories.send(&self.trajectory());
        }
    }

    /// A controller that restarts has not taken the last trajectory yet; the next one reaches it.
    fn command(&mut self) {
        match self.trajectories.send(&self.trajectory()) {
            Err(error) if !error.is_full() => say(format_args!("agent: {error}")),
            _ => {}
        }
    }

    /// The cycle follows the machine's time, so that a restart of Linux does not set it back.
    fn trajectory(&self) -> Trajectory {
        let now = ticks();
        match self.wish {
            Wish::Speed(speed_mps) => Trajectory::set_point(now, speed_mps),
            Wish::Cycle => {
                let now = now + self.from_ticks;
                let hz = frequency_hz();
                let mut trajectory = Trajectory::of_cycle(&self.cycle, 0, now, hz, HORIZON_S);
                for point in &mut trajectory.points {
                    point.ticks = point.ticks.saturating_sub(self.from_ticks);
                }
                trajectory
            }
        }
    }

    fn receive(&mut self) {
        loop {
            match self.telemetry.receive() {
                Ok(Some(received)) => self.take(&received),
                Ok(None) => return,
                Err(error) => return say(format_args!("agent: {error}")),
            }
        }
    }

    fn take(&mut self, received: &Received<Telemetry>) {
        self.received += 1;
        self.missed += received.missed;
        self.latest = Some(received.message);
        let row = Row::of(
            &received.message,
            received.stamp,
            received.missed,
            frequency_hz(),
        );
        self.keep(&row);
    }

    fn keep(&mut self, row: &Row) {
        if let Some(record) = &mut self.record {
            // A recorder is never full.
            let _ = record.send(row);
        }
    }

    fn show(&self) {
        let Some(latest) = &self.latest else {
            return say(format_args!("drive: waiting for telemetry"));
        };
        let (setpoint, speed) = (kmph(latest.setpoint_mps), kmph(latest.speed_mps));
        say(format_args!(
            "drive: {speed:6.2} km/h, wanted {setpoint:6.2}, drive {:5.0} N, brake {:5.0} N, {:8.1} m; \
             {} messages, {} missed",
            latest.drive_n, latest.brake_n, latest.distance_m, self.received, self.missed
        ));
    }
}

fn record(partition: &Partition, trace: &Trace) -> Result<Option<Sender<Row>>, Error> {
    match partition.channel("record") {
        Ok(channel) => channel.sender(trace).map(Some),
        Err(Error::NoChannel(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn cycle(partition: &Partition) -> Cycle {
    let name = partition.argument("profile").unwrap_or("nedc");
    Cycle::by_name(name).unwrap_or_else(|| {
        say(format_args!(
            "agent: there is no profile \"{name}\"; it is nedc now"
        ));
        Cycle::NEDC
    })
}

/// `profile-from=SECONDS` leaves out the beginning.
fn from_ticks(partition: &Partition) -> u64 {
    let seconds = partition
        .argument("profile-from")
        .and_then(|text| text.parse().ok());
    frequency_hz().saturating_mul(seconds.unwrap_or(0))
}
