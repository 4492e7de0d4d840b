//! Engines that change while they run.

mod by_hand;
mod changes;
mod classes;
mod common;
mod convergence;
mod programs;
mod regions;
