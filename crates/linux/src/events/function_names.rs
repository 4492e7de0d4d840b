//! The names of a symbol of C++ or Rust in its source, and which symbols a user's name means.

use cpp_demangle::DemangleOptions;

/// A symbol of a file, and the names that stand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionNames<'s> {
    /// As it stands in the symbol table.
    symbol: &'s str,
    /// As it is shown: in its source's words where it was mangled, with the parameters of C++.
    pub shown: String,
    /// What is longer than what is shown: with the type that a template returns, or the hash of a Rust symbol.
    long: Option<String>,
    /// What is shorter: without parameters, without template arguments.
    short: Vec<String>,
}

/// So many names are proposed for one that is not found.
const PROPOSED: usize = 3;

impl<'s> FunctionNames<'s> {
    /// The names of a symbol.
    pub fn of(symbol: &'s str) -> Self {
        of_rust(symbol).or_else(|| of_cpp(symbol)).unwrap_or_else(|| Self {
            symbol,
            shown: symbol.to_owned(),
            long: None,
            short: Vec::new(),
        })
    }

    /// Whether a name, as it is compared, is all of one of this symbol's.
    fn is_fully(&self, name: &str) -> bool {
        [Some(&self.shown), self.long.as_ref()].into_iter().flatten().any(|own| compared(own) == name)
    }

    /// Whether a name, as it is compared, is a short one of this symbol.
    fn is_short(&self, name: &str) -> bool {
        self.short.iter().any(|own| compared(own) == name)
    }

    /// How near a name is to the nearest of this symbol's, from 0 to 1.
    fn nearness(&self, name: &str) -> f64 {
        let shortest = self.short.last().unwrap_or(&self.shown);
        // Who leaves out the name space means this function more than any that is merely spelled like it.
        let alone = shortest.rsplit("::").next().unwrap_or(shortest);
        let own = [self.symbol, &self.shown, alone].into_iter().chain(self.short.iter().map(String::as_str));
        own.map(|own| strsim::jaro_winkler(name, own)).fold(0.0, f64::max)
    }
}

/// The functions that a name means: those that are called so in full, else those that are called so in short.
pub fn meant<'f, 's, T>(functions: &'f [(FunctionNames<'s>, T)], name: &str) -> Vec<&'f (FunctionNames<'s>, T)> {
    let name = compared(name);
    let fully: Vec<_> = functions.iter().filter(|(names, _)| names.is_fully(&name)).collect();
    if !fully.is_empty() {
        return fully;
    }
    functions.iter().filter(|(names, _)| names.is_short(&name)).collect()
}

/// Functions as a list to choose from: each by what is shown of it, and by its symbol where that is shown of another one too.
pub fn choice(functions: &[&FunctionNames<'_>]) -> String {
    let mut names: Vec<String> = functions
        .iter()
        .map(|one| match functions.iter().filter(|other| other.shown == one.shown).count() {
            1 => format!("`{}`", one.shown),
            _ => format!("`{}` (`{}`)", one.symbol, one.shown),
        })
        .collect();
    names.sort();
    names.dedup();
    names.join(", or ")
}

/// The names that are nearest to one, as a list.
pub fn alike<'s>(name: &str, functions: impl Iterator<Item = &'s FunctionNames<'s>>) -> String {
    let mut ranked: Vec<(f64, &str)> = functions.map(|other| (other.nearness(name), other.shown.as_str())).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    ranked.dedup_by(|a, b| a.1 == b.1);
    let nearest: Vec<_> = ranked.iter().take(PROPOSED).map(|(_, other)| format!("`{other}`")).collect();
    nearest.join(", or ")
}

/// The names of a symbol of Rust, mangled the legacy way or as v0.
fn of_rust(symbol: &str) -> Option<FunctionNames<'_>> {
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    let shown = format!("{demangled:#}");
    // v0 has brackets around the type of a method where no trait is named; the source has none.
    let without_brackets = match in_brackets(&shown) {
        Some((of_type, method)) => format!("{of_type}{method}"),
        None => shown.clone(),
    };
    let bare = without_arguments(&without_brackets).to_owned();
    let short = [without_arguments(&shown).to_owned(), without_brackets, bare].into_iter();
    let short = short.filter(|short| *short != shown).collect();
    let long = Some(demangled.to_string()).filter(|long| *long != shown);
    Some(FunctionNames { symbol, shown, long, short })
}

