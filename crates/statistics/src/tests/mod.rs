//! Tests on data whose answer is known: published tables, an independent program, and simulated arms.

mod budgets;
mod effects;
mod intervals;
mod ranks;
mod synthetic;
mod verdicts;
mod verdicts_by_simulation;
