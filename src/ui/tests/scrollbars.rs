//! Scrollbars: every list or text longer than its area has a thumb that can be dragged.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::ui::fixture::{apply_events, busy, cells, press};
use crate::ui::frame::hit::Hit;
use crate::ui::popups::diff::DiffPage;
use crate::ui::popups::pager::Pager;
use crate::ui::shell::hit_test;
use crate::ui::shell::layout::layout;
use crate::ui::tests::scenes::{Scene, scene_data, scenes, work};
use crate::ui::theme::test_theme;
use crate::ui::widgets::scrollbar::Scrollbar;
use crate::ui::{Msg, Pane, UiState, update};

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const PULL: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);

fn mouse(state: &mut UiState, kind: MouseEventKind, column: u16, row: u16) {
    let modifiers = KeyModifiers::NONE;
    let event = MouseEvent {
        kind,
        column,
        row,
        modifiers,
    };
    update(state, Msg::Mouse(event));
}

/// Returns the scrollbars that the hit test finds.
fn bars(state: &UiState) -> Vec<Scrollbar> {
    let all = hit_test::targets(state).into_iter();
    all.filter_map(|target| match target.what {
        Hit::Scrollbar(_, bar) => Some(bar),
        _ => None,
    })
    .collect()
}

/// Returns the areas of the thumbs that are drawn on the screen, ordered by column and row.
fn thumbs(state: &UiState) -> Vec<Rect> {
    let buffer = cells(state, &test_theme::theme());
    let is_covered = !state.popups.is_empty();
    let mut out: Vec<Rect> = Vec::new();
    for x in buffer.area.columns().map(|column| column.x) {
        for y in buffer.area.rows().map(|row| row.y) {
            let cell = &buffer[(x, y)];
            // A covered scrollbar cannot be dragged.
            if cell.symbol() != "█" || !['h', 'd'].contains(&test_theme::style_character(cell)) {
                continue;
            }
            if is_covered && !test_theme::is_popup(cell) {
                continue;
            }
            match out.last_mut() {
                Some(last) if last.x == x && last.bottom() == y => last.height += 1,
                Some(_) | None => out.push(Rect::new(x, y, 1, 1)),
            }
        }
    }
    out
}

#[test]
fn every_drawn_thumb_is_draggable() {
    let mut seen = 0;
    for Scene {
        name, sizes, make, ..
    } in scenes()
    {
        for (width, height) in sizes {
            let state = make(width, height);
            let mut found: Vec<Rect> = bars(&state).into_iter().map(Scrollbar::thumb).collect();
            found.sort_by_key(|at| (at.x, at.y));
            // The completion list has no draggable scrollbar.
            let drawn = thumbs(&state);
            if name != "whole_commands" {
                assert_eq!(drawn, found, "{name} {width}x{height}");
            }
            seen += drawn.len();
        }
    }
    assert!(seen > 40, "{seen}");
}

fn full(pane: Pane) -> UiState {
    let mut state = busy(160, 45);
    apply_events(&mut state, work::long_conversation());
    apply_events(&mut state, work::long_conversation());
    apply_events(&mut state, vec![scene_data::long_todo()]);
    apply_events(&mut state, scene_data::many_messages());
    apply_events(&mut state, scene_data::large_team());
    apply_events(&mut state, scene_data::many_requests());
    press(&mut state, &format!("esc {}", pane.number()));
    state
}

#[test]
fn dragging_pane_scrollbar_scrolls_without_focus() {
    for pane in [Pane::Lead, Pane::Todo, Pane::Team, Pane::Inbox, Pane::Needs] {
        let mut state = full(Pane::Board);
        let area = layout(&state, state.size).pane(pane).unwrap();
        let here = |state: &UiState| {
            let bars = bars(state).into_iter();
            let mut here = bars.filter(|bar| area.contains(bar.at.as_position()));
            here.next().unwrap_or_else(|| panic!("{pane:?} has no bar"))
        };
        let bar = here(&state);
        let last = bar.at.bottom() - 1;
        mouse(&mut state, DOWN, bar.at.x, bar.at.y);
        assert_eq!(here(&state).thumb().y, bar.at.y, "{pane:?}");
        mouse(&mut state, PULL, 3, last);
        assert_eq!(here(&state).thumb().bottom(), bar.at.bottom(), "{pane:?}");
        let middle = bar.at.y + bar.at.height / 2;
        mouse(&mut state, PULL, 3, middle);
        let thumb = here(&state).thumb();
        assert!(thumb.y > bar.at.y && thumb.bottom() <= last, "{pane:?}");
        assert_eq!(state.focus.pane(), Pane::Board);
    }
}

#[test]
fn dragging_popup_scrollbar_scrolls() {
    for keys in ["?", ":", "@", "T"] {
        let mut state = full(Pane::Lead);
        press(&mut state, keys);
        let Some(bar) = bars(&state).into_iter().next() else {
            // The picker of themes shows all themes without scrolling.
            assert_eq!(keys, "T");
            continue;
        };
        mouse(&mut state, DOWN, bar.at.x, bar.at.bottom() - 1);
        let now = bars(&state)[0];
        assert_eq!(now.thumb().bottom(), now.at.bottom(), "{keys}");
        mouse(&mut state, PULL, bar.at.x, bar.at.y);
        assert_eq!(bars(&state)[0].thumb().y, bar.at.y, "{keys}");
        assert_eq!(state.popups.len(), 1, "{keys}");
    }
}

#[test]
fn dragging_diff_scrollbar_updates_current_file() {
    let mut state = full(Pane::Lead);
    apply_events(&mut state, vec![work::diff_of_files()]);
    let file = |state: &UiState| state.popups.top::<Pager<DiffPage>>().unwrap().page.file;
    // The diff has six files.
    let last = 5;
    let bar = bars(&state)[0];
    mouse(&mut state, DOWN, bar.at.x, bar.at.bottom() - 1);
    assert_eq!(file(&state), last);
    mouse(&mut state, PULL, bar.at.x, bar.at.y);
    assert_eq!(file(&state), 0);
}

#[test]
fn scrollbar_differs_from_a_border() {
    // The conversation has no side border while the composer has the focus.
    let mut state = busy(160, 45);
    apply_events(&mut state, work::long_conversation());
    let bar = bars(&state).into_iter().find(|bar| bar.at.x < 90).unwrap();
    let buffer = cells(&state, &test_theme::theme());
    for at in bar.at.positions() {
        let expected = if bar.thumb().contains(at) {
            "█"
        } else {
            "│"
        };
        assert_eq!(buffer[at].symbol(), expected, "{at}");
    }
}
