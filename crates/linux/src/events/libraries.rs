//! The shared libraries that a program links to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSection};

use super::symbols::NoFunction;

/// A library that a program links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedLibrary {
    /// The name by which the program asks for it: `libm.so.6`.
    pub name: String,
    /// Where the loader finds it.
    pub file: PathBuf,
}

impl LinkedLibrary {
    /// Whether somebody means it: its name, or what its name begins with up to a dot (`libm`, `libm.so`).
    fn is_called(&self, wanted: &str) -> bool {
        let rest = self.name.strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The libraries that a program links to, as its own loader finds them: with its search paths, those of the environment and those
/// of the system. None for a program without a loader (linked statically). Libraries that it opens later are not among them.
pub fn linked_libraries(program: &Path) -> Vec<LinkedLibrary> {
    let Some(loader) = loader(program) else { return Vec::new() };
    let mut list = Command::new(loader);
    list.arg("--list").arg(program).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = list.output().map(|listed| listed.stdout).unwrap_or_default();
    String::from_utf8_lossy(&listed).lines().filter_map(library).collect()
}

/// A line of the loader's list: `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)`.
fn library(line: &str) -> Option<LinkedLibrary> {
    let (name, found) = line.trim().split_once(" => ")?;
    let (file, _) = found.rsplit_once(" (0x")?;
    Some(LinkedLibrary { name: name.to_owned(), file: file.into() })
}

/// The file that the kernel starts to load a program.
fn loader(program: &Path) -> Option<PathBuf> {
    let bytes = std::fs::read(program).ok()?;
    let program = object::File::parse(&*bytes).ok()?;
    let name = program.section_by_name(".interp")?;
    let name = name.data().ok()?.strip_suffix(b"\0")?;
    Some(OsStr::from_bytes(name).into())
}

/// The file of a library: a path, or the name of one that the program links to.
///
/// # Errors
/// None of that name, or several.
pub fn library_of(program: &Path, wanted: &str) -> Result<PathBuf, NoFunction> {
    if wanted.contains('/') {
        return Ok(wanted.into());
    }
    let all = linked_libraries(program);
    let found: Vec<_> = all.iter().filter(|library| library.is_called(wanted)).collect();
    let names = |of: &mut dyn Iterator<Item = &LinkedLibrary>| -> Vec<String> {
        of.map(|library| format!("`{}`", library.name)).collect()
    };
    match found[..] {
        [one] => Ok(one.file.clone()),
        [] => {
            let linked = match names(&mut all.iter()) {
                none if none.is_empty() => "links to no library".to_owned(),
                names => format!("links to {}", names.join(", ")),
            };
            Err(NoFunction(format!(
                "`{wanted}` is no library of {program}, which {linked}; expected one of these, or the path of a library that it \
                 opens itself (`./{wanted}:FUNCTION`)",
                program = program.display()
            )))
        }
        _ => {
            let names = names(&mut found.into_iter()).join(", or ");
            Err(NoFunction(format!("`{wanted}` may be several libraries of {}; expected {names}", program.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_loader_are_libraries_where_they_name_a_file() {
        let found = LinkedLibrary { name: "libm.so.6".into(), file: "/lib/a (b)/libm.so.6".into() };
        assert_eq!(library("\tlibm.so.6 => /lib/a (b)/libm.so.6 (0x00007f0000000000)"), Some(found.clone()));
        assert_eq!(library("\tlibgone.so => not found"), None);
        assert_eq!(library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f0000000000)"), None);
        assert!(found.is_called("libm") && found.is_called("libm.so") && found.is_called("libm.so.6"));
        assert!(!found.is_called("lib") && !found.is_called("libm.so.6.1"));
    }

    #[test]
    fn a_program_links_to_what_its_loader_finds() {
        let shell = Path::new("/bin/sh");
        let libc = library_of(shell, "libc").unwrap();
        assert!(libc.is_file() && libc.to_string_lossy().contains("libc"), "{}", libc.display());
        let gone = library_of(shell, "libcontrol.so").unwrap_err().to_string();
        assert!(gone.contains("`libcontrol.so` is no library of /bin/sh, which links to `libc.so.6`"), "{gone}");
        assert_eq!(library_of(shell, "./any/path").unwrap(), Path::new("./any/path"));
    }
}
