//! The popup with the texts that an agent was given: project memory, role, instructions of MCP servers, output of
//! hooks. Enter opens the selected text.

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::memory::{GivenSource, GivenText, MemoryReport};
use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Copied, Next, open as open_popup, open_once};
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area};
use crate::ui::text::{bytes, wrap};
use crate::ui::theme::Theme;

const ROWS_MAX: u16 = 16;

/// The content of the list: the texts that one agent was given besides messages and results, then the files that were
/// not read.
#[derive(Debug)]
pub struct MemoryChoices(MemoryReport);

/// The page that shows a text as the agent was given it.
#[derive(Debug)]
pub struct MemoryPage(GivenText);

/// Opens the list of the texts in `report`.
pub fn open(app: &mut App, report: &MemoryReport) {
    open_once(app, Picker::new(MemoryChoices(report.clone()), 0));
}

fn clean(text: &str) -> String {
    one_line(&escape_control_chars(text))
}

/// Returns the source of a text. A file is followed by the path of the file that imports it, if any.
fn format_source(text: &GivenText) -> String {
    let path = clean(&text.path);
    match (text.source, &text.imported_by) {
        (GivenSource::File, Some(by)) => format!("{path} (from {})", clean(by)),
        (GivenSource::File, None) => path,
        (GivenSource::Role, _) => format!("role {path}"),
        (GivenSource::Skill, _) => format!("skill {path} of the role"),
        (GivenSource::Server, _) => format!("instructions of MCP server {path}"),
        (GivenSource::Hook, _) => format!("output of {path} hooks"),
    }
}

/// Returns the size of a text and how much of it the agent was given.
fn format_given_size(file: &GivenText) -> String {
    if file.given < file.size {
        format!("{}, cut to {}", bytes(file.size), bytes(file.given))
    } else {
        format!("{}, whole", bytes(file.size))
    }
}

impl Choices for MemoryChoices {
    /// The index of a row in the list of the given texts, followed by the files that were not read.
    type Item = usize;

    const TIP: &'static str =
        "What the agent reads besides messages and tool results, in this order";

    fn title(&self, _app: &App) -> String {
        let agent = self.0.agent.as_ref();
        agent.map_or("Given texts".into(), |agent| format!("Given to {agent}"))
    }

    fn rows(&self, _app: &App) -> Vec<PickerRow<usize>> {
        let files = self.0.files.iter();
        let files = files.map(|file| (format_source(file), format_given_size(file)));
        let skipped = self.0.skipped.iter();
        let skipped = skipped.map(|(path, why)| (clean(path), format!("not read: {}", clean(why))));
        let rows = files.chain(skipped).enumerate();
        rows.map(|(at, (path, about))| PickerRow::new(path, about, at))
            .collect()
    }

    fn choose(&mut self, app: &mut App, item: usize, _out: &mut Vec<Effect>) -> Next {
        match self.0.files.get(item) {
            Some(file) => open_popup(app, Pager::new(MemoryPage(file.clone()))),
            None => {
                let skipped = self.0.skipped.get(item - self.0.files.len());
                if let Some((path, why)) = skipped {
                    let text = format!("{} was not read: {}.", clean(path), clean(why));
                    app.say(text);
                }
            }
        }
        Next::Stay
    }

    fn area(&self, _app: &App, screen: Rect) -> Rect {
        low_area(screen, self.0.files.len() + self.0.skipped.len(), ROWS_MAX)
    }

    fn none_matches(&self, _app: &App, typed: &str) -> String {
        if typed.is_empty() {
            "There is no project memory. /init writes an AGENTS.md.".into()
        } else {
            "No matches.".into()
        }
    }
}

impl Page for MemoryPage {
    const TIP: &'static str = "A text as the agent received it";

    fn title(&self, _app: &App) -> String {
        format!(
            "{} · {}",
            format_source(&self.0),
            format_given_size(&self.0)
        )
    }

    fn rows(&self, _app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let text = escape_control_chars(&self.0.text);
        let lines = text.lines().flat_map(|line| {
            if line.is_empty() {
                vec![String::new()]
            } else {
                wrap(line, width)
            }
        });
        text_rows(lines.map(|line| Line::styled(line, theme.text)).collect())
    }

    fn clipboard_text(&self) -> Option<Copied> {
        let text = escape_control_chars(&self.0.text);
        Some(Copied::Text(clean(&self.0.path), text))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::protocol::{Command, CrewEvent, EventKind};
    use crate::ui::fixture::{
        apply_events, busy, memory, name, picture, press, started_screen, top_popup,
    };

    #[test]
    fn list_shows_what_was_given_and_enter_opens_the_text() {
        let mut state = started_screen(120, 35);
        let sent = press(&mut state, "\"/memory\" enter");
        let agent = Name::lead();
        assert_eq!(sent, [Effect::Command(Command::ShowMemory { agent })]);
        let event = EventKind::Crew(CrewEvent::MemoryShown(memory()));
        apply_events(&mut state, vec![event.clone()]);
        let shown = picture(&state);
        for part in [
            "Given to bob",
            "role auditor (.claude/agents/auditor.md)",
            "instructions of MCP server git",
            "output of SessionStart hooks",
            "CLAUDE.md",
            "812 B, whole",
            "39 KiB, cut to 31 KiB",
            "docs/style.md (from CLAUDE.md)",
            "not read: it can hold secrets",
        ] {
            assert!(shown.contains(part), "no {part}:\n{shown}");
        }
        press(&mut state, "down down enter");
        let shown = picture(&state);
        assert!(shown.contains("Run `make` first.␛[2J"), "{shown}");
        // Closing the text of a file leads back to the list. A file that was not read has no text to open.
        press(&mut state, "esc G");
        press(&mut state, "end enter");
        assert!(!top_popup(&state).is_empty());
        press(&mut state, "esc esc");
        apply_events(&mut state, vec![event.clone(), event]);
        press(&mut state, "esc");
        assert_eq!(top_popup(&state), "", "it is open once");
    }
    #[test]
    fn memory_of_another_agent_is_asked_for_by_its_name() {
        let mut state = busy(120, 35);
        let sent = press(&mut state, "\"/memory @Alice\" enter");
        let agent = name("alice");
        assert_eq!(sent, [Effect::Command(Command::ShowMemory { agent })]);
        assert_eq!(press(&mut state, "\"/memory zzz\" enter"), []);
        let said = state.status.as_ref().map(|message| message.text.as_str());
        assert_eq!(said, Some("There is no agent zzz."));
    }
}
