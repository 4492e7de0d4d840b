//! Where a function lies in the file of a program or a library.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::libraries::{LinkedLibrary, library_of, linked_libraries};

/// A function of a program, or of a library that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The file of the program or the library.
    pub file: PathBuf,
    /// Where the function begins in the file, bytes.
    pub offset: u64,
}

/// Why a function is not found: what was found, and what would do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoFunction(pub(super) String);

/// So many names are proposed for one that is not found.
const PROPOSED: usize = 3;

impl Function {
    /// Finds a function that a program calls: `NAME` in its own file, `LIBRARY:NAME` in a shared library, which is a path or the
    /// name of a library that the program links to.
    ///
    /// # Errors
    /// A library that is not found; what [`find`](Self::find) refuses. A function that a linked library has is named.
    pub fn of_program(program: &Path, name: &str) -> Result<Self, NoFunction> {
        if let Some((library, function)) = of_library(name) {
            return Self::find(&library_of(program, library)?, function);
        }
        Self::find(program, name).map_err(|NoFunction(why)| {
            let has = |library: &LinkedLibrary| Self::find(&library.file, name).is_ok();
            match linked_libraries(program).into_iter().find(has) {
                Some(library) => NoFunction(format!("{why}; the library `{0}` has it: `{0}:{name}`", library.name)),
                None => NoFunction(why),
            }
        })
    }

    /// Finds a function by its name in the symbol tables of an ELF file.
    ///
    /// # Errors
    /// A file that is no ELF program or library, has no symbols, or has no such function; names that are alike.
    pub fn find(file: &Path, name: &str) -> Result<Self, NoFunction> {
        let shown = file.display();
        let bytes = std::fs::read(file).map_err(|error| NoFunction(format!("{shown} cannot be read: {error}")))?;
        let program = object::File::parse(&*bytes).map_err(|error| {
            NoFunction(format!(
                "{shown} is no ELF program ({error}); functions of scripts are not supported, those of a library that one uses \
                 are (`./library.so:FUNCTION`)"
            ))
        })?;
        let all = program.symbols().chain(program.dynamic_symbols());
        let functions: Vec<(&str, u64)> = all
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
            .collect();
        if functions.is_empty() {
            return Err(NoFunction(format!("{shown} has no symbols; expected a file that was not stripped")));
        }
        let Some((_, address)) = functions.iter().find(|(found, _)| *found == name) else {
            let names = alike(name, functions.iter().map(|(found, _)| *found));
            return Err(NoFunction(format!("{shown} has no function `{name}`; expected {names}")));
        };
        let segment = program.segments().find_map(|segment| {
            let within = address.checked_sub(segment.address()).filter(|within| *within < segment.size())?;
            Some(segment.file_range().0 + within)
        });
        let offset =
            segment.ok_or_else(|| NoFunction(format!("`{name}` of {shown} lies in no segment of the file")))?;
        Ok(Self { file: file.to_owned(), offset })
    }
}

/// The library and the function of `LIBRARY:FUNCTION`. Two colons are a part of a name of C++.
fn of_library(name: &str) -> Option<(&str, &str)> {
    let (library, function) = name.split_once(':')?;
    (!library.is_empty() && !function.is_empty() && !function.starts_with(':')).then_some((library, function))
}

/// The names that are nearest to one, as a list.
fn alike<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let mut ranked: Vec<(f64, &str)> = names.map(|other| (strsim::jaro_winkler(name, other), other)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    ranked.dedup_by(|a, b| a.1 == b.1);
    let nearest: Vec<_> = ranked.iter().take(PROPOSED).map(|(_, other)| format!("`{other}`")).collect();
    nearest.join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_come_first() {
        let names = ["main", "read_buffer", "_start", "red_buffer", "read_buffers"];
        assert_eq!(alike("read_bufer", names.into_iter()), "`read_buffer`, or `read_buffers`, or `red_buffer`");
    }

    #[test]
    fn a_function_of_a_library_has_the_librarys_name_before_a_colon() {
        assert_eq!(of_library("libm.so.6:sin"), Some(("libm.so.6", "sin")));
        assert_eq!(of_library("./a b/x.so:step"), Some(("./a b/x.so", "step")));
        for no_library in ["step", "Control::step", ":step", "libm.so.6:"] {
            assert_eq!(of_library(no_library), None, "{no_library}");
        }
    }

    #[test]
    fn functions_are_found_in_the_libraries_that_a_program_links_to() {
        let shell = Path::new("/bin/sh");
        let malloc = Function::of_program(shell, "libc:malloc").unwrap();
        assert_eq!(malloc, Function::find(&malloc.file, "malloc").unwrap());
        let hint = Function::of_program(shell, "malloc").unwrap_err().to_string();
        assert!(hint.ends_with("the library `libc.so.6` has it: `libc.so.6:malloc`"), "{hint}");
        let gone = Function::of_program(shell, "libc:maloc").unwrap_err().to_string();
        assert!(gone.contains("has no function `maloc`; expected `malloc`"), "{gone}");
    }

    #[test]
    fn what_is_no_program_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let refused = Function::find(&script, "main").unwrap_err().to_string();
        assert!(refused.contains("is no ELF program"), "{refused}");
        let gone = Function::find(&folder.path().join("gone"), "main").unwrap_err().to_string();
        assert!(gone.contains("cannot be read: No such file"), "{gone}");
    }
}
