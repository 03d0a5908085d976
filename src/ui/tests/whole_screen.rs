//! Properties of whole screens that the snapshots in `scenes` do not check: no colour, back-off, the status line.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Cell;
use ratatui::style::Modifier;

use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{SessionInfo, TurnEnd};
use crate::protocol::{AgentEvent, CrewEvent, EventKind};
use crate::ui::fixture::{
    after_events, apply_events, busy, cells, name, picture, press, question, ready, request_event,
};
use crate::ui::{ColorDepth, Msg, Theme, ThemeName, UiState, update};

#[test]
fn no_color_theme_uses_no_colors() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    let cells = cells(&state, &Theme::new(ThemeName::Terminal, ColorDepth::None));
    let blank = Cell::default();
    let plain = |c: &Cell| (c.fg, c.bg) == (blank.fg, blank.bg);
    assert!(cells.content.iter().all(plain));
    let barred: Vec<u16> = cells
        .area
        .rows()
        .filter(|row| {
            // Titles and requests are reversed only in part. The bar about the back-off is reversed over its whole row.
            let mut last = (row.right() - 12..row.right() - 1).map(|x| &cells[(x, row.y)]);
            last.all(|cell| cell.modifier.contains(Modifier::REVERSED))
        })
        .map(|row| row.y)
        .collect();
    assert_eq!(barred.len(), 1, "one row has the keys: {barred:?}");
}

#[test]
fn back_off_is_counted_down() {
    let mut state = busy(160, 45);
    let activity = Activity::Backoff {
        cause: "rate limited".into(),
        until: Timestamp(state.now.0 + 43.0),
        attempt: 1,
        attempts_max: 8,
    };
    let agent = Name::lead();
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent)],
    );
    assert!(picture(&state).contains("rate limited, retry in 42 s"));
    let now = Timestamp(state.now.0 + 2.0);
    update(&mut state, Msg::Tick { now });
    assert!(picture(&state).contains("rate limited, retry in 40 s"));
}

#[test]
fn queued_agent_shows_position() {
    let mut state = busy(160, 45);
    let agent = Name::party("alice").unwrap();
    let activity = Activity::Queued { place: 2 };
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent)],
    );
    let picture = picture(&state);
    let row = picture.lines().find(|l| l.contains("◔ alice"));
    assert!(row.is_some_and(|r| r.contains("queued 2")), "{picture}");
}

#[test]
fn shorter_status_pieces_fill_room_of_dropped_ones() {
    let does = |agent: &str, activity| AgentEvent::ActivityChanged { activity }.of(name(agent));
    let why = || "the server said no".to_string();
    let mut state = busy(70, 20);
    apply_events(
        &mut state,
        vec![
            does("alice", Activity::Failed { why: why() }),
            does("bob", Activity::Stuck { why: why() }),
        ],
    );
    let line = |state: &UiState| {
        let picture = picture(state);
        picture.lines().next().unwrap_or_default().to_string()
    };
    let mut cut = Vec::new();
    for width in 60..160 {
        update(&mut state, Msg::Resize(width, 20));
        let line = line(&state);
        let line = line.trim_matches('"').trim_end();
        let room = usize::from(width).saturating_sub(line.chars().count());
        // If the line does not show the tokens, at most 16 columns may be free. With more, there would be room for the
        // tokens.
        let longest = if line.contains(" tok") { 0 } else { 16 };
        let is_cut = longest > 0 && room > longest;
        if is_cut {
            cut.push(line.to_string());
        }
    }
    assert_eq!(cut, Vec::<String>::new());
}

#[test]
fn status_message_keeps_hint_style_and_minimum_width() {
    let theme = Theme::new(ThemeName::Terminal, ColorDepth::True);
    let mut state = busy(70, 20);
    press(&mut state, "esc 3");
    state.warn("a branch does not merge: ".repeat(5));
    let shown = cells(&state, &theme);
    let y = shown.area.bottom() - 1;
    let is_last = |x: &u16| shown[(*x, y)].symbol() != " ";
    let help = (0..shown.area.right()).rfind(is_last).unwrap();
    assert_eq!(shown[(help, y)].symbol(), "p");
    assert_eq!(shown[(help, y)].fg, Cell::default().fg);
    // The key hints of the form leave almost no room beside them.
    press(&mut state, "t");
    state.warn("a branch does not merge: ".repeat(5));
    let picture = picture(&state);
    let mut rows = picture.lines().rev();
    let last = rows.next().unwrap_or_default();
    assert!(last.contains("Esc close"), "{last}");
    let above = rows.next().unwrap_or_default();
    let first = rows.next().unwrap_or_default();
    assert!(above.contains("does not merge"), "{above}");
    assert!(first.contains("▲ a branch does not merge"), "{first}");
}

#[test]
fn form_text_is_styled_in_all_rows() {
    let theme = Theme::new(ThemeName::Terminal, ColorDepth::True);
    let mut state = busy(70, 20);
    press(&mut state, "esc 3 t");
    for character in "word".chars().chain([' ']).cycle().take(80) {
        let key = KeyEvent::from(KeyCode::Char(character));
        let now = Timestamp(state.now.0 + 1.0);
        update(&mut state, Msg::Key(key, now));
    }
    let shown = cells(&state, &theme);
    let written: Vec<_> = (shown.content.iter())
        .filter(|cell| cell.symbol() == "w")
        .map(|cell| (cell.fg, cell.modifier))
        .collect();
    let of_words = (
        theme.text.fg.unwrap_or(Cell::default().fg),
        Modifier::empty(),
    );
    assert!(
        written.iter().filter(|look| **look == of_words).count() >= 16,
        "{written:?}"
    );
}

