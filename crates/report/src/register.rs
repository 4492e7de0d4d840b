//! Registers for people: the list, the fields of one, a value explained.

use waykeeper_platform::Platform;
use waykeeper_policy::register::{Decoded, Field, Named, all};

use crate::table::{columns, table};
use crate::text::paragraph;

/// All registers that are described, a line each.
pub fn registers() -> String {
    let columns = columns(&[("register", false), ("at", false), ("bits", true), ("", false)]);
    let row = |register: &'static waykeeper_policy::register::Register| {
        let name = match register.count {
            1 => register.name.to_owned(),
            count => format!("{}, n = 0 to {}", register.name, count - 1),
        };
        vec![name, register.place.to_string(), register.width.to_string(), register.title.to_owned()]
    };
    let rows: Vec<_> = all().map(row).collect();
    table(&columns, &rows)
        + "\n\n`waykeeper decode REGISTER` shows the fields, `waykeeper decode REGISTER VALUE` explains a value.\n"
}

fn heading(named: &Named) -> String {
    let register = named.register;
    let title = paragraph(&format!("{} ({}): {}", named.name(), named.place(), register.title), "  ");
    format!("{title}\n\n")
}

fn source(named: &Named) -> String {
    format!("\n\n{}\n", paragraph(&format!("source: {}", named.register.source), "  "))
}

fn bits(field: &Field) -> String {
    if field.high == field.low { field.low.to_string() } else { format!("{}:{}", field.high, field.low) }
}

/// The fields of a register.
pub fn register(named: &Named) -> String {
    let columns = columns(&[("bits", true), ("field", false), ("", false)]);
    let row = |field: &Field| vec![bits(field), field.name.to_owned(), field.about.to_owned()];
    let rows: Vec<_> = named.register.fields.iter().map(row).collect();
    heading(named) + &table(&columns, &rows) + &source(named)
}

/// A value, field by field.
pub fn decoded(named: &Named, value: u64, decoded: &Decoded, platform: Option<&Platform>) -> String {
    let columns = columns(&[("bits", true), ("field", false), ("value", true), ("says", false), ("of", false)]);
    let row = |it: &waykeeper_policy::register::DecodedField| {
        let value = format!("{:#x}", it.value);
        vec![bits(it.field), it.field.name.to_owned(), value, it.explain(platform), it.field.about.to_owned()]
    };
    let rows: Vec<_> = decoded.fields.iter().map(row).collect();
    let mut text = heading(named) + &format!("{value:#x}\n\n") + &table(&columns, &rows);
    if decoded.undescribed != 0 {
        text += &format!("\n\nset besides, and in no field that is described here: {:#x}", decoded.undescribed);
    }
    text + &source(named)
}
