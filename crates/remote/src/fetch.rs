//! Results of a run, from an archive of the board. The archive is a stranger's: only the results that were asked for are written,
//! and only as files and folders.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A result that is fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedResult {
    /// Where it is in the tree of the run.
    pub place: PathBuf,
    /// Where it belongs here.
    pub path: PathBuf,
    /// It takes the place of what is there.
    pub replaces: bool,
}

/// Results that were read, each beside its place until all of them are whole.
#[derive(Debug)]
pub(crate) struct Fetched {
    parts: Vec<(WantedResult, PathBuf)>,
    /// What of the archive was left out.
    pub(crate) left_out: Vec<String>,
}

impl Fetched {
    /// Reads an archive.
    ///
    /// # Errors
    /// An archive that is damaged; a place that cannot be written. Nothing is left then.
    pub(crate) fn read(input: impl Read, wanted: &[WantedResult], run: &str) -> io::Result<Self> {
        let mut fetched = Self { parts: Vec::new(), left_out: Vec::new() };
        let read = fetched.unpack(input, wanted, run);
        if read.is_err() {
            fetched.discard();
        }
        read.map(|()| fetched)
    }

    fn unpack(&mut self, input: impl Read, wanted: &[WantedResult], run: &str) -> io::Result<()> {
        for entry in tar::Archive::new(input).entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            let kind = entry.header().entry_type();
            let Some((one, rest)) = belongs(&path, wanted) else {
                self.left_out.push(format!("{} was not asked for", path.display()));
                continue;
            };
            let part = self.part(one, run);
            let to = if rest.as_os_str().is_empty() { part } else { part.join(rest) };
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            if kind.is_dir() {
                fs::create_dir_all(&to)?;
            } else if kind.is_file() {
                io::copy(&mut entry, &mut File::create_new(&to)?)?;
            } else {
                self.left_out.push(format!("{} is neither a file nor a folder", path.display()));
            }
        }
        Ok(())
    }

    /// Where a result is until it is whole: beside its place, so that it can be renamed.
    fn part(&mut self, one: &WantedResult, run: &str) -> PathBuf {
        if let Some((_, part)) = self.parts.iter().find(|(known, _)| known == one) {
            return part.clone();
        }
        let name = one.path.file_name().unwrap_or_default().to_string_lossy();
        let part = one.path.with_file_name(format!(".{name}.{run}"));
        // What an earlier attempt left.
        remove(&part);
        self.parts.push((one.clone(), part.clone()));
        part
    }

    /// Puts every result in its place.
    ///
    /// # Errors
    /// A place that is taken by now: the result stays beside it.
    pub(crate) fn put(self) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (wanted, part) in &self.parts {
            if let Err(why) = put(wanted, part) {
                wrong.push(format!("{}: {why}; what was fetched is in {}", wanted.path.display(), part.display()));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Removes what was read.
    pub(crate) fn discard(self: &mut Fetched) {
        self.parts.iter().for_each(|(_, part)| remove(part));
    }
}

/// The result that a path of the archive belongs to, and where it is inside of it.
fn belongs<'w>(path: &Path, wanted: &'w [WantedResult]) -> Option<(&'w WantedResult, PathBuf)> {
    let plain: Option<PathBuf> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let plain = plain?;
    wanted.iter().find_map(|one| Some((one, plain.strip_prefix(&one.place).ok()?.to_owned())))
}

fn put(wanted: &WantedResult, part: &Path) -> Result<(), String> {
    let to = &wanted.path;
    let failed = |error: io::Error| error.to_string();
    let is_empty_folder = || fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    if fs::symlink_metadata(to).is_err() || is_empty_folder() {
        return fs::rename(part, to).map_err(failed);
    }
    if !wanted.replaces {
        return Err("it is there by now, and is not overwritten".into());
    }
    let mut before = part.as_os_str().to_owned();
    before.push(".before");
    fs::rename(to, &before).map_err(failed)?;
    if let Err(error) = fs::rename(part, to) {
        let _ = fs::rename(&before, to);
        return Err(failed(error));
    }
    remove(Path::new(&before));
    Ok(())
}

