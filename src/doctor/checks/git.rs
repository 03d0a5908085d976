//! Checks the git version, the repository, and whether tasks can get worktrees.

use crate::doctor::{DoctorContext, Finding};
use crate::store::{self, FIRST_COMMIT, GitError, GitFacts, INIT_AND_COMMIT, RepositoryFacts};

const CHECK: &str = "git";

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    evaluate(&store::git_facts(&context.root))
}

fn evaluate(facts: &GitFacts) -> Vec<Finding> {
    let oldest = &facts.oldest;
    match &facts.version {
        Err(why) => vec![Finding::warn(
            CHECK,
            why.to_string(),
            format!("install git {oldest} or newer; without it, all agents work in one directory"),
        )],
        Ok(version) => vec![
            Finding::ok(CHECK, format!("{version} (needs {oldest} or newer)")),
            repository(&facts.repository),
        ],
    }
}

fn repository(found: &Result<RepositoryFacts, GitError>) -> Finding {
    let facts = match found {
        Ok(facts) => facts,
        Err(why) => {
            return Finding::warn(
                CHECK,
                format!("tasks get no worktrees, so all agents work in one directory: {why}"),
                match why {
                    GitError::NoRepository(_) => INIT_AND_COMMIT,
                    GitError::NoCommits => FIRST_COMMIT,
                    _ => "fix this, then run crewdeck doctor again",
                },
            );
        }
    };
    if let Some(busy) = facts.busy {
        return Finding::warn(
            CHECK,
            format!("{busy} is in progress, so no worktree can be merged"),
            format!("finish it, or abort it: git {}", busy.abort()),
        );
    }
    match &facts.branch {
        Some(branch) => Finding::ok(CHECK, format!("worktrees of tasks start from {branch}")),
        None => Finding::warn(
            CHECK,
            format!(
                "HEAD is detached at {:.8}: worktrees of tasks start from this commit, but cannot be merged",
                facts.commit
            ),
            "switch to the branch to merge into: git switch NAME",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::worktree::GitOperation;

    fn facts(branch: Option<&str>, busy: Option<GitOperation>) -> RepositoryFacts {
        RepositoryFacts {
            branch: branch.map(String::from),
            commit: "0123456789abcdef".into(),
            busy,
        }
    }

    #[test]
    fn fix_of_a_bisect_names_the_command_that_git_has() {
        let finding = repository(&Ok(facts(Some("main"), Some(GitOperation::Bisect))));
        assert!(
            format!("{finding:?}").contains("git bisect reset"),
            "{finding:?}"
        );
    }

    #[test]
    fn repository_state_decides_the_level() {
        for (version, repository, level, words) in [
            (
                Ok("2.47.3".to_string()),
                Ok(facts(Some("main"), None)),
                Level::Ok,
                "worktrees of tasks start from main",
            ),
            (
                Ok("2.47.3".into()),
                Ok(facts(None, None)),
                Level::Warn,
                "detached at 01234567:",
            ),
            (
                Ok("2.47.3".into()),
                Ok(facts(Some("main"), Some(GitOperation::Rebase))),
                Level::Warn,
                "a rebase is in progress",
            ),
            (
                Ok("2.47.3".into()),
                Err(GitError::NoCommits),
                Level::Warn,
                "no commit yet",
            ),
            (
                Ok("2.47.3".into()),
                Err(GitError::Bare("/r".into())),
                Level::Warn,
                "bare",
            ),
            (
                Err(GitError::Missing),
                Err(GitError::Missing),
                Level::Warn,
                "not found",
            ),
            (
                Err(GitError::TooOld("2.20".into())),
                Err(GitError::Missing),
                Level::Warn,
                "2.20 is too old",
            ),
        ] {
            let found = evaluate(&GitFacts {
                version,
                oldest: "2.31".into(),
                repository,
            });
            let last = found.last().unwrap();
            assert_eq!(last.level, level, "{found:?}");
            assert!(last.text.contains(words), "{found:?}");
        }
    }
}
