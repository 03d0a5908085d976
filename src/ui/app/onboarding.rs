//! The first page: what is in the way before the first word, what that means, and the one next step. It lies in the
//! conversation's pane while nothing was said there, and goes when its cause is gone. Pure.

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::text::{clip, one_line};
use crate::domain::usage::Usage;
use crate::protocol::event::{Level, TurnEnd};
use crate::ui::app::App;
use crate::ui::app::drafts::Returned;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::Model;
use crate::ui::text::width;

/// Most steps of a page.
const STEPS_MAX: usize = 40;
/// Longest sentence of a page, in characters.
const WORDS_MAX: usize = 2000;
/// Longest prompt that is offered again, in bytes.
const PROMPT_MAX: usize = 256 * 1024;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstPage {
    /// How much it is in the way.
    pub weight: Weight,
    /// What is the case, in a sentence.
    pub what: String,
    /// What that means for the person; may be empty.
    pub means: String,
    /// What to do, the easiest first.
    pub steps: Vec<String>,
    /// What crewdeck can do about it itself, at a key.
    pub offers: Vec<Offer>,
}

/// How much the cause of a page is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// There is no crew: words would reach nobody.
    Missing,
    /// There is a crew, and the model will hardly answer it.
    Trouble,
    /// All works, and something would make it better.
    Advice,
}

/// What crewdeck can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The action, whose key is shown.
    pub action: Action,
    /// What it does.
    pub words: String,
}

impl Offer {
    /// An offer.
    pub fn new(action: Action, words: impl Into<String>) -> Offer {
        let words = words.into();
        Offer { action, words }
    }
}

/// What the screen knows of the beginning.
#[derive(Debug, Default)]
pub struct First {
    /// The pages, one of a weight, what is most in the way first.
    pages: Vec<FirstPage>,
    /// What the person asked the lead last, while it has never answered.
    asked: String,
    /// Where the user's key goes, if not to its vendor.
    key_address: Option<String>,
}

impl App {
    /// Shows a page. Words on their way to a crew that is not there come back into the composer, and forms of tasks
    /// are drafts again.
    pub fn show_first(&mut self, page: FirstPage) {
        let line = |text: &str| clip(&one_line(text), WORDS_MAX);
        let page = FirstPage {
            weight: page.weight,
            what: line(&page.what),
            means: line(&page.means),
            steps: page.steps.iter().take(STEPS_MAX).map(|s| line(s)).collect(),
            offers: page.offers,
        };
        if page.weight == Weight::Missing {
            let mut queued = std::mem::take(&mut self.model.queued);
            while let Some(to) = queued.first().map(|q| q.to.clone()) {
                let own: Vec<String> = queued
                    .extract_if(.., |q| q.to.same(&to))
                    .map(|q| q.text)
                    .collect();
                self.return_words(&to, &own.join("\n"));
            }
            self.input.task_forms.come_back();
            // Whoever has begun to write goes on: a letter must not become a key.
            if self.input.composer.is_empty()
                && self.focus == Focus::Composer
                && self.popups.is_empty()
            {
                self.focus = Focus::Pane(Pane::Lead);
            }
        }
        self.first.pages.retain(|p| p.weight != page.weight);
        self.first.pages.push(page);
        self.first.pages.sort_by_key(|p| p.weight);
        self.dirty = true;
    }

    /// Shows a page that needs approval at `now`. Keys that were typed before it could be read must not approve it.
    pub fn show_approval(&mut self, page: FirstPage, now: Stamp) {
        self.show_first(page);
        if self.focus != Focus::Composer {
            self.keys.guard.moved_at = Some(now);
        }
    }

    /// Shows from now on that the user's key goes to `address`, which is not its vendor's.
    pub fn set_key_address(&mut self, address: &str) {
        self.first.key_address = Some(clip(&one_line(address), WORDS_MAX));
        self.dirty = true;
    }

    /// Where the user's key goes, if not to its vendor.
    pub(in crate::ui) fn key_address(&self) -> Option<&str> {
        self.first.key_address.as_deref()
    }

    /// Whether nothing would be ended by a new start: nothing was said, nobody works, nothing is open.
    pub fn is_at_the_beginning(&self) -> bool {
        let is_idle = self.model.queued.is_empty() && self.popups.is_empty() && self.busy() == 0;
        self.first_page().is_some() && is_idle
    }

    /// The draft to the lead, to be kept over a new start.
    pub fn draft(&self) -> String {
        self.draft_to(&Name::lead())
    }

    /// Gives what was written before a new start back.
    pub fn set_draft(&mut self, text: &str) {
        self.input.composer.set(text);
    }

    /// The page, while it has something to say: nothing was said to the lead, or nobody is there who could hear it.
    pub fn first_page(&self) -> Option<&FirstPage> {
        let page = self.first.pages.first()?;
        let counts = page.weight == Weight::Missing || !has_spoken(self);
        (counts && self.replay.is_none()).then_some(page)
    }

