//! What the commands that act on a machine share.

use std::path::Path;

use waykeeper_control::host::HostFiles;
use waykeeper_control::{StateDirectory, StatusError};
use waykeeper_linux::Root;
use waykeeper_report::shown::one_line;

/// The state directory. What is done below another root is noted below that root, unless `WAYKEEPER_STATE` says where.
pub fn state(root: Option<&Path>) -> StateDirectory {
    StateDirectory::named().unwrap_or_else(|| match root {
        Some(root) => StateDirectory::at(root.join(StateDirectory::DEFAULT.trim_start_matches('/'))),
        None => StateDirectory::at(StateDirectory::DEFAULT),
    })
}

/// The running machine, or files that stand for it.
pub fn host(root: Option<&Path>) -> HostFiles {
    HostFiles::at(root.unwrap_or(Path::new("/")))
}

/// Its files.
pub fn files(root: Option<&Path>) -> Root {
    root.map_or_else(Root::default, Root::at)
}

/// What is applied.
///
/// # Errors
/// Where that is unknown.
pub fn applied(root: Option<&Path>) -> Result<Option<waykeeper_control::Status>, StatusError> {
    waykeeper_control::status(&mut host(root).machine(), &mut state(root))
}

/// Lines, each indented. A line break in one of them is shown as an escape.
pub fn indented(lines: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    lines.into_iter().map(|line| format!("  {}\n", one_line(&line.to_string()))).collect()
}
