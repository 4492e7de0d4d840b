//! One module a command.

pub mod acting;
pub mod apply;
pub mod compare;
pub mod decode;
pub mod doctor;
pub mod enter;
pub mod latency;
pub mod list;
pub mod load;
pub mod mount;
pub mod out;
pub mod output;
pub mod place;
pub mod plan;
pub mod restore;
pub mod room;
pub mod run;
pub mod schema;
pub mod show;
pub mod status;
pub mod trace;
pub mod verify;
pub mod watch;
