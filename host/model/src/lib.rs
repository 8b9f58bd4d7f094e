//! The system description: parse, resolve, check, explain
//!
//! [`load`] reads a description and answers a [`system::System`] in which every name is resolved
//! and every default filled in, or all that is wrong with it. What a key or a rule means is told by
//! [`explain`], from the same tables by which descriptions are checked.
#![forbid(unsafe_code)]

pub mod board;
mod board_file;
pub mod bridge;
mod channel_size;
mod components_text;
pub mod diagnostic;
mod document;
mod draft;
mod explain;
pub mod ids;
mod image_file;
pub mod kinds;
mod load;
mod measured_wcet;
mod overrides;
pub mod pipes;
pub mod profile;
pub mod program;
mod quantity;
mod reference;
mod registry;
pub mod render;
mod resolve;
pub mod ros;
mod rules;
mod shape;
pub mod source;
mod suggestion;
pub mod system;
mod template;
mod text_file;
pub mod timing;
mod workspace;

pub use channel_size::channel_size;
pub use components_text::components_text;
pub use diagnostic::{Diagnostic, Severity};
pub use explain::{explain, nearest_topic, rule_ids};
pub use load::{Overrides, check, load};
pub use quantity::{size_text, time_text};
pub use reference::reference;
pub use template::template;
