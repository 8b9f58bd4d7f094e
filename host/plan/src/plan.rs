//! A finished plan

use crate::machine::Machine;
use crate::tables::Tables;
use crate::view::GuestView;

/// A finished plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What guests see.
    pub view: GuestView,
    /// Where everything is.
    pub machine: Machine,
    /// Translation tables.
    pub tables: Tables,
    /// Bytes of the translation tables, as packed.
    pub table_bytes: Vec<u8>,
    /// The configuration blob.
    pub config: Vec<u8>,
}
