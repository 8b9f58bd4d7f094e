//! A finished plan

use crate::machine::Machine;
use crate::tables::Tables;
use crate::view::GuestView;

/// A finished plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The guests' view.
    pub view: GuestView,
    /// Physical addresses.
    pub machine: Machine,
    /// Translation tables.
    pub tables: Tables,
    /// Bytes of the translation tables, as packed.
    pub table_bytes: Vec<u8>,
    /// The configuration blob.
    pub config: Vec<u8>,
}
