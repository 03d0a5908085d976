//! The formats of files with tasks.

use super::item::{ImportError, ImportItem};
use super::{json, markdown};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// Check lists: each unchecked item becomes a task.
    Markdown,
    /// An array of tasks, as `crewdeck task list --json` prints it.
    Json,
    /// One task after the other, each a JSON object; usually one per line.
    JsonLines,
}

impl ImportFormat {
    /// Returns the format of `text` by its first characters. A text that is not JSON counts as Markdown.
    pub fn detect(text: &str) -> ImportFormat {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('{') {
            return ImportFormat::JsonLines;
        }
        // In Markdown, a bracket begins a link.
        let first = text.strip_prefix('[').map(str::trim_start);
        if first.is_some_and(|rest| rest.starts_with('{') || rest.trim_end() == "]") {
            ImportFormat::Json
        } else {
            ImportFormat::Markdown
        }
    }

    /// Reads the tasks in `text`.
    ///
    /// # Errors
    /// Fails if the text does not have this format, or if it contains no task. Each problem names its line.
    pub fn parse(self, text: &str) -> Result<Vec<ImportItem>, ImportError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(String::from("the text is empty: there are no tasks to import").into());
        }
        match self {
            ImportFormat::Markdown => markdown::parse(text),
            ImportFormat::Json => json::parse_array(text),
            ImportFormat::JsonLines => json::parse_lines(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_the_first_characters() {
        for (text, expected) in [
            ("\u{feff}\n{\"subject\":\"a\"}", ImportFormat::JsonLines),
            (" [\n {\"subject\":\"a\"}]", ImportFormat::Json),
            ("[]", ImportFormat::Json),
            ("[link](a.md)\n- [ ] a", ImportFormat::Markdown),
            ("[ ] a", ImportFormat::Markdown),
            ("# Plan", ImportFormat::Markdown),
            ("", ImportFormat::Markdown),
        ] {
            assert_eq!(ImportFormat::detect(text), expected, "{text}");
        }
        let error = ImportFormat::Markdown.parse(" \n").unwrap_err();
        assert!(error.to_string().contains("is empty"), "{error}");
    }
}
