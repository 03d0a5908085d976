//! What the shell asks of a question.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Confirmation, Popup};
use crate::ui::keymap::Action;
use crate::ui::model::board::branches;
use crate::ui::popups::buttons::box_buttons;
use crate::ui::popups::confirm::{approve_now, merge, place, task_actions, view};
use crate::ui::popups::feature::{PopupFeature, Targets};
use crate::ui::theme::Theme;

/// A question before something that cannot be undone.
pub struct ConfirmPopup;

impl PopupFeature for ConfirmPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        if let Popup::Confirm(question) = popup {
            view::confirm(app, popup, question, theme, screen, buffer);
        }
        None
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let place = place(app, app.size, popup);
        Targets::dialog(place.area, box_buttons(app, popup, place.buttons))
    }

    fn accept(&self, app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
        match app.popups.last_mut() {
            Some(Popup::Confirm(Confirmation::Quit)) => out.push(Effect::Quit),
            Some(Popup::Confirm(Confirmation::Force(member))) => {
                let member = member.clone();
                app.popups.pop();
                out.push(Effect::Command(Command::Force { member }));
            }
            Some(Popup::Confirm(Confirmation::Merge(task))) => {
                let task = *task;
                app.popups.pop();
                merge::one(app, task, out);
            }
            Some(Popup::Confirm(Confirmation::Release { task, from })) => {
                let (task, from) = (*task, from.clone());
                app.popups.pop();
                task_actions::release_now(app, task, from, out);
            }
            Some(Popup::Confirm(Confirmation::RemoveWorktree(judged))) => {
                let judged = judged.clone();
                app.popups.pop();
                task_actions::removal(app, judged, out);
            }
            Some(Popup::Confirm(Confirmation::LoseWork(judged))) => {
                let judged = judged.clone();
                app.popups.pop();
                task_actions::remove_now(app, judged, out);
            }
            Some(Popup::Confirm(Confirmation::ApproveSettings)) => {
                app.popups.pop();
                approve_now(app, out);
            }
            Some(Popup::Confirm(Confirmation::Complete(task))) => {
                let task = *task;
                app.popups.pop();
                task_actions::complete_now(app, task, out);
            }
            _ => {}
        }
        None
    }

    fn buttons(&self, app: &App, popup: &Popup) -> &'static [(Action, &'static str)] {
        match popup {
            Popup::Confirm(Confirmation::Quit) => {
                &[(Action::Accept, "quit"), (Action::Back, "stay")]
            }
            Popup::Confirm(Confirmation::Force(_)) => {
                &[(Action::Accept, "end it"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::Release { .. }) => {
                &[(Action::Accept, "release"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::RemoveWorktree(_)) => {
                &[(Action::Accept, "remove"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::LoseWork(_)) => {
                &[(Action::Accept, "remove anyway"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::ApproveSettings) => {
                &[(Action::Accept, "approve"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::Complete(_)) => {
                &[(Action::Accept, "complete"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Confirmation::Merge(_)) if branches::to_merge(app).len() > 1 => &[
                (Action::Accept, "merge"),
                (Action::MergeAll, "all"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ],
            Popup::Confirm(Confirmation::Merge(_)) => &[
                (Action::Accept, "merge"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ],
            _ => &[],
        }
    }

    fn tip(&self, _app: &App, _popup: &Popup) -> String {
        "Confirm or cancel".into()
    }
}
