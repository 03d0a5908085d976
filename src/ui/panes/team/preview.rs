//! The lines at the top of an agent's preview, above its conversation.

use ratatui::text::{Line, Span};

use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::{board as model_board, style};
use crate::ui::text::{fit, wrap};
use crate::ui::theme::Theme;

/// Returns the lines about an agent: its activity with details, such as the reason of a failure, in at most two lines,
/// and below that its task in one. If the agent has no task, its role is shown instead, or the prompt of a subagent.
pub fn lines(app: &App, name: &Name, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let activity = app.activity(name);
    let (shape, words, style) = style::agent_activity(app, name, &activity, app.now, theme);
    let more = match &activity {
        Activity::Tool { on, .. } => one_line(on),
        Activity::Stuck { why } | Activity::Failed { why } => one_line(why),
        Activity::Backoff { cause, .. } => one_line(cause),
        Activity::Queued { .. } => "waiting in the call queue".into(),
        _ => String::new(),
    };
    let mut out = Vec::new();
    let now = format!("{shape} {words}  {more}");
    let mut rest = wrap(now.trim_end(), columns).into_iter();
    out.extend(rest.next().map(|line| Line::styled(line, style)));
    out.extend(rest.take(1).map(|line| Line::styled(line, style)));
    let task = model_board::open_task(app, name)
        .map(|t| format!("{} {}", t.id, one_line(&t.subject)))
        .or_else(|| app.model.team.find(name).map(|m| one_line(&m.role)))
        .or_else(|| {
            app.model
                .agents
                .get(name)
                .map(|a| a.subagent.prompt.clone())
        })
        .unwrap_or_default();
    if !task.is_empty() {
        let task = fit(&task, columns);
        out.push(Line::from(vec![Span::styled(task, theme.dim)]));
    }
    out
}
