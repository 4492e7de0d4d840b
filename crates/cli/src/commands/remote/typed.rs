//! The command line for the board: the one that was typed, without the options that name the board.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Options of [`Elsewhere`](crate::arguments::Elsewhere), and whether a value follows.
const OWN: [(&str, bool); 6] = [
    ("--remote", true),
    ("--remote-binary", true),
    ("--remote-cache", true),
    ("--remote-send", true),
    ("--remote-clean", false),
    ("--attach", false),
];

/// The arguments without those options, with others added before the user's program.
pub fn for_board(typed: impl Iterator<Item = OsString>, added: &[OsString]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut typed = typed.peekable();
    while let Some(argument) = typed.next_if(|argument| argument != "--") {
        match OWN.iter().find(|(option, _)| is_option(&argument, option)) {
            None => arguments.push(argument),
            Some((option, true)) if argument == *option => drop(typed.next()),
            Some(_) => {}
        }
    }
    arguments.extend(added.iter().cloned());
    arguments.extend(typed);
    arguments
}

fn is_option(argument: &OsStr, option: &str) -> bool {
    let after = argument.as_bytes().strip_prefix(option.as_bytes());
    after.is_some_and(|after| after.is_empty() || after.starts_with(b"="))
}

/// The arguments as one line, for people.
pub fn shown(arguments: &[OsString]) -> String {
    arguments.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(typed: &str, added: &str) -> String {
        let words = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        shown(&for_board(words(typed).into_iter(), &words(added)))
    }

    #[test]
    fn the_boards_own_options_are_left_out_wherever_they_stand() {
        assert_eq!(changed("--remote b run x --seed 3 --remote-cache /c --json", ""), "run x --seed 3 --json");
        assert_eq!(changed("run --remote=b --remote-binary=f x", "--out o"), "run x --out o");
        assert_eq!(
            changed("run x --remote b -- ./p --remote c --out z", "--out o"),
            "run x --out o -- ./p --remote c --out z"
        );
        assert_eq!(changed("run x --remotely y", ""), "run x --remotely y");
    }
}
