//! Records of a program that may write to the hub, with control characters and line breaks. In a crew without a secret, the
//! viewer and the subcommands show them escaped. In a crew with a secret, they only report that the records are not signed.

use std::process::Command;

use crewdeck::domain::host::{HostInfo, HostKind, HostName};
use crewdeck::domain::ids::{MessageId, Name};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::fuzzing::check_visible_lines;
use crewdeck::protocol::EventKind;
use crewdeck::store::{Hub, HubAddress, HubSettings, Stores};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::quit;
use crate::common::hub_project::HubProject;
use crate::common::project::RunResult;
use crate::common::pty::{REPLACEMENT, Screen};

/// Clears the screen and reverses the direction of the text.
const CLEAR: &str = "\u{1b}[2J\u{202e}";
/// [`CLEAR`] as it is shown.
const CLEARED: &str = "␛[2J\u{fffd}";
/// Also writes to the clipboard of the terminal, and then begins a line with `FAKE`.
const COPY: &str = "\u{1b}[2J\u{1b}]52;c;cHdu\u{7}\u{202e}\nFAKE";
/// [`COPY`] as it is shown, without the last line.
const COPIED: &str = "␛[2J␛]52;c;cHdu␇\u{fffd}";

/// Returns a text as a [`Screen`] shows it.
fn on_screen(text: impl AsRef<str>) -> String {
    text.as_ref().replace('\u{fffd}', &REPLACEMENT.to_string())
}

/// Focuses the conversation and opens the event log.
const EVENT_LOG: &str = "\u{1b}1@";

/// Sequences that must not reach the terminal while records arrive.
const FORBIDDEN: [&str; 4] = ["\u{1b}[2J", "\u{1b}]52", "\u{9b}", "\u{202e}"];

/// Returns forged records by subject. Each text field begins with three characters that name it, and ends with a line break
/// and `end`.
fn forged_records(end: &str) -> Vec<(String, String)> {
    let text = |field: &str| format!("{field}{CLEAR}\n{end}");
    let record = |subject: &str, value: Value| (subject.to_string(), value.to_string());
    let call = json!({ "tool": "bash", "input": format!("que{CLEAR}"), "why": "Because." });
    let mut records = vec![
        record(
            "tasks.1",
            json!({ "task": { "id": 1, "subject": text("sub"), "owner": text("own"),
                "status": "in_progress", "tags": [text("tag")] } }),
        ),
        record(
            "tasks.9",
            json!({ "task": { "id": 9, "subject": "Odd", "status": text("sta") } }),
        ),
        record(
            "state.member.bob",
            json!({ "order": 1, "member": { "name": "bob", "role": text("rol"), "host": text("hos") } }),
        ),
        record(
            "state.host.gpu",
            json!({ "name": "gpu", "kind": "worker", "tags": [text("tag")], "version": text("ver"),
                "session": "s2", "presence": "present", "seen_at": 0.0 }),
        ),
        record(
            "leases.host.gpu",
            json!({ "process": 1, "host": "gpu", "session": "s2" }),
        ),
        // No host can have this name.
        record(
            "state.host.odd",
            json!({ "name": text("nam"), "kind": "worker", "session": "s3", "presence": "present",
                "seen_at": 0.0 }),
        ),
        record(
            "state.request.r1",
            json!({ "id": "r1", "kind": "permission", "from": "bob", "target": "bob",
                "body": format!("bash\n$ que{CLEAR}"), "call": call }),
        ),
        record(
            "mail.bob",
            json!({ "id": "m1", "type": "message", "from": text("fro"), "to": "bob",
                "content": format!("mes{COPY}").replace("FAKE", end), "timestamp": 1.0 }),
        ),
        record(
            "events.home",
            json!([{ "type": "notice", "level": "warn", "text": format!("not{COPY}").replace("FAKE", end) }]),
        ),
    ];
    // Keys that are no names.
    for subject in ["tasks.", "mail.bo", "state.member.bo"] {
        records.push((format!("{subject}{CLEAR}"), "{".into()));
    }
    records
}

