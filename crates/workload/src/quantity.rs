//! Sizes and counts, absolute or relative to a machine's caches.
//!
//! ```text
//! size  = term | "min(" size "," size ")" | "max(" size "," size ")"
//! term  = NUMBER UNIT                 "128 KiB", "64 MiB"      (UNIT: B, KiB, MiB, GiB)
//!       | LEVEL | N "x" LEVEL         "L3", "4 x L3", "0.5 x L2"
//!       | "half of" LEVEL             "half of L2"
//!       | N "way[s] of" LEVEL         "1 way of L3"
//!       | N "line[s]"                 "1 line"
//! count = INTEGER | ["N x"] ("sets" | "ways" | "lines") "of" LEVEL        "4 x ways of L3"
//! LEVEL = "L1" (data) | "L2" | "L3" | "LLC" (the last level before memory)
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A level of the cache hierarchy as a quantity names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLevel {
    /// The first-level data cache.
    L1,
    /// The second level.
    L2,
    /// The third level.
    L3,
    /// The last level before memory, whatever its number.
    Llc,
}

impl fmt::Display for CacheLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::Llc => "LLC",
        })
    }
}

/// The size of one cache as a core sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheShape {
    /// Level: 1, 2 or 3.
    pub level: u8,
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Associativity.
    pub ways: u64,
    /// Bytes in a line.
    pub line_bytes: u64,
}

impl CacheShape {
    /// Number of sets over all slices.
    pub fn sets(&self) -> u64 {
        self.size_bytes / (self.ways * self.line_bytes)
    }
}

/// The data and unified caches that one core sees, inner ones first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheShapes(pub Vec<CacheShape>);

impl CacheShapes {
    fn get(&self, level: CacheLevel) -> Option<CacheShape> {
        let number = match level {
            CacheLevel::Llc => return self.0.iter().max_by_key(|shape| shape.level).copied(),
            CacheLevel::L1 => 1,
            CacheLevel::L2 => 2,
            CacheLevel::L3 => 3,
        };
        self.0.iter().find(|shape| shape.level == number).copied()
    }

    /// Bytes in a cache line, 64 where nothing is known.
    pub fn line_bytes(&self) -> u64 {
        self.0.first().map_or(64, |shape| shape.line_bytes)
    }
}

