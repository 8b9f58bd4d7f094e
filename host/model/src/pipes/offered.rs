//! What pipes can be made of that are typed while partitions run

use super::described::Described;
use super::ends::Served;
use super::{Pipes, Place};
use crate::system::PartitionId;

/// All that pipes can be made of.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Functions, devices, and the cores they run on.
    pub pipes: Pipes,
    /// Where a stage of each function runs, in the order of the functions.
    pub places: Vec<Place>,
    /// Who serves each device, in the order of the devices.
    pub served: Vec<Served>,
}

impl Offered {
    /// The number among all of the first core of a partition that has functions.
    #[must_use]
    pub fn first_core(&self, partition: PartitionId) -> Option<usize> {
        let mut places = self.places.iter();
        let own = places.position(|place| place.partition == partition)?;
        let core = self.pipes.functions.get(own)?.core;
        self.pipes.spaces.get(core).copied()
    }

    /// The number in its partition of a core on which a function runs; 0 of others.
    #[must_use]
    pub fn number_of(&self, core: usize) -> usize {
        let functions = self.pipes.functions.iter().zip(&self.places);
        let mut here = functions.filter(|(function, _)| function.core == core);
        here.next().map_or(0, |(_, place)| place.core)
    }
}

impl Described<'_> {
    /// What pipes can be made of.
    pub(crate) fn offered(&self) -> Offered {
        Offered {
            pipes: self.pipes.clone(),
            places: self.places.clone(),
            served: self.served.clone(),
        }
    }
}
