//! Pure: in which contexts keys count now, as what is open and being written says.

use crate::ui::app::filters::Filter;
use crate::ui::app::popup::{Popup, Text};
use crate::ui::app::{App, onboarding};
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::lead::complete;
use crate::ui::panes::needs;
use crate::ui::transcript::Search;
use crate::ui::widgets::line_input::Searching;

impl App {
    /// The contexts in which keys count now, the narrowest first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(Popup::Peek(pane)) = self.popups.last() {
            // Whoever looks at something may do with it what its pane can do.
            let choices = *pane == Pane::Needs && self.has_choices();
            let choices = choices.then_some(Context::Choices);
            let rest = [Context::In(*pane), Context::Everywhere];
            let first = std::iter::once(Context::Peek);
            return first.chain(choices).chain(rest).collect();
        }
        if let Some(popup) = self.popups.last() {
            let mut all = vec![popup.context(), Context::Everywhere];
            if matches!(popup, Popup::Reader(r) if matches!(r.text, Text::Diff(_)))
                && popup.context() == Context::Reader
            {
                all.insert(0, Context::Diff);
            }
            return all;
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

    /// Whether the selected request is a question with choices.
    fn has_choices(&self) -> bool {
        needs::selected_request(self).is_some_and(|(_, r)| !r.choices.is_empty())
    }

    /// Whether the filter of the pane with the keys is being written.
    pub(in crate::ui) fn is_filtering(&self) -> bool {
        let typing = |f: &Filter| f.searching == Searching::Typing;
        match self.focus {
            Focus::Pane(pane) => self.filters.of(pane).is_some_and(typing),
            Focus::Composer => false,
        }
    }

    /// Whether what is searched for in the conversation is being written.
    pub(in crate::ui) fn is_searching(&self) -> bool {
        let search = self
            .model
            .agents
            .get(&self.shown)
            .map(|a| a.transcript.search());
        let typing = search.flatten().map(Search::searching) == Some(Searching::Typing);
        typing && self.focus == Focus::Pane(Pane::Lead)
    }

    /// Whether a comment or a task is being written: it must not get lost.
    pub(in crate::ui) fn is_commenting(&self) -> bool {
        let written = |p: &Popup| matches!(p, Popup::Comment(_) | Popup::Task(_));
        self.popups.iter().any(written)
    }

    /// Whether the keys move in a pane: no popup lies over it, or one that only looks at what is selected there.
    pub(in crate::ui) fn is_in_panes(&self) -> bool {
        matches!(self.popups.last(), None | Some(Popup::Peek(_)))
    }

    /// Whether the background jobs are in view.
    pub(in crate::ui) fn shows_jobs(&self) -> bool {
        let jobs = |p: &Popup| matches!(p, Popup::Jobs { .. });
        self.popups.iter().any(jobs)
    }
}
