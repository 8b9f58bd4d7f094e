//! How near estimates are

use crate::drive::Sample;
use bulkhead_drive_model::network::Network;

/// Roots of mean squared errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy {
    /// Samples.
    pub samples: usize,
    /// Of the grade, rise over run.
    pub grade: f64,
    /// Samples with a vehicle ahead.
    pub seen: usize,
    /// Of the headway, m.
    pub headway_m: f64,
    /// Error of the headway, relative.
    pub headway: f64,
}

impl Accuracy {
    /// On samples.
    #[must_use]
    pub fn of(network: &Network, samples: &[Sample]) -> Self {
        let estimates = || {
            samples
                .iter()
                .map(|sample| (sample, sample.senses.estimate_by(network)))
        };
        let grades =
            estimates().filter_map(|(sample, estimate)| Some(sample.grade? - estimate.grade));
        let headways = || {
            estimates().filter_map(|(sample, estimate)| {
                let metres = sample.headway_m?;
                Some((metres, metres - estimate.headway_m?))
            })
        };
        Self {
            samples: samples.len(),
            grade: rms(grades),
            seen: headways().count(),
            headway_m: rms(headways().map(|(_, error)| error)),
            headway: rms(headways().map(|(metres, error)| error / metres)),
        }
    }
}

fn rms(errors: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = errors.fold((0_u32, 0.0), |(count, sum), error| {
        (count + 1, sum + error * error)
    });
    (sum / f64::from(count.max(1))).sqrt()
}
