//! Decides when to notify the user: only while the user is away, and at most once every ten seconds. Notifications that
//! are pending at the same time are combined into one. Pure.

use std::time::Duration;

use crate::domain::notification::NotifyKind;
use crate::domain::timestamp::Timestamp;

/// Minimum time between two notifications to the user.
pub const NOTIFY_INTERVAL: Duration = Duration::from_secs(10);
/// Time after a key press during which the user counts as present, if the terminal does not report whether its window
/// has the focus.
pub const PRESENCE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of pending notifications. While that many are pending, new ones are dropped.
const WAITING_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowFocus {
    /// The terminal has not reported whether its window has the focus.
    #[default]
    Unknown,
    Focused,
    Unfocused,
}

/// The pending notifications, and the times and settings that decide when they are shown.
#[derive(Debug, Default)]
pub struct Notifier {
    window: WindowFocus,
    pressed: Option<Timestamp>,
    called: Option<Timestamp>,
    waiting: Vec<(NotifyKind, String)>,
    wanted: Vec<NotifyKind>,
}

impl Notifier {
    pub fn with_kinds(kinds: &[NotifyKind]) -> Notifier {
        Notifier {
            wanted: kinds.to_vec(),
            ..Notifier::default()
        }
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    pub fn set_kinds(&mut self, kinds: &[NotifyKind]) {
        self.wanted = kinds.to_vec();
    }

    /// Records that the window of the terminal got or lost the focus. If it got the focus, all pending notifications
    /// are dropped.
    pub fn set_focus(&mut self, window: WindowFocus) {
        self.window = window;
        if window == WindowFocus::Focused {
            self.waiting.clear();
        }
    }

    /// Records a key press at the time `now`, and drops all pending notifications.
    pub fn record_key(&mut self, now: Timestamp) {
        self.pressed = Some(now);
        self.waiting.clear();
    }

    /// Adds a notification with one line of text. Does nothing if notifications of this kind are disabled, the user is
    /// present, or the maximum number of notifications is pending.
    pub fn push(&mut self, kind: NotifyKind, words: String, now: Timestamp) {
        if !self.wanted.contains(&kind) || self.is_present(now) || self.waiting.len() >= WAITING_MAX
        {
            return;
        }
        self.waiting.push((kind, words));
    }

    /// Removes all pending notifications and returns their combined text: the first notification and the number of
    /// others. Returns `None` and removes nothing if no notification is due now.
    pub fn take_due(&mut self, now: Timestamp) -> Option<String> {
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

    /// Returns the time until [`Notifier::take_due`] returns a text: zero if a notification is due now, `None` if none
    /// is pending. A notification is due [`NOTIFY_INTERVAL`] after the previous one was taken, or immediately if none
    /// was taken yet.
    pub fn next_in(&self, now: Timestamp) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        let since = self.called.map(|at| now.since(at));
        Some(since.map_or(Duration::ZERO, |since| {
            NOTIFY_INTERVAL.saturating_sub(since)
        }))
    }

    fn is_present(&self, now: Timestamp) -> bool {
        match self.window {
            WindowFocus::Focused => true,
            WindowFocus::Unfocused => false,
            WindowFocus::Unknown => self
                .pressed
                .is_some_and(|at| now.since(at) < PRESENCE_TIMEOUT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn notifier_for_all() -> Notifier {
        Notifier::with_kinds(&NotifyKind::ALL)
    }

    fn tell(attention: &mut Notifier, words: &str, now: f64) {
        attention.push(NotifyKind::Needs, words.into(), Timestamp(now));
    }

    #[test]
    fn focused_window_is_not_notified() {
        let mut attention = notifier_for_all();
        attention.set_focus(WindowFocus::Focused);
        tell(&mut attention, "bob asks", 1.0);
        assert_eq!(attention.take_due(Timestamp(1.0)), None);
        attention.set_focus(WindowFocus::Unfocused);
        tell(&mut attention, "bob asks", 2.0);
        assert_eq!(attention.take_due(Timestamp(2.0)), Some("bob asks".into()));
    }

    #[test]
    fn recent_key_counts_as_presence_without_focus_reports() {
        let mut attention = notifier_for_all();
        attention.record_key(Timestamp(100.0));
        tell(&mut attention, "bob asks", 114.0);
        assert_eq!(attention.take_due(Timestamp(114.0)), None);
        tell(&mut attention, "carol asks", 116.0);
        assert_eq!(
            attention.take_due(Timestamp(116.0)),
            Some("carol asks".into())
        );
    }

    #[test]
    fn notifications_are_ten_seconds_apart_and_combined() {
        let mut attention = notifier_for_all();
        tell(&mut attention, "first", 0.0);
        assert_eq!(attention.take_due(Timestamp(0.0)), Some("first".into()));
        for at in 1..=3 {
            tell(&mut attention, &format!("number {at}"), f64::from(at));
            assert_eq!(attention.take_due(Timestamp(f64::from(at))), None);
        }
        assert_eq!(
            attention.next_in(Timestamp(4.0)),
            Some(Duration::from_secs(6))
        );
        let words = "number 1 (and 2 more)";
        assert_eq!(attention.take_due(Timestamp(10.0)), Some(words.into()));
        assert_eq!(attention.next_in(Timestamp(11.0)), None);
    }

    #[test]
    fn key_press_drops_pending_notifications() {
        let mut attention = notifier_for_all();
        tell(&mut attention, "first", 0.0);
        attention.take_due(Timestamp(0.0));
        tell(&mut attention, "second", 1.0);
        attention.record_key(Timestamp(2.0));
        assert_eq!(attention.take_due(Timestamp(60.0)), None);
    }

    #[test]
    fn only_enabled_kinds_notify() {
        let mut attention = notifier_for_all();
        attention.set_kinds(&[NotifyKind::Needs]);
        attention.push(NotifyKind::Done, "all done".into(), Timestamp(0.0));
        assert_eq!(attention.take_due(Timestamp(0.0)), None);
        tell(&mut attention, "bob asks", 0.0);
        assert_eq!(attention.take_due(Timestamp(0.0)), Some("bob asks".into()));
    }
}
