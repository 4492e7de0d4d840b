//! The folder for a run: made before anything is measured for it, taken away again where nothing came of it.

use std::path::{Path, PathBuf};

use waykeeper_experiment::InputError;

use crate::failure::Failure;

/// A folder for a run.
pub struct Folder {
    path: PathBuf,
    /// Folders that this run made, inner ones first.
    made: Vec<PathBuf>,
}

impl Folder {
    /// The folder that was asked for, or a new one named after the experiment and the time.
    ///
    /// # Errors
    /// A folder with something in it, a file, a place that cannot be written.
    pub fn prepare(asked: Option<&Path>, experiment: &str) -> Result<Self, Failure> {
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
        let folder = Self { made: made.map(Path::to_owned).collect(), path };
        match std::fs::create_dir_all(&folder.path) {
            Ok(()) => Ok(folder),
            Err(error) => Err(Failure::Write { folder: folder.path.clone(), error }),
        }
    }

    /// A folder of this run's own below `waykeeper-runs`, also where another run begins in the same second.
    fn named_after(experiment: &str) -> Result<Self, Failure> {
        let parent = PathBuf::from("waykeeper-runs");
        let name = format!("{experiment}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"));
        let new_parent = !parent.exists();
        std::fs::create_dir_all(&parent).map_err(|error| Failure::Write { folder: parent.clone(), error })?;
        for n in 1.. {
            let path = parent.join(if n == 1 { name.clone() } else { format!("{name}-{n}") });
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let made = std::iter::once(path.clone()).chain(new_parent.then_some(parent)).collect();
                    return Ok(Self { path, made });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::Write { folder: path, error }),
            }
        }
        unreachable!("the numbers do not end")
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for folder in &self.made {
            // Succeeds on empty folders only: one that holds a run stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
