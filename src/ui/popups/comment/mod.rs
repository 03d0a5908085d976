//! The popup in which the user writes a comment on a request or the answer to a question.

use crate::ui::model::CrewModel;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::domain::ids::RequestId;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::hit::Hit;
use crate::ui::app::popup::{Next, Popup, Targets, TextCursor, TextInput};
use crate::ui::frame;
use crate::ui::frame::popup::open;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::sentence;
use crate::ui::popups::buttons;
use crate::ui::text::fit;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::{bottom_centered, inside, whole_or};
use crate::ui::widgets::composer::{Composer, TextAreaSize};
use crate::ui::widgets::cut::{cut_left, cut_top};
use crate::ui::widgets::placed::PlacedPart;

const WIDTH_MAX: u16 = 72;
/// Maximum number of visible rows of the comment or answer.
const ROWS_MAX: u16 = 6;
/// Number of rows of the popup beside the text: the frame, the row that names the request, a blank row and the row of
/// the buttons.
const MARGIN_ROWS: u16 = 5;
/// The mark before the first row of the text.
const PROMPT: &str = "› ";
/// Width of [`PROMPT`], in columns.
const PROMPT_WIDTH: u16 = 2;

/// The popup with the comment or answer that the user is writing.
#[derive(Debug)]
pub struct CommentPopup {
    pub request: RequestId,
    pub text: Composer,
    /// Whether the user has finished the comment, so that the next key approves or rejects the request.
    is_deciding: bool,
}

impl CommentPopup {
    /// Creates the popup for `request`. The comment begins with `text`, which the user can edit.
    pub fn new(request: RequestId, text: &str) -> CommentPopup {
        let mut composer = Composer::default();
        composer.set(text);
        CommentPopup {
            request,
            text: composer,
            is_deciding: false,
        }
    }

    fn is_answer(&self, model: &CrewModel) -> bool {
        model.requests.is_question(&self.request)
    }

    /// Returns the area of the popup at the bottom of the screen. It is just high enough for the text. The text takes at
    /// most a sixth of the screen, so that the card of the request stays readable.
    fn area(&self, screen: Rect) -> Rect {
        let columns = whole_or(screen, WIDTH_MAX.min(screen.width.saturating_sub(4)));
        let room = TextAreaSize {
            width: columns.saturating_sub(4 + PROMPT_WIDTH),
            height: (screen.height / 6).clamp(1, ROWS_MAX),
        };
        let rows = u16::try_from(self.text.window(room).rows.len()).unwrap_or(room.height);
        bottom_centered(screen, columns, rows.max(1) + MARGIN_ROWS)
    }

    /// Returns the areas of the prompt mark and of the text in a popup that covers `area`. Above them is the row that
    /// names the request; below them are a blank row and the row of the buttons.
    fn field(area: Rect) -> (Rect, Rect) {
        let (_, below) = cut_top(inside(area), 1);
        let field = Rect {
            height: below.height.saturating_sub(2),
            ..below
        };
        cut_left(field, PROMPT_WIDTH)
    }
}

impl Popup for CommentPopup {
    fn context(&self) -> Context {
        if self.is_deciding {
            Context::CommentVerdict
        } else {
            Context::Comment
        }
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        let area = self.area(screen);
        let (title, invitation) = if self.is_answer(app) {
            ("Answer", "Write your answer")
        } else {
            ("Comment", "Write a comment")
        };
        let inner = open(app, title, Vec::new(), theme, area, buffer);
        let (mark, text) = Self::field(area);
        if text.is_empty() {
            return None;
        }
        let (head, _) = cut_top(inner, 1);
        let about = app.model.requests.get(&self.request);
        let about = about.map_or_else(String::new, |request| {
            sentence::heading(request, &app.model.board, usize::from(head.width))
        });
        Line::styled(fit(&about, usize::from(head.width)), theme.heading).render(head, buffer);
        buttons::draw(app, self, area, theme, buffer);
        buffer.set_style(mark.union(text), theme.ground);
        let style = if self.is_deciding {
            theme.dim
        } else {
            theme.accent
        };
        Line::styled(PROMPT, style).render(mark, buffer);
        let window = self.text.window(TextAreaSize::from(text));
        for (line, row) in window.rows.iter().zip(text.rows()) {
            Line::styled(line.as_str(), theme.text).render(row, buffer);
        }
        if self.text.is_empty() {
            Line::styled(fit(invitation, usize::from(text.width)), theme.dim).render(text, buffer);
        }
        frame::text_beyond(window.overflow, theme, area, buffer);
        let at = Position::new(text.x + window.cursor.1, text.y + window.cursor.0);
        (!self.is_deciding).then_some(at)
    }

