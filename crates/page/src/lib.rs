//! Runs as one HTML page that needs no network: verdicts in words, pictures, tables, and where it all comes from.
//!
//! The words are those of `waykeeper-report`; here they are set in HTML, and the data of each picture is worked out as plain
//! structs, which the page carries as JSON. Every text of a run is hostile until it is escaped.

pub mod data;
mod html;
mod source;
mod svg;

pub use data::Data;
pub use html::{Preface, PrefaceTable, live_page, live_page_with, page, page_with};
pub use source::ReportedRun;
pub use svg::svgs;
