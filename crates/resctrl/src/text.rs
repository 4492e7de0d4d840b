//! C strings as the kernel's parsers see them.

/// The bytes before the first NUL.
pub(crate) fn c_string(data: &[u8]) -> &[u8] {
    data.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// isspace() of the kernel, whose table is Latin-1 and counts the no-break space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// strim(): without spaces at both ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(start, |at| at + 1);
    &text[start..end]
}

/// strsep(): takes the text up to a separator; afterwards `rest` is what follows it, or nothing when there was none.
pub(crate) fn take_until<'a>(rest: &mut Option<&'a [u8]>, separator: u8) -> Option<&'a [u8]> {
    let text = (*rest)?;
    match text.iter().position(|&byte| byte == separator) {
        Some(at) => {
            *rest = Some(&text[at + 1..]);
            Some(&text[..at])
        }
        None => {
            *rest = None;
            Some(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_gone_after_the_last_separator() {
        let mut rest = Some(&b"0=f"[..]);
        assert_eq!(take_until(&mut rest, b'='), Some(&b"0"[..]));
        assert_eq!(take_until(&mut rest, b'='), Some(&b"f"[..]));
        assert_eq!(take_until(&mut rest, b'='), None);
    }

    #[test]
    fn trimming_spaces_alone_leaves_nothing() {
        assert_eq!(trim(b" \t\n"), b"");
        assert_eq!(trim(b" L3 "), b"L3");
    }
}
