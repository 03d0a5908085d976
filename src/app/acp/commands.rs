//! The slash commands that crewdeck offers in the editor. All other text is a prompt for the lead. `/SERVER:PROMPT` in
//! a prompt calls a prompt of an MCP server.

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, UnstructuredCommandInput,
};

use super::open_prompt::PromptPhase;
use crate::domain::ids::Name;
use crate::protocol::Command;
use crate::ui::INIT_PROMPT;

/// Returns the slash commands that the editor offers.
pub fn available() -> AvailableCommandsUpdate {
    let compact = AvailableCommand::new("compact", "Summarise the conversation of the lead").input(
        AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(
            "what the summary should keep",
        )),
    );
    let clear = AvailableCommand::new(
        "clear",
        "Empty the conversation of the lead; a copy stays on disk",
    );
    let init = AvailableCommand::new("init", "Let the lead write or improve AGENTS.md");
    AvailableCommandsUpdate::new(vec![compact, clear, init])
}

/// Returns the crew command for the slash command in `text`, and the phase in which the editor's prompt begins. Returns
/// `None` if the text is a prompt for the lead.
pub fn parse(text: &str) -> Option<(Command, PromptPhase)> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let agent = Name::lead();
    match (word, rest.trim()) {
        ("/compact", focus) => {
            let focus = focus.to_string();
            Some((Command::Compact { agent, focus }, PromptPhase::Compact))
        }
        ("/clear", "") => Some((Command::Clear { agent }, PromptPhase::Clear)),
        ("/init", "") => {
            let text = INIT_PROMPT.trim();
            let phase = PromptPhase::Unread(text.into());
            Some((Command::prompt(agent, text), phase))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_commands_are_commands() {
        for (text, is_command) in [
            ("/compact", true),
            (" /compact the parser\n", true),
            ("/clear", true),
            ("/clear the build folder", false),
            ("/init", true),
            ("/initialize", false),
            ("/server:prompt x", false),
            ("clear", false),
        ] {
            assert_eq!(parse(text).is_some(), is_command, "{text}");
        }
    }
}
