//! The first page of the dashboard: finds out what is in the way, sees when it is gone, and does what the page offers.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::task::spawn_blocking;

use super::{Dashboard, Left};
use crate::app::assemble::Blueprint;
use crate::app::first::{self, Ground};
use crate::app::wire::{Lack, NoModel, Probe};
use crate::app::{ground, local};
use crate::config::Choice;
use crate::protocol::event::Level;
use crate::ui::first::{FirstPage, Weight};

/// How often it is looked whether the cause of a page is gone.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// What a new start of the dashboard takes over from the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Kept {
    /// What stood in the composer.
    pub(super) draft: String,
    /// What there is to say where nothing has changed.
    pub(super) said: Option<String>,
}

/// What was found out.
pub(super) enum Found {
    /// A page to show.
    Page(FirstPage),
    /// The cause of a page is gone.
    Gone,
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
                Err(lack) => Found::Page(first::with_crew(&lack)),
            }
        });
    }

    /// Waits until `is_gone`.
    fn watch(&self, is_gone: impl Fn() -> bool + Clone + Send + 'static) {
        self.find(async move {
            loop {
                tokio::time::sleep(AGAIN_AFTER).await;
                if spawn_blocking(is_gone.clone()).await.unwrap_or(false) {
                    return Found::Gone;
                }
            }
        });
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

    /// There is no crew, for want of a model.
    pub(super) fn without_crew(&mut self, lack: &NoModel) {
        if lack.lack == Lack::Model {
            self.findings.watch(|| local::find().is_some());
        }
        self.show_first(first::without_crew(lack));
    }

    /// Takes in what was found out. How the dashboard is left, where it begins anew.
    pub(super) fn found(&mut self, found: Found) -> Option<Left> {
        match found {
            Found::Nothing => None,
            Found::Page(page) => {
                if page.weight == Weight::Advice {
                    let root = self.root.clone();
                    self.findings
                        .watch(move || ground::look(&root) == Ground::Fine);
                }
                self.show_first(page);
                None
            }
            // Nothing of a conversation or of a team at work is ended for it.
            Found::Gone => self.can_begin_anew().then(|| self.again(None)),
        }
    }

    fn show_first(&mut self, page: FirstPage) {
        self.state.show_first(page);
        if let Some(said) = self.kept.said.take() {
            self.state.say(Level::Info, said);
        }
    }

    fn can_begin_anew(&self) -> bool {
        self.state.is_at_the_beginning()
    }

    /// Leaves for a new start, which looks at everything again.
    pub(super) fn again(&self, said: Option<&str>) -> Left {
        Left::Again(Kept {
            draft: self.state.draft(),
            said: said.map(String::from),
        })
    }

    /// Makes the directory a repository with a first commit, at the person's wish.
    pub(super) fn make_repository(&mut self) -> Option<Left> {
        match ground::make(&self.root) {
            Ok(()) => Some(self.again(None)),
            Err(why) => {
                self.publish(Level::Error, &format!("There is no first commit: {why}"));
                None
            }
        }
    }
}
