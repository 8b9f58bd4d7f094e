//! Checks a description: `check PATH [KEY=VALUE…]`
use bulkhead_model::render::{Style, render};
use bulkhead_model::{Overrides, load};
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "systems/drive".into());
    let overrides = Overrides {
        set: arguments.collect(),
        ..Overrides::default()
    };
    match load(Path::new(&path), Path::new(""), &overrides) {
        Ok((system, found)) => println!(
            "{}{} is sound",
            render(&found, Style::default()),
            system.name
        ),
        Err(found) => print!("{}", render(&found, Style::default())),
    }
}