/// The names of a symbol of C++, mangled as the Itanium ABI has it.
fn of_cpp(symbol: &str) -> Option<FunctionNames<'_>> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let parsed = cpp_demangle::Symbol::new(symbol).ok()?;
    let named = |options: DemangleOptions| parsed.demangle_with_options(&options).ok();
    // A number as template argument has no type, as in most sources.
    let brief = || DemangleOptions::new().no_return_type().hide_expression_literal_types();
    let shown = named(brief())?;
    let long = named(DemangleOptions::new()).filter(|long| *long != shown);
    let mut short = Vec::new();
    if let Some(without_parameters) = named(brief().no_params()) {
        let bare = without_arguments(&without_parameters).to_owned();
        short.extend([without_parameters, bare]);
    }
    Some(FunctionNames { symbol, shown, long, short })
}

/// `<TYPE>::method` as `TYPE` and `::method`; `None` where a trait is named.
fn in_brackets(name: &str) -> Option<(&str, &str)> {
    let inside = name.strip_prefix('<')?;
    let mut open = 1;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' => open += 1,
            '>' if !inside[..at].ends_with('-') => open -= 1,
            _ if open == 1 && inside[at..].starts_with(" as ") => return None,
            _ => {}
        }
        if open == 0 {
            return Some((&inside[..at], &inside[at + 1..]));
        }
    }
    None
}

/// A function's name without the template arguments, or those of generics, that it ends with.
fn without_arguments(name: &str) -> &str {
    let mut open = 0;
    for (at, letter) in name.char_indices().rev() {
        match letter {
            // `->` stands in the type of a function, and at the end of `operator->`.
            '>' if !name[..at].ends_with('-') => open += 1,
            '<' => open -= 1,
            _ => {}
        }
        if open < 1 {
            let before = name[..at].trim_end().trim_end_matches("::");
            let is_arguments = letter == '<' && !before.is_empty() && !before.ends_with("operator");
            return if is_arguments { before } else { name };
        }
    }
    name
}

