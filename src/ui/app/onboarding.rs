//! The setup page: it says what prevents the first prompt, what that means, and what to do next. It is shown in place
//! of the lead's conversation while that is empty, and disappears when the problem is solved. Pure.

use crate::domain::ids::Name;
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Usage;
use crate::protocol::event::TurnEnd;
use crate::protocol::{AgentEvent, EventKind};
use crate::ui::app::App;
use crate::ui::app::drafts::RestoredTo;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::text::width;

/// Maximum number of steps on a setup page. Further steps are left out.
const STEPS_MAX: usize = 40;
/// Maximum length of a text on a setup page, in characters. A longer text is cut.
const WORDS_MAX: usize = 2000;
/// Maximum length, in bytes, of a prompt that returns to the composer if the model does not answer it. A longer prompt
/// is not stored and does not return.
const PROMPT_MAX: usize = 256 * 1024;

/// The content of a setup page, which is shown in place of the conversation while something prevents the first prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnboardingPage {
    /// How severe the problem is. There is at most one page of each severity; a new one replaces the old one.
    pub severity: PageSeverity,
    /// What is wrong, or what is recommended, in one sentence.
    pub cause: String,
    /// What the problem means for the user; may be empty.
    pub consequence: String,
    /// What the user can do, easiest first.
    pub steps: Vec<String>,
    /// The actions that the page offers, each with a key.
    pub offers: Vec<OfferedAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSeverity {
    /// No crew is running: prompts cannot be delivered.
    Missing,
    /// A crew is running, but its model will probably not answer.
    Trouble,
    /// Everything works; the page only recommends something.
    Advice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAction {
    pub action: Action,
    /// The label of the action, shown next to its key.
    pub words: String,
}

impl OfferedAction {
    pub fn new(action: Action, words: impl Into<String>) -> OfferedAction {
        let words = words.into();
        OfferedAction { action, words }
    }
}

/// The current setup pages and the prompt of the lead's current turn. If the model fails to answer the prompt, the
/// prompt returns to the composer.
#[derive(Debug, Default)]
pub struct Onboarding {
    /// The setup pages, at most one of each severity, most severe first.
    pages: Vec<OnboardingPage>,
    /// The prompt of the lead's current turn. Empty between turns, for a prompt longer than [`PROMPT_MAX`], and for all
    /// prompts after the lead's first answer.
    pending_prompt: String,
    /// The address to which the API key is sent, if that is not a server of the provider's vendor.
    key_address: Option<String>,
}

impl App {
    /// Shows a setup page. It replaces the page with the same severity.
    ///
    /// If the page says that no crew is running, this also changes the following:
    ///
    /// - Queued prompts return to the composer or become drafts.
    /// - Task forms that were sent become drafts again.
    /// - The focus moves from an empty composer to the lead's conversation, unless a popup is open.
    pub fn show_onboarding(&mut self, page: OnboardingPage) {
        let line = |text: &str| clip(&one_line(text), WORDS_MAX);
        let page = OnboardingPage {
            severity: page.severity,
            cause: line(&page.cause),
            consequence: line(&page.consequence),
            steps: page.steps.iter().take(STEPS_MAX).map(|s| line(s)).collect(),
            offers: page.offers,
        };
        if page.severity == PageSeverity::Missing {
            let mut queued = std::mem::take(&mut self.model.queued);
            while let Some(to) = queued.first().map(|q| q.to.clone()) {
                let own: Vec<String> = queued
                    .extract_if(.., |q| q.to.same(&to))
                    .map(|q| q.text)
                    .collect();
                self.restore_text(&to, &own.join("\n"));
            }
            self.popups.answers_will_not_come();
            // The focus stays if the user is typing, so that the typed text is not taken for keys of a pane.
            if self.input.composer.is_empty()
                && self.focus == Focus::Composer
                && self.popups.is_empty()
            {
                self.focus = Focus::Pane(Pane::Lead);
            }
        }
        self.onboarding
            .pages
            .retain(|p| p.severity != page.severity);
        self.onboarding.pages.push(page);
        self.onboarding.pages.sort_by_key(|p| p.severity);
        self.dirty = true;
    }

    /// Shows a setup page that asks for approval. If the composer does not have the focus, keys are ignored for the
    /// time [`SETTLE`](crate::ui::SETTLE) after `now`. A key that was pressed before the page was visible therefore
    /// cannot approve anything.
    pub fn show_approval(&mut self, page: OnboardingPage, now: Timestamp) {
        self.show_onboarding(page);
        if self.focus != Focus::Composer {
            self.keys.guard.moved_at = Some(now);
        }
    }

    /// Sets the address that is shown as the recipient of the API key. Called if that is not a server of the provider's
    /// vendor.
    pub fn set_key_address(&mut self, address: &str) {
        self.onboarding.key_address = Some(clip(&one_line(address), WORDS_MAX));
        self.dirty = true;
    }

    /// Returns the address to which the API key is sent; `None` if that is a server of the provider's vendor.
    pub(in crate::ui) fn key_address(&self) -> Option<&str> {
        self.onboarding.key_address.as_deref()
    }

    /// Returns whether crewdeck can be restarted without a loss: a setup page is shown, no prompt is queued, no popup
    /// is open and no agent is busy.
    pub fn is_at_the_beginning(&self) -> bool {
        let is_idle = self.model.queued.is_empty() && self.popups.is_empty() && self.busy() == 0;
        self.onboarding_page().is_some() && is_idle
    }

    /// Returns the draft to the lead. The caller keeps it across a restart.
    pub fn draft(&self) -> String {
        self.draft_to(&Name::lead())
    }

    /// Restores the draft to the lead after a restart. Replaces the text of the composer, so the lead's conversation
    /// must be open.
    pub fn set_draft(&mut self, text: &str) {
        self.input.composer.set(text);
    }

    /// Returns the most severe setup page that applies; `None` in a replay. If a crew is running, pages apply only
    /// until the lead's conversation has an entry.
    pub fn onboarding_page(&self) -> Option<&OnboardingPage> {
        let page = self.onboarding.pages.first()?;
        let counts = page.severity == PageSeverity::Missing || !has_spoken(self);
        (counts && self.replay.is_none()).then_some(page)
    }

    /// Returns the cause of each setup page that reports a problem, not of pages that only recommend something. Empty
    /// if no setup page is shown.
    pub(in crate::ui) fn onboarding_causes(&self) -> impl Iterator<Item = &str> {
        let pages = self
            .onboarding_page()
            .map_or(&[][..], |_| &self.onboarding.pages);
        let is_cause = |page: &&OnboardingPage| page.severity != PageSeverity::Advice;
        pages
            .iter()
            .filter(is_cause)
            .map(|page| page.cause.as_str())
    }

    /// Removes the setup page about the previous model, and then moves the focus from the lead's conversation to the
    /// composer. Called when the user has chosen another model.
    pub(in crate::ui) fn remove_model_page(&mut self) {
        let before = self.onboarding.pages.len();
        self.onboarding
            .pages
            .retain(|p| p.severity != PageSeverity::Trouble);
        if self.onboarding.pages.len() < before && self.focus == Focus::Pane(Pane::Lead) {
            self.focus = Focus::Composer;
        }
    }

    /// Stores a prompt to the lead until the turn ends. If the turn fails, [`App::handle_turn_end`] returns the prompt
    /// to the composer. Does not store a prompt that is longer than [`PROMPT_MAX`], or any prompt after the lead's
    /// first answer.
    pub(in crate::ui) fn remember_prompt(&mut self, agent: &Name, text: &str) {
        if agent.is_lead() && !has_answered(self) && text.len() <= PROMPT_MAX {
            self.onboarding.pending_prompt = text.to_string();
        }
    }

    /// Handles the end of a turn of the lead. If the turn failed and the lead's model has never answered, returns the
    /// prompt to the composer or makes it a draft, so that the user does not have to type it again.
    pub(in crate::ui) fn handle_turn_end(&mut self, agent: &Name, end: &TurnEnd) {
        if !agent.is_lead() {
            return;
        }
        let asked = std::mem::take(&mut self.onboarding.pending_prompt);
        let is_own = self.role.is_crew() && self.replay.is_none();
        if let TurnEnd::Failed { .. } = end
            && is_own
            && !asked.is_empty()
            && !has_answered(self)
            && self.draft_to(&Name::lead()).is_empty()
        {
            let returned = self.restore_text(&Name::lead(), &asked);
            if returned != RestoredTo::Composer {
                let text = "The lead did not answer. Your message is kept as a draft to the lead.";
                self.say(text);
                return;
            }
            let key = self.prefs.keymap.key(Context::Composer, Action::Send);
            let text = format!(
                "The lead did not answer. Your message is back in the composer; {key} sends it again."
            );
            // The message disappears when the user sends or changes the text.
            let back = self.input.composer.text();
            self.say_while(text, move |state| state.input.composer.text() == back);
        }
    }
}

/// Returns whether the lead's conversation has an entry.
fn has_spoken(model: &CrewModel) -> bool {
    let lead = model.agents.get(&Name::lead());
    lead.is_some_and(|a| a.has_entries)
}

/// Returns whether the lead's model has answered at least once in this session.
fn has_answered(model: &CrewModel) -> bool {
    let lead = model.agents.get(&Name::lead());
    lead.is_some_and(|a| !a.last_answer.is_empty() || a.usage != Usage::default())
}

/// Stores prompts to the lead and handles the ends of the lead's turns, so that a prompt that the model failed to
/// answer returns to the composer.
pub fn on_event(app: &mut App, event: &EventKind) {
    if let EventKind::Agent {
        agent,
        event: AgentEvent::Prompted { text, .. },
    } = event
    {
        app.remember_prompt(agent, text);
    } else if let EventKind::Agent {
        agent,
        event: AgentEvent::TurnEnded { end },
    } = event
    {
        app.handle_turn_end(agent, end);
    }
}

/// Returns why `action` is not available because no crew is running. Returns `None` if the action is available, or does
/// not need a crew.
pub fn refuses(app: &App, action: Action) -> Option<String> {
    let is_the_crews = matches!(
        action,
        Action::Models
            | Action::Compact
            | Action::Clear
            | Action::Rewind
            | Action::Init
            | Action::Memory
    );
    let page = app.onboarding_page().filter(|_| is_the_crews)?;
    (page.severity == PageSeverity::Missing)
        .then(|| format!("No crew is running yet. {}", keys_line(app)))
}

/// Returns the setup page that is drawn in place of the lead's conversation. Returns `None` if another conversation is
/// shown, if the lead's conversation has entries, or if no page applies.
pub fn visible_page(app: &App) -> Option<&OnboardingPage> {
    let page = app.onboarding_page().filter(|_| app.shown.is_lead());
    page.filter(|_| !has_spoken(app))
}

/// Returns whether the keys that the setup page offers work now: the lead's conversation has the focus, no popup is
/// open, and no search text is being typed.
pub fn has_keys(app: &App) -> bool {
    let here = app.focus == Focus::Pane(Pane::Lead) && app.shown.is_lead();
    here && app.popups.is_empty() && !app.is_searching() && app.onboarding_page().is_some()
}

pub fn offers(app: &App, action: Action) -> bool {
    let page = app.onboarding_page();
    page.is_some_and(|p| p.offers.iter().any(|o| o.action == action))
}

/// Returns the keys that a setup page offers, with their labels. If the lead's conversation does not have the focus,
/// the key that moves the focus to it comes before each key.
pub fn keys(app: &App, page: &OnboardingPage) -> Vec<(String, String)> {
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

/// Returns the keys that the setup page offers, with their labels, in one line; empty if no page applies.
pub fn keys_line(app: &App) -> String {
    let Some(page) = app.onboarding_page() else {
        return String::new();
    };
    let keys = keys(app, page);
    let keys = keys.iter().map(|(key, words)| format!("{key}: {words}"));
    keys.collect::<Vec<_>>().join(", ")
}

/// Returns the setup page in one line, if possible at most `columns` wide. The line is shown above the key hints while
/// the lead's conversation has entries, because the page itself is not shown then. Returns `None` if the conversation
/// has no entries or no page applies.
pub fn line(app: &App, columns: usize) -> Option<String> {
    let page = app.onboarding_page().filter(|_| has_spoken(app))?;
    let keys = keys_line(app);
    let whole = format!("{} {keys}", page.cause);
    let fits = |text: &String| width(text) <= columns;
    let forms = [whole, keys].into_iter().find(fits);
    Some(forms.unwrap_or_else(|| page.cause.clone()))
}
