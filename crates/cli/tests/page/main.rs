//! `waykeeper report`: the page as a browser shows it. These tests need Chromium.

mod chromium;
mod hostile;
#[allow(dead_code)]
#[path = "../cli/program.rs"]
mod program;
mod served;
mod shown;
mod sources;
