//! Running text: paragraphs that fit a page.

use textwrap::{Options, fill};

use crate::shown::one_line;

/// Wide enough for figures, narrow enough to read.
const WIDTH: usize = 110;

/// A paragraph whose lines after the first begin with `indent`. Line breaks in its text are shown as escapes.
pub fn paragraph(text: &str, indent: &str) -> String {
    fill(
        &one_line(text),
        Options::new(WIDTH)
            .subsequent_indent(indent)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation),
    )
}

/// A text in lines of so many characters, as far as its words allow: cells of a table that would be too wide for a terminal.
pub fn narrow(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width).break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&one_line(text), options).into_iter().map(|line| line.into_owned()).collect()
}

/// A heading and its entries, each a paragraph; nothing where there are none.
pub fn section(heading: &str, entries: Vec<String>) -> Option<String> {
    let entries: Vec<_> = entries.iter().map(|entry| paragraph(&format!("  {entry}"), "    ")).collect();
    (!entries.is_empty()).then(|| format!("{heading}\n{}", entries.join("\n")))
}
