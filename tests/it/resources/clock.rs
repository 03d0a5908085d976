//! A clock that jumps by hours while a crew works: no agent waits forever or leaves too soon, ids stay unique,
//! messages keep their order, and the screen shows no invalid age.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::crew::crew_parts;
use crewdeck::app::new_id;
use crewdeck::crew::Crew;
use crewdeck::domain::ids::{MessageId, Name};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::model::script::Script;
use crewdeck::protocol::event::{CrewEvent, EventKind};
use crewdeck::protocol::{Command, CommandIds, Event, bus};
use crewdeck::store::{Mailbox, prepare};
use crewdeck::ui::{Msg, Theme, UiState, ViewCache, draw, next_tick, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Returns a time that differs by hours, forward or backward, from that of the previous call.
fn jumping_clock() -> Timestamp {
    static READS: AtomicUsize = AtomicUsize::new(0);
    let hours = [0.0, 2.0, -1.0, 5.0, -3.0, 1.0];
    let read = READS.fetch_add(1, Ordering::SeqCst);
    Timestamp(1_800_000_000.0 + hours[read % hours.len()] * 3600.0)
}

const SCRIPT: &str = "
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: one } }
      - { tool: task_create, input: { subject: two } }
      - { tool: spawn_teammate, input: { name: bob, role: worker } }
  - agent: lead
    fault: { status: 429, retry_after: 0.1, message: slow down }
  - agent: lead
    say: Done.
    times: 0
  - agent: bob
    when: 'auto-claimed>Task #(\\d+)'
    times: 0
    calls:
      - { tool: send_message, input: { to: lead, content: 'about {{1}}' } }
      - { tool: task_update, input: { task_id: '{{1}}', status: completed } }
  - agent: bob
    say: It is done.
    times: 0
";

/// Runs the crew until bob has left, and returns all events.
async fn run_crew(root: &Path) -> Vec<Event> {
    let (event_sender, mut receiver) = bus::bus(jumping_clock);
    let model = Arc::new(Script::parse(SCRIPT, 1.0).unwrap());
    let parts = crew_parts(root, event_sender, jumping_clock, model);
    let crew = Crew::start(parts).await.unwrap();
    let prompt = Command::prompt(Name::lead(), "go");
    crew.submit(CommandIds::default().assign(prompt)).unwrap();
    let mut events = Vec::new();
    let to_the_end = async {
        while let Some(event) = receiver.next().await {
            let is_end = matches!(&event.kind, EventKind::Crew(CrewEvent::Notice { text, .. }) if text.starts_with("bob "));
            events.push(event);
            if is_end {
                return;
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(40), to_the_end).await;
    assert!(ended.is_ok(), "bob never leaves: {events:#?}");
    crew.stop().await.unwrap();
    while let Some(event) = receiver.try_next() {
        events.push(event);
    }
    events
}

#[test]
fn crew_works_and_idles_correctly_while_the_clock_jumps() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let started = std::time::Instant::now();
    let events = runtime.block_on(run_crew(dir.path()));
    // Not before the idle timeout of one second in real time.
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(
        crate::common::limited_resources::subjects(dir.path()),
        ["one", "two"]
    );
    let tasks = std::fs::read_dir(dir.path().join(".tasks")).unwrap();
    for path in tasks.map(|e| e.unwrap().path()) {
        if path.extension().is_some_and(|e| e == "json") {
            assert!(
                std::fs::read_to_string(path)
                    .unwrap()
                    .contains("\"completed\"")
            );
        }
    }
    let messages = Mailbox::open(dir.path()).recent(10).unwrap().messages;
    let contents: Vec<&str> = messages.iter().map(|(m, _)| m.content.as_str()).collect();
    assert_eq!(contents, ["about 1", "about 2"]);

    // The dashboard is drawn after each event. Its own clock never goes back (`app::now`), but events of another
    // process can have any time.
    let mut now = Timestamp::default();
    let mut state = UiState::new(160, 45, jiff::tz::TimeZone::UTC);
    let mut terminal = Terminal::new(TestBackend::new(160, 45)).unwrap();
    let (mut cache, theme) = (ViewCache::default(), Theme::default());
    for event in events {
        update(&mut state, Msg::Event(event));
        now = Timestamp(jumping_clock().0.max(now.0));
        update(&mut state, Msg::Tick { now });
        terminal
            .draw(|frame| draw(&state, &mut cache, &theme, frame))
            .unwrap();
        if let Some(wait) = next_tick(&state) {
            // An age in hours changes after one hour at the latest.
            assert!(wait <= Duration::from_secs(3600), "{wait:?}");
        }
        let buffer = terminal.backend().buffer().clone();
        let text: String = buffer
            .content()
            .iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect();
        for invalid in ["-1", "NaN", "inf"] {
            assert!(!text.contains(&format!(" {invalid}")), "{invalid}");
        }
    }
}

#[test]
fn messages_keep_their_order_despite_clock_jumps() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let mailbox = Mailbox::open(dir.path());
    let bob = Name::member("bob").unwrap();
    for (at, text) in [
        (5000.0, "first"),
        (1400.0, "second"),
        (1401.0, "third"),
        (5002.0, "fourth"),
    ] {
        let message = MailMessage::new(
            MessageId(new_id()),
            MailKind::Message,
            &Name::lead(),
            &bob,
            text,
            Timestamp(at),
        );
        mailbox.send(&message).unwrap();
    }
    let order = ["first", "second", "third", "fourth"];
    let pending = mailbox.peek(&bob).unwrap().messages;
    let read: Vec<&str> = pending.iter().map(|l| l.content.as_str()).collect();
    assert_eq!(read, order);
    let recent = mailbox.recent(10).unwrap().messages;
    let shown: Vec<&str> = recent.iter().map(|(l, _)| l.content.as_str()).collect();
    assert_eq!(shown, order);
}

#[test]
fn new_ids_are_unique_and_sorted_in_each_thread() {
    let all = std::thread::scope(|scope| {
        let make = || (0..20_000).map(|_| new_id()).collect::<Vec<String>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        let results = threads.into_iter().map(|t| t.join().unwrap());
        results.collect::<Vec<_>>()
    });
    assert!(all.iter().all(|ids| ids.is_sorted()));
    let unique: HashSet<&String> = all.iter().flatten().collect();
    assert_eq!(unique.len(), 80_000);
}
