//! The first page of the dashboard: finds out what is in the way, sees when it is gone, and does what the page offers.

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
use crate::ui::{FirstPage, Weight};
use crate::ui::terminal::Screen;
use crate::ui::{Do, MouseOwner};

/// How often it is looked whether the cause of a page is gone.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// What there is to say after the first commit.
const DONE: &str =
    "This directory is a git repository with a commit now: each task gets a worktree.";

/// The same where a conversation has begun meanwhile, which is not ended for it.
const DONE_LATER: &str = "This directory is a git repository with a commit now: from the next start of crewdeck on each task gets a worktree.";

/// What a new start of the dashboard takes over from the one before.
#[derive(Default)]
pub(super) struct Kept {
    /// The screen: it stays as it is until there is something new to draw.
    pub(super) screen: Option<Screen>,
    /// What stood in the composer.
    pub(super) draft: String,
    /// What there is to say where nothing has changed.
    pub(super) said: Option<String>,
    /// What was done before the new start.
    pub(super) done: Option<&'static str>,
    /// To whom the person has given the mouse.
    pub(super) mouse: Option<MouseOwner>,
    /// The settings of the project that the user goes on without, by their digest.
    pub(super) without: Option<String>,
    /// A signal that comes between two starts ends the second one.
    pub(super) signals: Option<Signals>,
}

/// Git makes the first commit. Dropped, it is to stop.
pub(super) struct Making(Arc<AtomicBool>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What was found out.
pub(super) enum Found {
    /// A page to show.
    Page(FirstPage),
    /// The model will hardly answer.
    Trouble(NoModel),
    /// The cause of a page is gone.
    Gone(Cause),
    /// It is not.
    Still(Cause),
    /// What came of making the first commit.
    Made(Result<(), GitError>),
    /// Nothing.
    Nothing,
}

/// What is being found out.
#[derive(Default)]
pub(super) struct Findings {
    under_way: FuturesUnordered<BoxFuture<'static, Found>>,
}

impl Findings {
    /// The next one.
    pub(super) async fn next(&mut self) -> Found {
        match self.under_way.next().await {
            Some(found) => found,
            None => std::future::pending().await,
        }
    }

    fn find(&self, work: impl Future<Output = Found> + Send + 'static) {
        self.under_way.push(Box::pin(work));
    }

    /// What a team has to stand on in `root`.
    fn ground(&self, root: PathBuf) {
        self.find(async move {
            let found = spawn_blocking(move || ground::look(&root)).await;
            let page = found.ok().and_then(|ground| first::ground(&ground));
            page.map_or(Found::Nothing, Found::Page)
        });
    }

    /// Whether the server lets the person in, and has the model.
    fn model(&self, probe: Probe) {
        self.find(async move {
            match probe.ask().await {
                Ok(()) => Found::Nothing,
                Err(lack) => Found::Trouble(lack),
            }
        });
    }

    /// Looks in a while whether the cause of a page is gone.
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

/// The cause of a page that can go without the person's doing in this window.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// No server listens on a usual port of this machine.
    NoServer,
    /// Nobody listens at this address of this machine.
    Nobody(SocketAddr),
    /// Tasks can not have worktrees here.
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
    /// The crew is there: looks for what would be in its way.
    pub(super) fn look_around(&mut self, blueprint: &Blueprint, probe: Option<Probe>) {
        let is_demo = blueprint.choice == Some(Choice::Demo);
        if !is_demo && blueprint.settings.worktrees != Some(false) {
            self.findings.ground(blueprint.root.clone());
        }
        if let Some(probe) = probe {
            self.findings.model(probe);
        }
    }

    /// Shows what needs approval before anything is started or sent.
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

    /// The user has decided about them. How the dashboard is left, where it begins anew.
    pub(super) fn decided(&mut self, wish: &Do) -> Option<Left> {
        let asked = self.asked.clone()?;
        if *wish == Do::WithoutSettings {
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

    /// Where a server on this machine should be, and does not answer: waits for it.
    fn await_server(&self, blueprint: &Blueprint) {
        let address = wire::base_url(blueprint).filter(|url| is_local(url));
        if let Some(address) = address.and_then(|url| local::address(&url)) {
            self.findings.watch(Cause::Nobody(address));
        }
    }

    /// There is no crew, for want of a model.
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

    /// Takes in what was found out. How the dashboard is left, where it begins anew.
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
            // Nothing of a conversation or of a team at work is ended for it. What is made here is told when it is done.
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

    /// What a new start takes over.
    pub(super) fn keep(&self) -> Kept {
        Kept {
            draft: self.state.draft(),
            mouse: self.kept.mouse,
            without: self.kept.without.clone(),
            ..Kept::default()
        }
    }

    /// Leaves for a new start, which looks at everything again.
    pub(super) fn again(&self, said: Option<&str>) -> Left {
        Left::Again(Box::new(Kept {
            said: said.map(String::from),
            ..self.keep()
        }))
    }

    /// Makes the directory a repository with a first commit, at the person's wish; beside all else, since git may take
    /// its time. The page says so meanwhile, and how to stop it.
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

    /// What came of it. How the dashboard is left, where it begins anew.
    fn made(&mut self, made: Result<(), GitError>) -> Option<Left> {
        if let Err(why) = made {
            self.making = None;
            self.publish(Level::Error, &format!("There is no first commit: {why}"));
            // The page from before.
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
            // Something lies over the page.
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
