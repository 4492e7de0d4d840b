//! The program as its users meet it: what it prints, what it leaves, how it ends.

mod acting;
mod bad_input;
mod bugreport;
mod cases;
mod decode;
mod doctor;
mod exit_status;
mod files;
mod folders;
mod help;
mod host;
mod interrupted;
mod limits;
mod machine;
mod plan;
mod policies;
mod program;
mod references;
mod released;
mod schemas;
mod shown;
mod simulated;
mod state;
mod sweeps;
mod tail;
mod trace;
