//! The folders in a project that belong to crewdeck and git.

/// The folders below a root in which crewdeck keeps its state.
pub const STATE: [&str; 5] = [".tasks", ".team", ".transcripts", ".crewdeck", ".worktrees"];

/// The folder of git.
const GIT: &str = ".git";

/// The folders right below a root that belong to crewdeck or git: tools of their own change them.
pub fn kept() -> impl Iterator<Item = &'static str> {
    STATE.into_iter().chain([GIT])
}

/// Whether a folder of that name, right below a root, is one of the [`kept`] ones.
pub fn is_kept(name: &str) -> bool {
    kept().any(|kept| kept == name)
}
