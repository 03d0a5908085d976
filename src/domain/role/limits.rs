//! Reads the fields of a role that limit what its agent may do. A value that cannot be read is an error, not a notice.

use std::collections::BTreeSet;

use serde_json::Value;

use super::LIST_MAX;
use super::file::{FIELDS, RoleError, RoleReader, UNUSED_FIELDS};
use super::tools::{ALL, ToolEntry, resolve};
use super::values::{list, split_tools};
use crate::domain::front_matter::single_line;
use crate::domain::text::{clip, one_line};

/// Maximum value of `maxTurns`. A larger value is reduced to this one.
const ROUNDS_MAX: u64 = 1000;
/// The fields that limit what an agent may do. A file is rejected if one of these fields has no value, cannot be read
/// or is misspelled. Without the limit, the agent could do more than the role's author wants. With an invalid
/// `mcpServers`, however, the role is used, without any MCP server.
const LIMITS: &[&str] = &["tools", "disallowedTools", "mcpServers", "maxTurns"];
/// Events for which hooks in a role's file can limit the agent's tools. A file with hooks for these events is rejected,
/// because crewdeck does not run the hooks of roles.
const LIMITING_HOOKS: &[&str] = &["PreToolUse", "PermissionRequest"];
/// The tools that an agent does not have with `permissionMode: plan`, written like entries of `disallowedTools`.
const NOT_WHILE_PLANNING: &[&str] = &["Write", "Edit", "Bash", "mcp__*"];

/// An entry of a list of tools, and the pattern in parentheses that followed its name, such as `git *` in
/// `Bash(git *)`.
type PatternEntry = (ToolEntry, Option<String>);