/// Stores records as a program does that can write to the hub, but has no secret.
fn publish(project: &HubProject, records: Vec<(String, String)>) {
    let url = project.server.url();
    let server = url.strip_suffix("/web").unwrap().to_string();
    let publish = async move {
        let client = async_nats::connect(server).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        for (subject, payload) in records {
            let subject = format!("crewdeck.web.{subject}");
            let sent = jetstream.publish(subject, payload.into()).await.unwrap();
            sent.await.unwrap();
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(publish);
}

/// Creates the streams of the crew, joins as the host `home` of its lead, and publishes what the lead has said. The host
/// leaves when the returned value is dropped.
fn lead(stores: &Stores) -> Box<dyn Send> {
    stores.board.read().unwrap();
    stores.mailbox.count_unread().unwrap();
    let (name, hosts) = (
        HostName::parse("home").unwrap(),
        stores.hosts.as_ref().unwrap(),
    );
    let info = HostInfo::new(name.clone(), HostKind::Lead);
    let session = hosts.join(&info, None).unwrap();
    let events = json!([
        { "type": "crew_ready", "session": "s1", "root": format!("/srv/roo{CLEAR}\nFAKE"), "provider": "script",
            "model": format!("mod{CLEAR}"), "scripted": false, "git": true, "window": null, "tools": [] },
        { "type": "prompted", "agent": "lead", "text": format!("pro{CLEAR}") },
    ]);
    let events: Vec<EventKind> = serde_json::from_value(events).unwrap();
    hosts.publish(&name, &events).unwrap();
    Box::new(session)
}

/// Whether the crew has a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    Set,
    Unset,
}

fn command(project: &HubProject, secret: Secret, args: &[&str]) -> Command {
    let url = project.server.url();
    let mut command = project.command("viewer", &[&["--hub", url.as_str()][..], args].concat());
    if secret == Secret::Unset {
        command.env_remove("CREWDECK_HUB_SECRET");
    }
    command
}

/// Starts a viewer and waits until it shows the crew.
fn start_viewer(project: &HubProject, secret: Secret) -> Screen {
    let viewer = Screen::start_command(&command(project, secret, &[]), 220, 70);
    let said = on_screen(format!("› pro{CLEARED}"));
    viewer.wait("the crew", |text| {
        let parts = ["viewing web, led on home", "╭ message to lead", &said];
        parts.iter().all(|part| text.contains(part))
    });
    viewer
}

/// Checks that all parts of the screen are in their places, and that no forged text begins a line.
fn assert_is_intact(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(" crewdeck "), "{text}");
    for title in ["  1 Lead ─", "  3 Board ", "  4 Team ", "  5 Inbox "] {
        assert_eq!(text.matches(title).count(), 1, "{title}\n{text}");
    }
    let mut all = lines.iter();
    let top = all.position(|line| line.starts_with("╭ message to lead ─"));
    let top = top.unwrap();
    let is_closed = lines[top + 1].starts_with('│') && lines[top + 2].starts_with("╰─");
    assert!(is_closed, "{text}");
    for (at, _) in text.match_indices("FAKE") {
        // The line break before it is shown as a sign or a blank.
        let before = &text[..at];
        let before = before.strip_suffix(['⏎', ' ']).unwrap_or_default();
        let follows_sign = before.ends_with(REPLACEMENT);
        assert!(follows_sign, "a forged line:\n{text}");
    }
}

/// Checks what the viewer has written to its terminal since it had written `begun` bytes.
fn assert_no_forbidden_output(viewer: &Screen, begun: usize) {
    let raw = viewer.raw();
    let written = String::from_utf8_lossy(&raw[begun..]);
    for sequence in FORBIDDEN {
        assert!(!written.contains(sequence), "{sequence:?}");
    }
}

