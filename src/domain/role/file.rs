//! Parser of role files: front matter with the fields of Claude Code's agents, then the prompt.

use serde_json::{Map, Value};

use super::tools::{ToolEntry, resolve};
use super::values::{list, scalar, servers, split_tools};
use super::{
    AgentRole, DESCRIPTION_MAX, LIST_MAX, RoleColor, RoleEffort, RoleNotice, RoleServer,
    RoleSource, ToolSelection,
};
use crate::domain::front_matter::{
    FrontMatter, FrontMatterError, NAME_FORM, escape_keeping_tabs, single_line, truncate_body,
    valid_name,
};
use crate::domain::text::{clip, closest_match, one_line};

/// Maximum length of a model's name, in characters.
const MODEL_MAX: usize = 200;
/// Maximum number of model calls that a role can set.
const ROUNDS_MAX: u64 = 1000;
/// Maximum number of notices of one file. Further ones are dropped.
const NOTICES_MAX: usize = 50;
/// The fields that crewdeck reads.
const FIELDS: &[&str] = &[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "effort",
    "skills",
    "mcpServers",
    "maxTurns",
    "color",
];
/// Fields that Claude Code knows and crewdeck does not use, and what to use instead.
const UNUSED_FIELDS: &[(&str, &str)] = &[
    (
        "permissionMode",
        "the settings and the user decide what needs permission",
    ),
    (
        "hooks",
        "hooks are read from .claude/settings.json and .crewdeck/hooks.json",
    ),
    ("memory", "AGENTS.md holds what agents should remember"),
    (
        "background",
        "teammates and subagents never block the screen",
    ),
    ("isolation", "each task has its own worktree"),
    (
        "initialPrompt",
        "the lead or a team preset writes the first prompt",
    ),
];
/// Models that only Claude Code knows by these names.
const MODEL_ALIASES: &[&str] = &["opus", "sonnet", "haiku", "opusplan", "best", "default"];

/// Why a role's file cannot be used: the line (from 1), the problem, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// The front matter cannot be read.
    #[error(transparent)]
    Front(#[from] FrontMatterError),
    /// There is no front matter.
    #[error("line 1: there is no front matter: begin with a line ---, then name: and description:")]
    NoFront,
    /// The name is not valid.
    #[error("line {line}: {name:?} is not a valid name: set name: to {NAME_FORM}")]
    Name { line: usize, name: String },
    /// A list of tools has the wrong type. Using the role would give it more tools than its author wants.
    #[error("line {line}: {field} must be a list of tools, or a text with commas")]
    Tools { line: usize, field: &'static str },
    /// No entry of a list of tools exists.
    #[error("line {line}: none of its tools exists here: {first}")]
    NoTool {
        line: usize,
        /// What is wrong with the first one.
        first: String,
    },
}

/// A parsed role file: a role without its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleFile(AgentRole);

impl RoleFile {
    /// Parses `text`, the file `stem`.md.
    ///
    /// # Errors
    /// Returns the line, the problem and what to do.
    pub fn parse(text: &str, stem: &str) -> Result<RoleFile, RoleError> {
        let front = FrontMatter::split(text)?;
        if front.is_empty() {
            return Err(RoleError::NoFront);
        }
        let (fields, quoted) = front.lenient_fields::<Map<String, Value>>()?;
        let mut reader = RoleReader {
            front: &front,
            fields,
            notices: Vec::new(),
        };
        for line in quoted {
            let text = "the value contains ': ' or '#' and is read as text: quote it";
            reader.notices.push(RoleNotice {
                line,
                text: text.into(),
            });
        }
        let name = reader.name(stem)?;
        let description = reader.description();
        let tools = ToolSelection {
            allowed: reader.tools("tools", true)?,
            denied: reader.tools("disallowedTools", false)?.unwrap_or_default(),
        };
        let prompt = truncate_body(escape_keeping_tabs(front.body.trim()));
        if prompt.is_empty() {
            reader.note_at(
                front.body_line,
                "the role has no prompt: write one below the front matter",
            );
        }
        let role = AgentRole {
            name,
            description,
            source: RoleSource::BuiltIn,
            path: String::new(),
            tools,
            model: reader.model(),
            effort: reader.effort(),
            skills: reader.skills(),
            servers: reader.servers(),
            rounds_max: reader.rounds_max(),
            color: reader.color(),
            prompt,
            notices: reader.finish(),
        };
        Ok(RoleFile(role))
    }

    /// Returns the role with its origin.
    pub fn into_role(self, source: RoleSource, path: String) -> AgentRole {
        AgentRole {
            source,
            path,
            ..self.0
        }
    }
}

struct RoleReader<'a> {
    front: &'a FrontMatter<'a>,
    fields: Map<String, Value>,
    notices: Vec<RoleNotice>,
}

