//! Where a function lies in the file of a program or a library.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::function_names::{FunctionNames, alike, choice, meant};
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

/// A function in the symbol tables of a file.
struct Symbol<'s> {
    name: &'s str,
    address: u64,
    /// Seen from other files of the same program, as functions are that are not `static`.
    is_global: bool,
}

/// Why no address was found for a name.
enum NoAddress {
    /// The file has no symbols.
    Stripped,
    /// The name is of no function. Names that are near to it.
    Unknown(String),
    /// It is of several, which are these.
    Several(String),
}

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
        let bytes = read(program)?;
        let file = parse(program, &bytes)?;
        let missing = match address_in(&functions_of(&file), name) {
            Ok(address) => return Self::at(program, &file, name, address),
            Err(several @ NoAddress::Several(_)) => return Err(several.described(program, name)),
            Err(missing) => missing,
        };
        let NoFunction(why) = missing.described(program, name);
        let linked = linked_libraries(program).into_iter().find(|library| has(library, name));
        Err(NoFunction(match linked {
            Some(library) => format!("{why}; the library `{0}` has it: `{0}:{name}`", library.name),
            None => why,
        }))
    }

    /// Finds a function in the symbol tables of an ELF file: by its symbol, or by its name in the source of C++ or Rust, with or
    /// without parameters and template arguments.
    ///
    /// # Errors
    /// A file that is no ELF program or library, has no symbols, or has no such function, with the names that are near; a name
    /// that several functions have, with all of them.
    pub fn find(file: &Path, name: &str) -> Result<Self, NoFunction> {
        let bytes = read(file)?;
        let parsed = parse(file, &bytes)?;
        let address = address_in(&functions_of(&parsed), name);
        Self::at(file, &parsed, name, address.map_err(|why| why.described(file, name))?)
    }

    fn at(file: &Path, parsed: &object::File<'_>, name: &str, address: u64) -> Result<Self, NoFunction> {
        let segment = parsed.segments().find_map(|segment| {
            let within = address.checked_sub(segment.address()).filter(|within| *within < segment.size())?;
            Some(segment.file_range().0 + within)
        });
        let nowhere = || NoFunction(format!("`{name}` of {} lies in no segment of the file", file.display()));
        Ok(Self { file: file.to_owned(), offset: segment.ok_or_else(nowhere)? })
    }
}

impl NoAddress {
    fn described(self, file: &Path, name: &str) -> NoFunction {
        let shown = file.display();
        NoFunction(match self {
            Self::Stripped => format!("{shown} has no symbols; expected a file that was not stripped"),
            Self::Unknown(near) => format!("{shown} has no function `{name}`; expected {near}"),
            Self::Several(which) => format!("{shown} has several functions `{name}`; {which}"),
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, NoFunction> {
    std::fs::read(file).map_err(|error| NoFunction(format!("{} cannot be read: {error}", file.display())))
}

fn parse<'b>(file: &Path, bytes: &'b [u8]) -> Result<object::File<'b>, NoFunction> {
    object::File::parse(bytes).map_err(|error| {
        NoFunction(format!(
            "{} is no ELF program ({error}); functions of scripts are not supported, those of a library that one uses are \
             (`./library.so:FUNCTION`)",
            file.display()
        ))
    })
}

fn functions_of<'b>(parsed: &object::File<'b>) -> Vec<Symbol<'b>> {
    let all = parsed.symbols().chain(parsed.dynamic_symbols());
    let functions = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    functions
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            Some(Symbol { name, address: symbol.address(), is_global: symbol.is_global() })
        })
        .collect()
}

/// Whether a library has a function of this name, or several.
fn has(library: &LinkedLibrary, name: &str) -> bool {
    let Ok(bytes) = read(&library.file) else { return false };
    let Ok(parsed) = parse(&library.file, &bytes) else { return false };
    matches!(address_in(&functions_of(&parsed), name), Ok(_) | Err(NoAddress::Several(_)))
}

/// The address of the one function that a name means.
fn address_in(functions: &[Symbol<'_>], name: &str) -> Result<u64, NoAddress> {
    if functions.is_empty() {
        return Err(NoAddress::Stripped);
    }
    let so_called = || functions.iter().filter(|symbol| symbol.name == name);
    // Global: once for each version that a library has of it, and versions are not told apart.
    if let Some(symbol) = so_called().find(|symbol| symbol.is_global) {
        return Ok(symbol.address);
    }
    if let Some(symbol) = so_called().next() {
        return match so_called().all(|other| other.address == symbol.address) {
            true => Ok(symbol.address),
            false => Err(NoAddress::Several(LOCALS.into())),
        };
    }
    let named: Vec<_> = functions.iter().map(|symbol| (FunctionNames::of(symbol.name), symbol)).collect();
    let meant = meant(&named, name);
    let Some((_, first)) = meant.first() else {
        return Err(NoAddress::Unknown(alike(name, named.iter().map(|(names, _)| names))));
    };
    if meant.iter().all(|(_, symbol)| symbol.address == first.address) {
        return Ok(first.address);
    }
    if meant.iter().all(|(_, symbol)| symbol.name == first.name) {
        return Err(NoAddress::Several(LOCALS.into()));
    }
    let candidates: Vec<&FunctionNames<'_>> = meant.iter().map(|(names, _)| names).collect();
    Err(NoAddress::Several(format!("expected {}", choice(&candidates))))
}

/// What would do where no name tells two functions apart.
const LOCALS: &str = "each is local to a source file of its own; expected a function whose name stands once";

/// The library and the function of `LIBRARY:FUNCTION`. Two colons are a part of a name of C++.
fn of_library(name: &str) -> Option<(&str, &str)> {
    let (library, function) = name.split_once(':')?;
    (!library.is_empty() && !function.is_empty() && !function.starts_with(':')).then_some((library, function))
}

#[cfg(test)]
mod tests {
    use super::*;

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
