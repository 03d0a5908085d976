//! Mentions of files, folded pastes and shell commands in the composer.

use pretty_assertions::assert_eq;
use ratatui::layout::Margin;

use crate::domain::chat::Outcome;
use crate::domain::ids::CallId;
use crate::domain::mention::Mention;
use crate::protocol::{AgentEvent, Command, CommandId, EventKind};
use crate::ui::fixture::{apply_events, busy, cells, name, picture, press, started_screen};
use crate::ui::panes::lead::complete::candidates;
use crate::ui::shell::layout;
use crate::ui::{
    Effect, FileListState, FileMatch, FoundFiles, Msg, SessionRole, Theme, UiState, update,
};

fn answer(state: &mut UiState, query: &str, paths: &[&str]) {
    let files = paths.iter().map(|path| FileMatch {
        path: (*path).into(),
        marked: Vec::new(),
    });
    let found = FoundFiles {
        query: query.into(),
        files: files.collect(),
        state: FileListState::Complete,
    };
    update(state, Msg::Files(found));
}

fn completion_texts(state: &UiState) -> Vec<String> {
    let rows = candidates(&state.panes.lead, state);
    rows.into_iter().map(|row| row.words).collect()
}

fn prompt(to: &str, text: &str, mentioned: &[(&str, bool)]) -> Effect {
    let attachments = mentioned.iter().map(|(path, is_required)| Mention {
        path: (*path).into(),
        is_required: *is_required,
    });
    Effect::Command(Command::Prompt {
        to: name(to),
        text: text.into(),
        attachments: attachments.collect(),
    })
}

#[test]
fn files_are_offered_where_a_mention_is_typed() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"look at @ma\"");
    assert_eq!(state.file_query().as_deref(), Some("ma"));
    assert_eq!(completion_texts(&state), [] as [String; 0]);
    answer(
        &mut state,
        "ma",
        &["src/main.rs", "a man.md", "src/manual/"],
    );
    assert_eq!(
        completion_texts(&state),
        ["@src/main.rs", "@\"a man.md\"", "@src/manual/"]
    );
    // The matches of the shorter query are offered until the matches of the longer one have arrived.
    press(&mut state, "\"n\"");
    assert_eq!(completion_texts(&state).len(), 3);
    assert!(picture(&state).contains("Attach"), "{}", picture(&state));
    press(&mut state, "down enter");
    assert_eq!(state.input.composer.text(), "look at @\"a man.md\" ");
    assert_eq!(state.file_query(), None);
    let sent = press(&mut state, "\"now\" enter");
    let expected = prompt("lead", "look at @\"a man.md\" now", &[("a man.md", true)]);
    assert_eq!(sent, [expected]);
}

/// A mention of a known file or of an explicit path such as `/tmp/a.png` has the style of a chip in the draft; other
/// words and shell commands do not.
#[test]
fn mentions_of_files_are_styled_in_the_draft() {
    let theme = Theme::default();
    let accented = |state: &UiState| -> String {
        let area = layout::layout(state, state.size).composer.unwrap();
        let cells = cells(state, &theme);
        let inside = area.inner(Margin::new(1, 1)).positions();
        let marked = inside.filter(|at| Some(cells[*at].fg) == theme.accent.fg);
        marked.map(|at| cells[at].symbol().to_string()).collect()
    };
    let mut state = started_screen(100, 30);
    press(&mut state, "\"see @Makefile\"");
    assert_eq!(accented(&state), "");
    answer(&mut state, "Makefile", &["Makefile"]);
    press(&mut state, "\", @other and @/tmp/a.png\"");
    assert_eq!(accented(&state), "@Makefile@/tmp/a.png");
    press(&mut state, "home \"!\"");
    assert_eq!(accented(&state), "");
}

