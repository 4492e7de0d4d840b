//! The folder for a run: made before anything is measured for it, removed again where nothing came of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use waykeeper_experiment::InputError;
use waykeeper_run::unfinished::lock;

use crate::error::SessionError;

/// A folder for a run.
pub struct RunFolder {
    path: PathBuf,
    /// Folders that this run made, inner ones first.
    made: Vec<PathBuf>,
    /// Holds the folder for this process.
    _held: Option<File>,
}

impl RunFolder {
    /// The folder that was asked for, or a new one named after the experiment and the time.
    ///
    /// # Errors
    /// A folder with something in it, a file, a place that cannot be written.
    pub fn prepare(asked: Option<&Path>, experiment: &str) -> Result<Self, SessionError> {
        let Some(asked) = asked else { return Self::named_after(experiment) };
        let path = asked.to_owned();
        let refuse = |message: &str| {
            InputError::in_option(
                format!("--out {}", path.display()),
                format!("{message}; expected a new or empty folder"),
            )
        };
        if path.exists() && !path.is_dir() {
            return Err(refuse("this is a file").into());
        }
        if std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(refuse("the folder is not empty, and runs are never overwritten").into());
        }
        let made = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let folder = Self { made: made.map(Path::to_owned).collect(), path, _held: None };
        match std::fs::create_dir_all(&folder.path) {
            Ok(()) => Ok(folder),
            Err(error) => Err(SessionError::Write { folder: folder.path.clone(), error }),
        }
    }

    /// A folder of this run's own below `waykeeper-runs`, also where another run begins in the same second.
    fn named_after(experiment: &str) -> Result<Self, SessionError> {
        let parent = PathBuf::from("waykeeper-runs");
        let name = format!("{experiment}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"));
        let new_parent = !parent.exists();
        std::fs::create_dir_all(&parent).map_err(|error| SessionError::Write { folder: parent.clone(), error })?;
        for n in 1.. {
            let path = parent.join(if n == 1 { name.clone() } else { format!("{name}-{n}") });
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let made = std::iter::once(path.clone()).chain(new_parent.then_some(parent)).collect();
                    return Ok(Self { path, made, _held: None });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SessionError::Write { folder: path, error }),
            }
        }
        unreachable!("the numbers do not end")
    }

    /// The folder of a run that goes on, held for this process; `option` is how it was named.
    ///
    /// # Errors
    /// A folder into which another process measures.
    pub fn of_unfinished(path: &Path, option: &str) -> Result<Self, InputError> {
        Self { path: path.to_owned(), made: Vec::new(), _held: None }.held(option)
    }

    /// The same, held for this process.
    ///
    /// # Errors
    /// A folder into which another process measures.
    pub fn held(mut self, option: &str) -> Result<Self, InputError> {
        self._held = match lock(&self.path) {
            Ok(held) => Some(held),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let message = "another process measures into this folder; expected one that no run writes to";
                return Err(InputError::in_option(option, message));
            }
            // Some file systems have no locks.
            Err(_) => None,
        };
        Ok(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        for folder in &self.made {
            // Succeeds on empty folders only: one that holds a run stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
