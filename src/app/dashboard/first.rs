//! Controls the first page: runs the startup checks, watches for fixed problems, and executes the page's offers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::task::spawn_blocking;

use super::crew::Crew;
use super::{Dashboard, Left};
use crate::app::assemble::Blueprint;
use crate::app::first;
use crate::app::in_words;
use crate::app::now;
use crate::app::pace::Cause as Redraw;
use crate::app::signals::Signals;
use crate::app::wire::{self, Lack, NoModel, Probe};
use crate::app::{ground, local, trust};
use crate::config::{Choice, Decision, Project};
use crate::model::is_local;
use crate::protocol::event::Level;
use crate::store::GitError;
use crate::ui::guide::first::{FirstPage, Weight};
use crate::ui::terminal::Screen;
use crate::ui::{Do, MouseOwner};

/// Interval between checks whether the cause of a page is gone.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The notice after the first commit.
const DONE: &str =
    "This directory is now a git repository with a commit: each task gets a worktree.";

/// The notice when a conversation has started meanwhile, so that the dashboard cannot restart.
const DONE_LATER: &str = "This directory is now a git repository with a commit: after a restart of crewdeck each task gets a worktree.";

/// State that a restart of the dashboard takes over from the previous start.
#[derive(Default)]
pub(super) struct Kept {
    /// The screen, which keeps its content until the first draw.
    pub(super) screen: Option<Screen>,
    /// The text in the composer.
    pub(super) draft: String,
    /// A message to show if the same page appears again.
    pub(super) said: Option<String>,
    /// A message about what was done before the restart.
    pub(super) done: Option<&'static str>,
    /// The user's choice of mouse owner.
    pub(super) mouse: Option<MouseOwner>,
    /// Digest of the project settings that the user chose to ignore this time.
    pub(super) without: Option<String>,
    /// The signal listeners, so that no signal between two starts is lost.
    pub(super) signals: Option<Signals>,
}

/// The running first commit; git is stopped on drop.
pub(super) struct Making(Arc<AtomicBool>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The result of a startup check.
pub(super) enum Found {
    /// A page to show.
    Page(FirstPage),
    /// The model is not expected to answer.
    Trouble(NoModel),
    /// The cause of a page is gone.
    Gone(Cause),
    /// The cause of a page persists.
    Still(Cause),
    /// The first commit was created or failed.
    Made(Result<(), GitError>),
    /// No problem.
    Nothing,
}

/// The running startup checks.
#[derive(Default)]
pub(super) struct Findings {
    running: FuturesUnordered<BoxFuture<'static, Found>>,
}

impl Findings {
    /// Waits for the next result; forever if no check runs.
    pub(super) async fn next(&mut self) -> Found {
        match self.running.next().await {
            Some(found) => found,
            None => std::future::pending().await,
        }
    }

    fn find(&self, work: impl Future<Output = Found> + Send + 'static) {
        self.running.push(Box::pin(work));
    }

    /// Checks whether tasks can have worktrees in `root`.
    fn ground(&self, root: PathBuf) {
        self.find(async move {
            let found = spawn_blocking(move || ground::look(&root)).await;
            let page = found.ok().and_then(|ground| first::ground(&ground));
            page.map_or(Found::Nothing, Found::Page)
        });
    }

    /// Checks whether the server accepts the key and has the model.
    fn model(&self, probe: Probe) {
        self.find(async move {
            match probe.ask().await {
                Ok(()) => Found::Nothing,
                Err(lack) => Found::Trouble(lack),
            }
        });
    }

    /// Checks after [`AGAIN_AFTER`] whether the cause of a page is gone.
    fn watch(&self, cause: Cause) {
        self.find(async move {
            tokio::time::sleep(AGAIN_AFTER).await;
            let seen = cause.clone();
            let is_gone = spawn_blocking(move || seen.is_gone()).await;
            if is_gone.unwrap_or(false) {
                Found::Gone(cause)
            } else {
                Found::Still(cause)
            }
        });
    }
}

/// The cause of a page that can disappear without user input in this window.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// No local server listens on a known port.
    NoServer,
    /// The local server at this address does not answer.
    Nobody(SocketAddr),
    /// Tasks cannot have worktrees in this directory.
    Ground(PathBuf),
}

impl Cause {
    fn is_gone(&self) -> bool {
        match self {
            Cause::NoServer => local::find().is_some(),
            Cause::Nobody(address) => local::answers(*address),
            Cause::Ground(root) => ground::is_fine(root),
        }
    }
}

impl Dashboard {
    /// Starts the checks that need a running crew.
    pub(super) fn look_around(&mut self, blueprint: &Blueprint, probe: Option<Probe>) {
        let is_demo = blueprint.choice == Some(Choice::Demo);
        if !is_demo && blueprint.settings.worktrees != Some(false) {
            self.findings.ground(blueprint.root.clone());
        }
        if let Some(probe) = probe {
            self.findings.model(probe);
        }
    }

