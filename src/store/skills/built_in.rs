//! The built-in skills. To add a skill, create a folder in `skills/` and add it to `BUILT_IN`.

/// Folder name and SKILL.md text of each built-in skill.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "code-review",
        include_str!("../../../skills/code-review/SKILL.md"),
    ),
    (
        "planning-a-board",
        include_str!("../../../skills/planning-a-board/SKILL.md"),
    ),
    (
        "test-first",
        include_str!("../../../skills/test-first/SKILL.md"),
    ),
    (
        "working-in-a-worktree",
        include_str!("../../../skills/working-in-a-worktree/SKILL.md"),
    ),
    (
        "writing-a-commit",
        include_str!("../../../skills/writing-a-commit/SKILL.md"),
    ),
];
