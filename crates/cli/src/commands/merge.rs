//! `waykeeper merge`: the shards of a run become one run.

use super::run::show;
use crate::arguments::Merge;
use crate::exit::Exit;
use crate::failure::Failure;

/// Merges shards, and prints the run.
pub fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    show(arguments.json, waykeeper_session::merge(&arguments.shards, arguments.out.as_deref())?)
}
