//! Reads terminal inputs in batches and drops redundant mouse events.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event, MouseEvent, MouseEventKind};

/// Maximum number of inputs in one batch. Further inputs are left for the next batch.
const INPUTS_MAX: usize = 1024;
/// Maximum number of consecutive mouse wheel events in one direction that are kept in one batch. Further ones are
/// dropped.
const NOTCHES_MAX: usize = 16;

/// Timeout of a check for pending input. With a timeout of zero, crossterm would not check at all.
const AT_ONCE: Duration = Duration::from_micros(100);

/// Returns `first` and the pending inputs, at most `INPUTS_MAX`, without redundant ones. crossterm must use `poll`
/// (its feature `use-dev-tty`): with `epoll`, this function blocks while unread input is left in the terminal, and no
/// further key arrives.
///
/// # Errors
/// Fails if the terminal cannot be read.
pub fn read_batch(first: Event) -> io::Result<Vec<Event>> {
    let mut inputs = vec![first];
    while inputs.len() < INPUTS_MAX && event::poll(AT_ONCE)? {
        inputs.push(event::read()?);
    }
    Ok(without_redundant(inputs))
}

/// Returns whether the mouse event `after` makes the event `before` redundant. This is so only for two moves or two
/// drags in succession.
fn replaces(before: MouseEvent, after: MouseEvent) -> bool {
    let is_motion = matches!(after.kind, MouseEventKind::Moved | MouseEventKind::Drag(_));
    is_motion && before.kind == after.kind
}

fn is_wheel(event: MouseEvent) -> bool {
    matches!(
        event.kind,
        MouseEventKind::ScrollUp
            | MouseEventKind::ScrollDown
            | MouseEventKind::ScrollLeft
            | MouseEventKind::ScrollRight
    )
}

/// Removes redundant mouse events. Of successive movements, only the last one is kept; of successive wheel events in
/// one direction, only the first [`NOTCHES_MAX`]. All other inputs are kept, and the order stays the same.
fn without_redundant(inputs: Vec<Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    let mut notches = 0;
    for input in inputs {
        let Event::Mouse(now) = input else {
            notches = 0;
            out.push(input);
            continue;
        };
        let before = match out.last() {
            Some(Event::Mouse(before)) => Some(*before),
            Some(_) | None => None,
        };
        let continues = before.is_some_and(|b| b.kind == now.kind && b.modifiers == now.modifiers);
        notches = match (is_wheel(now), continues) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => notches + 1,
        };
        if notches > NOTCHES_MAX {
            continue;
        }
        if before.is_some_and(|before| replaces(before, now)) {
            out.pop();
        }
        out.push(input);
    }
    out
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton};
    use pretty_assertions::assert_eq;

    use super::*;

    fn mouse(kind: MouseEventKind, column: u16) -> Event {
        Event::Mouse(MouseEvent {
            kind,
            column,
            row: 1,
            modifiers: KeyModifiers::NONE,
        })
    }

    fn key(c: char) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
    }

    #[test]
    fn mouse_floods_are_cut_and_other_inputs_kept() {
        let down = mouse(MouseEventKind::ScrollDown, 3);
        let up = mouse(MouseEventKind::ScrollUp, 3);
        let pull = |at| mouse(MouseEventKind::Drag(MouseButton::Left), at);
        let press = mouse(MouseEventKind::Down(MouseButton::Left), 1);
        let release = mouse(MouseEventKind::Up(MouseButton::Left), 9);

        let flood = vec![down.clone(); 1000];
        assert_eq!(without_redundant(flood), vec![down.clone(); NOTCHES_MAX]);

        let mut turned = vec![down.clone(); 100];
        turned.extend(vec![up.clone(); 2]);
        let mut kept = vec![down.clone(); NOTCHES_MAX];
        kept.extend(vec![up; 2]);
        assert_eq!(without_redundant(turned), kept);

        let pulled = vec![press.clone(), pull(2), pull(3), pull(9), release.clone()];
        assert_eq!(without_redundant(pulled), [press, pull(9), release]);

        let typed = vec![
            key('a'),
            key('a'),
            down.clone(),
            key('b'),
            down,
            Event::Paste("x".into()),
        ];
        assert_eq!(without_redundant(typed.clone()), typed);
    }
}
