//! The guest's first file system: a cpio archive in the `newc` format (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive that is being made.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inodes: u32,
}

impl Archive {
    /// Adds a directory.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, 0o040_755, &[], (0, 0));
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, 0o100_000 | mode, content, (0, 0));
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, 0o020_600, &[], (major, minor));
    }

    /// The archive's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8], (major, minor): (u32, u32)) {
        self.inodes += 1;
        let fields = [
            self.inodes,
            mode,
            0, // user
            0, // group
            1, // links
            0, // time
            content.len() as u32,
            0,
            0, // device that the file is on
            major,
            minor,
            path.len() as u32 + 1,
            0, // no check sum
        ];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_contents_begin_at_multiples_of_four() {
        let mut archive = Archive::default();
        archive.file("init", 0o755, b"12345");
        let bytes = archive.finish();
        // 6 + 13 x 8 = 110 bytes of header, 5 of name: 115, padded to 116; 5 of content, padded to 124.
        assert_eq!(&bytes[116..121], b"12345");
        assert_eq!(&bytes[124..130], b"070701");
        assert_eq!(&bytes[110..115], b"init\0");
    }
}
