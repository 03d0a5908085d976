//! What the shell asks of the form of a task.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Popup;
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::Action;
use crate::ui::popups::buttons::box_buttons;
use crate::ui::popups::feature::{PopupFeature, Targets};
use crate::ui::popups::task_form::{update, view};
use crate::ui::popups::{confirm, text_areas};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;

/// The form for a new or changed task.
pub struct TaskFormPopup;

impl PopupFeature for TaskFormPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let Popup::Task(form) = popup else {
            return None;
        };
        view::draw(app, popup, form, theme, screen, buffer)
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let place = confirm::place(app, app.size, popup);
        let mut targets = Targets::dialog(place.area, box_buttons(app, popup, place.buttons));
        if let Popup::Task(form) = popup {
            let fields = text_areas::fields(app, popup, form).fields.into_iter();
            targets.inside.extend(fields.map(|(field, at)| Target {
                at,
                what: Hit::Field(field),
            }));
        }
        targets
    }

    fn accept(&self, app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
        update::take(app, out);
        None
    }

    fn buttons(&self, _app: &App, popup: &Popup) -> &'static [(Action, &'static str)] {
        match popup {
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
            _ => &[],
        }
    }

    fn tip(&self, _app: &App, _popup: &Popup) -> String {
        "Teammates claim the tasks that you add".into()
    }
}