/// A name as it is compared: without its spaces, and without the types of numbers, which binutils has behind them (`3ul`).
fn compared(name: &str) -> String {
    let mut kept = String::new();
    let (mut in_word, mut in_number) = (false, false);
    for letter in name.chars().filter(|letter| !letter.is_whitespace()) {
        let was_in_word = std::mem::replace(&mut in_word, letter.is_alphanumeric() || letter == '_');
        in_number = letter.is_ascii_digit() && (in_number || !was_in_word) || in_number && matches!(letter, 'u' | 'l');
        if !(in_number && letter.is_alphabetic()) {
            kept.push(letter);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(symbol: &str) -> String {
        FunctionNames::of(symbol).shown
    }

    #[track_caller]
    fn is_called(symbol: &str, names: &[&str]) {
        for name in names {
            let own = [(FunctionNames::of(symbol), ())];
            assert_eq!(meant(&own, name).len(), 1, "`{name}` is not found: {:?}", own[0].0);
        }
    }

    #[test]
    fn names_that_are_alike_come_first() {
        let names = ["main", "read_buffer", "_start", "red_buffer", "read_buffers"].map(FunctionNames::of);
        assert_eq!(alike("read_bufer", names.iter()), "`read_buffer`, or `read_buffers`, or `red_buffer`");
    }

    #[test]
    fn a_function_of_cpp_is_called_with_or_without_parameters_and_template_arguments() {
        // Symbols of a source that g++ 12 compiled, and what `nm -C` shows of them.
        is_called("_ZN2ns7Control4stepEi", &["ns::Control::step(int)", "ns::Control::step"]);
        is_called(
            "_ZNK2ns7Control3getEv",
            &["ns::Control::get() const", "ns::Control::get()const", "ns::Control::get"],
        );
        is_called(
            "_ZN2ns5scaleIfEET_S1_",
            &["ns::scale<float>(float)", "float ns::scale<float>(float)", "ns::scale<float>", "ns::scale"],
        );
        is_called(
            "_ZN2ns6FilterIiLj3EE4stepEPKcm",
            &["ns::Filter<int, 3u>::step", "ns::Filter<int,3u>::step(char const*, unsigned long)"],
        );
        is_called("_ZN12_GLOBAL__N_14stepEv", &["(anonymous namespace)::step()", "(anonymous namespace)::step"]);
    }

    #[test]
    fn spaces_and_the_types_of_numbers_tell_no_names_apart() {
        assert_eq!(compared("ns::Filter<int, 3ul>::step(char const*)"), "ns::Filter<int,3>::step(charconst*)");
        for kept in ["a3u::l4l()", "u8::l<12>", "_1u", "step3"] {
            assert_eq!(compared(kept), kept);
        }
    }

    #[test]
    fn angle_brackets_of_operators_are_no_template_arguments() {
        for (symbol, name) in [
            ("_ZN2ns1AltERKS0_", "ns::A::operator<"),
            ("_ZN2ns1AgtERKS0_", "ns::A::operator>"),
            ("_ZN2ns1ArsEi", "ns::A::operator>>"),
            ("_ZN2ns1AptEv", "ns::A::operator->"),
            ("_ZN2ns1AssERKS0_", "ns::A::operator<=>"),
            ("_ZN2ns1AclEv", "ns::A::operator()"),
        ] {
            is_called(symbol, &[name]);
            assert_eq!(without_arguments(name), name);
        }
        is_called(
            "_ZN2ns1AltIiEEbT_",
            &["bool ns::A::operator< <int>(int)", "ns::A::operator< <int>", "ns::A::operator<"],
        );
        assert_eq!(without_arguments("ns::A::operator< <int>"), "ns::A::operator<");
        assert_eq!(without_arguments("a::step::<fn(u8) -> b::C<u8>>"), "a::step");
    }

    #[test]
    fn a_function_of_rust_is_called_as_in_its_source() {
        is_called("_ZN7control4step17h0123456789abcdefE", &["control::step", "control::step::h0123456789abcdef"]);
        // v0, as in RFC 2603: `control::step::<u8>`, and the method `step` of `control::Loop`.
        is_called("_RINvCs1234_7control4stephE", &["control::step::<u8>", "control::step"]);
        is_called("_RNvMCs1234_7controlNtB2_4Loop4step", &["<control::Loop>::step", "control::Loop::step"]);
        let of_trait = "_RNvXCs1234_7controlNtB2_4LoopNtB2_4Step4step";
        is_called(of_trait, &["<control::Loop as control::Step>::step"]);
        assert_eq!(meant(&[(FunctionNames::of(of_trait), ())], "control::Loop::step").len(), 0);
    }

    #[test]
    fn what_is_not_mangled_stays_as_it_is() {
        for symbol in ["step", "_Zebra", "_R", "_RNvX", "_ZN", "step.constprop.0", "_start"] {
            assert_eq!(shown(symbol), symbol);
        }
    }

    #[test]
    fn a_full_name_means_one_function_and_a_short_one_all_overloads() {
        let symbols = ["_ZN2ns4stepEi", "_ZN2ns4stepEd", "_ZN2ns4stepIcEEvT_", "_ZN2ns5stepsEv"];
        let functions = symbols.map(|symbol| (FunctionNames::of(symbol), symbol));
        let of = |name: &str| meant(&functions, name).iter().map(|(_, symbol)| *symbol).collect::<Vec<_>>();
        assert_eq!(of("ns::step(double)"), ["_ZN2ns4stepEd"]);
        assert_eq!(of("ns::step<char>"), ["_ZN2ns4stepIcEEvT_"]);
        assert_eq!(of("ns::step"), symbols[..3]);
        let names: Vec<_> = functions[..3].iter().map(|(names, _)| names).collect();
        assert_eq!(choice(&names), "`ns::step(double)`, or `ns::step(int)`, or `ns::step<char>(char)`");
    }

    #[test]
    fn functions_that_are_shown_alike_are_listed_with_their_symbols() {
        // Complete and base object constructors.
        let constructors = ["_ZN2ns1AC1Ev", "_ZN2ns1AC2Ev"].map(FunctionNames::of);
        let listed = choice(&constructors.iter().collect::<Vec<_>>());
        assert_eq!(listed, "`_ZN2ns1AC1Ev` (`ns::A::A()`), or `_ZN2ns1AC2Ev` (`ns::A::A()`)");
    }

    #[test]
    fn names_near_to_one_are_shown_as_in_the_source() {
        let names = ["main", "_ZN2ns7Control4stepEi", "_ZN2ns4stopEv", "steps"].map(FunctionNames::of);
        // Without its name space; with a slip of the pen; a slip in the symbol.
        for wanted in ["step", "ns::Control::setp", "_ZN2ns7Control4stepEv"] {
            assert!(alike(wanted, names.iter()).starts_with("`ns::Control::step(int)`, or "), "{wanted}");
        }
    }
}
