//! A command on a board elsewhere: the fitting program is copied there once, the command's files are sent, it runs there detached
//! from the connection, what it prints is followed, and what it leaves is fetched.
//!
//! The way is the user's own `ssh`. The board needs a POSIX shell and the usual small programs (BusyBox has them all); nothing is
//! installed there, and nothing stays but the copied program. The scripts of the board's side are in `scripts`.
//!
//! What a board answers is data of a stranger: paths in archives are held to the results that were asked for, and texts are
//! passed on as they are; whoever prints them escapes them.

mod board;
mod connection;
mod destination;
mod error;
mod fetch;
mod frames;
mod job;
mod parcel;
mod program;
mod record;
mod scripts;

pub use board::{Board, Cleaned, clean};
pub use connection::Connection;
pub use destination::Destination;
pub use error::RemoteError;
pub use fetch::WantedResult;
pub use frames::RemoteChannel;
pub use job::{BoardCommand, JobEnd, JobWatcher, RemoteJob, TREE};
pub use parcel::Parcel;
pub use program::{BoardProgram, InstructionSet, choose as choose_program, foreign};
pub use record::{JobRecord, records};
