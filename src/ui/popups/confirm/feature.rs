//! What the shell asks of a question.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Popup, Question};
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
            Some(Popup::Confirm(Question::Quit)) => out.push(Effect::Quit),
            Some(Popup::Confirm(Question::Force(member))) => {
                let member = member.clone();
                app.popups.pop();
                out.push(Effect::Command(Command::Force { member }));
            }
            Some(Popup::Confirm(Question::Merge(task))) => {
                let task = *task;
                app.popups.pop();
                merge::one(app, task, out);
            }
            Some(Popup::Confirm(Question::Release { task, from })) => {
                let (task, from) = (*task, from.clone());
                app.popups.pop();
                task_actions::release_now(app, task, from, out);
            }
            Some(Popup::Confirm(Question::RemoveWorktree(judged))) => {
                let judged = judged.clone();
                app.popups.pop();
                task_actions::removal(app, judged, out);
            }
            Some(Popup::Confirm(Question::LoseWork(judged))) => {
                let judged = judged.clone();
                app.popups.pop();
                task_actions::remove_now(app, judged, out);
            }
            Some(Popup::Confirm(Question::ApproveSettings)) => {
                app.popups.pop();
                approve_now(app, out);
            }
            Some(Popup::Confirm(Question::Complete(task))) => {
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
            Popup::Confirm(Question::Quit) => &[(Action::Accept, "quit"), (Action::Back, "stay")],
            Popup::Confirm(Question::Force(_)) => {
                &[(Action::Accept, "end it"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::Release { .. }) => {
                &[(Action::Accept, "release"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::RemoveWorktree(_)) => {
                &[(Action::Accept, "remove"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::LoseWork(_)) => {
                &[(Action::Accept, "remove anyway"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::ApproveSettings) => {
                &[(Action::Accept, "approve"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::Complete(_)) => {
                &[(Action::Accept, "complete"), (Action::Back, "cancel")]
            }
            Popup::Confirm(Question::Merge(_)) if branches::to_merge(app).len() > 1 => &[
                (Action::Accept, "merge"),
                (Action::MergeAll, "all"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ],
            Popup::Confirm(Question::Merge(_)) => &[
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
