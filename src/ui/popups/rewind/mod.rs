//! The picker of an agent's checkpoints. Enter shows in a dialog what a rewind to the selected checkpoint would change.

mod dialog;
mod lines;
#[cfg(test)]
mod tests;

use ratatui::layout::Rect;

use crate::domain::checkpoint::{Checkpoint, CheckpointId, CheckpointReason};
use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area, width};
pub use crate::ui::popups::rewind::dialog::{
    on_preview_rejected, on_rewind_rejected, show_preview, show_result,
};
use crate::ui::text::{long_age, wrap};

const ROWS_MAX: u16 = 16;

/// The content of the picker.
#[derive(Debug)]
pub struct CheckpointChoices {
    agent: Name,
    list: CheckpointList,
}

#[derive(Debug)]
enum CheckpointList {
    Loading,
    /// The crew has rejected the command that asks for the list, with this reason.
    Rejected(String),
    Listed {
        /// In the order of the rows, as [`by_turns`] returns them.
        checkpoints: Vec<Checkpoint>,
        /// Why no new checkpoints are recorded; empty if they are.
        off: String,
    },
}

/// Opens the picker of the checkpoints of `agent`, and asks the crew for them. A subagent has none; the checkpoints of its
/// parent are shown instead.
pub fn open(app: &mut App, agent: &Name, out: &mut Vec<Effect>) {
    let agent = agent.parent().unwrap_or_else(|| agent.clone());
    let choices = CheckpointChoices {
        agent: agent.clone(),
        list: CheckpointList::Loading,
    };
    open_popup(app, Picker::new(choices, 0));
    out.push(Effect::Command(Command::ListCheckpoints { agent }));
}

/// Shows the checkpoints of `agent`, given newest first, in its picker. `off` says why no new ones are recorded; it is
/// empty if they are. Does nothing if the picker was closed.
pub fn show_list(app: &mut App, agent: &Name, newest_first: &[Checkpoint], off: &str) {
    set_list(
        app,
        agent,
        CheckpointList::Listed {
            checkpoints: by_turns(newest_first),
            off: one_line(off),
        },
    );
}

/// Shows in the picker that the crew has rejected the command that asks for the checkpoints of `agent`.
pub fn on_list_rejected(app: &mut App, agent: &Name, why: &str) {
    set_list(app, agent, CheckpointList::Rejected(one_line(why)));
}

fn set_list(app: &mut App, agent: &Name, list: CheckpointList) {
    let picker = app.popups.find_mut::<Picker<CheckpointChoices>>();
    if let Some(picker) = picker.filter(|picker| picker.choices.agent.same(agent)) {
        picker.choices.list = list;
    }
}

/// Returns the checkpoints, given newest first, by turns: the newest turn comes first, and the checkpoints before later
/// calls of a turn follow that turn, oldest first.
fn by_turns(newest_first: &[Checkpoint]) -> Vec<Checkpoint> {
    let mut turns: Vec<Vec<Checkpoint>> = Vec::new();
    for checkpoint in newest_first.iter().rev() {
        match turns.last_mut() {
            Some(turn) if checkpoint.content.reason == CheckpointReason::Calls => {
                turn.push(checkpoint.clone());
            }
            Some(_) | None => turns.push(vec![checkpoint.clone()]),
        }
    }
    turns.into_iter().rev().flatten().collect()
}

/// Returns the label of a checkpoint: the prompt of its turn, or what happened after the checkpoint, such as `before bash
/// cargo fix`.
fn label(checkpoint: &Checkpoint) -> String {
    let content = &checkpoint.content;
    let label = one_line(&content.label).replace('⏎', " ");
    let label = label.trim();
    match content.reason {
        CheckpointReason::Turn if label.is_empty() => "no prompt".into(),
        CheckpointReason::Turn => label.into(),
        CheckpointReason::Calls | CheckpointReason::Rewind if label.starts_with("before ") => {
            label.into()
        }
        CheckpointReason::Calls | CheckpointReason::Rewind => format!("before {label}"),
    }
}

/// Returns how long ago a checkpoint was recorded, such as `5m ago`.
fn passed(checkpoint: &Checkpoint, now: Timestamp) -> String {
    format!("{} ago", long_age(now.since(checkpoint.content.at)))
}

fn row(checkpoint: &Checkpoint, now: Timestamp) -> PickerRow<CheckpointId> {
    let indent = match checkpoint.content.reason {
        CheckpointReason::Calls => "  ",
        CheckpointReason::Turn | CheckpointReason::Rewind => "",
    };
    let words = format!("{indent}{}", label(checkpoint));
    let aside = format!("{:>4}  {:>7}", checkpoint.id, passed(checkpoint, now));
    PickerRow::new(words, aside, checkpoint.id)
}

impl CheckpointChoices {
    fn checkpoints(&self) -> &[Checkpoint] {
        match &self.list {
            CheckpointList::Listed { checkpoints, .. } => checkpoints,
            CheckpointList::Loading | CheckpointList::Rejected(_) => &[],
        }
    }

    /// Returns the text that is shown if there are no rows and no search text.
    fn empty_text(&self) -> String {
        match &self.list {
            CheckpointList::Loading => "Loading checkpoints…".into(),
            CheckpointList::Rejected(why) => format!("The checkpoints cannot be listed: {why}"),
            CheckpointList::Listed { off, .. } if off.is_empty() => {
                "No checkpoints yet. One is recorded before the first call of a turn that can change files, and before later such calls.".into()
            }
            CheckpointList::Listed { off, .. } => {
                format!("No checkpoints are recorded: {}.", off.trim_end_matches('.'))
            }
        }
    }

    /// Returns the lines below the list: why no new checkpoints are recorded; none if they are.
    fn off_lines(&self, columns: usize) -> Vec<String> {
        match &self.list {
            CheckpointList::Listed { checkpoints, off }
                if !checkpoints.is_empty() && !off.is_empty() =>
            {
                let off = off.trim_end_matches('.');
                let mut lines = vec![String::new()];
                lines.extend(wrap(
                    &format!("No new checkpoints are recorded: {off}."),
                    columns,
                ));
                lines
            }
            _ => Vec::new(),
        }
    }
}

impl Choices for CheckpointChoices {
    type Item = CheckpointId;

    const TIP: &'static str = "States of the agent's files and conversation, newest turn first";

    fn title(&self, _app: &App) -> String {
        format!("Rewind {} to a checkpoint", self.agent)
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<CheckpointId>> {
        let all = self.checkpoints().iter();
        all.map(|checkpoint| row(checkpoint, app.now)).collect()
    }

    fn choose(&mut self, app: &mut App, id: CheckpointId, out: &mut Vec<Effect>) -> Next {
        let mut all = self.checkpoints().iter();
        if let Some(checkpoint) = all.find(|checkpoint| checkpoint.id == id) {
            dialog::open(app, &self.agent, checkpoint, out);
        }
        Next::Stay
    }

    fn area(&self, _app: &App, screen: Rect) -> Rect {
        let columns = usize::from(width(screen).saturating_sub(4));
        let rows = match self.checkpoints().len() {
            0 => wrap(&self.empty_text(), columns).len(),
            len => len + self.off_lines(columns).len(),
        };
        low_area(screen, rows, ROWS_MAX)
    }

    fn details(&self, _item: &CheckpointId, columns: usize) -> Vec<String> {
        self.off_lines(columns)
    }

    fn none_matches(&self, _app: &App, typed: &str) -> String {
        if typed.is_empty() || self.checkpoints().is_empty() {
            self.empty_text()
        } else {
            "No matches.".into()
        }
    }
}
