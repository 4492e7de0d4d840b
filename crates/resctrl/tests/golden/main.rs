//! What the kernel answers, written down by hand from its interface, behaviour by behaviour.

mod bandwidth;
mod classes;
mod exclusive;
mod files;
mod limbo;
mod masks;
mod members;
mod monitoring_groups;
mod platforms;
mod pseudo_lock;

use waykeeper_resctrl::{Errno, FileOperation, MountOptions, Reply, Resctrl, ResctrlMachine, example};

/// A mounted file system, with operations by text.
pub(crate) struct Mounted(pub Resctrl);

impl Mounted {
    /// The example server as it comes.
    pub(crate) fn server() -> Self {
        Mounted::on(example::server(), MountOptions::default())
    }

    pub(crate) fn on(machine: ResctrlMachine, options: MountOptions) -> Self {
        let mut resctrl = Resctrl::new(machine);
        resctrl.mount(options).expect("the options fit the machine");
        Mounted(resctrl)
    }

    pub(crate) fn read(&mut self, path: &str) -> String {
        match self.0.apply(&FileOperation::Read { path: path.into() }) {
            Ok(Reply::Bytes(bytes)) => String::from_utf8(bytes).expect("text"),
            other => panic!("{path}: {other:?}"),
        }
    }

    /// The error of a read.
    pub(crate) fn read_error(&mut self, path: &str) -> Errno {
        self.0.apply(&FileOperation::Read { path: path.into() }).expect_err("an error").errno
    }

    fn result(&mut self, operation: FileOperation) -> Result<(), (Errno, String)> {
        let text = |status| String::from_utf8(status).expect("text");
        self.0.apply(&operation).map(drop).map_err(|refusal| (refusal.errno, text(refusal.status)))
    }

    pub(crate) fn write(&mut self, path: &str, data: &str) -> Result<(), (Errno, String)> {
        self.result(FileOperation::Write { path: path.into(), data: data.into() })
    }

    /// The text of a write that ends with EINVAL.
    pub(crate) fn refused(&mut self, path: &str, data: &str) -> String {
        let (errno, status) = self.write(path, data).expect_err("an error");
        assert_eq!(errno, Errno::EINVAL, "{status}");
        status
    }

    pub(crate) fn mkdir(&mut self, path: &str) -> Result<(), (Errno, String)> {
        self.result(FileOperation::Mkdir { path: path.into(), mode: 0o755 })
    }

    pub(crate) fn rmdir(&mut self, path: &str) -> Result<(), (Errno, String)> {
        self.result(FileOperation::Rmdir { path: path.into() })
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), (Errno, String)> {
        self.result(FileOperation::Rename { from: from.into(), to: to.into() })
    }

    pub(crate) fn mode(&mut self, path: &str) -> u32 {
        match self.0.apply(&FileOperation::Getattr { path: path.into() }) {
            Ok(Reply::Attributes(attributes)) => attributes.mode,
            other => panic!("{path}: {other:?}"),
        }
    }

    /// The sorted names in a directory.
    pub(crate) fn names(&mut self, path: &str) -> Vec<String> {
        match self.0.apply(&FileOperation::Readdir { path: path.into() }) {
            Ok(Reply::Entries(entries)) => {
                let name = |name: Vec<u8>| String::from_utf8(name).expect("text");
                let mut names: Vec<String> = entries.into_iter().map(|entry| name(entry.name)).collect();
                names.sort();
                names
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

/// An error without a text.
pub(crate) fn silent(errno: Errno) -> Result<(), (Errno, String)> {
    Err((errno, "ok\n".into()))
}

/// An error with a text.
pub(crate) fn error(errno: Errno, text: &str) -> Result<(), (Errno, String)> {
    Err((errno, text.into()))
}
