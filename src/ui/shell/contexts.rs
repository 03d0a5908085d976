//! The active key contexts, which decide what a key does. They follow from popups, focus and text fields. Pure.

use crate::ui::keymap::Context;
use crate::ui::keymap::pane::Focus;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;

impl UiState {
    /// Returns the active key contexts, the most specific first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(Peek { pane, .. }) = self.popups.top::<Peek>() {
            // While a preview is open, the keys of the previewed pane work too.
            let inner = self.panes.get(*pane).inner_context(self);
            let rest = [Context::In(*pane), Context::Everywhere];
            let first = std::iter::once(Context::Peek);
            return first.chain(inner).chain(rest).collect();
        }
        if let Some(popup) = self.popups.last() {
            let editing = popup.text_area(self).map(|_| Context::Editing);
            let own = [popup.context()].into_iter().chain(editing);
            let first = popup.more_contexts().iter().copied();
            let mut out: Vec<Context> = Vec::new();
            for context in first.chain(own).chain([Context::Everywhere]) {
                // A popup may name its own context among the further ones, to put it before them.
                if !out.contains(&context) {
                    out.push(context);
                }
            }
            return out;
        }
        let Focus::Pane(pane) = self.focus else {
            let inner = self.focused_pane().inner_context(self);
            let is_empty = self.input.composer.is_empty();
            let empty = is_empty.then_some(Context::EmptyComposer);
            let rest = [Context::Composer, Context::Editing, Context::Everywhere];
            return inner.into_iter().chain(empty).chain(rest).collect();
        };
        let feature = self.panes.get(pane);
        if let Some(typing) = feature.typing_context(self) {
            return vec![typing, Context::Everywhere];
        }
        let replays = self.replay.is_some().then_some(Context::Replay);
        let inner = feature.inner_context(self).or(replays);
        let rest = [Context::In(pane), Context::Panes, Context::Everywhere];
        inner.into_iter().chain(rest).collect()
    }
}
