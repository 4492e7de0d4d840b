//! One module a command.

pub mod compare;
pub mod list;
pub mod out;
pub mod output;
pub mod place;
pub mod plan;
pub mod run;
pub mod schema;
pub mod show;
pub mod trace;
