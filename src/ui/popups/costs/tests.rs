//! Tests of the cost panel: totals, and layout at every width.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::usage::Usage;
use crate::protocol::{AgentEvent, EventKind};
use crate::ui::Effect;
use crate::ui::app::popup::Popup;
use crate::ui::fixture::{apply_events, busy, name, picture, press, top_popup};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::agents::AgentView;
use crate::ui::popups::costs::sort::CostSort;
use crate::ui::popups::costs::*;
use crate::ui::tests::scenes::work;
use crate::ui::text::width as columns_of;

fn usage_event(agent: Name, tokens: u64, calls: u64, cost: Option<f64>) -> EventKind {
    AgentEvent::UsageChanged {
        total: Usage {
            input: tokens,
            ..Usage::default()
        },
        context: 0,
        window: None,
        assumed: false,
        cost,
        estimated: false,
        calls,
    }
    .of(agent)
}

#[test]
fn calls_count_for_the_open_task_of_the_agent_or_its_parent() {
    let mut state = busy(160, 45);
    let before = state.model.costs.clone();
    let bob = name("bob");
    let open = crate::ui::model::board::open_task(&state, &bob).map(|t| t.id);
    let task = open.unwrap();
    let known = state
        .model
        .agents
        .get(&bob)
        .map(AgentView::own_usage)
        .unwrap_or_default();
    let total = |more| known.usage.total() + more;
    apply_events(
        &mut state,
        vec![
            // The number of calls first grows by one: this call is counted for the task. Then it grows by two at once:
            // these are ignored, because one of them was made before this screen was opened.
            usage_event(bob.clone(), total(100), known.calls + 1, Some(1.0)),
            usage_event(bob.clone(), total(900), known.calls + 3, Some(2.0)),
            usage_event(Name::subagent(&bob, 1), 50, 1, None),
            // carol has no task, so her usage counts for none.
            usage_event(name("carol"), 70, 1, None),
        ],
    );
    let counted = state
        .model
        .costs
        .of(task)
        .unwrap()
        .since(before.of(task).unwrap_or_default());
    // The fixture has reported this usage as output. Here it is reported as input, so it counts as an increase.
    let expected = 100 + 50 + known.usage.output;
    assert_eq!((counted.usage.total(), counted.calls), (expected, 2));
}

#[test]
fn lines_fit_and_the_selection_is_visible_at_every_size() {
    for (wide, high) in [
        (60, 16),
        (70, 20),
        (80, 24),
        (100, 30),
        (140, 40),
        (240, 70),
    ] {
        let mut state = busy(wide, high);
        let names = crate::ui::tests::scenes::scene_data::large_team();
        apply_events(&mut state, names);
        apply_events(&mut state, work::spending());
        let lines = lines(&state, CostSort::default(), &Theme::default());
        let targets: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at].target.is_some())
            .collect();
        for at in targets {
            let mut view = CostsPopup::default();
            view.select(&state, at);
            let place = place(state.size, &view, &lines);
            let seen = place.first..place.first + usize::from(place.list.height);
            assert!(seen.contains(&at), "{wide}x{high}: {at} not in {seen:?}");
            // One column is reserved for the selection mark.
            let room = usize::from(place.list.width) - 1;
            for line in &lines {
                let taken: usize = line.spans.iter().map(|s| columns_of(&s.content)).sum();
                assert!(taken <= room, "{wide}x{high}: {taken} of {room}: {line:?}");
            }
        }
    }
}

#[test]
fn cost_panel_opens_agent_and_task() {
    let mut state = busy(160, 45);
    apply_events(&mut state, work::spending());
    press(&mut state, "esc $ j enter");
    assert!(state.popups.is_empty());
    assert_eq!(
        (state.shown.as_str(), state.focus),
        ("alice", Focus::Pane(Pane::Lead))
    );
    press(&mut state, "$ G enter");
    assert_eq!(top_popup(&state), "TaskPage");
    assert!(
        picture(&state).contains("spent       "),
        "{}",
        picture(&state)
    );
    press(&mut state, "esc");
    assert_eq!(top_popup(&state), "CostsPopup");
    let done = press(&mut state, "y");
    assert_eq!(done, [Effect::Copy(text(&state, CostSort::default()))]);
    press(&mut state, "$");
    assert!(state.popups.is_empty());
}