/// Why a text is not a quantity, or why it has no value on a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuantity {
    /// The text does not follow the grammar.
    #[error("`{text}` is not a {what}: {why}; {would_do} would do")]
    Syntax {
        /// What was found.
        text: String,
        /// `size` or `count`.
        what: &'static str,
        /// What is wrong with it.
        why: String,
        /// Examples.
        would_do: &'static str,
    },
    /// The machine lacks the level.
    #[error("`{text}` needs an {level} cache, which this core does not have")]
    NoSuchCache {
        /// The quantity as written.
        text: String,
        /// The missing level.
        level: CacheLevel,
    },
    /// The value is zero.
    #[error("`{text}` comes to zero here; it must be at least 1")]
    Zero {
        /// The quantity as written.
        text: String,
    },
    /// The value does not fit.
    #[error("`{text}` is too large: at most 1 TiB, and counts below 2^32")]
    TooLarge {
        /// The quantity as written.
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Expr {
    Absolute(f64),
    OfCache(f64, CacheLevel),
    WaysOf(f64, CacheLevel),
    Lines(f64),
    CountOf(f64, Part, CacheLevel),
    Min(Box<Expr>, Box<Expr>),
    Max(Box<Expr>, Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Sets,
    Ways,
    Lines,
}

/// Marks what a [`Quantity`] measures.
pub trait Dimension {
    /// The word for it.
    const WHAT: &'static str;
    /// Examples for error messages.
    const WOULD_DO: &'static str;
    /// The largest value.
    const MOST: f64;
}

/// Dimension of a [`Size`].
#[derive(Debug, Clone, PartialEq)]
pub struct Bytes;
/// Dimension of a [`Count`].
#[derive(Debug, Clone, PartialEq)]
pub struct Number;

impl Dimension for Bytes {
    const WHAT: &'static str = "size";
    const WOULD_DO: &'static str =
        "`128 KiB`, `4 x L3`, `half of L2`, `1 way of L3`, `1 line` or `min(4 x L3, 64 MiB)`";
    const MOST: f64 = (1u64 << 40) as f64;
}
impl Dimension for Number {
    const WHAT: &'static str = "count";
    const WOULD_DO: &'static str = "`64`, `sets of L3`, `4 x ways of L3` or `lines of L2`";
    const MOST: f64 = u32::MAX as f64;
}

/// A quantity as written, with its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity<D> {
    text: String,
    expr: Expr,
    dimension: PhantomData<D>,
}

/// A number of bytes.
pub type Size = Quantity<Bytes>;
/// A number of things.
pub type Count = Quantity<Number>;

impl<D: Dimension> Quantity<D> {
    /// The value for a core that sees these caches.
    ///
    /// # Errors
    /// A cache that is not there, zero, or more than 1 TiB (2^32 for counts).
    pub fn resolve(&self, caches: &CacheShapes) -> Result<u64, BadQuantity> {
        let value = self.value(&self.expr, caches)?.floor();
        if value < 1.0 {
            Err(BadQuantity::Zero { text: self.text.clone() })
        } else if value > D::MOST {
            Err(BadQuantity::TooLarge { text: self.text.clone() })
        } else {
            Ok(value as u64)
        }
    }

    fn value(&self, expr: &Expr, caches: &CacheShapes) -> Result<f64, BadQuantity> {
        let shape = |level: &CacheLevel| {
            caches.get(*level).ok_or(BadQuantity::NoSuchCache { text: self.text.clone(), level: *level })
        };
        Ok(match expr {
            Expr::Absolute(n) => *n,
            Expr::OfCache(n, level) => n * shape(level)?.size_bytes as f64,
            Expr::WaysOf(n, level) => {
                let shape = shape(level)?;
                n * (shape.sets() * shape.line_bytes) as f64
            }
            Expr::Lines(n) => n * caches.line_bytes() as f64,
            Expr::CountOf(n, part, level) => {
                let shape = shape(level)?;
                n * match part {
                    Part::Sets => shape.sets(),
                    Part::Ways => shape.ways,
                    Part::Lines => shape.sets() * shape.ways,
                } as f64
            }
            Expr::Min(a, b) => match (self.value(a, caches), self.value(b, caches)) {
                // Kernels of some boards show no cache at all: what is written beside it as the most is then what there is.
                (Err(_), Ok(most)) | (Ok(most), Err(_)) if caches.0.is_empty() => most,
                (a, b) => a?.min(b?),
            },
            Expr::Max(a, b) => self.value(a, caches)?.max(self.value(b, caches)?),
        })
    }
}

impl<D: Dimension> FromStr for Quantity<D> {
    type Err = BadQuantity;
    fn from_str(text: &str) -> Result<Self, BadQuantity> {
        let expr = parse(text.trim(), D::WHAT == "count", 0).map_err(|why| BadQuantity::Syntax {
            text: text.into(),
            what: D::WHAT,
            why,
            would_do: D::WOULD_DO,
        })?;
        Ok(Self { text: text.into(), expr, dimension: PhantomData })
    }
}

fn parse(text: &str, count: bool, depth: u8) -> Result<Expr, String> {
    for (word, make) in [("min(", Expr::Min as fn(_, _) -> _), ("max(", Expr::Max as fn(_, _) -> _)] {
        if let Some(rest) = text.strip_prefix(word) {
            if depth > 3 {
                return Err("it nests too deeply".into());
            }
            let inner = rest.strip_suffix(')').ok_or("a closing `)` is missing")?;
            let comma = outer_comma(inner).ok_or("two sizes with a comma between them belong in the brackets")?;
            let left = parse(inner[..comma].trim(), count, depth + 1)?;
            let right = parse(inner[comma + 1..].trim(), count, depth + 1)?;
            return Ok(make(Box::new(left), Box::new(right)));
        }
    }
    if let Some(rest) = text.strip_prefix("half of ") {
        return of_cache(0.5, rest.trim(), count);
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim();
    if number.is_empty() {
        if let Some(positive) =
            text.strip_prefix(['-', '+']).filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Err(format!("it has a sign, and `{positive}` would do"));
        }
        return of_cache(1.0, rest, count);
    }
    let n: f64 = number.replace('_', "").parse().map_err(|_| format!("`{number}` is not a number"))?;
    if let Some(of) = rest.strip_prefix("x ") {
        return of_cache(n, of.trim(), count);
    }
    if count {
        return match rest {
            "" if n.fract() == 0.0 => Ok(Expr::Absolute(n)),
            "" => Err("it is not a whole number".into()),
            _ => of_cache(n, rest, true),
        };
    }
    let scale = match rest {
        "B" => 1u64,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "line" | "lines" => return Ok(Expr::Lines(n)),
        "" => return Err("the unit is missing".into()),
        _ => {
            if let Some(level) = rest.strip_prefix("way of ").or(rest.strip_prefix("ways of ")) {
                return Ok(Expr::WaysOf(n, parse_level(level.trim())?));
            }
            return Err(format!("the unit `{rest}` is not known (B, KiB, MiB and GiB are)"));
        }
    };
    Ok(Expr::Absolute(n * scale as f64))
}

fn outer_comma(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (c == ',' && depth == 0).then_some(at)
    })
}

