//! The working teammates, which the lower border of the conversation names while no pane shows the team.

use ratatui::text::Span;

use crate::ui::app::App;
use crate::ui::model::{board as model_board, style};
use crate::ui::text::width;
use crate::ui::theme::Theme;

/// What separates two teammates.
const BETWEEN: &str = " · ";

/// Returns the working teammates with their tasks, such as `◐ alice #1 · ◐ carol #5`, without the shown agent. If they
/// do not all fit into `columns` columns, the others are counted. Empty if none works.
pub fn working_teammates(app: &App, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut teammates = Vec::new();
    for member in app.model.team.present() {
        let activity = app.activity(&member.name);
        if member.name == app.shown || !activity.is_busy() {
            continue;
        }
        let (shape, _, shape_style) =
            style::agent_activity(app, &member.name, &activity, app.now, theme);
        let name_style = style::agent_name(app, &member.name, theme.text, theme);
        let task = model_board::open_task(app, &member.name);
        teammates.push([
            Span::styled(format!("{shape} "), shape_style),
            Span::styled(member.name.to_string(), name_style),
            Span::styled(
                task.map_or_else(String::new, |task| format!(" {}", task.id)),
                theme.dim,
            ),
        ]);
    }
    let mut left = teammates.len();
    let mut out = Vec::new();
    let mut used = 0;
    for teammate in teammates {
        let gap = if out.is_empty() { "" } else { BETWEEN };
        let others = match left - 1 {
            0 => 0,
            others => width(&format!("{BETWEEN}+{others}")),
        };
        let own: usize = teammate.iter().map(|span| width(&span.content)).sum();
        if used + width(gap) + own + others > columns {
            let rest = format!("{gap}+{left}");
            if used + width(&rest) <= columns {
                out.push(Span::styled(rest, theme.dim));
            }
            break;
        }
        used += width(gap) + own;
        left -= 1;
        out.push(Span::styled(gap, theme.dim));
        out.extend(teammate);
    }
    out
}
