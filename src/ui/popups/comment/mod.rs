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
use crate::ui::widgets::area::{bottom_centered, inside};
use crate::ui::widgets::composer::{Composer, TextAreaSize};
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::placed::PlacedPart;

const WIDTH_MAX: u16 = 72;
/// Maximum number of visible rows of the comment or answer.
const ROWS_MAX: u16 = 6;

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

    /// Returns the area for the comment in a popup that covers `area`. Above it is the row that names the request;
    /// below it are a blank row and the row of the buttons.
    fn written_area(area: Rect) -> Rect {
        let (_, below) = cut_top(inside(area), 1);
        Rect {
            height: below.height.saturating_sub(2),
            ..below
        }
    }
}

fn area(screen: Rect) -> Rect {
    let columns = WIDTH_MAX.min(screen.width.saturating_sub(4));
    // The popup is at the bottom of the screen, and at most a sixth of the screen is for the comment, so that the card
    // of the request stays readable.
    let rows = (screen.height / 6).clamp(1, ROWS_MAX);
    bottom_centered(screen, columns, rows + 5)
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
        let area = area(screen);
        let title = if self.is_answer(app) {
            "Answer"
        } else {
            "Comment"
        };
        let inner = open(app, title, Vec::new(), theme, area, buffer);
        let text = Self::written_area(self::area(app.size));
        if text.is_empty() {
            return None;
        }
        let (head, _) = cut_top(inner, 1);
        let about = app.model.requests.get(&self.request);
        let about = about.map_or_else(String::new, |request| {
            sentence::heading(request, &app.model.board, usize::from(head.width))
        });
        Line::styled(fit(&about, usize::from(head.width)), theme.dim).render(head, buffer);
        buttons::draw(app, self, area, theme, buffer);
        let window = self.text.window(TextAreaSize::from(text));
        for (line, row) in window.rows.iter().zip(text.rows()) {
            Line::styled(line.as_str(), theme.text).render(row, buffer);
        }
        frame::text_beyond(window.overflow, theme, area, buffer);
        let at = Position::new(text.x + window.cursor.1, text.y + window.cursor.0);
        (!self.is_deciding).then_some(at)
    }

    fn targets(&self, app: &App) -> Targets {
        let mut targets = buttons::targets(app, self, area(app.size));
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

    fn dims(&self) -> bool {
        false
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
        (!self.is_deciding).then(|| Self::written_area(area(app.size)))
    }
}
