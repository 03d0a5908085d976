//! The first page: what is in the way before the first word, what that means, and the one next step. It lies in the
//! conversation's pane while nothing was said there, and goes when its cause is gone. Pure.

use crate::domain::ids::Name;
use crate::domain::text::{clip, one_line};
use crate::domain::usage::Usage;
use crate::protocol::event::{Level, TurnEnd};
use crate::ui::keymap::{Action, Context};
use crate::ui::state::UiState;
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::textual::width;

/// Most steps of a page.
const STEPS_MAX: usize = 6;
/// Longest sentence of a page, in characters.
const WORDS_MAX: usize = 500;
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
}

impl UiState {
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
            let queued: Vec<String> = self.queued.drain(..).map(|q| q.text).collect();
            if !queued.is_empty() && self.composer.is_empty() {
                self.composer.set(&queued.join("\n"));
            }
            self.task_forms.come_back();
            // Whoever has begun to write goes on: a letter must not become a key.
            if self.composer.is_empty() && self.focus == Focus::Composer && self.popups.is_empty() {
                self.focus = Focus::Pane(Pane::Lead);
            }
        }
        self.first.pages.retain(|p| p.weight != page.weight);
        self.first.pages.push(page);
        self.first.pages.sort_by_key(|p| p.weight);
        self.dirty = true;
    }

    /// Whether nothing would be ended by a new start: nothing was said, nobody works, nothing is open.
    pub fn is_at_the_beginning(&self) -> bool {
        let is_idle = self.queued.is_empty() && self.popups.is_empty() && self.busy() == 0;
        self.first_page().is_some() && is_idle
    }

    /// What is written in the composer, to be kept over a new start.
    pub fn draft(&self) -> String {
        self.composer.text()
    }

    /// Gives what was written before a new start back.
    pub fn set_draft(&mut self, text: &str) {
        self.composer.set(text);
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
            && self.composer.is_empty()
        {
            self.composer.set(&asked);
            let key = self.keymap.key(Context::Composer, Action::Send);
            let text = format!(
                "Nobody has answered: what you wrote is back in the composer, {key} sends it again."
            );
            self.say(Level::Info, text);
        }
    }
}

/// Whether anything was said in the lead's conversation.
fn has_spoken(state: &UiState) -> bool {
    let lead = state.agents.get(&Name::lead());
    lead.is_some_and(|a| a.has_spoken)
}

/// Whether the lead's model has ever answered here.
fn has_answered(state: &UiState) -> bool {
    let lead = state.agents.get(&Name::lead());
    lead.is_some_and(|a| !a.last_said.is_empty() || a.usage != Usage::default())
}

/// The page that is drawn in the conversation's pane.
pub fn drawn(state: &UiState) -> Option<&FirstPage> {
    let page = state.first_page().filter(|_| state.shown.is_lead());
    page.filter(|_| !has_spoken(state))
}

/// Whether the page has the keys.
pub fn has_keys(state: &UiState) -> bool {
    let here = state.focus == Focus::Pane(Pane::Lead) && state.shown.is_lead();
    here && state.popups.is_empty() && !state.is_searching() && state.first_page().is_some()
}

/// Whether the page offers `action`.
pub fn offers(state: &UiState, action: Action) -> bool {
    let page = state.first_page();
    page.is_some_and(|p| p.offers.iter().any(|o| o.action == action))
}

/// The key of an offer as the person has to press it now, and what it does.
pub fn keys(state: &UiState, page: &FirstPage) -> Vec<(String, String)> {
    let before = if has_keys(state) {
        String::new()
    } else {
        match state.focus {
            Focus::Composer => {
                format!("{} ", state.keymap.key(Context::Composer, Action::Back))
            }
            Focus::Pane(_) => {
                let lead = Action::Focus(Pane::Lead);
                format!("{} ", state.keymap.key(Context::Panes, lead))
            }
        }
    };
    let all = page.offers.iter();
    all.map(|offer| {
        let key = state.keymap.key(Context::FirstRun, offer.action);
        (format!("{before}{key}"), offer.words.clone())
    })
    .collect()
}

/// The keys of the page in one line.
pub fn keys_line(state: &UiState) -> String {
    let Some(page) = state.first_page() else {
        return String::new();
    };
    let keys = keys(state, page);
    let keys = keys.iter().map(|(key, words)| format!("{key}: {words}"));
    keys.collect::<Vec<_>>().join(", ")
}

/// The page in one line above the hints, where a conversation is in its place.
pub fn line(state: &UiState, columns: usize) -> Option<String> {
    let page = state.first_page().filter(|_| has_spoken(state))?;
    let keys = keys_line(state);
    let whole = format!("{} {keys}", page.what);
    let fits = |text: &String| width(text) <= columns;
    let forms = [whole, keys].into_iter().find(fits);
    Some(forms.unwrap_or_else(|| page.what.clone()))
}