/// Runs a subcommand, and checks that no part of its output is a control sequence or a forged line.
fn run(project: &HubProject, secret: Secret, args: &[&str]) -> RunResult {
    let ran = RunResult(command(project, secret, args).output().unwrap());
    assert_eq!(ran.code(), 0, "{args:?}: {}", ran.err());
    for text in [ran.out(), ran.err()] {
        check_visible_lines(&args.join(" "), &text).unwrap();
        assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{text}");
    }
    ran
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn forged_records_of_a_crew_without_a_secret_are_escaped() {
    let project = HubProject::new(&["viewer"]);
    let address = HubAddress::parse(&project.server.url()).unwrap();
    let stores = Hub::new(HubSettings::new(address)).stores(&project.dir("lead"));
    let _lead = lead(&stores);
    let mut viewer = start_viewer(&project, Secret::Unset);
    let begun = viewer.raw().len();
    publish(&project, forged_records("FAKE"));

    let line = format!("{CLEARED}⏎FAKE");
    let mut expected: Vec<String> = ["#1 sub", "hos", "rol", "#tag", "variant `sta", "/srv/roo"]
        .map(|field| format!("{field}{line}"))
        .into();
    expected.push(format!("fro{line} → bob  mes{COPIED} FAKE"));
    expected.push(format!("▲ not{COPIED}⏎FAKE"));
    expected.push("$ que\\e[2J\\u{202e}".into());
    let text = viewer.wait("the forged records", |text| {
        expected.iter().all(|part| text.contains(&on_screen(part)))
    });
    assert_is_intact(&text);
    assert!(!text.contains("nam␛"), "{text}");

    viewer.send(EVENT_LOG);
    let logged = [
        format!("#1 sub{CLEARED} FAKE was created"),
        format!("bob joined the team as rol{CLEARED} FAKE"),
        format!("bob asks for permission: que{CLEARED}"),
        format!("session s1 started with mod{CLEARED}"),
    ];
    viewer.wait("the event log", |text| {
        text.contains("╭ Event log ─") && logged.iter().all(|part| text.contains(&on_screen(part)))
    });
    assert_no_forbidden_output(&viewer, begun);
    quit(viewer);

    let listed = run(&project, Secret::Unset, &["task", "list"]);
    let task = format!("[>] #1: sub{line}  @own{line}  [tag{line}]\n");
    assert_eq!(listed.out(), task);
    let warning = format!("unknown variant `sta{line}`");
    assert!(listed.err().contains(&warning), "{}", listed.err());
    let mail = run(&project, Secret::Unset, &["mail", "list", "bob"]);
    let message = format!("fro{line} → bob (message): mes{COPIED}\n    FAKE\n");
    assert_eq!(mail.out(), message);
    for args in [
        &["task", "show", "1"][..],
        &["team", "list"],
        &["--json", "task", "list"],
        &["--json", "team", "list"],
    ] {
        run(&project, Secret::Unset, args);
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn unsigned_records_are_reported_by_subject_and_not_shown() {
    let project = HubProject::new(&["viewer"]);
    let _lead = lead(&project.stores);
    let viewer = start_viewer(&project, Secret::Set);
    let begun = viewer.raw().len();
    publish(&project, forged_records("FORGED"));
    // An agent can also write such texts, in a message that is signed.
    let (id, bob) = (MessageId("m2".into()), Name::member("bob").unwrap());
    let text = format!("own{COPY}");
    let (kind, now) = (MailKind::Message, Timestamp(1.0));
    let signed = MailMessage::new(id, kind, &Name::lead(), &bob, &text, now);
    project.stores.mailbox.send(&signed).unwrap();

    let expected = [
        "task #1 is ignored and missing on the board".to_string(),
        // The control characters of a subject are left out.
        "a message to bo[2J\u{fffd} is ignored".into(),
        "teammate bo[2J\u{fffd} is ignored".into(),
        format!("lead → bob  own{COPIED} FAKE"),
    ];
    let text = viewer.wait("the reports", |text| {
        expected.iter().all(|part| text.contains(&on_screen(part)))
    });
    assert_is_intact(&text);
    assert!(!text.contains("FORGED"), "{text}");
    assert_no_forbidden_output(&viewer, begun);
    quit(viewer);

    let listed = run(&project, Secret::Set, &["task", "list"]);
    assert_eq!(listed.out(), "No tasks.\n");
    let warning = "crewdeck: task #1 is ignored and missing on the board";
    assert!(listed.err().contains(warning), "{}", listed.err());
    for args in [&["mail", "list"][..], &["team", "list"]] {
        let ran = run(&project, Secret::Set, args);
        assert!(!ran.out().contains("FORGED"), "{}", ran.out());
    }
}
