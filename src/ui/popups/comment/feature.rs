//! What the shell asks of a comment.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{CommentStage, Popup};
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::Action;
use crate::ui::popups::buttons::box_buttons;
use crate::ui::popups::comment::view;
use crate::ui::popups::feature::{PopupFeature, Targets};
use crate::ui::popups::{confirm, text_areas};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;

/// A comment to a request.
pub struct CommentPopup;

impl PopupFeature for CommentPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let Popup::Comment(comment) = popup else {
            return None;
        };
        view::write(app, popup, comment, theme, screen, buffer)
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let place = confirm::place(app, app.size, popup);
        let mut targets = Targets::dialog(place.area, box_buttons(app, popup, place.buttons));
        if matches!(popup, Popup::Comment(comment) if comment.stage == CommentStage::Writing) {
            targets.inside.push(Target {
                at: text_areas::comment(app, popup),
                what: Hit::Comment,
            });
        }
        targets
    }

    fn accept(&self, app: &mut App, _out: &mut Vec<Effect>) -> Option<Action> {
        let Some(Popup::Comment(comment)) = app.popups.last_mut() else {
            return None;
        };
        if app.model.requests.is_question(&comment.request) {
            // An answer to a question needs no verdict.
            return Some(Action::Approve);
        }
        comment.stage = CommentStage::Verdict;
        None
    }

    fn buttons(&self, app: &App, popup: &Popup) -> &'static [(Action, &'static str)] {
        match popup {
            Popup::Comment(comment) => match comment.stage {
                CommentStage::Writing if app.model.requests.is_question(&comment.request) => &[
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
            _ => &[],
        }
    }

    fn tip(&self, _app: &App, _popup: &Popup) -> String {
        "Sent with your decision".into()
    }
}