impl RoleReader<'_> {
    fn line(&self, field: &str) -> usize {
        self.front.line_of(&format!("{field}:"))
    }

    fn note(&mut self, field: &str, text: impl Into<String>) {
        self.note_at(self.line(field), text);
    }

    fn note_at(&mut self, line: usize, text: impl Into<String>) {
        let text = one_line(&clip(&text.into(), 300));
        self.notices.push(RoleNotice { line, text });
    }

    /// Takes a field. A field without value counts as absent.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.shift_remove(field).filter(|v| !v.is_null())
    }

    /// Takes a field that is a text on one line. Any other type is reported and ignored.
    fn text(&mut self, field: &str) -> Option<String> {
        let value = self.take(field)?;
        let text = scalar(&value);
        if text.is_none() {
            self.note(field, format!("{field} must be a text: it is ignored"));
        }
        text.map(|t| single_line(&t)).filter(|t| !t.is_empty())
    }

    fn name(&mut self, stem: &str) -> Result<String, RoleError> {
        let given = match self.take("name") {
            Some(value) => scalar(&value).unwrap_or_else(|| value.to_string()),
            None => {
                self.note("name", "name is missing: the name of the file is used");
                stem.to_string()
            }
        };
        valid_name(&given).ok_or_else(|| RoleError::Name {
            line: self.line("name"),
            name: one_line(&clip(&given, 64)),
        })
    }

    fn description(&mut self) -> String {
        match self.text("description") {
            Some(text) => clip(&text, DESCRIPTION_MAX),
            None => {
                let text = "description is missing: say when the lead should use the role";
                self.note("description", text);
                "No description".into()
            }
        }
    }

    fn tools(
        &mut self,
        field: &'static str,
        is_allowed: bool,
    ) -> Result<Option<Vec<String>>, RoleError> {
        let line = self.line(field);
        let Some(value) = self.fields.shift_remove(field) else {
            return Ok(None);
        };
        if value.is_null() {
            if is_allowed {
                self.note_at(
                    line,
                    "tools is empty: all tools are allowed; write [] to allow none",
                );
            }
            return Ok(None);
        }
        let entries = list(&value, split_tools).ok_or(RoleError::Tools { line, field })?;
        let mut names: Vec<String> = Vec::new();
        let mut first_unknown = None;
        for entry in self.bounded(field, entries) {
            let (found, pattern) = resolve(&entry);
            match found {
                ToolEntry::Tools(tools) => {
                    if let Some(pattern) = pattern {
                        let effect = if is_allowed { "allowed" } else { "taken away" };
                        let text = format!(
                            "the pattern ({pattern}) has no effect: the whole tool is {effect}; permission rules can have patterns"
                        );
                        self.note_at(line, text);
                    }
                    for tool in tools {
                        if !names.contains(&tool) {
                            names.push(tool);
                        }
                    }
                }
                ToolEntry::All if is_allowed => return Ok(None),
                ToolEntry::All => names.extend(super::OWN_TOOLS.iter().map(ToString::to_string)),
                ToolEntry::Unknown(text) => {
                    self.note_at(line, text.clone());
                    first_unknown.get_or_insert(text);
                }
            }
        }
        match first_unknown {
            Some(first) if is_allowed && names.is_empty() => {
                let first = one_line(&clip(&first, 200));
                Err(RoleError::NoTool { line, first })
            }
            _ => Ok(Some(names)),
        }
    }

    fn model(&mut self) -> String {
        let Some(model) = self.text("model").filter(|m| m != "inherit") else {
            return String::new();
        };
        if MODEL_ALIASES.contains(&model.as_str()) {
            let text = format!(
                "{model} is a name of Claude Code: the lead's model is used; write the full name of a model"
            );
            self.note("model", text);
            return String::new();
        }
        clip(&model, MODEL_MAX)
    }

    fn effort(&mut self) -> Option<RoleEffort> {
        let effort = self.text("effort")?;
        let found = match effort.to_lowercase().as_str() {
            "low" => Some(RoleEffort::Low),
            "medium" => Some(RoleEffort::Medium),
            "high" => Some(RoleEffort::High),
            "xhigh" => Some(RoleEffort::Xhigh),
            "max" => Some(RoleEffort::Max),
            _ => None,
        };
        if found.is_none() {
            self.note(
                "effort",
                format!("effort {effort} is unknown: use low, medium, high, xhigh or max"),
            );
        }
        found
    }

    fn color(&mut self) -> Option<RoleColor> {
        let color = self.text("color")?;
        let found = match color.to_lowercase().as_str() {
            "red" => Some(RoleColor::Red),
            "blue" => Some(RoleColor::Blue),
            "green" => Some(RoleColor::Green),
            "yellow" => Some(RoleColor::Yellow),
            "purple" | "magenta" => Some(RoleColor::Purple),
            "orange" => Some(RoleColor::Orange),
            "pink" => Some(RoleColor::Pink),
            "cyan" => Some(RoleColor::Cyan),
            _ => None,
        };
        if found.is_none() {
            let text = format!(
                "color {color} is unknown: use red, blue, green, yellow, purple, orange, pink or cyan"
            );
            self.note("color", text);
        }
        found
    }

    fn skills(&mut self) -> Vec<String> {
        let Some(value) = self.take("skills") else {
            return Vec::new();
        };
        let Some(entries) = list(&value, |text| text.split(',').map(str::to_string).collect())
        else {
            self.note("skills", "skills must be a list of names: it is ignored");
            return Vec::new();
        };
        let entries = self.bounded("skills", entries);
        let mut names = Vec::new();
        for entry in entries {
            match valid_name(&entry) {
                Some(name) => names.push(name),
                None => self.note(
                    "skills",
                    format!("{entry:?} is not a valid name of a skill"),
                ),
            }
        }
        names
    }

    fn rounds_max(&mut self) -> Option<u32> {
        let value = self.take("maxTurns")?;
        let number = value
            .as_u64()
            .or_else(|| value.as_str()?.trim().parse().ok());
        match number {
            Some(number) if number > ROUNDS_MAX => {
                self.note(
                    "maxTurns",
                    format!("maxTurns is more than {ROUNDS_MAX}: {ROUNDS_MAX} is used"),
                );
                u32::try_from(ROUNDS_MAX).ok()
            }
            Some(number) if number > 0 => u32::try_from(number).ok(),
            Some(_) | None => {
                self.note(
                    "maxTurns",
                    "maxTurns must be a whole number from 1: the default is used",
                );
                None
            }
        }
    }

    fn servers(&mut self) -> Option<Vec<RoleServer>> {
        let value = self.take("mcpServers")?;
        let (servers, notices) = servers(value);
        for notice in notices {
            self.note("mcpServers", notice);
        }
        Some(servers)
    }

    fn bounded(&mut self, field: &str, mut entries: Vec<String>) -> Vec<String> {
        entries.retain(|e| !e.trim().is_empty());
        if entries.len() > LIST_MAX {
            entries.truncate(LIST_MAX);
            self.note(
                field,
                format!("only the first {LIST_MAX} entries of {field} are used"),
            );
        }
        entries.iter().map(|e| clip(&single_line(e), 200)).collect()
    }

    /// Reports the fields that are left, and returns all notices by line.
    fn finish(mut self) -> Vec<RoleNotice> {
        for field in std::mem::take(&mut self.fields).keys() {
            let shown = one_line(&clip(field, 40));
            let text = match UNUSED_FIELDS.iter().find(|(unused, _)| unused == field) {
                Some((_, why)) => format!("{shown} is not used: {why}"),
                None => match closest_match(field, FIELDS) {
                    Some(close) => format!("the field {shown} is unknown: did you mean {close}?"),
                    None => format!("the field {shown} is unknown and ignored"),
                },
            };
            self.note(field, text);
        }
        self.notices.sort();
        self.notices.dedup();
        self.notices.truncate(NOTICES_MAX);
        self.notices
    }
}
