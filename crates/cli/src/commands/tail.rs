//! `waykeeper tail`.

use waykeeper_run::longer;
use waykeeper_workload::parse_duration_ns;

use super::output::{print, print_json};
use crate::arguments::Tail;
use crate::exit::Exit;
use crate::failure::Failure;

/// Shows what a kept run says about the maximum of a longer one.
pub fn tail(arguments: &Tail) -> Result<Exit, Failure> {
    let over_s = arguments.over.as_deref().map(seconds).transpose()?;
    let cases = longer(&arguments.run, over_s)?;
    if arguments.json {
        print_json(&cases)?;
    } else {
        print(&waykeeper_report::longer(&cases))?;
    }
    Ok(Exit::Done)
}

fn seconds(text: &str) -> Result<f64, Failure> {
    let ns = parse_duration_ns(text).map_err(|error| Failure::Bad(format!("--over: {error}")))?;
    if ns > 0.0 {
        Ok(ns / 1e9)
    } else {
        Err(Failure::Bad("--over: found 0; expected the length of a run, such as `1h`".into()))
    }
}
