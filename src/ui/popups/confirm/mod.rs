//! Confirmation dialogs: the dialog itself here, and one file for each action that asks for confirmation.

pub(in crate::ui) mod approve_server;
pub(in crate::ui) mod approve_settings;
pub(in crate::ui) mod clear;
pub(in crate::ui) mod complete_task;
pub(in crate::ui) mod kill_teammate;
pub(in crate::ui) mod merge_task;
pub(in crate::ui) mod quit;
pub(in crate::ui) mod release_task;
pub(in crate::ui) mod remove_worktree;
pub(in crate::ui) mod start_session;

use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::protocol::{Command, TaskCommand};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, Popup, Targets, TextCursor};
use crate::ui::frame::popup::open;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::buttons;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::centered_rect;

const WIDTH_MAX: u16 = 60;
/// Number of rows of a dialog beside its text: the frame and the buttons.
const MARGIN_ROWS: u16 = 4;

/// A question that the user confirms or cancels in a dialog.
pub trait Question: Debug + 'static {
    /// The label of the button that confirms.
    const CONFIRM: &'static str;
    const CANCEL: &'static str = "cancel";

    fn title(&self) -> &'static str;

    fn text(&self, app: &App) -> String;

    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        const {
            &[
                (Action::Accept, Self::CONFIRM),
                (Action::Back, Self::CANCEL),
            ]
        }
    }

    /// Does what the user has confirmed, and adds the effects of this to `out`. The dialog closes afterwards.
    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>);

    fn context(&self) -> Context {
        Context::Confirm
    }

    /// Runs an action that is neither confirming nor cancelling, such as the action of an additional button. Returns
    /// what happens to the dialog.
    fn act(&self, _app: &mut App, _action: Action, _out: &mut Vec<Effect>) -> Next {
        Next::Pass
    }

    /// Returns the reason if the question no longer applies; the dialog then closes. `None` if the question still
    /// applies.
    fn why_outdated(&self, _app: &App) -> Option<String> {
        None
    }
}

/// A dialog with the text and buttons of the question `Q`. Confirming the question has the effect that `Q` defines.
#[derive(Debug)]
pub struct Confirmation<Q>(pub Q);

impl<Q: Question> Confirmation<Q> {
    fn area(&self, app: &App, screen: Rect) -> Rect {
        let rows = u16::try_from(lines(&self.0, app, screen).len()).unwrap_or(2);
        centered_rect(screen, width(screen), rows.saturating_add(MARGIN_ROWS))
    }
}

fn lines(question: &impl Question, app: &App, screen: Rect) -> Vec<String> {
    let width = width(screen).saturating_sub(4);
    wrap(&question.text(app), usize::from(width))
}

/// Returns whether the whole text of a question fits on the screen.
fn fits(question: &impl Question, app: &App) -> bool {
    lines(question, app, app.size).len() + usize::from(MARGIN_ROWS) <= usize::from(app.size.height)
}

fn width(screen: Rect) -> u16 {
    WIDTH_MAX.min(screen.width.saturating_sub(4))
}

impl<Q: Question> Popup for Confirmation<Q> {
    fn context(&self) -> Context {
        self.0.context()
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        let area = self.area(app, screen);
        let inner = open(app, self.0.title(), Vec::new(), theme, area, buffer);
        for (line, row) in lines(&self.0, app, screen).into_iter().zip(inner.rows()) {
            Line::styled(line, theme.text).render(row, buffer);
        }
        buttons::draw(app, self, area, theme, buffer);
        None
    }

    fn targets(&self, app: &App) -> Targets {
        buttons::targets(app, self, self.area(app, app.size))
    }

    fn tip(&self, _app: &App) -> String {
        "Confirm or cancel".into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Accept => {
                self.0.on_confirm(app, out);
                Next::Close
            }
            _ => self.0.act(app, action, out),
        }
    }

    fn buttons(&self, app: &App) -> &'static [(Action, &'static str)] {
        self.0.buttons(app)
    }

    /// Returns `Some(false)` for an action without a button in the dialog, because the action has no effect now. `None`
    /// for an action with a button.
    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let mut buttons = self.0.buttons(app).iter();
        (!buttons.any(|(a, _)| *a == action)).then_some(false)
    }

    fn why_outdated(&self, app: &App) -> Option<String> {
        self.0.why_outdated(app)
    }
}

/// Sends a command for a task, and shows `words` as the status message.
pub(in crate::ui) fn send(
    app: &mut App,
    words: String,
    command: TaskCommand,
    out: &mut Vec<Effect>,
) {
    app.say(words);
    out.push(Effect::Command(Command::Task(Box::new(command))));
}
