//! The control of the setup page: runs the startup checks, checks whether a reported problem is solved, and executes
//! the actions that the page offers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::task::spawn_blocking;

use super::crew::CrewState;
use super::{Dashboard, ExitReason};
use crate::app::background::BackgroundQuery;
use crate::app::blueprint::Blueprint;
use crate::app::describe_error;
use crate::app::frame_limiter::FrameCause;
use crate::app::model_setup::{self, ModelProblem, ModelUnavailable, Probe};
use crate::app::now;
use crate::app::onboarding;
use crate::app::onboarding::sentence;
use crate::app::signals::Signals;
use crate::app::{git_setup, local_server, lock, trust};
use crate::config::extensions::ApprovalRequest;
use crate::config::{ProjectPolicy, SettingsDecision};
use crate::domain::text::count_noun;
use crate::model::is_local;
use crate::model::providers::ProviderChoice;
use crate::protocol::event::NoticeLevel;
use crate::store::GitError;
use crate::ui::Effect;
use crate::ui::terminal::Screen;
use crate::ui::{OnboardingPage, PageSeverity};

/// Maximum number of warnings about the files of servers and hooks that are shown at start. The others are only
/// counted.
const PROBLEMS_MAX: usize = 5;

/// Time between two checks whether the problem that a setup page reports is solved.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The notice that a restarted dashboard shows after the first commit.
const DONE: &str =
    "This directory is now a git repository with a commit: each task gets a worktree.";

/// The notice after the first commit if a conversation has already started. In this case, the dashboard does not
/// restart.
const DONE_LATER: &str = "This directory is now a git repository with a commit. Restart crewdeck to give each task a worktree.";

#[derive(Default)]
pub(super) struct RestartState {
    /// The terminal screen of the ended dashboard. It shows the last frame until the restarted dashboard draws. `None`
    /// if the dashboard must set up the screen, as at the first start and for the demo.
    pub(super) screen: Option<Screen>,
    pub(super) draft: String,
    /// The message to show with the first setup page after the restart. Dropped if no setup page is shown.
    pub(super) status_message: Option<String>,
    /// The notice to show once the crew runs after the restart, such as [`DONE`] or an error in the settings.
    pub(super) notice: Option<(NoticeLevel, String)>,
    /// Whether the user turned mouse capture on or off in this window; `None` if the user did not change it.
    pub(super) mouse: Option<bool>,
    /// The query for the terminal's background colour. Kept so that the terminal is not asked again.
    pub(super) background: BackgroundQuery,
    /// The digests of the settings, servers and hooks that the user has skipped in this session, concatenated; `None`
    /// if the user has skipped none. The setup page does not ask about them again.
    pub(super) skipped: Option<String>,
    /// The signal listeners, kept so that no signal between two starts is lost; `None` at the first start.
    pub(super) signals: Option<Signals>,
}

impl RestartState {
    /// Stores the reason why the settings could not be read. The restarted dashboard shows it with a setup page, and as
    /// a warning once the crew runs. The crew then uses the settings that were read at the start.
    pub(super) fn keep_settings_error(&mut self, why: &str) {
        self.status_message = Some(why.to_string());
        let text = format!(
            "crewdeck uses the settings that it read at its start, because the current ones could not be read: {why}"
        );
        self.notice = Some((NoticeLevel::Warn, text));
    }
}

/// A first commit that git is creating. Dropping the value stops git.
pub(super) struct FirstCommitTask(Arc<AtomicBool>);

