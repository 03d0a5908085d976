//! Team presets: the teammates with which a crew starts, and whether the lead only delegates.

use serde::{Deserialize, Serialize};

use super::external_agent::AGENT_NAME_MAX;
use super::ids::Name;
use super::team::{AGENTS_MAX, DEFAULT_ROLE, Member, PlanRule};
use super::text::{clip, one_line};

/// Maximum length of a role, in characters. A longer one is cut.
const ROLE_MAX: usize = 80;
/// Maximum length of a model's name, in characters. A longer one is cut.
const MODEL_MAX: usize = 200;
/// Maximum length of a first prompt, in characters. A longer one is cut.
const PROMPT_MAX: usize = 32 * 1024;
/// The first prompt of a member for which the preset contains none.
const READY: &str = "Say in one sentence that you are ready, then end your turn: tasks from the board are assigned to you automatically.";

/// Whether the lead also works on tasks itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadMode {
    #[default]
    Work,
    /// The lead has no tools that change files, run commands or call MCP servers.
    Delegate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TeamPreset {
    pub lead: LeadMode,
    /// The members, each with its first prompt, in the order of the file. At most [`AGENTS_MAX`].
    pub members: Vec<(Member, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    description: Option<String>,
    #[serde(default)]
    lead: LeadMode,
    #[serde(default)]
    members: Vec<PresetMember>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetMember {
    name: Option<String>,
    #[serde(default)]
    role: String,
    count: Option<usize>,
    #[serde(default)]
    model: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    plan: PlanRule,
    #[serde(default)]
    prompt: String,
}

impl TeamPreset {
    /// Parses a preset, a TOML text. An entry with a `count` above 1 becomes that many members, named `NAME-1`,
    /// `NAME-2` and so on. An entry without a name is named after its role, with `-` in place of blanks.
    ///
    /// # Errors
    /// Fails if the file is not valid TOML or has unknown fields, if a member has no valid and unique name, if `count`
    /// is 0, or if there are more than [`AGENTS_MAX`] members. The message is one line with the line of the file or the
    /// number of the member, from 1, and the problem.
    pub fn parse(text: &str) -> Result<TeamPreset, String> {
        let file: PresetFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            format!("line {line}: {}", one_line(error.message()))
        })?;
        let mut members: Vec<(Member, String)> = Vec::new();
        for (at, entry) in file.members.into_iter().enumerate() {
            let why = |text: String| format!("member {}: {text}", at + 1);
            let count = entry.count.unwrap_or(1);
            if count == 0 || members.len() + count.min(AGENTS_MAX + 1) > AGENTS_MAX {
                return Err(why(format!(
                    "the team must have 1 to {AGENTS_MAX} members: change count"
                )));
            }
            let role = clip(&one_line(entry.role.trim()), ROLE_MAX);
            let stem = match (entry.name.as_deref().map(str::trim), role.as_str()) {
                (Some(name), _) => name.to_string(),
                (None, "") => {
                    return Err(why(
                        "it has neither name nor role: add a name or a role".into()
                    ));
                }
                (None, role) => role.split_whitespace().collect::<Vec<_>>().join("-"),
            };
            for number in 1..=count {
                let name = if count > 1 {
                    format!("{stem}-{number}")
                } else {
                    stem.clone()
                };
                let name = Name::member(&name).map_err(|e| why(e.to_string()))?;
                if members.iter().any(|(m, _)| m.name.same(&name)) {
                    return Err(why(format!(
                        "the name '{name}' is used twice: choose another name"
                    )));
                }
                let role = if role.is_empty() { DEFAULT_ROLE } else { &role };
                let mut member = Member::new(name, role);
                member.model = clip(one_line(&entry.model).trim(), MODEL_MAX);
                member.agent = clip(one_line(&entry.agent).trim(), AGENT_NAME_MAX);
                member.tags.clone_from(&entry.tags);
                member.plan = entry.plan;
                let prompt = match entry.prompt.trim() {
                    "" => READY,
                    prompt => prompt,
                };
                members.push((member, clip(prompt, PROMPT_MAX)));
            }
        }
        Ok(TeamPreset {
            lead: file.lead,
            members,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn members_are_counted_and_named() {
        let text = "lead = \"delegate\"\n[[members]]\nname = \"alice\"\nrole = \"implementer\"\nmodel = \"m\"\nplan = \"required\"\n\
                    [[members]]\nrole = \"code reviewer\"\ncount = 2\nprompt = \"Look.\"\ntags = [\"rust\"]\n";
        let preset = TeamPreset::parse(text).unwrap();
        assert_eq!(preset.lead, LeadMode::Delegate);
        let shown: Vec<String> = preset
            .members
            .iter()
            .map(|(m, prompt)| {
                format!(
                    "{} {} {} {:?} {}",
                    m.name,
                    m.role,
                    m.model,
                    m.tags,
                    clip(prompt, 5)
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "alice implementer m [] Say …",
                "code-reviewer-1 code reviewer  [\"rust\"] Look.",
                "code-reviewer-2 code reviewer  [\"rust\"] Look.",
            ]
        );
        assert_eq!(preset.members[0].0.plan, PlanRule::Required);
        assert_eq!(TeamPreset::parse("").unwrap().members, []);
    }

    #[test]
    fn mistakes_name_the_line_or_the_member() {
        for (text, expected) in [
            ("lead = \"rest\"", "line 1: "),
            ("\n\nleed = \"work\"", "line 3: unknown field `leed`"),
            (
                "[[members]]\nname = \"a\"\nagnt = \"codex\"",
                "line 3: unknown field `agnt`",
            ),
            ("[[members]]\nname = 1", "line 2: "),
            ("[[members]]", "member 1: it has neither name nor role"),
            ("[[members]]\nname = \"lead\"", "member 1: "),
            ("[[members]]\nname = \"a b\"", "member 1: "),
            (
                "[[members]]\nname = \"a\"\n[[members]]\nname = \"A\"",
                "member 2: the name 'A' is used twice",
            ),
            (
                "[[members]]\nname = \"a\"\ncount = 0",
                "member 1: the team must have",
            ),
            (
                "[[members]]\nname = \"a\"\ncount = 999999999999",
                "member 1: the team must have",
            ),
            ("[[members]", "line 1: "),
        ] {
            let why = TeamPreset::parse(text).unwrap_err();
            assert!(why.starts_with(expected), "{text}\n{why}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
    }
}
