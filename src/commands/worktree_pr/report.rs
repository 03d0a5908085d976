//! What `crewdeck worktree pr` prints.

use serde::Serialize;

use super::PullRequestPlan;
use crate::cli::CodeHostArg;
use crate::commands::CommandContext;
use crate::domain::worktree::OutgoingBranch;

/// What `crewdeck worktree pr` has done, or would do, as `--json` prints it.
#[derive(Serialize)]
pub struct PullRequestReport<'a> {
    /// The URL of the pull request; `None` if there is none, also because of `--dry-run`.
    url: Option<&'a str>,
    /// Whether the pull request was opened now; false if it was open already, and with `--dry-run`.
    opened: bool,
    dry_run: bool,
    remote: &'a str,
    branch: &'a str,
    /// The branch to merge into; `None` if it is not known.
    base: Option<&'a str>,
    commit: &'a str,
    /// Number of commits that were pushed. With `--dry-run`, of those that would be pushed.
    pushed: u64,
    /// Number of commits of the pull request; 0 if it is merged.
    commits: u64,
    draft: bool,
    /// Title and text of a new pull request; `None` if there is nothing to do.
    title: Option<&'a str>,
    body: Option<&'a str>,
    /// The command that pushes; `None` if nothing is to be pushed.
    push_command: Option<Vec<String>>,
    /// The command that opens the pull request, without title and text; `None` if there is nothing to open.
    open_command: Option<Vec<String>>,
}

/// Why there is nothing to push and to open.
pub struct NothingToDo {
    /// The URL of the pull request that has the commits; `None` if there is none.
    pub url: Option<String>,
    pub remote: String,
    pub branch: String,
    pub base: Option<String>,
    pub commit: String,
    pub commits: u64,
    pub is_draft: bool,
    pub text: String,
}

impl NothingToDo {
    pub fn report(&self, dry_run: bool) -> PullRequestReport<'_> {
        PullRequestReport {
            url: self.url.as_deref(),
            opened: false,
            dry_run,
            remote: &self.remote,
            branch: &self.branch,
            base: self.base.as_deref().filter(|base| !base.is_empty()),
            commit: &self.commit,
            pushed: 0,
            commits: self.commits,
            draft: self.is_draft,
            title: None,
            body: None,
            push_command: None,
            open_command: None,
        }
    }
}

impl PullRequestPlan<'_> {
    pub fn report<'b>(&'b self, url: Option<&'b str>, opened: bool) -> PullRequestReport<'b> {
        let OutgoingBranch {
            remote,
            branch,
            base,
            commit,
            ..
        } = &self.outgoing;
        PullRequestReport {
            url,
            opened,
            dry_run: self.args.dry_run,
            remote,
            branch,
            base: Some(base),
            commit,
            pushed: self.outgoing.unpushed_count,
            commits: self.outgoing.commit_count,
            draft: self.is_draft(),
            title: Some(&self.text.title),
            body: Some(&self.text.body),
            push_command: self.push_command(),
            open_command: self.open_command(),
        }
    }

    /// Returns the command that pushes; `None` if nothing is to be pushed.
    pub fn push_command(&self) -> Option<Vec<String>> {
        let refspec = self.outgoing.refspec();
        let command = ["git", "push", &self.outgoing.remote, &refspec];
        let command = command.map(String::from).to_vec();
        self.outgoing.needs_push().then_some(command)
    }

    /// Returns the command that opens the pull request, without title and text; `None` if it is open already.
    fn open_command(&self) -> Option<Vec<String>> {
        let command = || self.client.open_command(&self.new_request());
        self.open.is_none().then(command)
    }

    /// Returns what `--dry-run` shows.
    pub fn preview(&self) -> String {
        let push = match self.push_command() {
            Some(command) => format!("Push:\n  {}", shell_words(&command)),
            None => format!(
                "Push: nothing, {} of {} has the commits already",
                self.outgoing.branch, self.outgoing.remote
            ),
        };
        let open = match (self.open_command(), &self.open) {
            (Some(command), _) => format!(
                "Open a {}:\n  {}\n\nTitle: {}\n\n{}",
                self.noun(),
                shell_words(&command),
                self.text.title,
                self.text.body.trim_end()
            ),
            (None, open) => {
                let url = open.as_ref().map_or("", |open| open.url.as_str());
                format!("The {} is open already: {url}", self.noun())
            }
        };
        format!("{push}\n{open}")
    }

    /// Returns the command that the user has run, with all options that matter for a second run.
    pub fn command(&self, context: &CommandContext<'_>) -> String {
        let args = self.args;
        let mut words: Vec<String> = ["crewdeck", "worktree", "pr", &args.name]
            .map(String::from)
            .to_vec();
        let options = [
            ("--remote", args.remote.as_deref()),
            ("--to", args.to.map(CodeHostArg::name)),
            ("--base", args.base.as_deref()),
            ("--branch", args.branch.as_deref()),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                words.extend([name.to_string(), value.to_string()]);
            }
        }
        for (name, is_set) in [("--draft", args.draft), ("--unfinished", args.unfinished)] {
            if is_set {
                words.push(name.into());
            }
        }
        let here = std::env::current_dir().and_then(|dir| dir.canonicalize());
        if !here.is_ok_and(|here| here.starts_with(context.root)) {
            words.extend(["--dir".to_string(), context.root.display().to_string()]);
        }
        shell_words(&words)
    }
}

/// Returns a command as it is written in a shell.
pub fn shell_words(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let words = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let words = ["git", "push", "o", "abc:refs/heads/it's $HOME", ""].map(String::from);
        assert_eq!(
            shell_words(&words),
            r"git push o 'abc:refs/heads/it'\''s $HOME' ''"
        );
    }
}
