//! Pipelines: the language, the paper's set-ups, random ones

mod admission;
mod language;
mod paper;
mod random;
mod simulation;
