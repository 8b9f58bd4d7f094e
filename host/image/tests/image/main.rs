//! Images as files, and files as images

mod components;
mod files;
#[path = "../../../plan/tests/fixture/mod.rs"]
mod fixture;
mod packing;
