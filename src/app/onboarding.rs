//! Builds the setup page from the results of the startup checks. Does no I/O.

use super::model_setup::{ModelProblem, ModelUnavailable};
use crate::config::PROJECT_FILE;
use crate::config::extensions::ApprovalRequest;
use crate::store::{FIRST_COMMIT, INIT_AND_COMMIT};
use crate::ui::keymap::Action;
use crate::ui::{OfferedAction, OnboardingPage, PageSeverity};

/// Maximum number of entries that the user can approve on the setup page: settings, servers and hooks of the project.
/// If there are more, the user has to approve them in a shell.
const APPROVE_MAX: usize = 24;
/// Maximum length, in bytes, of an entry that the user can approve on the setup page. If one is longer, the user has to
/// approve all entries in a shell.
const APPROVE_LINE_MAX: usize = 1500;

/// Whether tasks can have git worktrees in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitStatus {
    /// Worktrees work, or they fail for a reason that the crew reports instead of the setup page.
    Ready,
    /// Git is missing or too old. The text says which.
    NoGit(String),
    NoRepository(FirstCommit),
    NoCommits(FirstCommit),
}

/// What a first commit that crewdeck creates would contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstCommit {
    /// All files of the directory. The value is their number, which may be 0.
    Files(usize),
    /// crewdeck creates no commit here; the user should choose the files and commit them. The text says why.
    ChooseFiles(&'static str),
    /// No repository should be created in this directory. The text says why.
    NotAllowed(&'static str),
}

/// Returns the page for a crew that could not start, because no model is available or for another reason that `missing`
/// contains.
pub fn without_crew(missing: &ModelUnavailable) -> OnboardingPage {
    OnboardingPage {
        severity: PageSeverity::Missing,
        ..model(missing, Vec::new())
    }
}

/// Returns the page for a running crew whose model is unlikely to answer.
pub fn with_crew(missing: &ModelUnavailable) -> OnboardingPage {
    let choose = OfferedAction::new(Action::Models, "choose one of the server's models");
    let offers = match missing.problem {
        ModelProblem::UnknownModel => vec![choose],
        _ => Vec::new(),
    };
    OnboardingPage {
        severity: PageSeverity::Trouble,
        ..model(missing, offers)
    }
}

/// The label of the action on the setup page that starts the demo.
const DEMO: &str = "start the demo (temporary folder, no key, no network)";

fn model(missing: &ModelUnavailable, mut offers: Vec<OfferedAction>) -> OnboardingPage {
    let means = match missing.problem {
        // It would only repeat the cause.
        ModelProblem::NotConfigured => "",
        ModelProblem::NoKey => "crewdeck cannot use this server without an API key.",
        ModelProblem::KeyRejected => "The server rejects this key, so no agent can answer.",
        ModelProblem::Unreachable | ModelProblem::ServerError => {
            "No agent can answer without a server."
        }
        ModelProblem::UnknownModel => {
            "No agent can answer until you choose a model that the server has."
        }
        ModelProblem::NoModels => "The server answers, but it has no model.",
        ModelProblem::Other => "crewdeck cannot start a crew with this configuration.",
    };
    offers.push(OfferedAction::new(
        Action::CheckAgain,
        retry_label(missing.problem),
    ));
    offers.push(OfferedAction::new(Action::StartDemo, DEMO));
    offers.push(OfferedAction::new(Action::Close, "quit"));
    OnboardingPage {
        severity: PageSeverity::Missing,
        cause: sentence(&missing.reason),
        consequence: means.into(),
        steps: missing.steps.clone(),
        offers,
    }
}

/// Returns the page that asks for approval of the project's settings, servers and hooks. If they do not fit on the
/// page, the user has to approve them in a shell, which can show all of them.
pub fn approval(request: &ApprovalRequest) -> OnboardingPage {
    let lines = request.lines();
    let steps: Vec<String> = lines
        .iter()
        .map(|(text, effect)| format!("{text}  ({effect})"))
        .collect();
    let is_short = lines.len() <= APPROVE_MAX && steps.iter().all(|s| s.len() <= APPROVE_LINE_MAX);
    let has_only_settings = request.items.is_empty();
    let mut offers = Vec::new();
    if is_short {
        let label = if has_only_settings {
            "approve exactly these settings for this directory"
        } else {
            "approve exactly this content for this directory"
        };
        offers.push(OfferedAction::new(Action::ApproveSettings, label));
    }
    let without = OfferedAction::new(
        Action::SkipSettings,
        "continue without this content this time",
    );
    offers.extend([
        without,
        OfferedAction::new(Action::StartDemo, DEMO),
        OfferedAction::new(Action::Close, "quit"),
    ]);
    let steps = if is_short {
        steps
    } else {
        vec![
            format!("Too long to show on this page: {}.", request.names()),
            "Read and approve them in a shell: crewdeck trust".into(),
        ]
    };
    let summary = request.summary();
    let are_own = request.settings.is_none() && request.items.iter().all(|item| item.is_own);
    let cause = if are_own {
        "Your own MCP servers would use files of this project. These files need your approval first.".into()
    } else if has_only_settings {
        format!("Your approval is needed for {summary} in {PROJECT_FILE} of this project.")
    } else {
        let need = if lines.len() == 1 { "needs" } else { "need" };
        format!("This project contains {summary} that {need} your approval.")
    };
    let origin = if are_own {
        "These files"
    } else {
        "This content"
    };
    OnboardingPage {
        severity: PageSeverity::Missing,
        cause,
        consequence: format!(
            "{origin} came with the directory, not from you. No crew starts and nothing is sent until you decide."
        ),
        steps,
        offers,
    }
}

/// Returns `text` as a sentence: first character in upper case, one full stop at the end.
pub fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

fn retry_label(problem: ModelProblem) -> &'static str {
    match problem {
        ModelProblem::NotConfigured => "look for a server and settings again",
        ModelProblem::NoKey | ModelProblem::KeyRejected => "read the settings again",
        ModelProblem::Unreachable
        | ModelProblem::ServerError
        | ModelProblem::NoModels
        | ModelProblem::UnknownModel => "ask the server again",
        ModelProblem::Other => "try again",
    }
}

