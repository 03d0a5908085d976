//! Formats the part of the system prompt that describes the machine and the project.

use crate::domain::environment::{Environment, FileTree, GitState};

/// Returns `environment` as an `<environment>` section for the system prompt; empty if the platform is unknown.
pub fn text(environment: &Environment) -> String {
    if environment.platform.is_empty() {
        return String::new();
    }
    let mut lines = vec![
        format!("Platform: {}", environment.platform),
        format!("Date: {}", environment.date),
    ];
    match &environment.git {
        Some(git) => lines.extend(git_lines(git)),
        None => lines.push("Git: no repository that git can read".into()),
    }
    lines.extend(tree_lines(&environment.tree));
    format!(
        "<environment>\nState at the start of this session, not updated:\n{}\n</environment>",
        lines.join("\n")
    )
}

fn git_lines(git: &GitState) -> Vec<String> {
    let mut lines = vec![match &git.branch {
        Some(branch) => format!("Git branch: {branch}"),
        None => "Git branch: none is checked out (detached HEAD)".into(),
    }];
    if !git.commits.is_empty() {
        lines.push("Last commits:".into());
        lines.extend(git.commits.iter().map(|line| format!("  {line}")));
    }
    lines
}

fn tree_lines(tree: &FileTree) -> Vec<String> {
    if tree.lines.is_empty() {
        return vec!["Files: none yet".into()];
    }
    let mut lines = vec!["Files (two levels, without ignored and hidden ones):".to_string()];
    lines.extend(tree.lines.iter().map(|line| format!("  {line}")));
    if tree.left_out > 0 {
        lines.push(format!("  ({} or more are not shown)", tree.left_out));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn environment_names_platform_date_git_and_files() {
        let environment = Environment {
            platform: "linux x86_64".into(),
            date: "2026-11-22".into(),
            git: Some(GitState {
                branch: Some("main".into()),
                commits: vec!["abc1234 First".into()],
            }),
            tree: FileTree {
                lines: vec!["src/: a.rs".into()],
                left_out: 0,
            },
        };
        assert_eq!(
            text(&environment),
            "<environment>\nState at the start of this session, not updated:\n\
             Platform: linux x86_64\nDate: 2026-11-22\nGit branch: main\n\
             Last commits:\n  abc1234 First\nFiles (two levels, without ignored and hidden ones):\n  src/: a.rs\n</environment>"
        );
    }
}
