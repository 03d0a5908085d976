//! Project memory: the instruction files of a project (AGENTS.md, CLAUDE.md), which are part of the system prompts of
//! agents. Also the report that shows the user which instructions and other texts from files, servers and hooks an
//! agent was given.

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::text::{clip, head_and_tail};

/// Maximum total size of the texts of all instruction files in a prompt, in bytes. Tags and the markers of cuts are not
/// counted.
pub const MEMORY_MAX: usize = 32 * 1024;
/// Maximum number of files in each of the two lists that [`ProjectMemory::report`] returns: files that were read, and
/// files that were skipped.
const LISTED_MAX: usize = 64;
/// Maximum number of bytes of a text in the result of [`GivenText::whole`]. The middle of a longer text is cut out.
const SHOWN_MAX: usize = 64 * 1024;

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFile {
    /// The path of the file, relative to the project root.
    pub path: String,
    pub text: String,
    /// The file that imports this one; `None` for AGENTS.md and CLAUDE.md of a directory, which need no import.
    pub imported_by: Option<String>,
}

/// The instruction files of a project, in the order in which agents read them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProjectMemory {
    pub files: Vec<MemoryFile>,
    /// Pairs of the path of a file that was not read, and the reason.
    pub skipped: Vec<(String, String)>,
}

impl ProjectMemory {
    /// Returns the maximum size, in bytes, that the text of a file has in a prompt. Longer texts are cut to this size.
    /// It is chosen so that the texts of all files fit into [`MEMORY_MAX`], not counting whitespace at their starts.
    fn share(&self) -> usize {
        let mut sizes: Vec<usize> = self.files.iter().map(|f| f.text.trim().len()).collect();
        sizes.sort_unstable();
        let mut room = MEMORY_MAX;
        for (at, size) in sizes.iter().enumerate() {
            let share = room / (sizes.len() - at);
            if *size > share {
                return share;
            }
            room -= size;
        }
        MEMORY_MAX
    }

    /// Returns the part of a system prompt that contains the files, each in its own tags; empty if there are no files.
    /// If the files exceed [`MEMORY_MAX`] together, the longest ones are cut in the middle.
    pub fn prompt(&self) -> String {
        let share = self.share();
        let sections = self.files.iter().map(|file| {
            let text = head_and_tail(file.text.trim_end(), share);
            format!(
                "<project-memory file=\"{}\">\n{text}\n</project-memory>",
                file.path
            )
        });
        sections.collect::<Vec<_>>().join("\n")
    }

    /// Returns a report for the user: the texts that `agent` was given, how many bytes of each file they include, and
    /// which files were not read. `others` are the texts that only this agent was given. Texts that are in the system
    /// prompt are listed before the files, the others after them.
    pub fn report(&self, agent: &Name, others: Vec<GivenText>) -> MemoryReport {
        let share = self.share();
        let files = self.files.iter().take(LISTED_MAX).map(|file| {
            let size = file.text.trim().len();
            GivenText {
                source: GivenSource::File,
                path: file.path.clone(),
                size,
                given: size.min(share),
                imported_by: file.imported_by.clone(),
                text: head_and_tail(file.text.trim_end(), share),
            }
        });
        let skipped = self.skipped.iter().take(LISTED_MAX);
        let (mut all, later): (Vec<GivenText>, Vec<GivenText>) = others
            .into_iter()
            .partition(|text| text.source.is_in_system_prompt());
        all.extend(files);
        all.extend(later);
        MemoryReport {
            agent: Some(agent.clone()),
            files: all,
            skipped: skipped
                .map(|(path, why)| (clip(path, 200), why.clone()))
                .collect(),
        }
    }
}

/// A report for the user about the texts that an agent was given, and about the files of the project memory that were
/// not read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The agent that was given the texts. `None` in journals of earlier versions, which report only the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The texts in the order in which the agent reads them; at most 64 files and [`GIVEN_MAX`] other texts.
    pub files: Vec<GivenText>,
    /// Pairs of the path of a file that was not read, and the reason; at most 64.
    pub skipped: Vec<(String, String)>,
}

/// Maximum number of texts in a report that are not files of the project memory.
pub const GIVEN_MAX: usize = 64;