impl Drop for FirstCommitTask {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The result of a startup check or of creating the first commit.
pub(super) enum StartupCheckResult {
    /// A page to show, because a check found a problem.
    Page(OnboardingPage),
    /// The model check failed: the server rejects the key, lacks the model, redirects or cannot be reached.
    Trouble(ModelUnavailable),
    /// The problem that a setup page reports is solved.
    CauseGone(PageCause),
    /// The problem that a setup page reports is not solved yet. While the page is shown, another check follows.
    CausePersists(PageCause),
    FirstCommit(Result<(), GitError>),
    /// A check found no problem.
    Nothing,
}

#[derive(Default)]
pub(super) struct StartupChecks {
    running: FuturesUnordered<BoxFuture<'static, StartupCheckResult>>,
}

impl StartupChecks {
    /// Waits for the next result. If no check runs, waits forever.
    pub(super) async fn next(&mut self) -> StartupCheckResult {
        match self.running.next().await {
            Some(found) => found,
            None => std::future::pending().await,
        }
    }

    fn find(&self, work: impl Future<Output = StartupCheckResult> + Send + 'static) {
        self.running.push(Box::pin(work));
    }

    /// Starts to check whether tasks can have worktrees in `root`. If not, the result is a setup page that reports the
    /// problem.
    fn check_git(&self, root: PathBuf) {
        self.find(async move {
            let found = spawn_blocking(move || git_setup::check(&root)).await;
            let page = found.ok().and_then(|status| onboarding::git_page(&status));
            page.map_or(StartupCheckResult::Nothing, StartupCheckResult::Page)
        });
    }

    /// Starts to check whether the server accepts the key and has the model.
    fn check_model(&self, probe: Probe) {
        self.find(async move {
            match probe.ask().await {
                Ok(()) => StartupCheckResult::Nothing,
                Err(missing) => StartupCheckResult::Trouble(missing),
            }
        });
    }

    /// Starts to check, after [`AGAIN_AFTER`], whether the problem `cause` is solved.
    fn watch(&self, cause: PageCause) {
        self.find(async move {
            tokio::time::sleep(AGAIN_AFTER).await;
            let seen = cause.clone();
            let is_gone = spawn_blocking(move || seen.is_gone()).await;
            if is_gone.unwrap_or(false) {
                StartupCheckResult::CauseGone(cause)
            } else {
                StartupCheckResult::CausePersists(cause)
            }
        });
    }
}

/// A problem that a setup page reports and that may be solved outside of this window.
#[derive(Debug, Clone)]
pub(super) enum PageCause {
    /// No local model server was found on the known ports.
    NoServer,
    /// The configured local model server at this address does not answer.
    ServerDown(SocketAddr),
    /// Tasks cannot have worktrees in this project directory.
    NoWorktrees(PathBuf),
}

impl PageCause {
    fn is_gone(&self) -> bool {
        match self {
            PageCause::NoServer => local_server::find().is_some(),
            PageCause::ServerDown(address) => local_server::answers(*address),
            PageCause::NoWorktrees(root) => git_setup::is_ready(root),
        }
    }
}

impl Dashboard {
    /// Starts the startup checks in the background. Called once the crew runs. Checks git if the settings give tasks
    /// worktrees and this is not the demo. Checks the model if there is a `probe`.
    pub(super) fn start_checks(&mut self, blueprint: &Blueprint, probe: Option<Probe>) {
        let is_demo = blueprint.choice == Some(ProviderChoice::Demo);
        if !is_demo && blueprint.settings.worktrees() {
            self.checks.check_git(blueprint.root.clone());
        }
        if let Some(probe) = probe {
            self.checks.check_model(probe);
        }
    }

