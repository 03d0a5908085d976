//! The folders of a project that belong to crewdeck or git.

/// The folder with the transcripts of conversations and the files attached to messages.
pub const TRANSCRIPTS: &str = ".transcripts";

/// The folders directly in the project root in which crewdeck keeps its state.
pub const STATE: [&str; 5] = [".tasks", ".team", TRANSCRIPTS, ".crewdeck", ".worktrees"];

/// The prefix of the name of a worktree's cache folder in `.worktrees`. The name of the worktree follows. Names of
/// worktrees do not begin with a dot.
pub const WORKTREE_CACHE_PREFIX: &str = ".cache-";

/// The folder with the checkouts in which checks run, relative to the project root.
pub const CHECK_CHECKOUTS: &str = ".crewdeck/checks/trees";
/// The folder with the build caches of checks, relative to the project root. Each check uses one of them.
pub const CHECK_CACHE: &str = ".crewdeck/checks/cache";

const GIT: &str = ".git";

/// Returns the names of the top-level folders that agents must not write to directly: those of crewdeck and of git.
pub fn reserved_names() -> impl Iterator<Item = &'static str> {
    STATE.into_iter().chain([GIT])
}

pub fn is_reserved(name: &str) -> bool {
    reserved_names().any(|reserved| reserved == name)
}
