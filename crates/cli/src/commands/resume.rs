//! `waykeeper run --resume`: an interrupted run goes on where it ended.

use std::path::Path;

use waykeeper_session::Resumption;

use super::output::print;
use super::run::conclude;
use crate::arguments::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// Goes on with the run in a folder.
pub fn resume(arguments: &Run, folder: &Path) -> Result<Exit, Failure> {
    // A batch system may start the task of a complete shard again: that is no mistake.
    let resumption = Resumption::find(folder)?;
    if arguments.dry_run || resumption.is_complete_shard() {
        let (done, planned) = (resumption.complete(), resumption.planned());
        print(&format!("{done} of {planned} repeats are complete; {} would be measured\n", planned - done))?;
        return Ok(Exit::Done);
    }
    conclude(arguments.json, resumption.start()?, &stop::on_ctrl_c())
}