    /// If settings, servers or hooks of the project need the user's decision, shows a setup page before the crew
    /// starts. Shows a notice instead in two cases: the user already chose in this session to continue without them, or
    /// another process runs the crew and only servers and hooks need the decision.
    ///
    /// Also publishes notices about problems in the files of servers and hooks, and about project settings that the
    /// user has decided to ignore.
    pub(super) fn ask_for_approval(&mut self, blueprint: &Blueprint) {
        if let ProjectPolicy::Ignored(found) = &blueprint.project {
            self.publish(NoticeLevel::Info, &trust::without(found));
        }
        let extensions = blueprint.extensions.last();
        for problem in extensions.problems.iter().take(PROBLEMS_MAX) {
            self.publish(NoticeLevel::Warn, &problem.to_string());
        }
        if let Some(more) = extensions.problems.len().checked_sub(PROBLEMS_MAX + 1) {
            let more = count_noun(more + 1, "more problem");
            let text = format!("{more}: run crewdeck doctor");
            self.publish(NoticeLevel::Warn, &text);
        }
        let request = ApprovalRequest::all(&blueprint.root, &blueprint.project, &extensions);
        let Some(request) = request.and_then(ApprovalRequest::retain_undecided) else {
            return;
        };
        let is_skipped = self.kept.skipped.as_deref() == Some(&*request.digests().concat());
        // A viewer starts no server and no hook, so it does not need their approval.
        let is_viewer =
            || request.settings.is_none() && lock::find_holder(&blueprint.root).is_some();
        if is_skipped || is_viewer() {
            if let Some(notice) = extensions.waiting_notice() {
                self.publish(NoticeLevel::Warn, &sentence(&notice));
            }
            return;
        }
        self.crew = CrewState::Absent;
        self.state
            .show_approval(onboarding::approval(&request), now());
        self.asked = Some(request);
        self.show_pending_message();
        self.frames.request(FrameCause::Key);
    }

