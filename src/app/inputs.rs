//! What a terminal sent at once: floods of the mouse cost no more than what a person can see of them.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event, MouseEvent, MouseEventKind};

/// Most inputs that are taken from the terminal at once; the rest follows after a frame.
const INPUTS_MAX: usize = 1024;
/// Most notches of the wheel that count of those that came at once, in one direction and one after the other.
const NOTCHES_MAX: usize = 16;

/// How long it is looked for what else has come already: it lies there, so the shortest time is enough. With none at
/// all crossterm does not look.
const AT_ONCE: Duration = Duration::from_micros(100);

/// What came together with `first` and is worth taking. crossterm has to read by `poll` (its feature `use-dev-tty`):
/// by `epoll` it waits for more while a flood still lies in the terminal, and nobody can type any more.
///
/// # Errors
/// When the terminal can not be read.
pub fn with(first: Event) -> io::Result<Vec<Event>> {
    let mut inputs = vec![first];
    while inputs.len() < INPUTS_MAX && event::poll(AT_ONCE)? {
        inputs.push(event::read()?);
    }
    Ok(worth_taking(inputs))
}

/// Whether of two inputs that follow one another the second one alone tells where the mouse is.
fn replaces(before: MouseEvent, after: MouseEvent) -> bool {
    let is_way = matches!(after.kind, MouseEventKind::Moved | MouseEventKind::Drag(_));
    is_way && before.kind == after.kind
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

/// The inputs in their order, without what another one makes needless: of a way of the mouse its end, of a long turn
/// of the wheel its beginning. Keys and pasted text are all kept.
fn worth_taking(inputs: Vec<Event>) -> Vec<Event> {
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
        let goes_on = before.is_some_and(|b| b.kind == now.kind && b.modifiers == now.modifiers);
        notches = match (is_wheel(now), goes_on) {
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
    fn floods_are_cut_and_all_else_is_kept_in_its_order() {
        let down = mouse(MouseEventKind::ScrollDown, 3);
        let up = mouse(MouseEventKind::ScrollUp, 3);
        let pull = |at| mouse(MouseEventKind::Drag(MouseButton::Left), at);
        let press = mouse(MouseEventKind::Down(MouseButton::Left), 1);
        let release = mouse(MouseEventKind::Up(MouseButton::Left), 9);

        let flood = vec![down.clone(); 1000];
        assert_eq!(worth_taking(flood), vec![down.clone(); NOTCHES_MAX]);

        let mut turned = vec![down.clone(); 100];
        turned.extend(vec![up.clone(); 2]);
        let mut kept = vec![down.clone(); NOTCHES_MAX];
        kept.extend(vec![up; 2]);
        assert_eq!(worth_taking(turned), kept);

        let pulled = vec![press.clone(), pull(2), pull(3), pull(9), release.clone()];
        assert_eq!(worth_taking(pulled), [press, pull(9), release]);

        let typed = vec![
            key('a'),
            key('a'),
            down.clone(),
            key('b'),
            down,
            Event::Paste("x".into()),
        ];
        assert_eq!(worth_taking(typed.clone()), typed);
    }
}
