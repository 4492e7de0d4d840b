//! The lines of `schemata`: who reads them finds numbers, whatever the kernel pads them with.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A share of one instance of a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DomainShare {
    /// The resource, such as `L3`, `L2CODE`, `MB`.
    pub resource: String,
    /// The id of the instance.
    pub id: u32,
}

/// Values by domain.
pub type DomainShares = BTreeMap<DomainShare, u64>;

/// Whether values of a resource are masks, which are written in hexadecimal. All others are in decimal, also those that newer
/// kernels add: a most of a cache's capacity (`L3MAX`), a least or a limit of bandwidth.
pub fn is_mask(resource: &str) -> bool {
    matches!(resource, "L2" | "L2CODE" | "L2DATA" | "L3" | "L3CODE" | "L3DATA")
}

/// A value as `schemata` has it.
pub fn show(resource: &str, value: u64) -> String {
    if is_mask(resource) { format!("{value:x}") } else { value.to_string() }
}

/// Reads what a file shows. A group on the way to a pseudo-locked region has no values yet.
///
/// # Errors
/// What is wrong with it, and where.
pub fn parse(text: &str) -> Result<DomainShares, String> {
    let mut shares = DomainShares::new();
    for line in text.lines() {
        let (resource, values) = line.split_once(':').ok_or_else(|| format!("`{line}` has no `:`"))?;
        let resource = resource.trim();
        if values.trim() == "uninitialized" {
            continue;
        }
        for pair in values.split(';').filter(|pair| !pair.trim().is_empty()) {
            let bad = || format!("`{pair}` in `{line}` is not `ID=VALUE`");
            let (id, value) = pair.split_once('=').ok_or_else(bad)?;
            let id = id.parse().map_err(|_| bad())?;
            let value = value.trim();
            let value = match is_mask(resource) {
                true => u64::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16),
                false => value.parse(),
            };
            let domain = DomainShare { resource: resource.into(), id };
            if shares.insert(domain, value.map_err(|_| bad())?).is_some() {
                return Err(format!("`{line}` has domain {id} twice"));
            }
        }
    }
    Ok(shares)
}

/// The text that sets these values, one line a resource.
pub fn format(shares: &DomainShares) -> String {
    let mut text = String::new();
    let mut resource = "";
    for (domain, value) in shares {
        if domain.resource == resource {
            text.push(';');
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            resource = &domain.resource;
            let _ = write!(text, "{resource}:");
        }
        let _ = write!(text, "{}={}", domain.id, show(resource, *value));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(resource: &str, id: u32) -> DomainShare {
        DomainShare { resource: resource.into(), id }
    }

    #[test]
    fn padding_and_bases_are_understood() {
        let shares = parse("    MB:0= 40;1=100\n    L3:0=0000f;1=fffff\n").unwrap();
        let expected =
            [(domain("L3", 0), 0xf), (domain("L3", 1), 0xfffff), (domain("MB", 0), 40), (domain("MB", 1), 100)];
        assert_eq!(shares, expected.into());
        assert_eq!(format(&shares), "L3:0=f;1=fffff\nMB:0=40;1=100\n");
        assert_eq!(parse("L3:uninitialized\n"), Ok(DomainShares::new()));
        let newer = parse("L3MAX:0=100\nMB_HLIM:0=65535\nL2CODE:0=100\n").unwrap();
        let expected = [(domain("L2CODE", 0), 0x100), (domain("L3MAX", 0), 100), (domain("MB_HLIM", 0), 65535)];
        assert_eq!(newer, expected.into());
        assert_eq!(format(&newer), "L2CODE:0=100\nL3MAX:0=100\nMB_HLIM:0=65535\n");
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["L3\n", "L3:0\n", "L3:0=g\n", "MB:0=f\n", "L3: 0=f\n", "L3:0=1;0=2\n", "L3:0=1\nL3:0=2\n"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
