//! The kernel's command line.

/// A parameter as it was booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootParameter {
    /// Its name, as it stands there.
    pub name: String,
    /// What follows `=`.
    pub value: Option<String>,
}

impl BootParameter {
    /// Whether it is called so. The kernel takes `-` and `_` for the same.
    pub fn is(&self, name: &str) -> bool {
        same_name(&self.name, name)
    }
}

impl std::fmt::Display for BootParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A kernel's command line, up to the words that are init's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Its parameters in their order.
    pub words: Vec<BootParameter>,
}

impl CommandLine {
    /// Reads `/proc/cmdline`. Double quotes keep blanks together, and `--` ends what is the kernel's
    /// (Documentation/admin-guide/kernel-parameters.rst).
    pub fn parse(text: &str) -> Self {
        let mut words = Vec::new();
        let (mut word, mut quoted) = (String::new(), false);
        for letter in text.chars().chain([' ']) {
            match letter {
                '"' => quoted = !quoted,
                blank if blank.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
                other => word.push(other),
            }
        }
        let kernels = words.into_iter().filter(|word| !word.is_empty()).take_while(|word| word != "--");
        let words = kernels.map(|word| match word.split_once('=') {
            Some((name, value)) => BootParameter { name: name.into(), value: Some(value.into()) },
            None => BootParameter { name: word, value: None },
        });
        Self { words: words.collect() }
    }

    /// The last parameter of that name, which is the one that counts.
    pub fn get(&self, name: &str) -> Option<&BootParameter> {
        self.words.iter().rev().find(|word| word.is(name))
    }

    /// The value of the last parameter of that name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name)?.value.as_deref()
    }

    /// Whether a parameter has a value.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.value(name) == Some(value)
    }
}

fn same_name(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes().zip(b.bytes()).all(|(a, b)| a == b || (matches!(a, b'-' | b'_') && matches!(b, b'-' | b'_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_dashes_and_the_end_are_read_as_the_kernel_reads_them() {
        let line = CommandLine::parse("quiet dyndbg=\"file a.c +p\" nohz-full=1 nohz_full=2-3 a.b=c=d -- isolcpus=1");
        assert_eq!(line.value("dyndbg"), Some("file a.c +p"));
        assert_eq!(line.value("nohz_full"), Some("2-3"));
        assert_eq!(line.value("a.b"), Some("c=d"));
        assert_eq!(line.get("isolcpus"), None);
        assert_eq!(line.get("quiet").map(ToString::to_string), Some("quiet".into()));
        assert_eq!(line.words.len(), 5);
        assert_eq!(CommandLine::parse(" \n"), CommandLine::default());
    }
}
