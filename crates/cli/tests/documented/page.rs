//! What a page shows: shells, files in them, commands and what they print.

/// One shell with its files.
#[derive(Debug, Default)]
pub struct Scenario {
    /// Arguments of `waykeeper enter`; none for a shell on this machine.
    pub room: Option<Vec<String>>,
    /// Names and texts.
    pub files: Vec<(String, String)>,
    pub commands: Vec<Shown>,
}

/// A command with what the page says that it prints.
#[derive(Debug)]
pub struct Shown {
    pub command: String,
    pub prints: Vec<String>,
    /// Its line in the page.
    pub line: usize,
}

/// Reads a page.
///
/// # Errors
/// A block that belongs to no shell, or that does not end.
pub fn scenarios(text: &str) -> Result<Vec<Scenario>, String> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut file: Option<String> = None;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(room) = comment(line, "room:") {
            let room = room.split_whitespace().map(str::to_owned).collect();
            scenarios.push(Scenario { room: Some(room), ..Scenario::default() });
        } else if comment(line, "shell").is_some() {
            scenarios.push(Scenario::default());
        } else if let Some(name) = comment(line, "file:") {
            file = Some(name.into());
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<_> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            let (is_file, is_console) = (file.is_some(), language == "console");
            if !is_file && !is_console {
                continue;
            }
            let scenario = scenarios.last_mut().ok_or(format!("line {}: no shell is named before it", index + 1))?;
            match file.take() {
                Some(name) => {
                    let text = block.iter().map(|(_, line)| format!("{line}\n")).collect();
                    scenario.files.push(whole_file(&name, text)?);
                }
                None => commands(&block, &mut scenario.commands)?,
            }
        }
    }
    Ok(scenarios)
}

/// `NAME from PLATFORM` is the file of a bundled platform with the block at its end.
fn whole_file(name: &str, block: String) -> Result<(String, String), String> {
    let Some((name, platform)) = name.split_once(" from ") else { return Ok((name.into(), block)) };
    let platforms = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms");
    let path = platforms.join(platform).with_extension("toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((name.into(), format!("{text}\n{block}")))
}

fn comment<'t>(line: &'t str, word: &str) -> Option<&'t str> {
    Some(line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(word)?.trim())
}

fn commands(block: &[(usize, &str)], commands: &mut Vec<Shown>) -> Result<(), String> {
    let first = commands.len();
    for &(index, text) in block {
        let line = index + 1;
        if let Some(command) = text.strip_prefix("$ ") {
            commands.push(Shown { command: command.into(), prints: Vec::new(), line });
        } else if commands.len() == first {
            return Err(format!("line {line}: output before the first command"));
        } else if let (Some(more), Some(last)) = (text.strip_prefix("> "), commands.last_mut()) {
            last.command += &format!("\n{more}");
        } else if let Some(last) = commands.last_mut() {
            last.prints.push(text.into());
        }
    }
    Ok(())
}

#[test]
fn a_page_is_read_as_it_is_seen() {
    let text = "# T\n<!-- room: x7425e --kernel 6.1 -->\n<!-- file: a.toml -->\n```toml\na = 1\n```\n```sh\nnot tried\n```\n\
                ```console\n$ one\nprints\n$ two \\\n> more\n```\n<!-- shell -->\n```console\n$ three\n```\n";
    let scenarios = scenarios(text).unwrap();
    assert_eq!(scenarios.len(), 2);
    assert_eq!(scenarios[0].room.as_ref().unwrap(), &["x7425e", "--kernel", "6.1"]);
    assert_eq!(scenarios[0].files, [("a.toml".to_owned(), "a = 1\n".to_owned())]);
    let commands: Vec<_> = scenarios[0].commands.iter().map(|it| (it.command.as_str(), it.line)).collect();
    assert_eq!(commands, [("one", 11), ("two \\\nmore", 13)]);
    assert_eq!(scenarios[0].commands[0].prints, ["prints"]);
    assert!(scenarios[1].room.is_none() && scenarios[1].commands.len() == 1);
}
