//! The files of a machine, as plans read them.

use waykeeper_linux::Root;
use waykeeper_policy::offer::Tree;

/// The files of a machine.
#[derive(Debug, Clone)]
pub struct Files(pub Root);

impl Tree for Files {
    fn text(&self, path: &str) -> Option<String> {
        self.0.text(path)
    }

    fn names(&self, path: &str) -> Vec<String> {
        self.0.names(path)
    }

    fn folders(&self, path: &str) -> Vec<String> {
        self.0.folders(path)
    }
}
