//! Tests of transcripts, which apply events and compare the drawn screens; and helpers for these tests.

mod bounds;
mod folding;
mod look;
mod reading;
mod searching;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use crate::domain::chat::Outcome;
use crate::domain::ids::Name;
use crate::protocol::{AgentEvent, CrewEvent, EventKind};
use crate::ui::transcript::*;

fn bob() -> Name {
    Name::member("bob").unwrap()
}

fn prompt_event(text: &str) -> EventKind {
    AgentEvent::prompt(text).of(bob())
}

fn said(text: &str) -> EventKind {
    answer_event("", text)
}

fn answer_event(thinking: &str, text: &str) -> EventKind {
    AgentEvent::AnswerFinished {
        text: text.into(),
        thinking: thinking.into(),
        thought_ms: 4_200,
    }
    .of(bob())
}

fn delta(text: &str) -> EventKind {
    let text = text.into();
    AgentEvent::TextDelta { text }.of(bob())
}

fn thinking_delta(text: &str) -> EventKind {
    let text = text.into();
    AgentEvent::ThinkingDelta { text }.of(bob())
}

fn reset() -> EventKind {
    AgentEvent::StreamReset.of(bob())
}

fn injected_message(what: &str) -> EventKind {
    message(what, "")
}

fn message(what: &str, text: &str) -> EventKind {
    AgentEvent::ContextAdded {
        what: what.into(),
        text: text.into(),
    }
    .of(bob())
}

fn notice(level: NoticeLevel, text: &str) -> EventKind {
    EventKind::Crew(CrewEvent::Notice {
        level,
        agent: Some(bob()),
        text: text.into(),
    })
}

fn tool_start_event(call: &str, tool: &str, on: &str) -> EventKind {
    AgentEvent::ToolStarted {
        call: CallId(call.into()),
        tool: tool.into(),
        on: on.into(),
        input: json!({"command": on}),
    }
    .of(bob())
}

fn output(call: &str, chunk: &str) -> EventKind {
    AgentEvent::ToolOutput {
        call: CallId(call.into()),
        chunk: chunk.into(),
    }
    .of(bob())
}

fn tool_end_event(call: &str, outcome: Outcome, output: &str, diff: &str) -> EventKind {
    AgentEvent::ToolFinished {
        call: CallId(call.into()),
        tool: "bash".into(),
        outcome,
        output: output.into(),
        diff: diff.into(),
        took_ms: 900,
    }
    .of(bob())
}

fn turn_end_event(end: crate::protocol::event::TurnEnd) -> EventKind {
    AgentEvent::TurnEnded { end }.of(bob())
}

fn transcript(events: &[EventKind]) -> Transcript {
    let mut out = Transcript::default();
    apply_all(&mut out, events);
    out
}

fn apply_all(transcript: &mut Transcript, events: &[EventKind]) {
    for event in events {
        apply(transcript, event);
    }
}

/// Applies an event to the transcript: one of the agent bob, or a notice about bob.
fn apply(transcript: &mut Transcript, event: &EventKind) {
    match event {
        EventKind::Agent { event, .. } => transcript.apply(event),
        EventKind::Crew(CrewEvent::Notice { level, text, .. }) => {
            transcript.push_notice(*level, text);
        }
        _ => {}
    }
}

fn selected_cell_text(transcript: &Transcript) -> Option<String> {
    transcript.selected_text().map(|(_, text)| text)
}

/// Joins the texts that `text` returns for the numbers 0 to `count` - 1.
fn many(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().concat()
}

fn view(columns: u16, rows: u16) -> Viewport {
    Viewport {
        width: columns,
        height: rows,
    }
}

fn draw(transcript: &Transcript, cache: &mut TranscriptCache, columns: u16, rows: u16) -> Buffer {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    transcript.view(cache, &Theme::default(), area, &mut buffer);
    buffer
}

/// Returns the text on a screen of `columns` columns and `rows` rows. A wide character also takes the next column.
fn screen(transcript: &Transcript, columns: u16, rows: u16) -> String {
    let buffer = draw(transcript, &mut TranscriptCache::default(), columns, rows);
    let mut out = String::new();
    for y in 0..rows {
        let mut row = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(crate::ui::text::wrap::width(symbol).max(1)).unwrap();
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}