#[test]
fn agents_come_before_files_at_the_start() {
    let mut state = busy(160, 45);
    press(&mut state, "\"@a\"");
    answer(&mut state, "a", &["a.md"]);
    let rows = completion_texts(&state);
    assert_eq!(
        (rows[0].as_str(), rows.last().unwrap().as_str()),
        ("@alice", "@a.md")
    );
    assert!(picture(&state).contains("Write to or attach"));
    press(&mut state, "tab \"see @a\"");
    answer(&mut state, "a", &["a.md"]);
    assert_eq!(completion_texts(&state), ["@a.md"]);
    assert_eq!(
        press(&mut state, "enter enter"),
        [prompt("alice", "see @a.md", &[("a.md", true)])]
    );
}

#[test]
fn directory_keeps_the_list_open_for_its_files() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"@s\"");
    answer(&mut state, "s", &["src/"]);
    press(&mut state, "tab");
    assert_eq!(state.input.composer.text(), "@src/");
    assert_eq!(state.file_query().as_deref(), Some("src/"));
    answer(&mut state, "src/", &["src/main.rs"]);
    press(&mut state, "enter");
    assert_eq!(state.input.composer.text(), "@src/main.rs ");
}

#[test]
fn complete_path_closes_the_list_so_that_enter_sends() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"@Makefile\"");
    answer(&mut state, "Makefile", &["Makefile", "old/Makefile"]);
    assert_eq!(completion_texts(&state), [] as [String; 0]);
    // The mention names a file, so it is not taken for the name of an unknown agent.
    assert_eq!(
        press(&mut state, "enter"),
        [prompt("lead", "@Makefile", &[("Makefile", true)])]
    );
}

#[test]
fn chosen_row_stays_selected_when_more_files_are_found() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"see @a\"");
    answer(&mut state, "a", &["a1", "a2"]);
    press(&mut state, "down");
    answer(&mut state, "a", &["a0", "a1", "a3", "a2"]);
    press(&mut state, "enter");
    assert_eq!(state.input.composer.text(), "see @a2 ");
}

#[test]
fn list_says_that_files_are_being_read() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"see @\"");
    assert!(!picture(&state).contains("reading files…"));
    let found = FoundFiles {
        query: String::new(),
        files: Vec::new(),
        state: FileListState::Reading,
    };
    update(&mut state, Msg::Files(found));
    assert!(
        picture(&state).contains("reading files…"),
        "{}",
        picture(&state)
    );
    press(&mut state, "esc");
    assert!(!picture(&state).contains("reading files…"));
}

#[test]
fn message_is_shown_while_its_attachments_are_read() {
    let mut state = started_screen(160, 45);
    state.set_role(SessionRole::Crew);
    press(&mut state, "\"see @./big.png \" enter");
    assert!(
        picture(&state).contains("⋯ sending: see @./big.png"),
        "{}",
        picture(&state)
    );
}

#[test]
fn attachments_are_listed_below_the_message() {
    let mut state = started_screen(100, 30);
    let event = AgentEvent::Prompted {
        text: "read @README.md".into(),
        attachments: vec![
            "README.md · 120 lines".into(),
            "shot.png · 800x600 image".into(),
        ],
        images: Vec::new(),
    };
    apply_events(&mut state, vec![event.of(name("lead"))]);
    let shown = picture(&state);
    let row = |text: &str| shown.lines().position(|line| line.contains(text)).unwrap();
    assert_eq!(row("+ README.md · 120 lines"), row("› read @README.md") + 1);
    assert_eq!(
        row("+ shot.png · 800x600 image"),
        row("› read @README.md") + 2
    );
}

#[test]
fn mentions_in_pasted_text_attach_nothing() {
    let mut state = started_screen(160, 45);
    let log = "see @README.md\n".repeat(10);
    press(&mut state, "\"what is \"");
    update(&mut state, Msg::Paste(log.clone()));
    assert!(picture(&state).contains("what is [pasted 10 lines]"));
    assert!(
        picture(&state).contains("open paste"),
        "{}",
        picture(&state)
    );
    let text = format!("what is {log}");
    assert_eq!(
        press(&mut state, "enter"),
        [prompt("lead", text.trim_end(), &[])]
    );
}

