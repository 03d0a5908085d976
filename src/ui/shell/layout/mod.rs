//! Computes the areas of all parts of the screen from its size, the state and the user's layout. Drawing, mouse
//! handling and the page keys use these areas.

pub(in crate::ui) mod areas;
mod arrange;
mod shares;
mod tabbed;

use ratatui::layout::Rect;

use crate::domain::screen::PaneLayout;
use crate::ui::frame::layout::{Layout, SizeClass, class, is_one_pane};
use crate::ui::shell::layout::arrange::{
    alone, banner, board_first, middle, one, only_conversation, stack_panes, wide,
};
use crate::ui::shell::message::message_lines;
use crate::ui::shell::state::UiState;
use crate::ui::shell::{peek, tour};

/// Returns the areas of all parts of a screen with the size of `area`: status line, panes, composer, hints and preview.
pub fn layout(state: &UiState, area: Rect) -> Layout {
    let mut out = lay_out(state, area);
    peek::make_room(state, &mut out);
    out
}

fn lay_out(state: &UiState, area: Rect) -> Layout {
    let class = class(area);
    let row = |y: u16| Rect::new(area.x, y, area.width, 1.min(area.height));
    let mut out = Layout {
        class,
        status: row(area.y),
        hints: row(area.bottom().saturating_sub(1)),
        message: None,
        tour: None,
        replay: None,
        tabs: None,
        banner: None,
        border: None,
        panes: Vec::new(),
        composer: None,
        request: None,
        peek: None,
    };
    if class == SizeClass::Small {
        return out;
    }
    let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
    let lines = message_lines(state, area.width).len();
    if let Some(lines) = u16::try_from(lines).ok().filter(|lines| *lines > 0) {
        body.height -= lines;
        out.message = Some(Rect {
            y: body.bottom(),
            height: lines,
            ..body
        });
    }
    if state.replay.is_some() {
        body.height -= 1;
        out.replay = Some(row(body.bottom()));
    } else if tour::line(state).is_some() {
        // A message covers the tour line instead of moving it.
        if out.message.is_none() {
            body.height -= 1;
        }
        out.tour = Some(row(out.hints.y - 1));
    }
    let one_at_a_time = is_one_pane(class, area.height, state.arrangement.screen.layout);
    if let Some(pane) = state.arrangement.zoom.filter(|_| !one_at_a_time) {
        let body = banner(state, &mut out, body, pane);
        alone(state, &mut out, pane, body);
        return out;
    }
    match (class, state.arrangement.screen.layout) {
        (SizeClass::Small, _) => {}
        (_, PaneLayout::Wall) if !one_at_a_time && only_conversation(state, &mut out, body) => {}
        _ if one_at_a_time => one(state, &mut out, body),
        (SizeClass::Narrow, _) => stack_panes(state, &mut out, body),
        (SizeClass::Middle | SizeClass::Wide, PaneLayout::Focus) => one(state, &mut out, body),
        (SizeClass::Middle, PaneLayout::Wall) => middle(state, &mut out, body),
        (SizeClass::Wide, PaneLayout::Wall) => wide(state, &mut out, body),
        (SizeClass::Middle | SizeClass::Wide, PaneLayout::Board) => {
            board_first(state, &mut out, body);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::UiState;
    use crate::ui::fixture;
    use crate::ui::keymap::pane::{Focus, Pane};

    #[test]
    fn class_follows_the_size() {
        let cases = [
            (59, 16, SizeClass::Small),
            (60, 15, SizeClass::Small),
            (60, 16, SizeClass::Narrow),
            (99, 50, SizeClass::Narrow),
            (100, 16, SizeClass::Middle),
            (139, 50, SizeClass::Middle),
            (140, 16, SizeClass::Wide),
        ];
        for (width, height, expected) in cases {
            assert_eq!(class(Rect::new(0, 0, width, height)), expected);
        }
    }

    #[test]
    fn areas_cover_the_screen_without_overlap() {
        let sizes = (60..=400).step_by(34).chain([61, 99, 100, 139, 140, 400]);
        for width in sizes {
            let mut state = fixture::busy(width, 60);
            for height in (16..60).step_by(3).chain([35, 90, 120]) {
                for arrangement in PaneLayout::ALL {
                    state.arrangement.screen.layout = arrangement;
                    for focus in [
                        Focus::Composer,
                        Focus::Pane(Pane::Needs),
                        Focus::Pane(Pane::Todo),
                    ] {
                        state.focus = focus;
                        for share in [None, Some(0), Some(100)] {
                            state.arrangement.screen.wall_left = share;
                            state.arrangement.screen.board_left = share;
                            check(&state, Rect::new(0, 0, width, height));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn areas_without_tasks_cover_the_screen() {
        let request = fixture::request_event(&fixture::lead_permission("p1"));
        let events = [
            vec![],
            vec![request.clone()],
            vec![fixture::todo(), request],
        ];
        for events in events {
            for width in [60, 80, 100, 139, 160, 300] {
                let mut state = fixture::started_screen(width, 60);
                fixture::apply_events(&mut state, events.clone());
                for height in (16..60).chain([120]) {
                    for focus in [
                        Focus::Composer,
                        Focus::Pane(Pane::Needs),
                        Focus::Pane(Pane::Todo),
                        Focus::Pane(Pane::Board),
                    ] {
                        state.focus = focus;
                        let area = Rect::new(0, 0, width, height);
                        check(&state, area);
                        let seen = layout(&state, area).pane(focus.pane());
                        assert!(seen.is_some(), "{area} {focus:?}");
                    }
                }
            }
        }
    }

    fn check(state: &UiState, area: Rect) {
        let layout = layout(state, area);
        let mut parts: Vec<Rect> = layout.panes.iter().map(|(_, r)| *r).collect();
        parts.extend([layout.status, layout.hints]);
        parts.extend(layout.composer);
        parts.extend(layout.request);
        parts.extend(layout.banner);
        parts.extend(layout.tabs.map(|(r, _)| r));
        for (i, one) in parts.iter().enumerate() {
            assert_eq!(area.intersection(*one), *one, "{area}");
            for other in &parts[i + 1..] {
                assert!(!one.intersects(*other), "{area}: {one} {other}");
            }
        }
        let cells: u32 = parts.iter().map(|r| r.area()).sum();
        assert_eq!(cells, area.area(), "{area}: cells are not covered");
    }

    #[test]
    fn panes_that_fit_are_shown_together_on_a_low_screen_of_middle_width() {
        let screen = Rect::new(0, 0, 100, 30);
        let panes = |state: &UiState| -> Vec<Pane> {
            let layout = layout(state, screen);
            let panes = layout.panes.iter().map(|(pane, _)| *pane);
            panes.filter(|pane| Pane::TABS.contains(pane)).collect()
        };
        let mut state = fixture::after_events(
            100,
            30,
            vec![
                fixture::ready(),
                fixture::board_event(&fixture::board()),
                fixture::team_event(),
            ],
        );
        assert_eq!(panes(&state), [Pane::Board, Pane::Team]);
        fixture::press(&mut state, "esc 4");
        assert_eq!(panes(&state), [Pane::Board, Pane::Team]);
        fixture::press(&mut state, "2");
        assert_eq!(panes(&state).first(), Some(&Pane::Todo));
    }

    #[test]
    fn pane_with_its_name_in_its_frame_has_no_tab() {
        let mut state = fixture::busy(100, 30);
        for keys in ["esc 3", "4", "5", "2"] {
            fixture::press(&mut state, keys);
            let layout = layout(&state, state.size);
            let (_, offered) = layout.tabs.clone().unwrap();
            let shown = layout.panes.iter().map(|(pane, _)| *pane);
            let shown: Vec<Pane> = shown.filter(|pane| Pane::TABS.contains(pane)).collect();
            let with_tab = shown.iter().filter(|pane| offered.contains(pane));
            assert_eq!(with_tab.collect::<Vec<_>>(), [&shown[0]], "{keys}");
            let text = fixture::picture(&state);
            for pane in Pane::TABS {
                let name = format!("{} {}", pane.number(), pane.title());
                assert_eq!(text.matches(&name).count(), 1, "{name}: {text}");
            }
        }
    }

    #[test]
    fn request_gets_the_rows_that_the_tab_below_does_not_need() {
        let screen = Rect::new(0, 0, 100, 30);
        let mut state =
            fixture::after_events(100, 30, vec![fixture::ready(), fixture::team_event()]);
        let steps: Vec<String> = (1..=14).map(|n| format!("{n}. Do step {n}.")).collect();
        let plan = fixture::plan("r1", &steps.join("\n"));
        fixture::apply_events(&mut state, vec![fixture::request_event(&plan)]);
        fixture::press(&mut state, "esc 4 1");
        let layout = layout(&state, screen);
        let needs = layout.pane(Pane::Needs).unwrap();
        let team = layout.pane(Pane::Team).unwrap();
        assert!(needs.height > 16, "{needs}");
        let members = state.model.team.present().count();
        assert!(team.height >= shares::team_height(members), "{team}");
    }

    #[test]
    fn needs_you_is_on_top_of_its_column() {
        for width in [100, 160] {
            let layout = layout(&fixture::busy(width, 40), Rect::new(0, 0, width, 40));
            let needs = layout.pane(Pane::Needs).unwrap();
            assert_eq!(needs.y, 1);
            assert_eq!(layout.at(needs.x, needs.y), Some(Focus::Pane(Pane::Needs)));
        }
    }
}
