//! The facts about the machine and the project in the system prompt, as they were when the crew began.

/// Facts about the machine and the project for the system prompt. Gathered once per session, because a changed prompt
/// would invalidate the provider's prompt cache.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Operating system and processor, such as `linux x86_64`.
    pub platform: String,
    /// The day, such as `2026-11-22`.
    pub date: String,
    /// `None`: there is no git repository, or git did not answer in time.
    pub git: Option<GitState>,
    /// Files and folders of the project, to two levels.
    pub tree: FileTree,
}

/// What git says about the project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitState {
    /// The branch that is checked out; `None`: none is.
    pub branch: Option<String>,
    /// The last commits, newest first: short hash and subject.
    pub commits: Vec<String>,
}

/// A bounded overview of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileTree {
    /// The files of the root in one line, then one line per folder: `src/: main.rs, ui/`.
    pub lines: Vec<String>,
    /// The number of entries that are not shown; at least that many in a large project.
    pub left_out: usize,
}
