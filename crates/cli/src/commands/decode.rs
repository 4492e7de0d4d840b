//! `waykeeper decode`.

use serde::Serialize;
use waykeeper_experiment::InputError;
use waykeeper_platform::Platform;
use waykeeper_policy::register::{Decoded, Field, Named, all, find};

use super::output::{Kind, print, print_json, say};
use super::plan::platform;
use crate::arguments::Decode;
use crate::exit::Exit;
use crate::failure::Failure;

/// Explains a value, shows a register's fields, or lists the registers.
pub fn decode(arguments: &Decode) -> Result<Exit, Failure> {
    let Some(name) = &arguments.register else {
        match arguments.json {
            true => print_json(&all().collect::<Vec<_>>())?,
            false => print(&waykeeper_report::registers())?,
        }
        return Ok(Exit::Done);
    };
    let refuse = |message: String| InputError::in_option("decode", message);
    let named = find(name).map_err(|error| refuse(format!("{error}; `waykeeper decode` lists them")))?;
    let platform = arguments.platform.as_deref().map(platform).transpose()?;
    let Some(value) = &arguments.value else {
        match arguments.json {
            true => print_json(named.register)?,
            false => print(&waykeeper_report::register(&named))?,
        }
        return Ok(Exit::Done);
    };
    let typed = value;
    let value = number(typed).map_err(refuse)?;
    if value > 9 && typed.bytes().all(|byte| byte.is_ascii_digit()) {
        say(Kind::Note, &format!("{typed} is read as a decimal number; if `rdmsr` printed it, it is 0x{typed}"));
    }
    let decoded = named.register.decode(value).map_err(|error| refuse(error.to_string()))?;
    match arguments.json {
        true => print_json(&Explained::new(&named, value, &decoded, platform.as_ref()))?,
        false => print(&waykeeper_report::decoded(&named, value, &decoded, platform.as_ref()))?,
    }
    Ok(Exit::Done)
}

/// A value as people write it, or as `rdmsr` prints it: hexadecimal without `0x`, which only a letter in it shows.
fn number(text: &str) -> Result<u64, String> {
    let refuse = || format!("found the value {text:?}, expected a number such as 0x1e or 30, of at most 64 bits");
    let digits = text.replace('_', "");
    let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16),
        None if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && digits.contains(|c: char| c.is_alphabetic()) => {
            u64::from_str_radix(&digits, 16)
        }
        None if !digits.starts_with('+') => digits.parse(),
        _ => return Err(refuse()),
    };
    parsed.map_err(|_| refuse())
}

/// A value, explained.
#[derive(Serialize)]
struct Explained {
    register: String,
    title: &'static str,
    place: String,
    source: &'static str,
    value: String,
    fields: Vec<ExplainedField>,
    undescribed: String,
}

/// The value of a field, explained.
#[derive(Serialize)]
struct ExplainedField {
    #[serde(flatten)]
    field: &'static Field,
    value: u64,
    says: String,
}

impl Explained {
    fn new(named: &Named, value: u64, decoded: &Decoded, platform: Option<&Platform>) -> Self {
        let field = |it: &waykeeper_policy::register::DecodedField| ExplainedField {
            field: it.field,
            value: it.value,
            says: it.explain(platform),
        };
        Self {
            register: named.name(),
            title: named.register.title,
            place: named.place().to_string(),
            source: named.register.source,
            value: format!("{value:#x}"),
            fields: decoded.fields.iter().map(field).collect(),
            undescribed: format!("{:#x}", decoded.undescribed),
        }
    }
}
