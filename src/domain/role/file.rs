//! Parser of role files: front matter with the fields of Claude Code's agents, then the prompt.

use serde_json::{Map, Value};

use super::values::{list, scalar, servers};
use super::{
    AgentRole, DESCRIPTION_MAX, LIST_MAX, RoleColor, RoleEffort, RoleNotice, RoleServer,
    RoleSource, ToolSelection,
};
use crate::domain::front_matter::{
    FrontMatter, FrontMatterError, NAME_FORM, escape_keeping_tabs, single_line, truncate_body,
    valid_name,
};
use crate::domain::text::{clip, closest_match, one_line};

/// Maximum length of a model's name, in characters. A longer name is cut.
const MODEL_MAX: usize = 200;
/// Maximum number of notices about one file. Further notices are dropped.
const NOTICES_MAX: usize = 50;
/// The fields of a role's file that crewdeck reads.
pub(super) const FIELDS: &[&str] = &[
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
/// Fields of Claude Code that crewdeck does not use, each with the reason or with what to use instead. Two of them can
/// have an effect: `permissionMode: plan` takes tools away, and some `hooks` make the file invalid (see `limits.rs`).
pub(super) const UNUSED_FIELDS: &[(&str, &str)] = &[
    (
        "permissionMode",
        "the settings and the user decide what needs permission",
    ),
    (
        "hooks",
        "hooks are read from .claude/settings.json and .crewdeck/hooks.json",
    ),
    ("memory", "write what agents should remember in AGENTS.md"),
    (
        "background",
        "you can use crewdeck while teammates and subagents run",
    ),
    ("isolation", "each task has its own worktree"),
    (
        "initialPrompt",
        "the lead or a team preset writes the first prompt",
    ),
];
/// Model names that have a meaning only in Claude Code. If a role names one of these models, crewdeck uses the entry of
/// the setting `models` with that name, or the lead's model if there is no such entry.
const MODEL_ALIASES: &[&str] = &["opus", "sonnet", "haiku", "opusplan", "best", "default"];

/// Returns whether `model` is a model name that has a meaning only in Claude Code.
pub fn is_model_alias(model: &str) -> bool {
    MODEL_ALIASES.contains(&model)
}

/// Why a role's file cannot be used. The message contains the line number (from 1), the problem and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    #[error(transparent)]
    Front(#[from] FrontMatterError),
    #[error(
        "line 1: there is no front matter: begin with a line ---, then lines name: and description:, then a line ---"
    )]
    NoFront,
    #[error("line {line}: {name:?} is not a valid name: set name: to {NAME_FORM}")]
    Name { line: usize, name: String },
    /// A field that limits what the agent may do has no value, cannot be used or is misspelled, or the role has hooks
    /// that limit the agent's tools.
    #[error("line {line}: {why}")]
    Limit { line: usize, why: String },
}

/// A parsed role file: a role whose source and path are not set yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleFile(AgentRole);

impl RoleFile {
    /// Parses the text of a role file. `stem` is the name of the file without `.md`. It becomes the role's name if the
    /// front matter does not name the role. `built_in` are the names of all built-in tools.
    ///
    /// # Errors
    /// Fails if the front matter is missing or invalid, the name is not valid, or a field that limits what the agent
    /// may do is unusable. The message names the line, the problem and what to do.
    pub fn parse(text: &str, stem: &str, built_in: &[&str]) -> Result<RoleFile, RoleError> {
        let front = FrontMatter::split(text)?;
        if front.is_empty() {
            return Err(RoleError::NoFront);
        }
        let (fields, quoted) = front.lenient_fields::<Map<String, Value>>()?;
        let mut reader = RoleReader {
            front: &front,
            built_in,
            fields,
            notices: Vec::new(),
        };
        for line in quoted {
            let text = "the value is not valid YAML and is read as text: quote it";
            reader.notices.push(RoleNotice {
                line,
                text: text.into(),
            });
        }
        let name = reader.name(stem)?;
        let description = reader.description();
        reader.check_limits()?;
        let mut tools = ToolSelection {
            allowed: reader.allowed_tools()?,
            denied: reader.denied_tools()?,
        };
        tools.denied.extend(reader.denied_by_mode());
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
            rounds_max: reader.rounds_max()?,
            color: reader.color(),
            prompt,
            notices: reader.finish(),
        };
        Ok(RoleFile(role))
    }

    /// Returns the role with its source and the path of its file.
    pub fn into_role(self, source: RoleSource, path: String) -> AgentRole {
        AgentRole {
            source,
            path,
            ..self.0
        }
    }
}

pub(super) struct RoleReader<'a> {
    front: &'a FrontMatter<'a>,
    /// The names of all built-in tools.
    pub(super) built_in: &'a [&'a str],
    /// The fields of the front matter that were not read yet, with their values.
    pub(super) fields: Map<String, Value>,
    notices: Vec<RoleNotice>,
}

impl RoleReader<'_> {
    pub(super) fn line(&self, field: &str) -> usize {
        self.front.line_of(&format!("{field}:"))
    }

    pub(super) fn note(&mut self, field: &str, text: impl Into<String>) {
        self.note_at(self.line(field), text);
    }

    pub(super) fn note_at(&mut self, line: usize, text: impl Into<String>) {
        let text = one_line(&clip(&text.into(), 300));
        self.notices.push(RoleNotice { line, text });
    }

    /// Returns the value of a field, and removes the field from `fields`. Returns `None` if the field is absent, was
    /// taken before, or has no value.
    pub(super) fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.shift_remove(field).filter(|v| !v.is_null())
    }

    /// Like `take`, but returns the value as one line of text; `None` also if the text is empty. If the value is a list
    /// or map, records a notice and returns `None`.
    fn text(&mut self, field: &str) -> Option<String> {
        let value = self.take(field)?;
        let text = scalar(&value);
        if text.is_none() {
            self.note(field, format!("{field} must be text: the value is ignored"));
        }
        text.map(|t| single_line(&t)).filter(|t| !t.is_empty())
    }

    fn name(&mut self, stem: &str) -> Result<String, RoleError> {
        let given = match self.take("name") {
            Some(value) => scalar(&value).unwrap_or_else(|| value.to_string()),
            None => {
                self.note("name", "name is missing: the file name is used");
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

    fn model(&mut self) -> String {
        let Some(model) = self.text("model").filter(|m| m != "inherit") else {
            return String::new();
        };
        if is_model_alias(&model) {
            let text = format!(
                "{model} is a model alias of Claude Code: your model of that name is used ([models.{model}]), else the lead's model"
            );
            self.note("model", text);
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
        let entries = self.limit_entries("skills", entries);
        let mut names = Vec::new();
        for entry in entries {
            match valid_name(&entry) {
                Some(name) => names.push(name),
                None => self.note(
                    "skills",
                    format!("{entry:?} is not a valid skill name: use {NAME_FORM}"),
                ),
            }
        }
        names
    }

    fn servers(&mut self) -> Option<Vec<RoleServer>> {
        let value = self.take("mcpServers")?;
        let (servers, notices) = servers(value);
        for notice in notices {
            self.note("mcpServers", notice);
        }
        Some(servers)
    }

    fn limit_entries(&mut self, field: &str, mut entries: Vec<String>) -> Vec<String> {
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

    /// Records a notice for each field that was not read. Returns the first [`NOTICES_MAX`] of all notices, sorted by
    /// line and without duplicates.
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
