//! Tests of the rows of the team.

use super::*;
use crate::domain::role::RoleColor;
use crate::domain::subagent::SubagentKind;
use crate::protocol::AgentEvent;
use crate::ui::fixture::{apply_events, busy, name};
use crate::ui::theme::{ColorDepth, ThemeName};

#[test]
fn names_have_the_colour_of_the_role() {
    let theme = Theme::new(ThemeName::Dark, ColorDepth::True);
    let mut state = busy(160, 45);
    let mut member = Member::new(name("bob"), "parser");
    member.set_color(Some(RoleColor::Purple));
    let mut team = (*state.model.team).clone();
    team.members.retain(|m| m.name != member.name);
    team.members.push(member.clone());
    state.model.team.set_roster(team.into());
    let color_of = |spans: Vec<Span<'static>>, name: &str| {
        let span = spans.into_iter().find(|s| s.content.trim() == name);
        span.unwrap().style.fg
    };
    let spans = row(
        &state,
        &member,
        RowWidths {
            name: 10,
            bars: 0,
            columns: 80,
        },
        FigureStyle::WithUnits,
        false,
        &theme,
    );
    assert_eq!(color_of(spans, "bob"), theme.keyword.fg);
    let child = Name::subagent(&Name::lead(), 1);
    let started = AgentEvent::SubagentStarted {
        parent: Name::lead(),
        call: crate::domain::ids::CallId("c".into()),
        kind: SubagentKind::General,
        prompt: "count".into(),
        color: Some(RoleColor::Green),
    };
    apply_events(&mut state, vec![started.of(child.clone())]);
    let spans = subagent(&state, &child, 10, FigureStyle::WithUnits, 80, &theme);
    assert_eq!(color_of(spans, "lead.1"), theme.ok.fg);
}

#[test]
fn last_call_of_working_teammates_is_shown_if_all_fit() {
    let called = |who: &str, tool: &str, on: &str| {
        AgentEvent::ToolStarted {
            call: crate::domain::ids::CallId(format!("{who}-{tool}")),
            tool: tool.into(),
            on: on.into(),
            input: serde_json::Value::Null,
        }
        .of(name(who))
    };
    let mut state = busy(160, 45);
    let thinks = AgentEvent::ActivityChanged {
        activity: Activity::Thinking,
    };
    let events = vec![
        called("alice", "read_file", "src/blocks.rs"),
        called("alice", "bash", "cargo test blocks"),
        called("bob", "edit_file", "src/header.rs"),
        thinks.of(name("bob")),
        // carol is idle.
        called("carol", "grep", "TODO"),
    ];
    apply_events(&mut state, events);
    let idle = AgentEvent::ActivityChanged {
        activity: Activity::Idle,
    };
    apply_events(&mut state, vec![idle.of(name("carol"))]);
    let team = &state.panes.team;
    let lines = |height: u16| {
        let inside = ratatui::layout::Rect::new(0, 0, 90, height);
        let places = team.places(&state, inside);
        let rows = team.rows(&state);
        let lines = team.lines(&state, places).into_iter();
        let text = |line| match line {
            TeamLine::Agent(at) => rows[at].name().to_string(),
            TeamLine::Action(at) => last_action(&state, &rows[at]).unwrap(),
        };
        lines.map(text).collect::<Vec<_>>()
    };
    let members: Vec<String> = team
        .rows(&state)
        .iter()
        .map(|r| r.name().to_string())
        .collect();
    let all = u16::try_from(members.len()).unwrap();
    // One row for the headings, and one for each of the two calls.
    let shown = lines(all + 3);
    assert_eq!(shown.len(), members.len() + 2, "{shown:?}");
    let below = |who: &str| {
        let at = shown.iter().position(|line| line == who).unwrap();
        shown[at + 1].clone()
    };
    assert_eq!(below("alice"), "bash cargo test blocks");
    assert_eq!(below("bob"), "edit_file src/header.rs");
    assert_eq!(lines(all + 2), members);
}

#[test]
fn name_width_minimizes_truncation() {
    let rows = |all: &[(usize, usize)]| -> Vec<SharedColumns> {
        let row = |(name, task): &(usize, usize)| SharedColumns {
            columns: 40,
            name: *name,
            task: *task,
        };
        all.iter().map(row).collect()
    };
    for (all, expected) in [
        // All names and tasks fit.
        (&[(5, 10), (7, 33)][..], 7),
        (&[(30, 10), (5, 9)], 30),
        // A long name with a long task gets half of the row.
        (&[(30, 60)], 20),
        // One long name does not cut the tasks of many rows.
        (&[(30, 3), (5, 40), (5, 40), (5, 40)], 12),
        // The long name cuts one task; in the other rows it takes only free columns.
        (&[(30, 3), (28, 3), (5, 40)], 20),
        (&[], 0),
    ] {
        assert_eq!(least_truncating_width(&rows(all), 12), expected, "{all:?}");
    }
}
