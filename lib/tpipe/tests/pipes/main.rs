//! Pipelines: the language, the paper's set-ups, random ones

mod deciding;
mod language;
mod paper;
mod random;
mod simulation;
