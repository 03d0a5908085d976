//! Resources and prompts of MCP servers in the completion list.

use pretty_assertions::assert_eq;

use crate::domain::mention::Mention;
use crate::domain::server_offers::ServerOffers;
use crate::protocol::event::CrewEvent;
use crate::protocol::{Command, EventKind};
use crate::ui::fixture::{apply_events, name, offers, picture, press, servers, started_screen};
use crate::ui::panes::lead::complete::candidates;
use crate::ui::{Effect, SessionRole, UiState};

fn completion_texts(state: &UiState) -> Vec<String> {
    let rows = candidates(&state.panes.lead, state);
    rows.into_iter().map(|row| row.words).collect()
}

fn asks(start: Option<&str>) -> Vec<Effect> {
    let start = start.map(String::from);
    vec![Effect::Command(Command::ListOffers { start })]
}

/// Returns a screen after the MCP server "git" has listed its resources and prompts.
fn screen_with_offers() -> UiState {
    let mut state = started_screen(160, 45);
    apply_events(&mut state, vec![servers(), offers()]);
    state
}

#[test]
fn servers_are_asked_once_and_only_while_something_is_typed_for_them() {
    let mut state = started_screen(160, 45);
    assert_eq!(press(&mut state, "\"see @\""), [], "there are no servers");
    let mut state = started_screen(160, 45);
    apply_events(&mut state, vec![servers()]);
    assert_eq!(press(&mut state, "\"hello\""), []);
    assert_eq!(press(&mut state, "\" @\""), asks(None));
    assert_eq!(press(&mut state, "\"g\""), []);
    // The server "web" waits for approval. The command is sent nevertheless, because the crew checks the approval.
    assert_eq!(press(&mut state, "backspace \"web:\""), asks(Some("web")));
    assert!(
        picture(&state).contains("web: needs approval: run crewdeck mcp approve web in a shell"),
        "{}",
        picture(&state)
    );
    let mut viewer = started_screen(160, 45);
    apply_events(&mut viewer, vec![servers()]);
    viewer.set_role(SessionRole::Viewer(Some(7)));
    assert_eq!(press(&mut viewer, "\"see @\""), []);
    let mut state = started_screen(160, 45);
    apply_events(&mut state, vec![servers()]);
    assert_eq!(press(&mut state, "\"/\""), asks(None));
}

#[test]
fn server_holds_its_resources() {
    let mut state = screen_with_offers();
    press(&mut state, "\"see @\"");
    assert_eq!(
        completion_texts(&state),
        ["@git:", "@docs:", "@memory:", "@web:"]
    );
    let shown = picture(&state);
    assert!(shown.contains("MCP server: 3 resources"), "{shown}");
    assert!(shown.contains("needs a login: see /mcp"), "{shown}");
    press(&mut state, "enter");
    assert_eq!(state.input.composer.text(), "see @git:");
    assert_eq!(
        completion_texts(&state),
        [
            "@git:repo://main/README.md",
            "@\"git:repo://main/a long name/文件.md\"",
            "@git:commit://{hash}"
        ]
    );
    press(&mut state, "down enter");
    let text = "see @\"git:repo://main/a long name/文件.md\" ";
    assert_eq!(state.input.composer.text(), text);
    let path = "git:repo://main/a long name/文件.md".into();
    let expected = Effect::Command(Command::Prompt {
        to: name("lead"),
        text: text.trim().into(),
        attachments: vec![Mention {
            path,
            is_required: true,
        }],
    });
    assert_eq!(press(&mut state, "enter"), [expected]);
}

#[test]
fn resource_is_found_by_uri_or_title_and_a_template_is_completed_by_the_user() {
    let mut state = screen_with_offers();
    press(&mut state, "\"@readme\"");
    assert_eq!(completion_texts(&state), ["@git:repo://main/README.md"]);
    let mut state = screen_with_offers();
    press(&mut state, "\"@diff\"");
    assert_eq!(completion_texts(&state), ["@git:commit://{hash}"]);
    press(&mut state, "enter");
    assert_eq!(state.input.composer.text(), "@git:commit://");
    press(&mut state, "\"abc\"");
    // Nothing is left to complete, so Enter sends the message.
    assert_eq!(completion_texts(&state), [] as [String; 0]);
    let sent = press(&mut state, "enter");
    assert!(
        matches!(&sent[..], [Effect::Command(Command::Prompt { text, .. })] if text == "@git:commit://abc"),
        "{sent:?}"
    );
}

#[test]
fn prompts_are_commands_with_arguments() {
    let mut state = screen_with_offers();
    press(&mut state, "\"/commit\"");
    assert_eq!(completion_texts(&state), ["/git:commit-message"]);
    assert!(picture(&state).contains("<style> [issue]: Writes a commit message"));
    press(&mut state, "enter");
    assert_eq!(state.input.composer.text(), "/git:commit-message ");
    assert!(picture(&state).contains("/git:commit-message <style> [issue] "));
    let sent = press(&mut state, "\"short\" enter");
    assert!(
        matches!(&sent[..], [Effect::Command(Command::Prompt { text, .. })] if text == "/git:commit-message short"),
        "{sent:?}"
    );
}

#[test]
fn changed_offers_replace_the_earlier_ones() {
    let mut state = screen_with_offers();
    press(&mut state, "\"/git\"");
    assert_eq!(
        completion_texts(&state),
        ["/git:commit-message", "/git:summary"]
    );
    let none = ServerOffers {
        server: "git".into(),
        ..ServerOffers::default()
    };
    let event = EventKind::Crew(CrewEvent::OffersListed(none));
    apply_events(&mut state, vec![event]);
    assert_eq!(completion_texts(&state), [] as [String; 0]);
}
