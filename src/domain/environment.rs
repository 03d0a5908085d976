//! What the system prompt says about the machine and the project.

/// Facts about the machine and the project for the system prompt. Gathered once, when the session starts, because a
/// changed prompt would invalidate the provider's prompt cache.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Operating system and processor, such as `linux x86_64`.
    pub platform: String,
    /// The day on which the session started, in the local time zone, such as `2026-11-22`.
    pub date: String,
    /// The state of the git repository; `None` if there is none, or git did not answer in time.
    pub git: Option<GitState>,
    /// Files and folders of the project, two levels deep; only a part of them in a large project.
    pub tree: FileTree,
}

/// The branch and the last commits of the project's git repository.
///
/// Uncommitted changes are left out on purpose: `git status` can run filter programs that the repository's
/// configuration names (docs/security.md), and the answer would be outdated after the first edit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitState {
    /// The checked-out branch; `None` if a commit is checked out instead of a branch.
    pub branch: Option<String>,
    /// The last three commits, newest first: short hash and subject. Fewer if the branch has fewer.
    pub commits: Vec<String>,
}

/// The files and folders of a project, two levels deep, limited in number and size. Leaves out hidden files and files
/// that git ignores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileTree {
    /// One line with the files directly in the root, if there are any, then one line for each folder in the root,
    /// sorted by name, such as `src/: main.rs, ui/`. Lines that exceed the size limit are missing.
    pub lines: Vec<String>,
    /// The number of files and folders that `lines` does not show. In a large project, counting stops early, and the
    /// real number is higher.
    pub left_out: usize,
}
