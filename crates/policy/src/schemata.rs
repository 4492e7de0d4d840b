//! Lines of resctrl's `schemata`: `    L3:0=fff;1=ff0`.

/// A line: the resource's name and its values, by domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemataLine {
    /// `L3`, `L2CODE`, `MB` …
    pub name: String,
    /// Domain and value, as written.
    pub values: Vec<(u32, String)>,
}

impl SchemataLine {
    /// Values as masks; `None` where one is no mask.
    pub fn masks(&self) -> Option<Vec<(u32, u32)>> {
        let mask =
            |(id, text): &(u32, String)| Some((*id, u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()?));
        self.values.iter().map(mask).collect()
    }
}

/// Reads what a group's `schemata` shows; `None` where it is not of that form. A locked group has one line; one on the
/// way to it has the word `uninitialized`, which is a line without values here.
pub fn parse_schemata(text: &str) -> Option<Vec<SchemataLine>> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect()
}

fn line(text: &str) -> Option<SchemataLine> {
    let (name, rest) = text.split_once(':')?;
    let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if rest == "uninitialized" {
        return named.then(|| SchemataLine { name: name.into(), values: Vec::new() });
    }
    let value = |part: &str| {
        let (id, value) = part.split_once('=')?;
        let value = value.trim();
        let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_hexdigit() || c == 'x');
        let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        Some((id.parse().ok().filter(|_| digits)?, value.to_owned())).filter(|_| plain)
    };
    let values = rest.split(';').map(value).collect::<Option<Vec<_>>>()?;
    named.then(|| SchemataLine { name: name.into(), values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_of_the_kernel_are_read() {
        let lines = parse_schemata("    MB:0= 100;1=  20\n    L3:0=00fff;1=ff000\n").unwrap();
        assert_eq!(lines[0], SchemataLine { name: "MB".into(), values: vec![(0, "100".into()), (1, "20".into())] });
        assert_eq!(lines[1].masks(), Some(vec![(0, 0xfff), (1, 0xff000)]));
        assert_eq!(parse_schemata("L3CODE:2=f\n").unwrap()[0].masks(), Some(vec![(2, 15)]));
        assert_eq!(parse_schemata("L2:uninitialized\n").unwrap()[0].values, []);
        assert_eq!(parse_schemata(""), Some(vec![]));
        for odd in ["L3", "L3:", "L3:0", "L3:=f", "L3:0=", "L3:0=f;", ":0=f", "L3:-1=f", "L3:0=g"] {
            assert_eq!(parse_schemata(odd), None, "{odd}");
        }
    }
}
