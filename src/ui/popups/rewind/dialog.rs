//! The dialog that shows what a rewind to a checkpoint would change, and sends the rewind.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, RestoredFiles, RewindPreview, RewindScope,
};
use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, Popup, Targets, TextCursor, open as open_popup};
use crate::ui::diff::Changes;
use crate::ui::frame::popup::open as open_frame;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::picker::Picker;
use crate::ui::popups::rewind::lines::{DialogLine, LineKind, RewindPhase, lines, possible};
use crate::ui::popups::rewind::{CheckpointChoices, label, passed};
use crate::ui::popups::{buttons, diff};
use crate::ui::theme::Theme;
use crate::ui::transcript::rewind::skipped_notice;
use crate::ui::widgets::area::centered_rect;

const WIDTH_MAX: u16 = 76;
/// Number of rows of the dialog beside its text: the frame, a blank row and the buttons.
const MARGIN_ROWS: u16 = 4;

#[derive(Debug)]
pub struct RewindDialog {
    agent: Name,
    checkpoint: CheckpointId,
    /// The label of the checkpoint and its age when the dialog was opened; may be empty.
    label: String,
    phase: RewindPhase,
}

/// Opens the dialog for a checkpoint of `agent`, and asks the crew what a rewind would change.
pub(super) fn open(app: &mut App, agent: &Name, checkpoint: &Checkpoint, out: &mut Vec<Effect>) {
    let age = passed(checkpoint, app.now);
    let dialog = RewindDialog {
        agent: agent.clone(),
        checkpoint: checkpoint.id,
        label: format!("{} · {age}", label(checkpoint)),
        phase: RewindPhase::Comparing,
    };
    open_popup(app, dialog);
    out.push(Effect::Command(Command::ShowCheckpoint {
        agent: agent.clone(),
        checkpoint: checkpoint.id,
    }));
}

/// Shows in the dialog what a rewind of `agent` would change. Does nothing if the dialog was closed or does not wait for
/// this.
pub fn show_preview(
    app: &mut App,
    agent: &Name,
    checkpoint: CheckpointId,
    preview: &RewindPreview,
) {
    if let Some(dialog) = find(app, agent, checkpoint)
        && matches!(dialog.phase, RewindPhase::Comparing)
    {
        dialog.phase = RewindPhase::Choosing(Box::new(preview.clone()), String::new());
    }
}

/// Shows in the dialog that the crew has rejected the command that compares the files with the checkpoint.
pub fn on_preview_rejected(app: &mut App, agent: &Name, checkpoint: CheckpointId, why: &str) {
    if let Some(dialog) = find(app, agent, checkpoint)
        && matches!(dialog.phase, RewindPhase::Comparing)
    {
        dialog.phase = RewindPhase::Report(format!(
            "The checkpoint cannot be compared: {}",
            one_line(why)
        ));
    }
}

/// Shows in the dialog that the crew has rejected the rewind. The user can choose again.
pub fn on_rewind_rejected(app: &mut App, agent: &Name, checkpoint: CheckpointId, why: &str) {
    if let Some(dialog) = find(app, agent, checkpoint)
        && let RewindPhase::Rewinding(preview) = &dialog.phase
    {
        dialog.phase = RewindPhase::Choosing(preview.clone(), one_line(why));
    }
}

/// Called when the rewind that this screen has sent is done. Closes the picker and the dialog. If files were skipped, the
/// dialog stays open, or opens again, and names them, because a status message could vanish unseen.
pub fn show_result(app: &mut App, agent: &Name, checkpoint: CheckpointId, files: &RestoredFiles) {
    app.popups.close_all::<Picker<CheckpointChoices>>();
    app.popups.close_all::<RewindDialog>();
    if let Some(text) = skipped_notice(files) {
        let dialog = RewindDialog {
            agent: agent.clone(),
            checkpoint,
            label: String::new(),
            phase: RewindPhase::Report(format!("The rewind is done.\n{text}")),
        };
        open_popup(app, dialog);
    }
}

fn find<'a>(
    app: &'a mut App,
    agent: &Name,
    checkpoint: CheckpointId,
) -> Option<&'a mut RewindDialog> {
    let dialog = app.popups.find_mut::<RewindDialog>()?;
    (dialog.agent.same(agent) && dialog.checkpoint == checkpoint).then_some(dialog)
}

