//! A question before something that can not be taken back, or only with some work.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::popup::open;
use crate::domain::ids::{Name, TaskId};
use crate::domain::text::one_line;
use crate::domain::worktree::BranchState;
use crate::ui::board;
use crate::ui::keymap::{Action, Context};
use crate::ui::popup::Question;
use crate::ui::readers::centered;
use crate::ui::state::UiState;
use crate::ui::textual::wrap;
use crate::ui::theme::Theme;

/// Draws a question with the keys that answer it.
pub fn draw(
    state: &UiState,
    question: &Question,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) {
    let (title, words) = match question {
        Question::Quit => ("Quit", quit(state)),
        Question::Force(name) => ("End by force", force(state, name)),
        Question::Merge(id) => ("Merge", merge(state, *id)),
    };
    let columns = 60.min(screen.width.saturating_sub(4));
    let lines = wrap(&words, usize::from(columns.saturating_sub(4)));
    let rows = u16::try_from(lines.len()).unwrap_or(2);
    let inner = open(
        title,
        Vec::new(),
        theme,
        centered(screen, columns, rows + 4),
        buffer,
    );
    let spans = answers(state, question)
        .into_iter()
        .flat_map(|(key, words)| {
            [
                Span::styled(format!("{key} "), theme.accent),
                Span::styled(format!("{words}   "), theme.text),
            ]
        });
    let keys: Line = spans.collect();
    let blank = Line::default();
    let lines = lines.into_iter().map(|l| Line::styled(l, theme.text));
    for (line, row) in lines.chain([blank, keys]).zip(inner.rows()) {
        line.render(row, buffer);
    }
}

/// The keys that answer a question, and what they do.
fn answers(state: &UiState, question: &Question) -> Vec<(String, String)> {
    let key = |context, action| state.keymap.key(context, action);
    let (context, yes, no) = match question {
        Question::Quit => (Context::Leave, "quit", "stay"),
        Question::Force(_) => (Context::Confirm, "end it", "stay"),
        Question::Merge(_) => (Context::ConfirmMerge, "merge", "not"),
    };
    let mut out = vec![(key(context, Action::Accept), yes.to_string())];
    if let Question::Merge(_) = question {
        let all = board::to_merge(state).len();
        if all > 1 {
            out.push((key(context, Action::MergeAll), format!("all {all}")));
        }
        out.push((key(context, Action::Diff), "look".into()));
    }
    out.push((key(context, Action::Back), no.into()));
    out
}

fn merge(state: &UiState, id: TaskId) -> String {
    let Some(task) = state.board.get(id) else {
        return String::new();
    };
    let (size, into) = match board::branch(state, task) {
        Some(BranchState::Unmerged { into, size }) => (
            size.map_or_else(String::new, |size| format!(" ({size})")),
            format!(" into {}", one_line(into)),
        ),
        Some(BranchState::Merged { .. } | BranchState::Empty | BranchState::Gone) | None => {
            (String::new(), String::new())
        }
    };
    let others = match board::to_merge(state).len() {
        0 | 1 => String::new(),
        n => format!(
            "\n{n} tasks are done and not merged. All of them: what others build on first, up to the first conflict."
        ),
    };
    format!(
        "Merge wt/{}{size}{into}?\n{id} {}{others}",
        one_line(&task.worktree),
        one_line(&task.subject)
    )
}

fn quit(state: &UiState) -> String {
    match state.busy() {
        0 => "Quit?".to_string(),
        1 => "One agent is still at work. Quit and stop it? Its work so far is kept.".to_string(),
        n => {
            format!("{n} agents are still at work. Quit and stop them? Their work so far is kept.")
        }
    }
}

fn force(state: &UiState, name: &Name) -> String {
    let task = state.board.open_task_of(name).map(|task| {
        format!(
            " Task {} ({}) goes back to the board.",
            task.id,
            one_line(&task.subject)
        )
    });
    format!(
        "End {name} now, in the middle of what it does?{} What it has written to files stays.",
        task.unwrap_or_default()
    )
}
