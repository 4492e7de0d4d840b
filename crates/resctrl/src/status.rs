//! What `info/last_cmd_status` shows: a buffer of 512 bytes that texts are appended to (seq_buf).

const CAPACITY: usize = 512;

/// The texts since the buffer was last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    text: Vec<u8>,
    overflowed: bool,
}

impl Status {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Appends a fixed text (seq_buf_puts): one that does not fit is left out as a whole.
    pub fn puts(&mut self, text: &str) {
        if self.overflowed {
            return;
        }
        // One byte is for the NUL.
        if self.text.len() + text.len() < CAPACITY {
            self.text.extend_from_slice(text.as_bytes());
        } else {
            self.overflowed = true;
        }
    }

    /// Appends a text made of parts (seq_buf_printf): one that does not fit is cut.
    pub fn print(&mut self, parts: &[&[u8]]) {
        if self.overflowed {
            return;
        }
        let text = parts.concat();
        let room = CAPACITY - 1 - self.text.len();
        self.overflowed = text.len() > room;
        self.text.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// What a reader of the file gets.
    pub fn show(&self, marks_truncated: bool) -> Vec<u8> {
        if self.text.is_empty() && !self.overflowed {
            return b"ok\n".to_vec();
        }
        let mut text = self.text.clone();
        if self.overflowed && marks_truncated {
            text.extend_from_slice(b"[truncated]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_text_that_does_not_fit_is_left_out_and_a_printed_one_is_cut() {
        let mut fixed = Status::default();
        fixed.puts(&"a".repeat(510));
        fixed.puts("bb");
        assert_eq!(fixed.show(true), [&[b'a'; 510][..], b"[truncated]\n"].concat());
        let mut printed = Status::default();
        printed.puts(&"a".repeat(510));
        printed.print(&[b"b", b"b"]);
        assert_eq!(printed.show(false), [&[b'a'; 510][..], b"b"].concat());
        // Nothing is added after an overflow.
        printed.puts("c");
        assert_eq!(printed.show(false).len(), 511);
    }

    #[test]
    fn an_empty_buffer_is_ok() {
        assert_eq!(Status::default().show(false), b"ok\n");
    }
}
