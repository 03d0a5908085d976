//! The buttons of the popups that ask.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{CommentStage, Popup, Question};
use crate::ui::frame::buttons::Button;
use crate::ui::keymap::Action;
use crate::ui::model::Model;
use crate::ui::model::board::branches;
use crate::ui::text::width;
use crate::ui::widgets::placed::{Placed, place};

/// Returns the actions and labels of a dialog's buttons; empty for other popups.
pub fn asked(model: &Model, popup: &Popup) -> &'static [(Action, &'static str)] {
    match popup {
        Popup::Comment(comment) => match comment.stage {
            CommentStage::Writing if model.requests.is_question(&comment.request) => &[
                (Action::Accept, "send the answer"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Writing => &[
                (Action::Accept, "next: approve or reject"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Verdict => &[
                (Action::Approve, "approve with comment"),
                (Action::Reject, "reject with comment"),
                (Action::Back, "back"),
            ],
        },
        Popup::Task(form) => match form.id {
            None => &[
                (Action::Accept, "add"),
                (Action::NextField, "next field"),
                (Action::Back, "close"),
            ],
            Some(_) => &[
                (Action::Accept, "save"),
                (Action::NextField, "next field"),
                (Action::Back, "close"),
            ],
        },
        Popup::Confirm(Question::Quit) => &[(Action::Accept, "quit"), (Action::Back, "stay")],
        Popup::Confirm(Question::Force(_)) => {
            &[(Action::Accept, "end it"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Release { .. }) => {
            &[(Action::Accept, "release"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::RemoveTree(_)) => {
            &[(Action::Accept, "remove"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::LoseTree(_)) => {
            &[(Action::Accept, "remove anyway"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::ApproveSettings) => {
            &[(Action::Accept, "approve"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Complete(_)) => {
            &[(Action::Accept, "complete"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Merge(_)) if branches::to_merge(model).len() > 1 => &[
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
        Popup::Reader(_)
        | Popup::Picker(_)
        | Popup::Jobs { .. }
        | Popup::Costs(_)
        | Popup::Peek(_)
        | Popup::EventLog(_) => &[],
    }
}

/// Returns the buttons of a dialog, in its last row.
pub fn box_buttons(app: &App, popup: &Popup, row: Rect) -> Vec<Placed<Button>> {
    let parts = asked(app, popup).iter().map(|(action, words)| {
        let button = Button {
            key: app.prefs.keymap.key(popup.context(), *action),
            words,
            action: Some(*action),
        };
        (width(&button.key) + width(words) + 4, button)
    });
    place(row, parts)
}
