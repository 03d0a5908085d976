//! The pager as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::effect::Effect;
use crate::ui::app::hit::Hit;
use crate::ui::app::popup::{Copied, Next, Popup, Targets, TextCursor, TextInput};
use crate::ui::app::{App, Preferences};
use crate::ui::frame::END_SEARCH;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::pager::{Page, Pager, area, view};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::transcript::MatchStep;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

impl<P: Page> Popup for Pager<P> {
    fn context(&self) -> Context {
        if self.is_typing {
            Context::Search
        } else {
            Context::Reader
        }
    }

    fn more_contexts(&self) -> &'static [Context] {
        if self.is_typing {
            &[]
        } else {
            self.page.contexts()
        }
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        view::draw(app, self, theme, screen, buffer)
    }

    fn targets(&self, app: &App) -> Targets {
        let rows = self.rows(app, &Theme::default());
        let area = Self::area(app.size, rows.len());
        let (list, first) = self.list(area, rows.len());
        let parts = rows.iter().skip(first).zip(list.rows());
        let parts = parts.filter_map(|(row, at)| {
            let what = Hit::PopupPart(self.page.part(row)?);
            Some(PlacedPart { at, what })
        });
        Targets {
            area,
            inside: parts.collect(),
            bar: Scrollbar::of_list(area, list, first, rows.len()),
            beside: Hit::BesidePopup,
        }
    }

    fn tip(&self, _app: &App) -> String {
        P::TIP.into()
    }

    fn act(&mut self, app: &mut App, action: Action, _out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => self.scroll_by(app, by),
            Action::Filter => self.begin_search(),
            Action::NextMatch => self.next_match(app, Way::Forward),
            Action::PrevMatch => self.next_match(app, Way::Back),
            Action::Accept => return self.accept(app),
            Action::Back if self.is_searching() => self.end_search(),
            _ if self.page.has_section(action).is_some() => {
                let seen = self.visible(app);
                if let Some(line) = self.page.section(app, action, &seen.rows) {
                    self.scroll_to(line, &seen);
                }
            }
            _ if self.page.refuses(action) => {
                app.say("This key works on the board, not on this page.");
            }
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn press(&mut self, app: &mut App, part: usize, _at: Position) -> Next {
        let seen = self.visible(app);
        if let Some(line) = self.page.line_of_part(part, &seen.rows) {
            self.scroll_to(line, &seen);
        }
        Next::Stay
    }

    fn jump(&mut self, app: &App, first: usize, _row: usize) {
        self.scroll = first;
        self.update_section(app);
    }

    fn is_text(&self) -> bool {
        true
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        match action {
            Action::NextMatch | Action::PrevMatch => {
                let is_found = |rows| !self.matches(rows).hits.is_empty();
                Some(self.is_searching() && is_found(&self.rows(app, &Theme::default())))
            }
            Action::Filter => Some(true),
            Action::Accept if !self.is_typing => Some(self.page.item_label(app).is_some()),
            _ if self.page.refuses(action) => Some(false),
            _ => self.page.has_section(action),
        }
    }

    fn hint(&self, app: &App, action: Action) -> Option<&'static str> {
        if action == Action::Accept && !self.is_typing {
            return self.page.item_label(app);
        }
        if action == Action::Move(Scroll::LineDown) && self.page.has_items(app) {
            return Some("select");
        }
        let ends = action == Action::Back && !self.is_typing && self.is_searching();
        ends.then_some(END_SEARCH)
    }

    fn recommended_action(&self, prefs: &Preferences, key: &str) -> Option<Action> {
        self.page
            .recommended_action(prefs, key)
            .filter(|_| !self.is_typing)
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        self.page.clipboard_text().unwrap_or_else(|| {
            let width = usize::from(area(app.size).width.max(1));
            let rows = self.page.rows(app, width, &Theme::default());
            let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
            Copied::Text("the text".into(), lines.join("\n"))
        })
    }

    fn ages(&self, app: &App) -> Vec<ShownAge> {
        self.page.ages(app)
    }

    fn before_event(&mut self, app: &App) {
        self.page.before_event(app);
    }

    fn after_event(&mut self, app: &App) {
        self.page.after_event(app);
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        let search = &mut self.search;
        self.is_typing.then_some(TextInput::Line(search))
    }

    fn text_changed(&mut self, app: &App) {
        self.scroll = self.origin;
        self.go_to(app, |found, from| {
            Some((found.nearest(from), MatchStep::Moved))
        });
    }
}
