//! The options that the kernel was built with.

use std::io::Read;

use crate::facts::kernel_release;
use crate::root::Root;

/// Compressed, where the kernel shows them itself.
pub(crate) const COMPRESSED: &str = "/proc/config.gz";

/// The same as text; a recording has them here.
pub(crate) const TEXT: &str = "/proc/config";

/// No list of options is longer; that of a distribution's kernel is 0.3 MiB.
const MOST_BYTES: u64 = 4 << 20;

/// Whether the kernel was built with an option, as `CONFIG_RT_GROUP_SCHED`.
///
/// # Errors
/// Why that was not seen: no list of options, neither the kernel's own nor the distribution's, can be read.
pub fn build_option(root: &Root, name: &str) -> Result<bool, String> {
    let set = format!("{name}=");
    Ok(options(root)?.lines().any(|line| line.strip_prefix(&set).is_some_and(|value| value != "n")))
}

fn options(root: &Root) -> Result<String, String> {
    let compressed = || root.bytes(COMPRESSED).and_then(|bytes| decompressed(&bytes));
    let installed = kernel_release(root).map(|release| installed(&release));
    let text = root.text(TEXT).or_else(compressed).or_else(|| root.text(installed.as_ref()?));
    text.ok_or_else(|| {
        let places = installed.map_or_else(|| COMPRESSED.to_owned(), |path| format!("neither {COMPRESSED} nor {path}"));
        format!("{places} shows that")
    })
}

/// Where a distribution leaves the options of a kernel that it built.
pub(crate) fn installed(release: &str) -> String {
    format!("/boot/config-{release}")
}

/// The text of compressed options; `None` where they are damaged or too long.
pub(crate) fn decompressed(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MOST_BYTES).then_some(text)
}