fn of_cache(n: f64, text: &str, count: bool) -> Result<Expr, String> {
    if !count {
        return Ok(Expr::OfCache(n, parse_level(text)?));
    }
    for (word, part) in [("sets of ", Part::Sets), ("ways of ", Part::Ways), ("lines of ", Part::Lines)] {
        if let Some(level) = text.strip_prefix(word) {
            return Ok(Expr::CountOf(n, part, parse_level(level.trim())?));
        }
    }
    Err(format!("`{text}` is neither a number nor sets, ways or lines of a cache"))
}

fn parse_level(text: &str) -> Result<CacheLevel, String> {
    match text {
        "L1" => Ok(CacheLevel::L1),
        "L2" => Ok(CacheLevel::L2),
        "L3" => Ok(CacheLevel::L3),
        "LLC" => Ok(CacheLevel::Llc),
        _ => Err(format!("`{text}` is not a cache (L1, L2, L3 and LLC are)")),
    }
}

impl<D> fmt::Display for Quantity<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<D> Serialize for Quantity<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, D: Dimension> Deserialize<'de> for Quantity<D> {
    fn deserialize<De: Deserializer<'de>>(deserializer: De) -> Result<Self, De::Error> {
        struct Visitor<D>(PhantomData<D>);
        impl<D: Dimension> de::Visitor<'_> for Visitor<D> {
            type Value = Quantity<D>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a {}, such as {}", D::WHAT, D::WOULD_DO)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity<D>, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Quantity<D>, E> {
                if D::WHAT == "size" { format!("{n} B") } else { n.to_string() }.parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Quantity<D>, E> {
                if D::WHAT == "size" { format!("{n} B") } else { n.to_string() }.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

impl<D: Dimension> JsonSchema for Quantity<D> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        if D::WHAT == "size" { "Size" } else { "Count" }.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "minimum": 1,
            "description": format!("A {}, absolute or relative to the machine: {}.", D::WHAT, D::WOULD_DO)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agilex() -> CacheShapes {
        CacheShapes(vec![
            CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 },
            CacheShape { level: 2, size_bytes: 128 << 10, ways: 4, line_bytes: 64 },
            CacheShape { level: 3, size_bytes: 2 << 20, ways: 16, line_bytes: 64 },
        ])
    }

    #[test]
    fn sizes_follow_the_caches() {
        // 2 MiB / (16 ways x 64 B) = 2048 sets; one way is 2048 x 64 B = 128 KiB.
        for (text, bytes) in [
            ("4 x L3", 8 << 20),
            ("1 way of L3", 128 << 10),
            ("2 ways of LLC", 256 << 10),
            ("half of L2", 64 << 10),
            ("0.25 x L1", 8 << 10),
            ("L2", 128 << 10),
            ("128 KiB", 128 << 10),
            ("3 lines", 192),
            ("1 B", 1),
            ("min(4 x L3, 64 KiB)", 64 << 10),
            ("max(min(L1, L2), 48 KiB)", 48 << 10),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().resolve(&agilex()).unwrap(), bytes, "{text}");
        }
        for (text, n) in [("64", 64), ("sets of L3", 2048), ("4 x ways of L3", 64), ("lines of L1", 512)] {
            assert_eq!(text.parse::<Count>().unwrap().resolve(&agilex()).unwrap(), n, "{text}");
        }
    }

    #[test]
    fn errors_say_what_would_do() {
        for (text, word) in [
            ("128", "unit is missing"),
            ("128 kb", "kb"),
            ("4 x L9", "L9"),
            ("", "not a cache"),
            ("min(1 B", "`)`"),
            ("1.5.2 KiB", "not a number"),
            ("-4 KiB", "`4 KiB` would do"),
            ("+4 KiB", "`4 KiB` would do"),
        ] {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("would do"), "{text}: {error}");
        }
        let none = CacheShapes::default();
        // Of a choice the part that needs no cache is left, where no cache is known; elsewhere a missing level is an error.
        assert_eq!("min(LLC, 64 MiB)".parse::<Size>().unwrap().resolve(&none), Ok(64 << 20));
        let one = CacheShapes(agilex().0[..1].to_vec());
        assert!(matches!(
            "min(L3, 64 MiB)".parse::<Size>().unwrap().resolve(&one),
            Err(BadQuantity::NoSuchCache { .. })
        ));
        assert!(matches!("L3".parse::<Size>().unwrap().resolve(&none), Err(BadQuantity::NoSuchCache { .. })));
        assert!(matches!("0 KiB".parse::<Size>().unwrap().resolve(&none), Err(BadQuantity::Zero { .. })));
        assert!(matches!("9999 GiB".parse::<Size>().unwrap().resolve(&none), Err(BadQuantity::TooLarge { .. })));
    }
}
