//! `waykeeper catalogue`.

use waykeeper_experiment::InputError;
use waykeeper_platform::catalogue::{SkuMatch, catalogue as the_catalogue};

use super::output::{print, print_json};
use crate::arguments::Catalogue;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints a processor, or all of them.
pub fn catalogue(arguments: &Catalogue) -> Result<Exit, Failure> {
    let all = the_catalogue();
    let Some(name) = &arguments.sku else {
        if arguments.json {
            print_json(all)?
        } else {
            print(&waykeeper_report::catalogue(all))?
        }
        return Ok(Exit::Done);
    };
    match all.find(name) {
        SkuMatch::One(entry) if arguments.json => print_json(&*entry)?,
        SkuMatch::One(entry) => print(&waykeeper_report::entry(&entry, &all.document))?,
        SkuMatch::Near(names) => {
            let near = match names.as_slice() {
                [] => "none is spelled much like it; `waykeeper catalogue` lists all".to_owned(),
                names => format!("did you mean {}?", names.join(", ")),
            };
            return Err(InputError::in_option(name, format!("not one processor of the catalogue; {near}")).into());
        }
    }
    Ok(Exit::Done)
}