    fn targets(&self, app: &App) -> Targets {
        let mut targets = buttons::targets(app, self, self.area(app.size));
        if let Some(at) = self.text_area(app) {
            let what = Hit::PopupPart(0);
            targets.inside.push(PlacedPart { at, what });
        }
        targets
    }

    fn tip(&self, _app: &App) -> String {
        "Sent with your decision".into()
    }

    fn act(&mut self, app: &mut App, action: Action, _out: &mut Vec<Effect>) -> Next {
        match action {
            // The answer to a question is sent at once, because it needs no approval or rejection.
            Action::Accept if self.is_answer(app) => return Next::Run(Action::Approve),
            Action::Accept => self.is_deciding = true,
            Action::Back if self.is_deciding => self.is_deciding = false,
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn press(&mut self, app: &mut App, _part: usize, at: Position) -> Next {
        if let Some(area) = self.text_area(app) {
            self.text.click_at(area, at);
        }
        Next::Stay
    }

    fn holds_text(&self) -> bool {
        true
    }

    fn request(&self) -> Option<&RequestId> {
        Some(&self.request)
    }

    fn buttons(&self, app: &App) -> &'static [(Action, &'static str)] {
        match (self.is_deciding, self.is_answer(app)) {
            (true, _) => &[
                (Action::Approve, "approve with comment"),
                (Action::Reject, "reject with comment"),
                (Action::Back, "back"),
            ],
            (false, true) => &[
                (Action::Accept, "send the answer"),
                (Action::Back, "cancel"),
            ],
            (false, false) => &[
                (Action::Accept, "next: approve or reject"),
                (Action::Back, "cancel"),
            ],
        }
    }

    fn hint(&self, app: &App, action: Action) -> Option<&'static str> {
        let sends = action == Action::Accept && !self.is_deciding && self.is_answer(app);
        sends.then_some("send")
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        let text = &mut self.text;
        (!self.is_deciding).then_some(TextInput::Area {
            text,
            is_multiline: true,
        })
    }

    fn text(&self) -> Option<&Composer> {
        Some(&self.text)
    }

    fn text_area(&self, app: &App) -> Option<Rect> {
        (!self.is_deciding).then(|| Self::field(self.area(app.size)).1)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::UiState;
    use crate::ui::fixture::{busy, cells, picture, press};

    fn height(state: &UiState) -> u16 {
        state.popups.last().unwrap().targets(state).area.height
    }

    #[test]
    fn field_is_as_high_as_its_text() {
        for (width, height_of_screen, most) in [(60, 16, 2), (80, 24, 4), (160, 45, 6)] {
            let mut state = busy(width, height_of_screen);
            press(&mut state, "alt+w c");
            assert!(picture(&state).contains("› Write a comment"));
            for rows in 1..=8_u16 {
                assert_eq!(height(&state), rows.min(most) + MARGIN_ROWS, "{width}");
                press(&mut state, "ctrl+j \"more\"");
            }
            let shown = picture(&state);
            assert!(!shown.contains("Write a comment"), "{shown}");
        }
    }

    #[test]
    fn keys_of_the_popup_are_named_once_and_the_card_is_dimmed() {
        for (width, height) in [(60, 16), (80, 24), (160, 45)] {
            let mut state = busy(width, height);
            press(&mut state, "alt+w c");
            state.status = None;
            let shown = picture(&state);
            assert_eq!(shown.matches("Esc cancel").count(), 1, "{shown}");
            assert!(!shown.contains("Enter continue"), "{shown}");
            // A status message may cover the buttons, so their keys are then in the hint line.
            state.warn("words ".repeat(60));
            let line = picture(&state)
                .lines()
                .last()
                .unwrap_or_default()
                .to_string();
            assert!(line.contains("Enter continue"), "{line}");
            assert!(line.contains("Esc cancel"), "{line}");
        }
        let theme = Theme::default();
        let mut state = busy(160, 45);
        press(&mut state, "alt+w c");
        let card = cells(&state, &theme);
        let waiting = theme.waiting.fg;
        let above = state.popups.last().unwrap().targets(&state).area.y;
        let is_above = |at: &Position| at.y > 0 && at.y < above;
        let mut bright = card.area.positions().filter(is_above);
        assert!(!bright.any(|at| Some(card[at].fg) == waiting));
    }
}
