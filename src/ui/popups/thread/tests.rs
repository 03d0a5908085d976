//! Message threads that are opened from the inbox: order and scrolling. The scenes check how they look.

use pretty_assertions::assert_eq;

use crate::domain::mail::MailKind;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::DeliveryState;
use crate::protocol::{EventKind, TeamEvent};
use crate::ui::fixture::{NOON, apply_events, busy, mail_message, picture, press};
use crate::ui::popups::pager::{Page, Pager};
use crate::ui::popups::thread::ThreadPage;
use crate::ui::{Theme, UiState};

const SAID: [&str; 4] = [
    "Which byte order has the header? I guess little, as in the other formats of this family, but the README does not say.",
    "Little. The version is two bytes, then come the flags.",
    "Thank you.\n\n- the version is read now\n- the flags are next",
    "好的 👍 Tell me when the table of blocks is there.",
];

/// Returns a screen with `count` messages between two agents. Messages of another thread were sent in between.
pub fn thread_screen(width: u16, height: u16, count: usize) -> UiState {
    let mut state = busy(width, height);
    for i in 0..count {
        let (from, to) = if i % 2 == 0 {
            ("bob", "alice")
        } else {
            ("alice", "bob")
        };
        let words = match SAID.get(i) {
            Some(words) => (*words).to_string(),
            None => format!("message number {i}"),
        };
        let mut one = mail_message(&format!("t{i}"), MailKind::Message, from, to, &words);
        one.timestamp = Timestamp(NOON + 40.0).after(std::time::Duration::from_secs(i as u64));
        let step = match count - i {
            1 => DeliveryState::Sent,
            2 => DeliveryState::Delivered,
            _ => DeliveryState::ActedOn,
        };
        let other = mail_message(
            &format!("o{i}"),
            MailKind::Message,
            "lead",
            "alice",
            "other",
        );
        apply_events(
            &mut state,
            vec![
                EventKind::Team(TeamEvent::MessageMoved { message: one, step }),
                EventKind::Team(TeamEvent::MessageMoved {
                    message: other,
                    step,
                }),
            ],
        );
    }
    state
}

#[test]
fn long_thread_opens_at_message_and_scrolls_to_ends() {
    let mut state = thread_screen(100, 30, 60);
    press(&mut state, "esc 5 k enter");
    let shown = |state: &UiState, words: &str| picture(state).contains(words);
    assert!(
        shown(&state, "Messages between bob and alice (61)")
            || shown(&state, "Messages between alice and bob (61)"),
        "{}",
        picture(&state)
    );
    assert!(shown(&state, "message number 59"));
    assert!(!shown(&state, "Which byte order has the header?"));
    press(&mut state, "g");
    assert!(shown(&state, "Which byte order has the header?"));
    assert!(!shown(&state, "message number 59"));
    press(&mut state, "G");
    assert!(shown(&state, "message number 59"));
    assert!(shown(&state, "unread for"));
}

#[test]
fn very_long_thread_is_cut_around_opened_message() {
    let mut state = thread_screen(100, 30, 160);
    press(&mut state, "esc 5 k enter g");
    let thread = state.popups.top::<Pager<ThreadPage>>().unwrap();
    let rows = thread.page.rows(&state, 80, &Theme::default());
    let text: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
    assert_eq!(text[0], "Not shown here: 61 older messages.");
    assert!(text.last().unwrap().contains("message number 159"));
}

#[test]
fn thread_preview_shows_all_or_selected_message() {
    let mut state = thread_screen(160, 45, 2);
    press(&mut state, "esc 5 k space");
    let whole = picture(&state);
    for words in ["Which byte order has the header?", "Little. The version is"] {
        assert!(whole.contains(words), "{words}\n{whole}");
    }
    let mut state = thread_screen(100, 30, 60);
    press(&mut state, "esc 5 k space");
    assert!(picture(&state).contains("message number 59"));
    assert!(!picture(&state).contains("message number 31"));
    for _ in 0..20 {
        press(&mut state, "pgup");
    }
    assert!(picture(&state).contains("Which byte order has the header?"));
}

#[test]
fn message_to_shut_down_teammate_is_not_pending() {
    let mut state = busy(100, 30);
    // Dave has shut down.
    let steps = [
        (MailKind::Message, DeliveryState::Sent),
        (MailKind::Message, DeliveryState::Delivered),
        (MailKind::ShutdownRequest, DeliveryState::Delivered),
    ];
    for (at, (kind, step)) in steps.into_iter().enumerate() {
        let message = mail_message(
            &format!("d{at}"),
            kind,
            "lead",
            "dave",
            &format!("word {at}"),
        );
        apply_events(
            &mut state,
            vec![EventKind::Team(TeamEvent::MessageMoved { message, step })],
        );
    }
    press(&mut state, "alt+5 5");
    let text = picture(&state);
    let row = |words: &str| {
        let mut rows = text.lines().filter(|l| l.contains(words));
        rows.next().unwrap_or_default().to_string()
    };
    // Carol is active, so her message is still pending.
    assert!(row("5 Inbox").contains("1 unread"), "{text}");
    assert!(row("word 0").contains("not read"), "{text}");
    assert!(row("word 1").contains("delivered"), "{text}");
    assert!(row("word 2").contains("acted on"), "{text}");
    press(&mut state, "enter");
    let text = picture(&state);
    assert!(text.contains("✗ not read: dave has left"), "{text}");
}

#[test]
fn broadcast_is_one_row_that_opens_the_delivery_to_each_recipient() {
    let mut state = busy(100, 30);
    let steps = [
        ("alice", DeliveryState::ActedOn),
        ("bob", DeliveryState::Sent),
        ("carol", DeliveryState::Delivered),
    ];
    for (to, step) in steps {
        let kind = MailKind::Broadcast;
        let mut message = mail_message(to, kind, "user", to, "Use u64 everywhere.");
        message.timestamp = Timestamp(NOON + 60.0);
        apply_events(
            &mut state,
            vec![EventKind::Team(TeamEvent::MessageMoved { message, step })],
        );
    }
    press(&mut state, "alt+5 5");
    let text = picture(&state);
    let rows: Vec<&str> = text.lines().filter(|l| l.contains("Use u64")).collect();
    assert_eq!(rows.len(), 1, "{text}");
    assert!(
        rows[0].contains("you → all") && rows[0].contains("2/3 read"),
        "{text}"
    );
    press(&mut state, "enter");
    let text = picture(&state);
    for words in [
        "Message from you to all",
        "alice  ✓✓ acted on",
        "bob    · unread for",
        "carol  ✓ delivered",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