#[test]
fn refused_message_returns_with_its_chips() {
    let mut state = started_screen(160, 45);
    let log = "one line of it\n".repeat(9) + "end";
    press(&mut state, "\"see \"");
    update(&mut state, Msg::Paste(log));
    for effect in press(&mut state, "enter") {
        if let Effect::Command(command) = effect {
            state.assign_id(command);
        }
    }
    assert!(state.input.composer.is_empty());
    let why = "Cannot attach gone.md: it does not exist. The message was not sent.";
    apply_events(&mut state, vec![EventKind::rejection(CommandId(1), why)]);
    assert_eq!(state.input.composer.draft(), "see [pasted 10 lines]");
    assert!(picture(&state).contains(why), "{}", picture(&state));
    press(&mut state, "ctrl+o");
    assert!(
        state
            .input
            .composer
            .draft()
            .ends_with("one line of it\nend")
    );
}

#[test]
fn pasted_path_of_an_image_is_mentioned() {
    let mut state = started_screen(160, 45);
    update(&mut state, Msg::Paste("'/tmp/a b.png'".into()));
    let sent = press(&mut state, "\"what is it\" enter");
    let expected = prompt(
        "lead",
        "@\"/tmp/a b.png\" what is it",
        &[("/tmp/a b.png", true)],
    );
    assert_eq!(sent, [expected]);
}

#[test]
fn draft_with_an_exclamation_mark_is_a_command() {
    let mut state = busy(160, 45);
    press(&mut state, "\"!git status @\"");
    assert!(
        picture(&state).contains("shell command in the project"),
        "{}",
        picture(&state)
    );
    assert_eq!(
        (state.file_query(), completion_texts(&state).len()),
        (None, 0)
    );
    let run = Command::RunShell {
        agent: name("lead"),
        command: "git status @".into(),
    };
    assert_eq!(press(&mut state, "enter"), [Effect::Command(run)]);
    assert!(state.input.composer.is_empty());
    // Later sessions find it in their history.
    assert_eq!(state.app.take_sent().as_deref(), Some("!git status @"));
    press(&mut state, "\"#1 is text\"");
    assert!(!picture(&state).contains("shell command"));
}

#[test]
fn command_is_shown_with_its_output_and_can_be_stopped() {
    let mut state = started_screen(160, 45);
    let call = CallId("user-1".into());
    let lead = name("lead");
    let begun = AgentEvent::UserCommandStarted {
        call: call.clone(),
        command: "cargo test".into(),
    };
    apply_events(&mut state, vec![begun.of(lead.clone())]);
    assert!(
        picture(&state).contains("! cargo test"),
        "{}",
        picture(&state)
    );
    press(&mut state, "\"!ls\" enter");
    assert_eq!(state.input.composer.text(), "!ls");
    let stop = Effect::Command(Command::Interrupt {
        agent: lead.clone(),
    });
    assert_eq!(press(&mut state, "ctrl+c"), [stop]);
    let ended = AgentEvent::UserCommandEnded {
        call,
        outcome: Outcome::Error,
        output: "running 3 tests\n[interrupted]".into(),
        took_ms: 10,
    };
    apply_events(&mut state, vec![ended.of(lead)]);
    assert!(
        picture(&state).contains("running 3 tests"),
        "{}",
        picture(&state)
    );
    assert_eq!(state.keys.interrupted, None);
    // No shell command is running any more, so the key clears the draft.
    assert_eq!(press(&mut state, "ctrl+c"), []);
    assert!(state.input.composer.is_empty());
}

#[test]
fn refused_command_returns_to_the_composer() {
    let mut state = started_screen(160, 45);
    for effect in press(&mut state, "\"!ls\" enter") {
        if let Effect::Command(command) = effect {
            state.assign_id(command);
        }
    }
    apply_events(&mut state, vec![EventKind::rejection(CommandId(1), "no")]);
    assert_eq!(state.input.composer.text(), "!ls");
}
