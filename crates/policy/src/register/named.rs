//! Registers by name or place.

use std::fmt;

use super::{Register, RegisterAddress, all};

/// One register: of numbered ones, which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its description.
    pub register: &'static Register,
    /// Its number among those of its kind; 0 where there is one.
    pub number: u32,
}

/// A name that is no register's, or several registers'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// What was looked for.
    pub name: String,
    /// What comes near.
    pub near: Vec<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no register that is described here is called `{}`", self.name.escape_debug())?;
        match self.near.as_slice() {
            [] => Ok(()),
            near => write!(f, "; near it: {}", near.join(", ")),
        }
    }
}

impl std::error::Error for NotFound {}

impl Named {
    /// Its name, with its number where there are several.
    pub fn name(&self) -> String {
        match self.stem() {
            Some(stem) => format!("{stem}{}", self.number),
            None => self.register.name.to_owned(),
        }
    }

    /// How it is reached.
    pub fn place(&self) -> RegisterAddress {
        self.register.place.nth(self.number)
    }

    /// Another register of the kind; `None` where there are fewer.
    pub fn nth(&self, number: u32) -> Option<Self> {
        (number < self.register.count).then_some(Self { number, ..*self })
    }

    fn stem(&self) -> Option<&'static str> {
        (self.register.count > 1).then(|| self.register.name.strip_suffix('n')).flatten()
    }

    /// Names that it answers to besides its own: without its maker's prefix, and with the suffix of an exception level
    /// left out.
    fn is_called(register: &'static Register, name: &str) -> Option<u32> {
        let own = register.name.to_ascii_uppercase();
        let short = ["IA32_", "MSR_", "PL310_", "CORTEX_A9_"].into_iter().find_map(|prefix| own.strip_prefix(prefix));
        for own in std::iter::once(own.as_str()).chain(short) {
            if own == name {
                return Some(0);
            }
            let digits = own.strip_suffix('N').filter(|_| register.count > 1).and_then(|stem| name.strip_prefix(stem));
            let is_number = |digits: &&str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if let Some(number) = digits.filter(is_number).and_then(|digits| digits.parse().ok()) {
                return (number < register.count).then_some(number);
            }
        }
        None
    }
}

/// Finds a register by its name in any case, by the number of an MSR (`0xc8f`), by the name of a system register
/// (`S3_0_C15_C4_3`), or by a place in a block (`pl310+0x900`). Of numbered registers the name ends in a number, or in
/// `n` for the first.
///
/// # Errors
/// A name that is no register's.
pub fn find(name: &str) -> Result<Named, NotFound> {
    let upper = name.trim().to_ascii_uppercase();
    for register in all() {
        if let Some(number) = Named::is_called(register, &upper) {
            return Ok(Named { register, number });
        }
    }
    let place = upper.to_ascii_lowercase();
    if let Some(number) = place.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        // A register by itself comes before one of a row that reaches over its number.
        let (single, rows): (Vec<_>, Vec<_>) = all().partition(|register| register.count == 1);
        for register in single.into_iter().chain(rows) {
            if let RegisterAddress::Msr(first) = register.place
                && let Some(number) = number.checked_sub(first).filter(|number| *number < register.count)
            {
                return Ok(Named { register, number });
            }
        }
    }
    let plain = |text: &str| text.replace(' ', "").to_ascii_lowercase();
    for register in all() {
        let named = |number| Named { register, number };
        if let Some(found) = (0..register.count).map(named).find(|it| plain(&it.place().to_string()) == plain(&place)) {
            return Ok(found);
        }
    }
    Err(NotFound { name: name.into(), near: near(&upper) })
}

/// Names that share a word with one that was not found.
fn near(name: &str) -> Vec<String> {
    let words: Vec<&str> = name.split(['_', '+']).filter(|word| word.len() > 2 && !word.starts_with("EL")).collect();
    let shares = |own: &str| words.iter().any(|word| own.to_ascii_uppercase().contains(word));
    all().map(|register| register.name.to_owned()).filter(|own| shares(own)).take(6).collect()
}