impl RoleReader<'_> {
    fn limit_error(&self, field: &str, why: impl AsRef<str>) -> RoleError {
        RoleError::Limit {
            line: self.line(field),
            why: one_line(&clip(why.as_ref(), 300)),
        }
    }

    /// Checks the fields that limit what the agent may do. Checks only fields that are not read yet, so it must be
    /// called before the limits are read.
    ///
    /// # Errors
    /// Fails if a limit has no value, if an unknown field is probably a misspelled limit, or if the role has hooks for
    /// one of the [`LIMITING_HOOKS`].
    pub(super) fn check_limits(&self) -> Result<(), RoleError> {
        for (field, value) in &self.fields {
            let shown = one_line(&clip(field, 40));
            if LIMITS.contains(&field.as_str()) {
                let is_empty = value.as_str().is_some_and(|text| text.trim().is_empty());
                if value.is_null() || is_empty {
                    let why = format!("{shown} has no value: write one, or remove the line");
                    return Err(self.limit_error(field, why));
                }
            } else if let Some(meant) = meant_limit(field) {
                let why = format!("the field {shown} is unknown: write {meant}, or remove it");
                return Err(self.limit_error(field, why));
            }
        }
        let hooks = self.fields.get("hooks").and_then(Value::as_object);
        let limiting =
            hooks.and_then(|hooks| LIMITING_HOOKS.iter().find(|h| hooks.contains_key(**h)));
        if let Some(hook) = limiting {
            let why = format!(
                "the {hook} hooks of a role are not run: move them to .claude/settings.json and remove them here"
            );
            return Err(self.limit_error("hooks", why));
        }
        Ok(())
    }

    /// Returns the resolved entries of `field`, which contains a list of tools, and removes the field from the fields
    /// that were not read yet. Returns `None` if the field is absent.
    ///
    /// # Errors
    /// Fails if the value is neither a list nor a text, or has more than [`LIST_MAX`] entries.
    fn tools(&mut self, field: &str) -> Result<Option<Vec<PatternEntry>>, RoleError> {
        let Some(value) = self.take(field) else {
            return Ok(None);
        };
        let Some(mut entries) = list(&value, split_tools) else {
            let why = format!(
                "{field} must be a list of tools, or a string of tools separated by commas"
            );
            return Err(self.limit_error(field, why));
        };
        entries.retain(|e| !e.trim().is_empty());
        if entries.len() > LIST_MAX {
            let why = format!("{field} has more than {LIST_MAX} entries: remove some");
            return Err(self.limit_error(field, why));
        }
        let resolved = entries.iter().map(|entry| {
            let entry = clip(&single_line(entry), 200);
            let (found, pattern) = resolve(&entry, self.built_in);
            (found, pattern.map(str::to_string))
        });
        Ok(Some(resolved.collect()))
    }

    pub(super) fn allowed_tools(&mut self) -> Result<Option<Vec<String>>, RoleError> {
        let line = self.line("tools");
        let Some(entries) = self.tools("tools")? else {
            return Ok(None);
        };
        let mut names: Vec<String> = Vec::new();
        let mut first_problem = None;
        for (found, pattern) in entries {
            let problem = match found {
                ToolEntry::All => return Ok(None),
                ToolEntry::Tools(tools) => {
                    let is_subagent = tools == ["task"];
                    let limit = pattern.filter(|p| !p.is_empty() && p != "*" && !is_subagent);
                    match limit {
                        // Leave the tool out: without the pattern, it could do more than the author of the role wants.
                        Some(pattern) => format!(
                            "the pattern ({pattern}) is not supported, so the tool is left out: remove the pattern to allow the whole tool"
                        ),
                        None => {
                            for tool in tools {
                                if !names.contains(&tool) {
                                    names.push(tool);
                                }
                            }
                            continue;
                        }
                    }
                }
                ToolEntry::Missing(text) | ToolEntry::Unknown(text) => text,
            };
            self.note_at(line, problem.clone());
            first_problem.get_or_insert(problem);
        }
        match first_problem.filter(|_| names.is_empty()) {
            Some(first) => {
                let why = format!("none of the listed tools can be used: {first}");
                Err(self.limit_error("tools", why))
            }
            None => Ok(Some(names)),
        }
    }

    pub(super) fn denied_tools(&mut self) -> Result<Vec<String>, RoleError> {
        let line = self.line("disallowedTools");
        let entries = self.tools("disallowedTools")?.unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for (found, pattern) in entries {
            match found {
                ToolEntry::Tools(tools) => {
                    if let Some(pattern) = pattern {
                        let text = format!(
                            "the pattern ({pattern}) is not supported: the whole tool is denied"
                        );
                        self.note_at(line, text);
                    }
                    names.extend(tools);
                }
                ToolEntry::All => names.push(ALL.into()),
                ToolEntry::Missing(text) => self.note_at(line, text),
                ToolEntry::Unknown(text) => {
                    return Err(
                        self.limit_error("disallowedTools", format!("disallowedTools: {text}"))
                    );
                }
            }
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        Ok(names)
    }

    /// Returns the tools that the agent does not have because of `permissionMode: plan`, and records a notice about
    /// them. Returns no tools for other modes. In Claude Code, the other modes allow more; in crewdeck, the settings
    /// and the user decide what is allowed.
    pub(super) fn denied_by_mode(&mut self) -> Vec<String> {
        let is_plan = |mode: &Value| {
            mode.as_str()
                .is_some_and(|m| m.trim().eq_ignore_ascii_case("plan"))
        };
        if !self.fields.get("permissionMode").is_some_and(is_plan) {
            return Vec::new();
        }
        self.fields.shift_remove("permissionMode");
        self.note(
            "permissionMode",
            "with permissionMode plan, the role cannot write files, run commands or call MCP servers",
        );
        let tools =
            NOT_WHILE_PLANNING
                .iter()
                .flat_map(|entry| match resolve(entry, self.built_in).0 {
                    ToolEntry::Tools(tools) => tools,
                    ToolEntry::All | ToolEntry::Missing(_) | ToolEntry::Unknown(_) => Vec::new(),
                });
        tools.collect()
    }

    pub(super) fn rounds_max(&mut self) -> Result<Option<u32>, RoleError> {
        let Some(value) = self.take("maxTurns") else {
            return Ok(None);
        };
        let number = value
            .as_u64()
            .or_else(|| value.as_str()?.trim().parse().ok())
            .filter(|number| *number > 0);
        let Some(number) = number else {
            return Err(self.limit_error("maxTurns", "maxTurns must be a whole number above 0"));
        };
        if number > ROUNDS_MAX {
            let text = format!("maxTurns is more than {ROUNDS_MAX}: {ROUNDS_MAX} is used");
            self.note("maxTurns", text);
        }
        Ok(u32::try_from(number.min(ROUNDS_MAX)).ok())
    }
}

/// Returns the field of [`LIMITS`], or `permissionMode`, for which `field` is probably a misspelling. Returns `None` if
/// `field` is a known field or resembles none of these.
fn meant_limit(field: &str) -> Option<&'static str> {
    let is_known =
        FIELDS.contains(&field) || UNUSED_FIELDS.iter().any(|(unused, _)| *unused == field);
    if is_known {
        return None;
    }
    let plain: String = field.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    if has(&["tool", "readonly"]) {
        let is_denial = has(&["den", "dis", "block", "exclu", "forbid", "not", "without"]);
        return Some(if is_denial {
            "disallowedTools"
        } else {
            "tools"
        });
    }
    if has(&["mcp"]) || plain.starts_with("server") {
        return Some("mcpServers");
    }
    if plain.starts_with("turn") || (plain.starts_with("max") && has(&["turn"])) {
        return Some("maxTurns");
    }
    if plain == "permissionmode" {
        return Some("permissionMode");
    }
    // Accept only small differences: other programs have fields with similar names.
    let is_near = |limit: &&str| {
        strsim::damerau_levenshtein(&plain, &limit.to_lowercase()) <= limit.len() / 4
    };
    LIMITS.iter().copied().find(is_near)
}
