//! Images as files, and files as images

mod files;
#[path = "../../../plan/tests/fixture/mod.rs"]
mod fixture;
mod packing;