    /// Applies the user's decision on the settings, servers and hooks of the project. With
    /// [`Effect::StartWithoutSettings`], they are skipped in this session and stay undecided. With any other `effect`,
    /// they are approved.
    ///
    /// The decision takes effect at the next start, so this returns the exit reason for a restart of the dashboard.
    /// Returns `None` if the page asks for no approval, or if the approval could not be stored.
    pub(super) fn apply_decision(&mut self, effect: &Effect) -> Option<ExitReason> {
        let asked = self.asked.clone()?;
        if *effect == Effect::StartWithoutSettings {
            self.kept.skipped = Some(asked.digests().concat());
            return Some(self.restart_with(None));
        }
        match asked.decide(Some(SettingsDecision::Approved)) {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.publish(NoticeLevel::Warn, &notice);
                }
                Some(self.restart_with(None))
            }
            Err(why) => {
                self.publish(
                    NoticeLevel::Error,
                    &format!("Not approved: {}", describe_error(&why)),
                );
                None
            }
        }
    }

    /// Starts to check whether the configured model server is available again. Does nothing if it is not a local
    /// server.
    fn await_server(&self, blueprint: &Blueprint) {
        let address = model_setup::base_url(blueprint).filter(|url| is_local(url));
        if let Some(address) = address.and_then(|url| local_server::address(&url)) {
            self.checks.watch(PageCause::ServerDown(address));
        }
    }

    /// Shows the setup page for a crew that could not start. If the model server is missing or does not answer, also
    /// starts to check whether it becomes available.
    pub(super) fn without_crew(&mut self, missing: &ModelUnavailable, blueprint: &Blueprint) {
        match missing.problem {
            ModelProblem::NotConfigured => self.checks.watch(PageCause::NoServer),
            ModelProblem::Unreachable => self.await_server(blueprint),
            _ => {}
        }
        self.show_first(onboarding::without_crew(missing));
    }

    /// Applies the result of a startup check or of creating the first commit: shows a page, checks again later, or does
    /// nothing. Returns the exit reason for a restart of the dashboard if the problem on the setup page is solved or
    /// the first commit is created. Returns `None` in all other cases, and if a restart would lose a conversation or
    /// other work.
    pub(super) fn handle_check(
        &mut self,
        found: StartupCheckResult,
        blueprint: &Blueprint,
    ) -> Option<ExitReason> {
        match found {
            StartupCheckResult::Nothing => None,
            StartupCheckResult::Trouble(missing) => {
                if missing.problem == ModelProblem::Unreachable {
                    self.await_server(blueprint);
                }
                self.show_first(onboarding::with_crew(&missing));
                None
            }
            StartupCheckResult::Page(page) => {
                if page.severity == PageSeverity::Advice {
                    self.checks.watch(PageCause::NoWorktrees(self.root.clone()));
                }
                self.show_first(page);
                None
            }
            StartupCheckResult::FirstCommit(made) => self.first_commit_done(made),
            // Restart only if this ends no conversation, no working team and no running first commit.
            StartupCheckResult::CauseGone(_)
                if self.first_commit.is_none() && self.state.is_at_the_beginning() =>
            {
                Some(self.restart_with(None))
            }
            StartupCheckResult::CauseGone(cause) | StartupCheckResult::CausePersists(cause) => {
                if self.state.onboarding_page().is_some() {
                    self.checks.watch(cause);
                }
                None
            }
        }
    }

    fn show_first(&mut self, page: OnboardingPage) {
        self.state.show_onboarding(page);
        self.show_pending_message();
    }

    fn show_pending_message(&mut self) {
        if let Some(said) = self.kept.status_message.take() {
            self.publish(NoticeLevel::Info, &said);
        }
    }

    pub(super) fn keep(&self) -> RestartState {
        RestartState {
            draft: self.state.draft(),
            mouse: self.kept.mouse,
            background: self.kept.background.clone(),
            skipped: self.kept.skipped.clone(),
            ..RestartState::default()
        }
    }

    /// Returns the exit reason for a restart of the dashboard, which repeats all startup checks. If the checks lead to a
    /// setup page, `status_message` is shown with it.
    pub(super) fn restart_with(&self, status_message: Option<&str>) -> ExitReason {
        ExitReason::Restart(Box::new(RestartState {
            status_message: status_message.map(String::from),
            ..self.keep()
        }))
    }

    /// Starts to create a repository with a first commit. Until git is done, the page shows how to stop git.
    pub(super) fn create_repository(&mut self) {
        let stop = Arc::<AtomicBool>::default();
        self.first_commit = Some(FirstCommitTask(Arc::clone(&stop)));
        let root = self.root.clone();
        self.checks.find(async move {
            let made = spawn_blocking(move || git_setup::make(&root, stop)).await;
            made.map_or(StartupCheckResult::Nothing, StartupCheckResult::FirstCommit)
        });
        self.show_first(onboarding::first_commit_page());
    }

    /// Applies the result of creating the first commit. If it failed, shows the error and returns `None`. If it
    /// succeeded, there are three cases:
    ///
    /// - A restart of the dashboard would lose nothing: returns the exit reason for the restart. The restarted
    ///   dashboard uses the commit.
    /// - A setup page is shown that is covered or in use: tries again later, and returns `None`.
    /// - No setup page is shown: shows a notice, and returns `None`.
    fn first_commit_done(&mut self, made: Result<(), GitError>) -> Option<ExitReason> {
        if let Err(why) = made {
            self.first_commit = None;
            self.publish(
                NoticeLevel::Error,
                &format!("The first commit failed: {why}"),
            );
            // Show the previous page again.
            self.checks.check_git(self.root.clone());
            return None;
        }
        if self.state.is_at_the_beginning() {
            return Some(ExitReason::Restart(Box::new(RestartState {
                notice: Some((NoticeLevel::Info, DONE.into())),
                ..self.keep()
            })));
        }
        if self.state.onboarding_page().is_some() {
            // The page is covered or in use: try again later.
            self.checks.find(async {
                tokio::time::sleep(AGAIN_AFTER).await;
                StartupCheckResult::FirstCommit(Ok(()))
            });
        } else {
            self.first_commit = None;
            self.publish(NoticeLevel::Info, DONE_LATER);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_error_is_shown_with_a_setup_page_and_once_the_crew_runs() {
        let mut kept = RestartState::default();
        kept.keep_settings_error("config.toml: line 3");
        assert_eq!(kept.status_message.as_deref(), Some("config.toml: line 3"));
        let (level, text) = kept.notice.unwrap();
        assert_eq!(level, NoticeLevel::Warn);
        assert!(
            text.ends_with("could not be read: config.toml: line 3"),
            "{text}"
        );
    }
}
