//! Functions and endpoints for run-time pipes

use super::endpoints::Served;
use super::functions::Pipes;
use super::pipe::Place;
use crate::ids::PartitionId;

/// All that pipes can be made of.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Functions, devices, and the cores they run on.
    pub pipes: Pipes,
    /// Placement of a stage of each function, in the order of the functions.
    pub places: Vec<Place>,
    /// Server of each device, in the order of the devices.
    pub served: Vec<Served>,
}

impl Offered {
    /// The number among all of the first core of a partition that has functions.
    #[must_use]
    pub fn first_core(&self, partition: PartitionId) -> Option<usize> {
        let both = self.pipes.functions.iter().zip(&self.places);
        let mut functions = both.filter(|(_, place)| place.partition == partition);
        functions
            .next()
            .map(|(function, _)| self.first_of(function.core))
    }

    /// Returns whether stages can run on the core of that number: the component on a core with
    /// functions runs them.
    #[must_use]
    pub fn runs_stages(&self, core: usize) -> bool {
        let mut both = self.pipes.functions.iter().zip(&self.places);
        both.any(|(function, place)| function.core == core && place.is_run)
    }

    /// Number of the first core of the partition of that core.
    #[must_use]
    pub fn first_of(&self, core: usize) -> usize {
        self.pipes.firsts.get(core).copied().unwrap_or(core)
    }
}