#[test]
fn long_key_address_shows_the_end_of_its_host() {
    let mut state = busy(160, 45);
    let host = format!("api.anthropic.com.{}.evil.example:8443", "a".repeat(40));
    for address in [
        host.clone(),
        format!("{host}/api.anthropic.com/{}", "v".repeat(40)),
        format!("{}@{host}?api.anthropic.com", "api.anthropic.com".repeat(4)),
    ] {
        state.set_key_address(&address);
        let text = picture(&state);
        assert!(text.contains("key to …aaaa"), "{text}");
        assert!(text.contains(".evil.example:8443 "), "{text}");
    }
}

#[test]
fn long_key_address_leaves_room_for_ctx() {
    let address = "models.gateway.internal.company.example:8443";
    for (width, height) in [(80, 24), (100, 30), (120, 35)] {
        let mut state = busy(width, height);
        state.set_key_address(address);
        let text = picture(&state);
        let row = text.lines().find(|l| l.contains("crewdeck")).unwrap();
        assert!(row.contains(".example:8443 "), "{row}");
        // On a narrow screen, a tab announces the request.
        assert!(row.contains("◆ 1 needs you") || width < 100, "{row}");
        assert!(row.contains("ctx "), "{row}");
    }
}

#[test]
fn interrupted_agent_says_so_until_its_next_turn() {
    let lead = |event: AgentEvent| event.of(Name::lead());
    let idle = || {
        lead(AgentEvent::ActivityChanged {
            activity: Activity::Idle,
        })
    };
    let ended = |end| lead(AgentEvent::TurnEnded { end });
    let title = |state: &UiState| picture(state).contains("○ idle, interrupted");
    let mut state = busy(160, 45);
    let started = || lead(AgentEvent::TurnStarted);
    apply_events(
        &mut state,
        vec![started(), ended(TurnEnd::Interrupted), idle()],
    );
    assert!(title(&state), "{}", picture(&state));
    apply_events(&mut state, vec![started()]);
    assert!(!title(&state), "{}", picture(&state));
    apply_events(&mut state, vec![ended(TurnEnd::Done), idle()]);
    assert!(!title(&state), "{}", picture(&state));
}

#[test]
fn composer_title_names_the_addressed_agent() {
    for (draft, to) in [
        ("@bob", "to bob "),
        ("@bob use serde", "to bob "),
        ("@bob: use serde", "to bob "),
        ("@lead wait", "to lead "),
        ("@zed hello", "to lead "),
        ("ask @bob", "to lead "),
    ] {
        let mut state = busy(160, 45);
        press(&mut state, &format!("\"{draft}\""));
        let text = picture(&state);
        let title = text
            .lines()
            .rfind(|l| l.contains("╭ to "))
            .unwrap_or_default();
        assert!(title.contains(to), "{draft}: {text}");
    }
    // While a question is open, a draft that names an agent is a message.
    let mut asked = question("q1", &[]);
    asked.from = Name::lead();
    asked.target = Name::lead();
    let mut state = busy(160, 45);
    apply_events(&mut state, vec![request_event(&asked)]);
    assert!(picture(&state).contains("answer to lead"));
    press(&mut state, "\"@bob use serde\"");
    let text = picture(&state);
    assert!(text.contains("╭ to bob "), "{text}");
    assert!(!text.contains("answer to lead"), "{text}");
}

#[test]
fn popup_leaves_no_single_characters_beside_it() {
    for (width, height) in [(70, 20), (60, 16)] {
        let mut state = busy(width, height);
        press(&mut state, "esc 3 ?");
        for row in picture(&state).lines().filter(|l| l.contains("│ ")) {
            let row: Vec<char> = row.trim_matches('"').chars().collect();
            assert_eq!(row[..2], [' ', ' '], "{row:?}");
            assert_eq!(row[row.len() - 2..], [' ', ' '], "{row:?}");
        }
    }
}

#[test]
fn new_session_mentions_resume() {
    let words = "crewdeck --resume continues";
    for earlier in [true, false] {
        let events = [ready()].map(|event| match event {
            EventKind::Crew(CrewEvent::Ready(setup)) => {
                EventKind::Crew(CrewEvent::Ready(SessionInfo { earlier, ..setup }))
            }
            other => other,
        });
        let picture = picture(&after_events(160, 45, events.into()));
        assert_eq!(picture.contains(words), earlier, "{picture}");
    }
}

#[test]
fn no_color_graph_edges_are_not_underlined() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    let cells = cells(&state, &Theme::new(ThemeName::Mono, ColorDepth::None));
    let is_heavy = |c: &&Cell| ["━", "┯", "┱", "┳", "┃"].contains(&c.symbol());
    let heavy: Vec<&Cell> = cells.content.iter().filter(is_heavy).collect();
    assert!(!heavy.is_empty());
    for cell in heavy {
        assert!(!cell.modifier.contains(Modifier::UNDERLINED), "{cell:?}");
    }
}