/// The origin of a text that an agent was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenSource {
    /// A file of the project memory, which all agents are given.
    #[default]
    File,
    /// The prompt of the agent's role.
    Role,
    /// A skill that the agent's role names.
    Skill,
    /// The instructions of an MCP server.
    Server,
    /// The output of hooks.
    Hook,
}

impl GivenSource {
    /// Returns whether the text is in the system prompt. All other texts are in the conversation, and a new
    /// conversation does not contain them.
    pub fn is_in_system_prompt(self) -> bool {
        match self {
            GivenSource::File | GivenSource::Role | GivenSource::Skill => true,
            GivenSource::Server | GivenSource::Hook => false,
        }
    }
}

/// A text that an agent was given: a file of the project memory, or a text from another [`GivenSource`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenText {
    #[serde(default)]
    pub source: GivenSource,
    /// The path of a file, relative to the project root, or the name of the role, skill, server or hook.
    pub path: String,
    /// Size of the whole text, in bytes.
    pub size: usize,
    /// Number of bytes of the text that the agent was given; at most `size`.
    pub given: usize,
    /// The file that imports this one; `None` for AGENTS.md and CLAUDE.md of a directory, which need no import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// The text that the agent was given. If the text was cut for the agent or for the report, a marker in the middle
    /// says how many bytes are missing.
    pub text: String,
}

impl GivenText {
    /// Returns the entry for a text that the agent was given whole. If `text` has more than 64 KiB, the entry contains
    /// only its start and end.
    pub fn whole(source: GivenSource, name: impl Into<String>, text: &str) -> GivenText {
        GivenText {
            source,
            path: name.into(),
            size: text.len(),
            given: text.len(),
            imported_by: None,
            text: head_and_tail(text, SHOWN_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn memory(sizes: &[usize]) -> ProjectMemory {
        let file = |(n, size): (usize, &usize)| MemoryFile {
            path: format!("{n}/AGENTS.md"),
            text: "x".repeat(*size),
            imported_by: None,
        };
        ProjectMemory {
            files: sizes.iter().enumerate().map(file).collect(),
            skipped: Vec::new(),
        }
    }

    #[test]
    fn long_files_share_what_short_ones_leave() {
        for (sizes, share) in [
            (&[][..], MEMORY_MAX),
            (&[10, 20], MEMORY_MAX),
            (&[MEMORY_MAX], MEMORY_MAX),
            (&[MEMORY_MAX + 1], MEMORY_MAX),
            (&[768, 100_000, 100_000], 16_000),
            (&[100_000, 768], 32_000),
        ] {
            assert_eq!(memory(sizes).share(), share, "{sizes:?}");
        }
        let text = memory(&[100_000; 30]).prompt();
        assert!(text.len() < MEMORY_MAX + 30 * 120, "{}", text.len());
        assert_eq!(text.matches("bytes cut here").count(), 30);
        assert_eq!(
            memory(&[1]).prompt(),
            "<project-memory file=\"0/AGENTS.md\">\nx\n</project-memory>"
        );
    }

    #[test]
    fn report_names_files_cuts_and_what_is_missing() {
        let mut memory = memory(&[MEMORY_MAX + 8]);
        memory.files[0].imported_by = Some("CLAUDE.md".into());
        memory
            .skipped
            .push((".env".into(), "it can hold secrets".into()));
        let other = |source, name: &str| GivenText::whole(source, name, "Text");
        let others = vec![
            other(GivenSource::Server, "git"),
            other(GivenSource::Role, "auditor"),
        ];
        let report = memory.report(&Name::lead(), others);
        // In the order in which the agent reads them.
        let sources: Vec<GivenSource> = report.files.iter().map(|text| text.source).collect();
        assert_eq!(
            sources,
            [GivenSource::Role, GivenSource::File, GivenSource::Server]
        );
        let file = &report.files[1];
        assert_eq!((file.size, file.given), (32_776, 32_768));
        assert_eq!(file.imported_by.as_deref(), Some("CLAUDE.md"));
        assert!(file.text.contains("bytes cut here"));
        assert_eq!(report.skipped, memory.skipped);
    }
}
