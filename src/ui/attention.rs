//! When the person is called: never while they look, not twice for the same, not more often than is good. Pure.

use std::time::Duration;

use crate::domain::attention::Matter;
use crate::domain::stamp::Stamp;

/// The shortest time between two calls.
pub const APART: Duration = Duration::from_secs(10);
/// How long after a key the person counts as there, where the terminal does not tell.
pub const THERE: Duration = Duration::from_secs(15);
/// Most matters that wait for the next call.
const WAITING_MAX: usize = 64;

/// Whether the terminal's window has the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// The terminal has not told.
    #[default]
    Unknown,
    /// It has.
    Focused,
    /// Another window has.
    Elsewhere,
}

/// What the person has not been called for yet.
#[derive(Debug, Default)]
pub struct Attention {
    window: Window,
    pressed: Option<Stamp>,
    called: Option<Stamp>,
    waiting: Vec<(Matter, String)>,
    wanted: Vec<Matter>,
}

impl Attention {
    /// Nothing has happened yet; calls for these matters alone.
    pub fn wanting(matters: &[Matter]) -> Attention {
        Attention {
            wanted: matters.to_vec(),
            ..Attention::default()
        }
    }

    /// What waited is over.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Calls for these matters alone.
    pub fn want(&mut self, matters: &[Matter]) {
        self.wanted = matters.to_vec();
    }

    /// The window got or lost the keyboard.
    pub fn window(&mut self, window: Window) {
        self.window = window;
        if window == Window::Focused {
            self.waiting.clear();
        }
    }

    /// The person pressed a key: whatever waited is seen.
    pub fn pressed(&mut self, now: Stamp) {
        self.pressed = Some(now);
        self.waiting.clear();
    }

    /// Something happened that the person may be called for; `words` say what, on one line.
    pub fn news(&mut self, matter: Matter, words: String, now: Stamp) {
        if !self.wanted.contains(&matter) || self.is_there(now) || self.waiting.len() >= WAITING_MAX
        {
            return;
        }
        self.waiting.push((matter, words));
    }

    /// What is to be called out now, all that waits in one.
    pub fn due(&mut self, now: Stamp) -> Option<String> {
        if self.next_in(now)? > Duration::ZERO {
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.called = Some(now);
        let (first, more) = (waiting.first()?, waiting.len() - 1);
        Some(match more {
            0 => first.1.clone(),
            n => format!("{} (and {n} more)", first.1),
        })
    }

    /// When [`Attention::due`] has something next; `None`: nothing waits.
    pub fn next_in(&self, now: Stamp) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        let since = self.called.map(|at| now.since(at));
        Some(since.map_or(Duration::ZERO, |since| APART.saturating_sub(since)))
    }

    fn is_there(&self, now: Stamp) -> bool {
        match self.window {
            Window::Focused => true,
            Window::Elsewhere => false,
            Window::Unknown => self.pressed.is_some_and(|at| now.since(at) < THERE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn watching() -> Attention {
        Attention::wanting(&Matter::ALL)
    }

    fn tell(attention: &mut Attention, words: &str, now: f64) {
        attention.news(Matter::Needs, words.into(), Stamp(now));
    }

    #[test]
    fn nobody_is_called_who_looks() {
        let mut attention = watching();
        attention.window(Window::Focused);
        tell(&mut attention, "bob asks", 1.0);
        assert_eq!(attention.due(Stamp(1.0)), None);
        attention.window(Window::Elsewhere);
        tell(&mut attention, "bob asks", 2.0);
        assert_eq!(attention.due(Stamp(2.0)), Some("bob asks".into()));
    }

    #[test]
    fn where_the_terminal_does_not_tell_a_key_says_that_somebody_is_there() {
        let mut attention = watching();
        attention.pressed(Stamp(100.0));
        tell(&mut attention, "bob asks", 114.0);
        assert_eq!(attention.due(Stamp(114.0)), None);
        tell(&mut attention, "carol asks", 116.0);
        assert_eq!(attention.due(Stamp(116.0)), Some("carol asks".into()));
    }

    #[test]
    fn calls_are_ten_seconds_apart_and_what_came_meanwhile_is_one() {
        let mut attention = watching();
        tell(&mut attention, "first", 0.0);
        assert_eq!(attention.due(Stamp(0.0)), Some("first".into()));
        for at in 1..=3 {
            tell(&mut attention, &format!("number {at}"), f64::from(at));
            assert_eq!(attention.due(Stamp(f64::from(at))), None);
        }
        assert_eq!(attention.next_in(Stamp(4.0)), Some(Duration::from_secs(6)));
        let words = "number 1 (and 2 more)";
        assert_eq!(attention.due(Stamp(10.0)), Some(words.into()));
        assert_eq!(attention.next_in(Stamp(11.0)), None);
    }

    #[test]
    fn a_key_means_that_all_of_it_was_seen() {
        let mut attention = watching();
        tell(&mut attention, "first", 0.0);
        attention.due(Stamp(0.0));
        tell(&mut attention, "second", 1.0);
        attention.pressed(Stamp(2.0));
        assert_eq!(attention.due(Stamp(60.0)), None);
    }

    #[test]
    fn only_what_is_wanted_counts() {
        let mut attention = watching();
        attention.want(&[Matter::Needs]);
        attention.news(Matter::Done, "all done".into(), Stamp(0.0));
        assert_eq!(attention.due(Stamp(0.0)), None);
        tell(&mut attention, "bob asks", 0.0);
        assert_eq!(attention.due(Stamp(0.0)), Some("bob asks".into()));
    }
}
