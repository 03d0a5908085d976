//! The task form as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::hit::Hit;
use crate::ui::app::popup::{Next, Popup, Targets, TextCursor, TextInput};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::buttons;
use crate::ui::popups::task_form::form::{FormField, TaskForm};
use crate::ui::popups::task_form::{keep_draft, layout, submit, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::composer::Composer;
use crate::ui::widgets::placed::PlacedPart;

impl TaskForm {
    /// Returns the area of a field's text; `None` if the field is not visible.
    fn area_of(&self, app: &App, field: FormField) -> Option<Rect> {
        let fields = layout::fields(app.size, self).fields;
        let own = fields.iter().find(|(of, _)| *of == field);
        own.map(|(_, area)| layout::words(*area))
    }
}

impl Popup for TaskForm {
    fn context(&self) -> Context {
        Context::TaskForm
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        view::draw(app, self, theme, screen, buffer)
    }

    fn targets(&self, app: &App) -> Targets {
        let places = layout::fields(app.size, self);
        let mut targets = buttons::targets(app, self, places.area);
        let fields = places.fields.into_iter();
        targets.inside.extend(fields.map(|(field, at)| PlacedPart {
            at,
            what: Hit::PopupPart(field as usize),
        }));
        targets
    }

    fn tip(&self, _app: &App) -> String {
        "Teammates claim the tasks that you add".into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Accept => return submit(self, app, out),
            Action::NextField => self.cycle_focus(1),
            Action::PrevField => self.cycle_focus(-1),
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn press(&mut self, app: &mut App, part: usize, at: Position) -> Next {
        let field = FormField::ALL.get(part).copied().unwrap_or_default();
        if let Some(area) = self.area_of(app, field) {
            self.field = field;
            self.input_to_edit().click_at(area, at);
        }
        Next::Stay
    }

    fn on_close(&mut self, app: &mut App) {
        keep_draft(app, std::mem::take(self));
    }

    fn holds_text(&self) -> bool {
        true
    }

    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        match self.id {
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
        }
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        let is_multiline = self.field == FormField::Description;
        Some(TextInput::Area {
            text: self.focused_input(),
            is_multiline,
        })
    }

    fn text(&self) -> Option<&Composer> {
        Some(self.input(self.field))
    }

    fn text_area(&self, app: &App) -> Option<Rect> {
        self.area_of(app, self.field)
    }

    fn text_changed(&mut self, _app: &App) {
        self.error.clear();
    }
}