    /// Shows the project settings that need approval, before anything is started or sent.
    pub(super) fn ask_for_approval(&mut self, blueprint: &Blueprint) {
        let Project::Waiting(found) = &blueprint.project else {
            if let Project::Ignored(found) = &blueprint.project {
                self.publish(Level::Info, &trust::without(found));
            }
            return;
        };
        if self.kept.without.as_ref() == Some(&found.digest) {
            return;
        }
        self.crew = Crew::Missing;
        self.asked = Some(found.clone());
        self.state.show_approval(first::approval(found), now());
        self.tell_what_was_said();
        self.stale = Some(Redraw::Key);
    }

    /// Applies the user's decision on the project settings. Returns how to restart the dashboard, if it has to.
    pub(super) fn decided(&mut self, effect: &Do) -> Option<Left> {
        let asked = self.asked.clone()?;
        if *effect == Do::WithoutSettings {
            self.kept.without = Some(asked.digest);
            return Some(self.again(None));
        }
        match asked.decide(Some(Decision::Approved)) {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.publish(Level::Warn, &notice);
                }
                Some(self.again(None))
            }
            Err(why) => {
                self.publish(Level::Error, &format!("Not approved: {}", in_words(&why)));
                None
            }
        }
    }

    /// Watches for a local server that is configured and does not answer.
    fn await_server(&self, blueprint: &Blueprint) {
        let address = wire::base_url(blueprint).filter(|url| is_local(url));
        if let Some(address) = address.and_then(|url| local::address(&url)) {
            self.findings.watch(Cause::Nobody(address));
        }
    }

    /// Shows the page for a crew that could not start, and watches for the fix.
    pub(super) fn without_crew(&mut self, lack: &NoModel, blueprint: &Blueprint) {
        match lack.lack {
            Lack::Model => self.findings.watch(Cause::NoServer),
            Lack::Nobody => self.await_server(blueprint),
            Lack::Key
            | Lack::RightKey
            | Lack::Server
            | Lack::ThatModel
            | Lack::AnyModel
            | Lack::Other => {}
        }
        self.show_first(first::without_crew(lack));
    }

    /// Handles the result of a check. Returns how to restart the dashboard, if it has to.
    pub(super) fn found(&mut self, found: Found, blueprint: &Blueprint) -> Option<Left> {
        match found {
            Found::Nothing => None,
            Found::Trouble(lack) => {
                if lack.lack == Lack::Nobody {
                    self.await_server(blueprint);
                }
                self.show_first(first::with_crew(&lack));
                None
            }
            Found::Page(page) => {
                if page.weight == Weight::Advice {
                    self.findings.watch(Cause::Ground(self.root.clone()));
                }
                self.show_first(page);
                None
            }
            Found::Made(made) => self.made(made),
            // A restart must not end a conversation, a working team or a running first commit.
            Found::Gone(_) if self.making.is_none() && self.state.is_at_the_beginning() => {
                Some(self.again(None))
            }
            Found::Gone(cause) | Found::Still(cause) => {
                if self.state.first_page().is_some() {
                    self.findings.watch(cause);
                }
                None
            }
        }
    }

    fn show_first(&mut self, page: FirstPage) {
        self.state.show_first(page);
        self.tell_what_was_said();
    }

    fn tell_what_was_said(&mut self) {
        if let Some(said) = self.kept.said.take() {
            self.publish(Level::Info, &said);
        }
    }

    /// Collects the state for a restart.
    pub(super) fn keep(&self) -> Kept {
        Kept {
            draft: self.state.draft(),
            mouse: self.kept.mouse,
            without: self.kept.without.clone(),
            ..Kept::default()
        }
    }

    /// Restarts the dashboard, which repeats all checks.
    pub(super) fn again(&self, said: Option<&str>) -> Left {
        Left::Again(Box::new(Kept {
            said: said.map(String::from),
            ..self.keep()
        }))
    }

    /// Creates a repository with a first commit in the background, at the user's request. The page shows the progress
    /// and how to stop it.
    pub(super) fn make_repository(&mut self) {
        let stop = Arc::<AtomicBool>::default();
        self.making = Some(Making(Arc::clone(&stop)));
        let root = self.root.clone();
        self.findings.find(async move {
            let made = spawn_blocking(move || ground::make(&root, stop)).await;
            made.map_or(Found::Nothing, Found::Made)
        });
        self.show_first(first::making());
    }

    /// Handles the end of the first commit. Returns how to restart the dashboard, if it can.
    fn made(&mut self, made: Result<(), GitError>) -> Option<Left> {
        if let Err(why) = made {
            self.making = None;
            self.publish(Level::Error, &format!("The first commit failed: {why}"));
            // Show the previous page again.
            self.findings.ground(self.root.clone());
            return None;
        }
        if self.state.is_at_the_beginning() {
            return Some(Left::Again(Box::new(Kept {
                done: Some(DONE),
                ..self.keep()
            })));
        }
        if self.state.first_page().is_some() {
            // The page is covered or in use: try again later.
            self.findings.find(async {
                tokio::time::sleep(AGAIN_AFTER).await;
                Found::Made(Ok(()))
            });
        } else {
            self.making = None;
            self.publish(Level::Info, DONE_LATER);
        }
        None
    }
}
