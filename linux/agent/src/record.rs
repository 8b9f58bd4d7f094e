//! Rows of telemetry for the channel `record`, which the host tool saves

use bulkhead_abi::trace::Stamp;
use bulkhead_drive_model::kmph;
use bulkhead_drive_model::message::Telemetry;
use std::io::Write;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const TEXT_BYTES: usize = 240;

/// Names of a row's columns.
pub(crate) const COLUMNS: &str = "sent_s,setpoint_kmph,speed_kmph,acceleration_mps2,drive_n,brake_n,\
    distance_m,grade,sensor_age_us,start_delay_us,mode,plant_epoch,missed";

/// A message of the channel: text, zero-padded.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub(crate) struct Row {
    stamp: [u64; 2],
    text: [u8; TEXT_BYTES],
}

const _: () = assert!(size_of::<Row>() == 256);

impl Row {
    /// A row of `text`; what does not fit is cut.
    pub(crate) fn text(text: &str) -> Self {
        let mut row = Self {
            stamp: [0; 2],
            text: [0; TEXT_BYTES],
        };
        // Writing to a slice fails only where it is full.
        let _ = row.text.as_mut_slice().write_all(text.as_bytes());
        row
    }

    /// A row of numbers; `missed` messages before it never came.
    pub(crate) fn of(telemetry: &Telemetry, stamp: Stamp, missed: u64, hz: u64) -> Self {
        let micros = |ticks: u64| ticks as f64 * 1e6 / hz as f64;
        Self::text(&format!(
            "{:.6},{:.4},{:.4},{:.4},{:.1},{:.1},{:.3},{:.5},{:.1},{:.1},{},{},{missed}",
            stamp.ticks as f64 / hz as f64,
            kmph(telemetry.setpoint_mps),
            kmph(telemetry.speed_mps),
            telemetry.acceleration_mps2,
            telemetry.drive_n,
            telemetry.brake_n,
            telemetry.distance_m,
            telemetry.grade,
            micros(telemetry.sensor_age_ticks),
            micros(telemetry.start_delay_ticks),
            telemetry.mode,
            telemetry.plant_epoch,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Row, TEXT_BYTES};
    use bulkhead_abi::trace::Stamp;
    use bulkhead_drive_model::message::Telemetry;

    fn printed(row: &Row) -> &str {
        std::str::from_utf8(&row.text)
            .unwrap()
            .trim_end_matches('\0')
    }

    #[test]
    fn rows_have_the_columns_and_fit() {
        let stamp = Stamp {
            sequence: 7,
            ticks: u64::MAX,
        };
        let large = Telemetry {
            speed_mps: -1e9,
            setpoint_mps: 1e9,
            distance_m: 1e15,
            drive_n: -1e9,
            ..Telemetry::default()
        };
        let row = Row::of(&large, stamp, u64::MAX, 62_500_000);
        let columns = |text: &str| text.split(',').count();
        assert_eq!(columns(printed(&row)), columns(COLUMNS));
        assert!(printed(&row).len() < TEXT_BYTES);
        assert_eq!(printed(&Row::text(COLUMNS)), COLUMNS);
    }
}
