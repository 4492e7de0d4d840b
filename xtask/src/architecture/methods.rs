//! Methods that a folder adds to a type of a folder below it, and who calls them: such a call names no path, and would hide
//! an arrow that runs upwards.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Use, height};

/// A file's folder, or its own name where it is in none; its name; its code.
pub struct File {
    pub folder: String,
    pub name: String,
    pub code: TokenStream,
}

/// Calls, by method, of methods that a folder above the caller's adds to a type of a folder below itself. Types are not
/// worked out: a method of a lower folder by the same name is taken for it, and needs another name.
pub fn upward_calls(order: &[String], files: &[File]) -> Vec<Use> {
    let mut homes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        for name in types_of(&file.code) {
            homes.entry(name).or_default().insert(&file.folder);
        }
    }
    let is_below = |of: &str, folder: &str| height(order, of) < height(order, folder);
    let mut added: BTreeMap<String, &str> = BTreeMap::new();
    for file in files {
        for (of, methods) in inherent_methods(&file.code) {
            let homes = homes.get(&of);
            if homes.is_some_and(|homes| homes.iter().all(|home| is_below(home, &file.folder))) {
                added.extend(methods.into_iter().map(|method| (method, file.folder.as_str())));
            }
        }
    }
    let mut found = Vec::new();
    for file in files {
        let mut calls = Vec::new();
        called(&file.code, &mut calls);
        for method in calls {
            let Some(folder) = added.get(&method).filter(|folder| is_below(&file.folder, folder)) else { continue };
            let path = format!("{folder}::{method}");
            found.push(Use { file: file.name.clone(), from: file.folder.clone(), path });
        }
    }
    found
}

/// The names of the types and traits that some code defines.
fn types_of(code: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name)))
                if ["struct", "enum", "trait", "union"].contains(&word.to_string().as_str()) =>
            {
                found.push(name.to_string());
            }
            (TokenTree::Group(group), _) => found.extend(types_of(&group.stream())),
            _ => {}
        }
    }
    found
}

/// The types that some code adds methods to, and the names of these methods. Implementations of traits are left out: the
/// trait's folder is named where it is used.
fn inherent_methods(code: &TokenStream) -> Vec<(String, Vec<String>)> {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "impl" => {
                let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
                let Some(length) = tokens[at..].iter().position(is_body) else { break };
                let TokenTree::Group(body) = &tokens[at + length] else { break };
                let head = outside_of_generics(&tokens[at + 1..at + length]);
                if !head.iter().any(|word| word == "for")
                    && let Some(of) = head.iter().take_while(|word| *word != "where").last()
                {
                    found.push((of.clone(), functions_of(&body.stream())));
                }
                at += length;
            }
            TokenTree::Group(group) => found.extend(inherent_methods(&group.stream())),
            _ => {}
        }
        at += 1;
    }
    found
}

/// The words of a head of an `impl` that stand in no angle brackets.
fn outside_of_generics(head: &[TokenTree]) -> Vec<String> {
    let mut depth = 0;
    let mut words = Vec::new();
    for token in head {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            TokenTree::Ident(word) if depth == 0 => words.push(word.to_string()),
            _ => {}
        }
    }
    words
}

fn functions_of(body: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let named = |pair: &[TokenTree]| match pair {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "fn" => Some(name.to_string()),
        _ => None,
    };
    tokens.windows(2).filter_map(named).collect()
}

/// The names behind `.` or `::` that are called.
fn called(code: &TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1), tokens.get(at + 2)) {
            (TokenTree::Punct(dot), Some(TokenTree::Ident(name)), Some(TokenTree::Group(arguments)))
                if ['.', ':'].contains(&dot.as_char()) && arguments.delimiter() == Delimiter::Parenthesis =>
            {
                found.push(name.to_string());
            }
            _ => {}
        }
        if let TokenTree::Group(group) = token {
            called(&group.stream(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &str, code: &str) -> File {
        File { folder: folder.into(), name: format!("{folder}/a.rs"), code: code.parse().unwrap() }
    }

    #[test]
    fn a_call_of_what_a_higher_folder_adds_runs_upwards() {
        let order = ["shortcuts", "engine", "core"].map(String::from);
        let files = [
            file(
                "shortcuts",
                "impl Engine { pub fn skip(&mut self) { self.step(); } } impl<T: X> Y for Engine { fn z() {} }",
            ),
            file(
                "engine",
                "pub struct Engine; impl Engine { fn step(&mut self) { if true { self.skip(); self.z(); } } }",
            ),
            file("core", "fn f(engine: &mut E) { engine.step(); Engine::skip(engine) }"),
        ];
        let calls = upward_calls(&order, &files);
        let of =
            |file: &str, folder: &str| Use { file: file.into(), from: folder.into(), path: "shortcuts::skip".into() };
        // `step` is the engine's own: its path would have to be named to be known, and that is counted elsewhere.
        assert_eq!(calls, [of("engine/a.rs", "engine"), of("core/a.rs", "core")]);
    }

    #[test]
    fn generics_and_bounds_do_not_hide_the_type() {
        let methods =
            inherent_methods(&"impl<'a, T: Into<U>> Cache<T> where T: Copy { fn get(&self) {} }".parse().unwrap());
        assert_eq!(methods, [("Cache".to_owned(), vec!["get".to_owned()])]);
    }
}