impl RewindDialog {
    fn width(screen: Rect) -> u16 {
        WIDTH_MAX.min(screen.width.saturating_sub(4))
    }

    fn lines(&self, screen: Rect) -> Vec<DialogLine> {
        let columns = usize::from(RewindDialog::width(screen).saturating_sub(4));
        let rows = usize::from(screen.height.saturating_sub(MARGIN_ROWS));
        lines(&self.label, &self.phase, columns, rows)
    }

    fn area(&self, screen: Rect) -> Rect {
        let rows = u16::try_from(self.lines(screen).len()).unwrap_or(u16::MAX);
        let height = rows.saturating_add(MARGIN_ROWS);
        // A dialog over the whole height leaves no narrow strips of the screen beside it.
        let width = if height >= screen.height {
            screen.width
        } else {
            RewindDialog::width(screen)
        };
        centered_rect(screen, width, height)
    }

    /// Sends the rewind if it would change something. The dialog stays open until the crew answers.
    fn send(&mut self, scope: RewindScope, out: &mut Vec<Effect>) {
        let RewindPhase::Choosing(preview, _) = &self.phase else {
            return;
        };
        if !possible(preview).contains(&scope) {
            return;
        }
        out.push(Effect::Command(Command::Rewind {
            agent: self.agent.clone(),
            checkpoint: self.checkpoint,
            scope,
        }));
        self.phase = RewindPhase::Rewinding(preview.clone());
    }

    /// Shows the diff of the files above the dialog. Does nothing if no file changes.
    fn show_diff(&self, app: &mut App) {
        let RewindPhase::Choosing(preview, _) = &self.phase else {
            return;
        };
        if preview.files == 0 {
            return;
        }
        let title = format!("Rewind of {} to checkpoint {}", self.agent, self.checkpoint);
        let changes = Changes::new(&preview.stat, &preview.diff, &[]);
        diff::show(app, title, changes);
    }
}

impl Popup for RewindDialog {
    fn context(&self) -> Context {
        Context::ConfirmRewind
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        let area = self.area(screen);
        let title = format!("Rewind {} to checkpoint {}", self.agent, self.checkpoint);
        let inner = open_frame(app, &title, Vec::new(), theme, area, buffer);
        // The blank row and the buttons are below the text.
        let room = usize::from(area.height.saturating_sub(MARGIN_ROWS));
        for (line, row) in self.lines(screen).into_iter().zip(inner.rows()).take(room) {
            let style = match line.kind {
                LineKind::Label => theme.accent,
                LineKind::Plain => theme.text,
                LineKind::Stat => theme.dim,
                LineKind::Warning => theme.warn,
            };
            Line::styled(line.text, style).render(row, buffer);
        }
        buttons::draw(app, self, area, theme, buffer);
        None
    }

    fn targets(&self, app: &App) -> Targets {
        buttons::targets(app, self, self.area(app.size))
    }

    fn tip(&self, _app: &App) -> String {
        "What the rewind changes. It can be undone".into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::RewindBoth => self.send(RewindScope::Both, out),
            Action::RewindFiles => self.send(RewindScope::Files, out),
            Action::RewindConversation => self.send(RewindScope::Conversation, out),
            Action::Diff => self.show_diff(app),
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        let preview = match &self.phase {
            RewindPhase::Choosing(preview, _) => preview,
            RewindPhase::Comparing => return &[(Action::Back, "cancel")],
            RewindPhase::Rewinding(_) | RewindPhase::Report(_) => {
                return &[(Action::Back, "close")];
            }
        };
        match possible(preview) {
            [_, _, _] => &[
                (Action::RewindBoth, "both"),
                (Action::RewindFiles, "files"),
                (Action::RewindConversation, "conversation"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ],
            [RewindScope::Files] => &[
                (Action::RewindFiles, "files"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ],
            [RewindScope::Conversation] => &[
                (Action::RewindConversation, "conversation"),
                (Action::Back, "cancel"),
            ],
            _ => &[(Action::Back, "close")],
        }
    }

    /// Returns `Some(false)` for an action without a button, because the action has no effect now. `None` for an action with
    /// a button.
    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let mut buttons = self.buttons(app).iter();
        (!buttons.any(|(a, _)| *a == action)).then_some(false)
    }
}
