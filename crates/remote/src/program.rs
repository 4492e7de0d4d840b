//! Which program fits a board: the architecture of an ELF file beside that of the board.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use object::endian::Endianness;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endian, elf};
use sha2::{Digest, Sha256};

use crate::error::RemoteError;

/// Where shipped programs are: a folder with `waykeeper-aarch64` and others.
const FOLDER: &str = "WAYKEEPER_BINARIES";

/// What programs of a machine are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
    /// ARMv7 and later with a 32-bit kernel.
    Armv7,
    /// Another one, by its number in ELF files.
    Other(u16),
}

impl InstructionSet {
    /// What `uname -m` says.
    pub fn of_machine(machine: &str) -> Option<Self> {
        match machine {
            "x86_64" | "amd64" => Some(Self::X86_64),
            "aarch64" | "arm64" => Some(Self::Aarch64),
            _ if machine.starts_with("armv7") || machine == "armv8l" => Some(Self::Armv7),
            _ => None,
        }
    }

    /// The word in the names of shipped programs.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::X86_64 => Some("x86_64"),
            Self::Aarch64 => Some("aarch64"),
            Self::Armv7 => Some("armv7"),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(number) => write!(f, "ELF machine {number}"),
            known => f.write_str(known.name().unwrap_or_default()),
        }
    }
}

/// What the header of a program says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    made_for: InstructionSet,
    /// It needs no loader and no library of the system.
    is_static: bool,
}

/// A program for a board.
#[derive(Debug)]
pub struct BoardProgram {
    /// Where it is here.
    pub path: PathBuf,
    /// It needs no loader and no library of the board.
    pub is_static: bool,
    /// Its SHA-256, in hexadecimal digits: its name on the board.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// The program for a board of this architecture: the one that was named; this program if it is static; a shipped one, in the
/// folder of `WAYKEEPER_BINARIES` or beside this program; this program although it is not static.
///
/// # Errors
/// A program that was named and does not fit; none that fits.
pub fn choose(named: Option<&Path>, board: InstructionSet) -> Result<BoardProgram, RemoteError> {
    if let Some(path) = named {
        let option = format!("--remote-binary {}", path.display());
        let header = header(path).map_err(|why| RemoteError::Input(format!("{option}: {why}")))?;
        if header.made_for != board {
            let message = format!("this program is for {}, and the board is {board}", header.made_for);
            return Err(RemoteError::Input(format!("{option}: {message}; expected a program for {board}")));
        }
        return hashed(path, header);
    }
    let own = std::env::current_exe().ok();
    let own_header = own.as_deref().and_then(|path| header(path).ok()).filter(|header| header.made_for == board);
    if let (Some(path), Some(header @ Header { is_static: true, .. })) = (&own, own_header) {
        return hashed(path, header);
    }
    let looked = shipped(own.as_deref(), board);
    if let Some(path) = looked.iter().find(|path| path.exists()) {
        let found = header(path).map_err(|why| RemoteError::Input(format!("{}: {why}", path.display())))?;
        if found.made_for != board {
            let message =
                format!("{}: this program is for {}, and the board is {board}", path.display(), found.made_for);
            return Err(RemoteError::Input(message));
        }
        return hashed(path, found);
    }
    match (own, own_header) {
        (Some(path), Some(header)) => hashed(&path, header),
        _ => {
            let looked: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
            let looked = if looked.is_empty() { "nowhere".into() } else { looked.join(", ") };
            Err(RemoteError::Input(format!(
                "there is no program for {board} here (looked for {looked}); name one with --remote-binary, or put \
                 waykeeper-{board} beside this program or into the folder that {FOLDER} names"
            )))
        }
    }
}

/// Where shipped programs would be.
fn shipped(own: Option<&Path>, board: InstructionSet) -> Vec<PathBuf> {
    let Some(name) = board.name() else { return Vec::new() };
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let beside = own.and_then(Path::parent).map(Path::to_owned);
    named.into_iter().chain(beside).map(|folder| folder.join(format!("waykeeper-{name}"))).collect()
}

/// What a file is made for where it is a program that cannot run on this board; none for scripts and programs that fit.
pub fn foreign(path: &Path, board: InstructionSet) -> Option<InstructionSet> {
    let made_for = header(path).ok()?.made_for;
    // 64-bit Arm kernels run 32-bit programs, mostly.
    let fits = made_for == board || (made_for == InstructionSet::Armv7 && board == InstructionSet::Aarch64);
    (!fits).then_some(made_for)
}

fn hashed(path: &Path, header: Header) -> Result<BoardProgram, RemoteError> {
    let failed = |error: std::io::Error| RemoteError::Input(format!("{}: {error}", path.display()));
    let mut hasher = Sha256::new();
    let bytes = std::io::copy(&mut File::open(path).map_err(failed)?, &mut hasher).map_err(failed)?;
    let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(BoardProgram { path: path.to_owned(), is_static: header.is_static, sha256, bytes })
}

/// Reads the header of an ELF file; its program headers lie in the first pages.
fn header(path: &Path) -> Result<Header, String> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(1 << 16).read_to_end(&mut start).map_err(|error| error.to_string())?;
    let none = || "this is no program (no ELF file)".to_owned();
    match start.get(..5) {
        Some([0x7f, b'E', b'L', b'F', elf::ELFCLASS64]) => read::<elf::FileHeader64<Endianness>>(&start),
        Some([0x7f, b'E', b'L', b'F', elf::ELFCLASS32]) => read::<elf::FileHeader32<Endianness>>(&start),
        _ => None,
    }
    .ok_or_else(none)
}

