//! The section of the page of a task that shows its acceptance command and the results of its checks.

use ratatui::text::{Line, Span};

use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::board::checks::record_symbol;
use crate::ui::text::{display_name, format_time, wrap};
use crate::ui::theme::Theme;

/// Adds the section to `out`. Adds nothing if the task has no acceptance command and no results.
pub fn add(app: &App, task: &Task, width: usize, theme: &Theme, out: &mut Vec<Line<'static>>) {
    if task.checks.is_empty() && task.acceptance.is_empty() {
        return;
    }
    out.push(Line::default());
    out.push(Line::styled("Checks", theme.heading));
    let dim = |text: String, out: &mut Vec<Line<'static>>| {
        for line in wrap(&text, width.saturating_sub(4)) {
            out.push(Line::styled(format!("    {line}"), theme.dim));
        }
    };
    if !task.acceptance.is_empty() {
        dim(
            format!("acceptance command: {}", one_line(&task.acceptance)),
            out,
        );
    }
    for record in &task.checks {
        let (shape, style) = record_symbol(record, theme);
        let text = format!("{}: {}", one_line(&record.name), one_line(&record.words()));
        for (i, line) in wrap(&text, width.saturating_sub(4)).into_iter().enumerate() {
            let shape = if i == 0 { shape } else { " " };
            out.push(Line::from(vec![
                Span::styled(format!("  {shape} "), style),
                Span::styled(line, theme.text),
            ]));
        }
        let mut facts = Vec::new();
        if !record.by.is_empty() {
            facts.push(format!("for {}", display_name(&record.by)));
        }
        if record.at.0 > 0.0 {
            facts.push(format_time(record.at, &app.prefs.zone));
        }
        if !record.log.is_empty() {
            facts.push(one_line(&record.log));
        }
        dim(facts.join(", "), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::checks::{CheckOutcome, CheckRecord};
    use crate::ui::fixture::{NOON, busy};

    #[test]
    fn section_shows_each_result_with_its_log_and_reason() {
        let app = busy(160, 45);
        let mut task = crate::domain::task::Task::clone(
            app.model.board.tasks().next().unwrap_or_else(|| panic!()),
        );
        let theme = Theme::default();
        let mut out = Vec::new();
        add(&app, &task, 60, &theme, &mut out);
        assert_eq!(out, []);
        task.acceptance = "make demo".into();
        task.checks = vec![
            CheckRecord {
                outcome: CheckOutcome::Green,
                seconds: 3.0,
                log: ".crewdeck/checks/a.log".into(),
                ..CheckRecord::running(
                    "test",
                    "alice",
                    crate::domain::timestamp::Timestamp(NOON),
                    "t",
                )
            },
            CheckRecord {
                outcome: CheckOutcome::Red,
                reds: 3,
                override_reason: "known failure".into(),
                ..CheckRecord::running(
                    "lint",
                    "alice",
                    crate::domain::timestamp::Timestamp(NOON),
                    "t",
                )
            },
        ];
        add(&app, &task, 60, &theme, &mut out);
        let text: Vec<String> = out.iter().map(Line::to_string).collect();
        let text = text.join("\n");
        for part in [
            "Checks",
            "acceptance command: make demo",
            "✓ test: green after 3.0 s",
            ".crewdeck/checks/a.log",
            "! lint: red, 3 of 3, overridden: known failure",
            "for alice",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
