//! One module a command.

pub mod acting;
pub mod apply;
pub mod bugreport;
pub mod bundle;
pub mod catalogue;
pub mod channels;
pub mod colours;
pub mod compare;
pub mod completions;
pub mod decode;
pub mod doctor;
mod dry_run;
pub mod enter;
pub mod export;
pub mod follow;
pub mod hunt;
pub mod import;
pub mod kpi;
pub mod latency;
pub mod list;
pub mod load;
pub mod machine;
pub mod markers;
pub mod merge;
pub mod mount;
pub mod output;
mod overrides;
pub mod plan;
pub mod remote;
pub mod report;
pub mod restore;
mod resume;
pub mod rtcp;
pub mod run;
pub mod schema;
mod serve;
pub mod show;
pub mod status;
pub mod tail;
mod target_program;
pub mod trace;
pub mod tune;
pub mod verify;
pub mod watch;
mod whole_file;

/// The name of an option's value, as it is typed.
fn name_of(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