    /// What keeps anybody from answering: the causes that the page, or one behind it, tells. Advice is none.
    pub(in crate::ui) fn first_causes(&self) -> impl Iterator<Item = &str> {
        let pages = self.first_page().map_or(&[][..], |_| &self.first.pages);
        let is_cause = |page: &&FirstPage| page.weight != Weight::Advice;
        pages.iter().filter(is_cause).map(|page| page.what.as_str())
    }

    /// The person has another model now: what was wrong with the one before is no matter.
    pub(in crate::ui) fn other_model(&mut self) {
        let before = self.first.pages.len();
        self.first.pages.retain(|p| p.weight != Weight::Trouble);
        if self.first.pages.len() < before && self.focus == Focus::Pane(Pane::Lead) {
            self.focus = Focus::Composer;
        }
    }

    /// Remembers what the lead is asked, until it has answered for the first time.
    pub(in crate::ui) fn asked(&mut self, agent: &Name, text: &str) {
        if agent.is_lead() && !has_answered(self) && text.len() <= PROMPT_MAX {
            self.first.asked = text.to_string();
        }
    }

    /// A turn is over. Where the model has never answered, what was asked comes back into the composer: it is not the
    /// person's fault, and should not be written twice.
    pub(in crate::ui) fn unanswered(&mut self, agent: &Name, end: &TurnEnd) {
        if !agent.is_lead() {
            return;
        }
        let asked = std::mem::take(&mut self.first.asked);
        let is_own = self.seat.is_crew() && self.replay.is_none();
        if let TurnEnd::Failed { .. } = end
            && is_own
            && !asked.is_empty()
            && !has_answered(self)
            && self.draft_to(&Name::lead()).is_empty()
        {
            let returned = self.return_words(&Name::lead(), &asked);
            if returned != Returned::Composer {
                let text = "The lead has not answered: what you wrote is kept as a draft to it.";
                self.say(Level::Info, text);
                return;
            }
            let key = self.prefs.keymap.key(Context::Composer, Action::Send);
            let text = format!(
                "Nobody has answered: what you wrote is back in the composer, {key} sends it again."
            );
            // Once it is sent or changed, the composer no longer holds what was written.
            let back = self.input.composer.text();
            self.say_while(Level::Info, text, move |state| {
                state.input.composer.text() == back
            });
        }
    }
}

/// Whether anything was said in the lead's conversation.
fn has_spoken(model: &Model) -> bool {
    let lead = model.agents.get(&Name::lead());
    lead.is_some_and(|a| a.has_spoken)
}

/// Whether the lead's model has ever answered here.
fn has_answered(model: &Model) -> bool {
    let lead = model.agents.get(&Name::lead());
    lead.is_some_and(|a| !a.last_said.is_empty() || a.usage != Usage::default())
}

/// The page that is drawn in the conversation's pane.
pub fn drawn(app: &App) -> Option<&FirstPage> {
    let page = app.first_page().filter(|_| app.shown.is_lead());
    page.filter(|_| !has_spoken(app))
}

/// Whether the page has the keys.
pub fn has_keys(app: &App) -> bool {
    let here = app.focus == Focus::Pane(Pane::Lead) && app.shown.is_lead();
    here && app.popups.is_empty() && !app.is_searching() && app.first_page().is_some()
}

/// Whether the page offers `action`.
pub fn offers(app: &App, action: Action) -> bool {
    let page = app.first_page();
    page.is_some_and(|p| p.offers.iter().any(|o| o.action == action))
}

/// The key of an offer as the person has to press it now, and what it does.
pub fn keys(app: &App, page: &FirstPage) -> Vec<(String, String)> {
    let before = if has_keys(app) {
        String::new()
    } else {
        match app.focus {
            Focus::Composer => {
                format!("{} ", app.prefs.keymap.key(Context::Composer, Action::Back))
            }
            Focus::Pane(_) => {
                let lead = Action::Focus(Pane::Lead);
                format!("{} ", app.prefs.keymap.key(Context::Panes, lead))
            }
        }
    };
    let all = page.offers.iter();
    all.map(|offer| {
        let key = app.prefs.keymap.key(Context::FirstRun, offer.action);
        (format!("{before}{key}"), offer.words.clone())
    })
    .collect()
}

/// The keys of the page in one line.
pub fn keys_line(app: &App) -> String {
    let Some(page) = app.first_page() else {
        return String::new();
    };
    let keys = keys(app, page);
    let keys = keys.iter().map(|(key, words)| format!("{key}: {words}"));
    keys.collect::<Vec<_>>().join(", ")
}

/// The page in one line above the hints, where a conversation is in its place.
pub fn line(app: &App, columns: usize) -> Option<String> {
    let page = app.first_page().filter(|_| has_spoken(app))?;
    let keys = keys_line(app);
    let whole = format!("{} {keys}", page.what);
    let fits = |text: &String| width(text) <= columns;
    let forms = [whole, keys].into_iter().find(fits);
    Some(forms.unwrap_or_else(|| page.what.clone()))
}