fn remove(path: &Path) {
    let _ = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(desk: &Path) -> Vec<WantedResult> {
        vec![WantedResult { place: "home/u/kept".into(), path: desk.join("kept"), replaces: false }]
    }

    fn archive(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, kind, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(if kind.is_file() { text.len() as u64 } else { 0 });
            header.set_mode(0o644);
            // Not `set_path`, which refuses what a hostile board writes.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            if !kind.is_file() {
                header.as_old_mut().linkname[..text.len()].copy_from_slice(text.as_bytes());
            }
            header.set_cksum();
            archive.append(&header, if kind.is_file() { text.as_bytes() } else { b"" }).unwrap();
        }
        archive.into_inner().unwrap()
    }

    const FILE: tar::EntryType = tar::EntryType::Regular;

    #[test]
    fn a_result_appears_whole_at_its_place() {
        let desk = tempfile::tempdir().unwrap();
        let bytes = archive(&[("./home/u/kept/run.json", FILE, "{}"), ("./home/u/kept/a/b", FILE, "x")]);
        let fetched = Fetched::read(&bytes[..], &wanted(desk.path()), "r").unwrap();
        assert!(!desk.path().join("kept").exists(), "not before it is put");
        fetched.put().unwrap();
        assert_eq!(fs::read_to_string(desk.path().join("kept/run.json")).unwrap(), "{}");
        assert_eq!(fs::read_to_string(desk.path().join("kept/a/b")).unwrap(), "x");
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
    }

    #[test]
    fn paths_that_were_not_asked_for_and_links_are_left_out() {
        let desk = tempfile::tempdir().unwrap();
        let bytes = archive(&[
            ("../escaped", FILE, "x"),
            ("/tmp/absolute", FILE, "x"),
            ("home/u/other", FILE, "x"),
            ("home/u/kept/../../../up", FILE, "x"),
            ("home/u/keptnot", FILE, "x"),
            ("home/u/kept/link", tar::EntryType::Symlink, "/etc"),
            ("home/u/kept/hard", tar::EntryType::Link, "/etc/passwd"),
            ("home/u/kept/pipe", tar::EntryType::Fifo, ""),
            ("home/u/kept/good", FILE, "x"),
        ]);
        let fetched = Fetched::read(&bytes[..], &wanted(desk.path()), "r").unwrap();
        assert_eq!(fetched.left_out.len(), 8, "{:?}", fetched.left_out);
        fetched.put().unwrap();
        let names: Vec<_> = fs::read_dir(desk.path().join("kept")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["good"]);
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_comes_twice_cannot_write_through_what_came_first() {
        let desk = tempfile::tempdir().unwrap();
        let bytes = archive(&[("home/u/kept/a", FILE, "1"), ("home/u/kept/a", FILE, "2")]);
        assert!(Fetched::read(&bytes[..], &wanted(desk.path()), "r").is_err());
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_archive_that_is_cut_off_leaves_nothing() {
        let desk = tempfile::tempdir().unwrap();
        let bytes = archive(&[("home/u/kept/a", FILE, &"x".repeat(4000))]);
        assert!(Fetched::read(&bytes[..1024], &wanted(desk.path()), "r").is_err());
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_there_is_replaced_only_where_that_was_asked_for() {
        let desk = tempfile::tempdir().unwrap();
        fs::create_dir(desk.path().join("kept")).unwrap();
        fs::write(desk.path().join("kept/old"), "old").unwrap();
        let bytes = archive(&[("home/u/kept/new", FILE, "new")]);
        let mut wanted = wanted(desk.path());
        let refused = Fetched::read(&bytes[..], &wanted, "r").unwrap().put().unwrap_err();
        assert!(refused.contains("not overwritten") && refused.contains(".kept.r"), "{refused}");
        assert_eq!(fs::read_to_string(desk.path().join("kept/old")).unwrap(), "old");
        wanted[0].replaces = true;
        Fetched::read(&bytes[..], &wanted, "r").unwrap().put().unwrap();
        let names: Vec<_> = fs::read_dir(desk.path().join("kept")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["new"]);
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
    }
}
