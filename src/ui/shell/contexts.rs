//! Pure: the key contexts that are active, derived from popups, focus and text fields.

use crate::ui::app::filters::Filter;
use crate::ui::app::{App, onboarding};
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::lead::complete;
use crate::ui::panes::needs;
use crate::ui::shell::peek::Peek;
use crate::ui::transcript::Search;

impl App {
    /// Returns the active key contexts, the most specific first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(Peek { pane, .. }) = self.popups.top::<Peek>() {
            // The preview also accepts the keys of its pane.
            let choices = *pane == Pane::Needs && self.has_choices();
            let choices = choices.then_some(Context::Choices);
            let rest = [Context::In(*pane), Context::Everywhere];
            let first = std::iter::once(Context::Peek);
            return first.chain(choices).chain(rest).collect();
        }
        if let Some(popup) = self.popups.last() {
            let own = [popup.context(), Context::Everywhere];
            return [popup.more_contexts(), own.as_slice()].concat();
        }
        match self.focus {
            Focus::Composer if complete::selected(self).is_some() => {
                vec![Context::Completion, Context::Composer, Context::Everywhere]
            }
            Focus::Composer => vec![Context::Composer, Context::Everywhere],
            Focus::Pane(_) if self.is_filtering() => {
                vec![Context::Filter, Context::Everywhere]
            }
            Focus::Pane(Pane::Lead) if self.is_searching() => {
                vec![Context::Search, Context::Everywhere]
            }
            Focus::Pane(Pane::Needs) if self.has_choices() => vec![
                Context::Choices,
                Context::In(Pane::Needs),
                Context::Panes,
                Context::Everywhere,
            ],
            Focus::Pane(pane) if self.replay.is_some() => vec![
                Context::Replay,
                Context::In(pane),
                Context::Panes,
                Context::Everywhere,
            ],
            Focus::Pane(pane) if onboarding::has_keys(self) => vec![
                Context::FirstRun,
                Context::In(pane),
                Context::Panes,
                Context::Everywhere,
            ],
            Focus::Pane(pane) => vec![Context::In(pane), Context::Panes, Context::Everywhere],
        }
    }

    /// Returns whether the selected request is a question with choices.
    fn has_choices(&self) -> bool {
        needs::selected_request(self).is_some_and(|(_, r)| !r.choices.is_empty())
    }

    /// Returns whether the filter of the focused pane is being typed.
    pub(in crate::ui) fn is_filtering(&self) -> bool {
        let typing = |f: &Filter| f.is_typing;
        match self.focus {
            Focus::Pane(pane) => self.filters.of(pane).is_some_and(typing),
            Focus::Composer => false,
        }
    }

    /// Returns whether the conversation search is being typed.
    pub(in crate::ui) fn is_searching(&self) -> bool {
        let search = self
            .model
            .agents
            .get(&self.shown)
            .map(|a| a.transcript.search());
        let typing = search.flatten().is_some_and(Search::is_typing);
        typing && self.focus == Focus::Pane(Pane::Lead)
    }
}
