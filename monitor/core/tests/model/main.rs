//! The monitor's logic on a model of the machine, core by core

mod calls;
mod fake;
mod faults;
mod fuzz;
mod heartbeat;
mod interrupt_controller;
mod lifecycle;
mod multicore;
mod system_registers;
mod uart;
mod world;
