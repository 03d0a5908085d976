//! The progress line of a replay. A click on its bar moves the replay to that position.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::replay::Player;
use crate::ui::text::width;
use crate::ui::theme::Theme;

pub fn draw(player: &Player, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let (left, right) = words(player);
    let bar = usize::from(bar(player, row).width);
    let done = filled_columns(player, bar);
    let (shape, style) = if player.is_playing() {
        ("▶", theme.working)
    } else {
        ("‖", theme.warn)
    };
    Line::from(vec![
        Span::styled(format!(" {shape} "), style),
        Span::styled(left, theme.title),
        Span::styled("━".repeat(done), theme.accent),
        Span::styled("─".repeat(bar - done), theme.dim),
        Span::styled(right, theme.dim),
    ])
    .render(row, buffer);
}

/// Returns the areas of the play/pause symbol and of the bar in the progress line `row`. The bar is empty if the texts
/// beside it leave no room.
pub fn places(player: &Player, row: Rect) -> (Rect, Rect) {
    let mark = Rect {
        width: 3.min(row.width),
        ..row
    };
    (mark, bar(player, row))
}

/// Converts `column` of the screen to a position in the replay, from 0 (start) to 1 (end). A column left or right of
/// the bar counts as the nearer end. Returns `None` if the row has no room for a bar.
pub fn share_of(player: &Player, row: Rect, column: u16) -> Option<f64> {
    let bar = bar(player, row);
    let last = bar.width.checked_sub(1)?;
    let at = column.saturating_sub(bar.x).min(last);
    Some(f64::from(at) / f64::from(last.max(1)))
}

fn bar(player: &Player, row: Rect) -> Rect {
    let (left, right) = words(player);
    let before = u16::try_from(width(&left) + 3).unwrap_or(row.width);
    let behind = u16::try_from(width(&right)).unwrap_or(row.width);
    Rect {
        x: row.x.saturating_add(before),
        width: row.width.saturating_sub(before.saturating_add(behind)),
        ..row
    }
}

// The length in seconds and the width of the bar are far below 2^53, so the casts are exact enough to draw a bar.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn filled_columns(player: &Player, bar: usize) -> usize {
    let length = player.length().as_secs_f64();
    if length <= 0.0 {
        return bar;
    }
    let share = player.time().as_secs_f64() / length;
    ((share * bar as f64).round() as usize).min(bar)
}

/// Returns the texts before and after the bar: the position and the duration, then the number of events and the speed.
fn words(player: &Player) -> (String, String) {
    let (time, length) = (clock(player.time()), clock(player.length()));
    let speed = player.speed();
    let speed = if (speed - speed.round()).abs() < 0.01 {
        format!("{speed:.0}x")
    } else {
        format!("{speed:.1}x")
    };
    let left = format!("replay {time} of {length} ");
    let right = format!(
        " {}/{} events  {speed} ",
        player.past_event_count(),
        player.len()
    );
    (left, right)
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
