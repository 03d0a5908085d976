//! The part of the screen beside a popup shows whole words and borders, or nothing. Snapshots of the popup alone cannot
//! show that.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::protocol::AgentEvent;
use crate::ui::fixture::{apply_events, cells};
use crate::ui::tests::scenes;
use crate::ui::tests::scenes::Shows;
use crate::ui::text::width;
use crate::ui::theme::test_theme;

/// Maximum number of columns beside a popup that count as too few to be readable.
const FEW: u16 = 4;

fn popup_area(buffer: &Buffer) -> Option<Rect> {
    let mut over = buffer
        .area
        .positions()
        .filter(|at| test_theme::is_popup(&buffer[*at]));
    let one = |x, y| Rect::new(x, y, 1, 1);
    let first = over.next()?;
    Some(over.fold(one(first.x, first.y), |all, at| all.union(one(at.x, at.y))))
}

#[test]
fn popups_leave_no_partial_text_beside_them() {
    let mut looked_at = 0;
    for scene in scenes::scenes().iter().filter(|s| s.shows == Shows::Popup) {
        for (columns, rows) in [(80, 24), (60, 16), (70, 20)] {
            // Puts wide characters under every border of the popup: with and without a shift by one column.
            for shift in ["", "x"] {
                let mut state = (scene.make)(columns, rows);
                let text = format!("{shift}{}", "测试宽字符".repeat(400));
                let agent = Name::lead();
                let said = AgentEvent::AnswerFinished {
                    text,
                    thinking: String::new(),
                    thought_ms: 0,
                }
                .of(agent);
                apply_events(&mut state, vec![said]);
                let buffer = cells(&state, &test_theme::theme());
                let Some(area) = popup_area(&buffer) else {
                    continue;
                };
                looked_at += 1;
                let (left, right) = (area.x, columns - area.right());
                for y in area.rows().map(|row| row.y) {
                    let symbol = |x: u16| buffer[(x, y)].symbol();
                    let what = || format!("{} at {columns}x{rows}, row {y}, {area:?}", scene.name);
                    if left > 0 {
                        assert!(width(symbol(left - 1)) <= 1, "half a character: {}", what());
                    }
                    if left.max(right) <= FEW {
                        let beside = (0..left).chain(area.right()..columns);
                        let scraps: String = beside.map(symbol).collect();
                        assert_eq!(scraps.trim(), "", "{}", what());
                    }
                }
            }
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}
