//! SHA-256 as records have it: what a run is made from, and what an archive of it is held against.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The hash of bytes, hexadecimal.
pub fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}

/// The hash of a file, hexadecimal.
///
/// # Errors
/// A file that cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(hash.finalize()))
}

/// Bytes, hexadecimal.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