fn read<E: FileHeader<Endian = Endianness>>(start: &[u8]) -> Option<Header> {
    let header = E::parse(start).ok()?;
    let endian = header.endian().ok()?;
    let is_little = endian.is_little_endian();
    let made_for = match header.e_machine(endian) {
        elf::EM_X86_64 if E::is_type_64_sized() => InstructionSet::X86_64,
        elf::EM_AARCH64 if is_little => InstructionSet::Aarch64,
        elf::EM_ARM if is_little => InstructionSet::Armv7,
        other => InstructionSet::Other(other),
    };
    let segments = header.program_headers(endian, start).ok()?;
    let is_static = segments.iter().all(|segment| segment.p_type(endian) != elf::PT_INTERP);
    Some(Header { made_for, is_static })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 20 bytes of an ELF file by the specification: identification, type, machine.
    fn elf_of(class: u8, data: u8, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, data, 1];
        bytes.resize(16, 0);
        let number = |value: u16| if data == 1 { value.to_le_bytes() } else { value.to_be_bytes() };
        bytes.extend(number(2));
        bytes.extend(number(machine));
        bytes.resize(if class == 2 { 64 } else { 52 }, 0);
        bytes
    }

    fn of(bytes: &[u8]) -> Result<Header, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        header(file.path())
    }

    #[test]
    fn the_header_says_what_a_program_is_for() {
        // 62, 183, 40 and 243 are the numbers of the ELF specification's registry: x86-64, AArch64, Arm, RISC-V.
        assert_eq!(of(&elf_of(2, 1, 62)).unwrap().made_for, InstructionSet::X86_64);
        assert_eq!(of(&elf_of(2, 1, 183)).unwrap().made_for, InstructionSet::Aarch64);
        assert_eq!(of(&elf_of(1, 1, 40)).unwrap().made_for, InstructionSet::Armv7);
        assert_eq!(of(&elf_of(2, 1, 243)).unwrap().made_for, InstructionSet::Other(243));
        // x32 and big-endian Arm are others, although their numbers are the same.
        assert_eq!(of(&elf_of(1, 1, 62)).unwrap().made_for, InstructionSet::Other(62));
        assert_eq!(of(&elf_of(2, 2, 183)).unwrap().made_for, InstructionSet::Other(183));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01\x01", b"\x7fELF\x09\x01\x01"] {
            assert!(of(bytes).unwrap_err().contains("no ELF file"), "{bytes:?}");
        }
    }

    #[test]
    fn the_test_itself_is_of_this_machine() {
        let own = header(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Some(own.made_for), InstructionSet::of_machine(std::env::consts::ARCH));
    }

    #[test]
    fn machines_are_known_by_the_names_of_their_kernels() {
        let named = |name| InstructionSet::of_machine(name).and_then(InstructionSet::name);
        assert_eq!(named("aarch64"), Some("aarch64"));
        assert_eq!(named("armv7l"), Some("armv7"));
        assert_eq!(named("riscv64"), None);
    }
}