/// Returns the page that is shown while git creates the first commit.
pub fn first_commit_page() -> OnboardingPage {
    OnboardingPage {
        severity: PageSeverity::Advice,
        cause: "Creating the first commit…".into(),
        consequence: "This may take a while with many files or git hooks. Afterwards crewdeck checks the directory again; \
                your input is kept."
            .into(),
        steps: Vec::new(),
        offers: vec![
            OfferedAction::new(Action::CheckAgain, "stop git and check again"),
            OfferedAction::new(Action::Close, "stop git and quit"),
        ],
    }
}

/// Returns the page for a directory in which tasks cannot have worktrees; `None` if they can.
pub fn git_page(status: &GitStatus) -> Option<OnboardingPage> {
    let (what, command, files) = match status {
        GitStatus::Ready => return None,
        GitStatus::NoGit(why) => return Some(no_git(why)),
        GitStatus::NoRepository(files) => (
            "This directory is not a git repository.",
            INIT_AND_COMMIT,
            files,
        ),
        GitStatus::NoCommits(files) => (
            "This git repository has no commit yet.",
            FIRST_COMMIT,
            files,
        ),
    };
    let start = match status {
        GitStatus::NoRepository(_) => "git init + ",
        GitStatus::NoCommits(_) | GitStatus::NoGit(_) | GitStatus::Ready => "create ",
    };
    let offer = |commit: &str| {
        let label = format!("{start}{commit}");
        vec![OfferedAction::new(Action::CreateRepository, label)]
    };
    let (step, offers) = match files {
        FirstCommit::Files(0) => (
            format!(
                "In a shell: {}",
                command.replace("git add -A && git commit", "git commit --allow-empty")
            ),
            offer("empty first commit"),
        ),
        FirstCommit::Files(1) => (
            format!("In a shell: {command}"),
            offer("first commit of the one file here"),
        ),
        FirstCommit::Files(n) => (
            format!("In a shell: {command}"),
            offer(&format!("first commit of the {n} files here")),
        ),
        FirstCommit::ChooseFiles(why) => (
            format!("In a shell: {command}. First choose what to commit, because {why}."),
            Vec::new(),
        ),
        FirstCommit::NotAllowed(why) => (
            format!("{why}: start crewdeck in a project directory."),
            Vec::new(),
        ),
    };
    Some(OnboardingPage {
        severity: PageSeverity::Advice,
        cause: what.into(),
        consequence: MEANS.into(),
        steps: vec![step, OPTIONAL.into()],
        offers,
    })
}

/// The consequence that the setup page names if tasks cannot have worktrees.
const MEANS: &str = "All agents share one directory here and can overwrite each other's changes. In a git repository \
                     with a commit, each task gets its own worktree to review and merge.";
const OPTIONAL: &str = "Or enter a prompt below: crewdeck also works without worktrees.";

fn no_git(why: &str) -> OnboardingPage {
    OnboardingPage {
        severity: PageSeverity::Advice,
        cause: format!("{}.", why.split(':').next().unwrap_or(why)),
        consequence: MEANS.into(),
        steps: vec![
            "Install git 2.31 or newer and restart crewdeck.".into(),
            OPTIONAL.into(),
        ],
        offers: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
