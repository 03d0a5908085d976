//! The lines of the popup with the skills: what agents can load, where each skill comes from, and which skill files are
//! broken.

use ratatui::text::{Line, Span};

use crate::domain::skill::{BrokenSkill, Skill, SkillCatalog};
use crate::domain::text::one_line;
use crate::protocol::event::NoticeLevel;
use crate::ui::model::style;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;

const WHERE: &str = "To add a skill, create skills/NAME/SKILL.md or .claude/skills/NAME/SKILL.md in the project. \
    For all projects, create ~/.config/crewdeck/skills/NAME/SKILL.md. Changes apply immediately. Example:";
const EXAMPLE: [&str; 5] = [
    "---",
    "name: NAME",
    "description: What it does, and when to load it",
    "---",
    "Instructions for the agent.",
];

/// Returns the lines of the popup, `width` columns wide: broken skill files, then the skills, then how to add a skill.
pub fn lines(book: &SkillCatalog, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for broken in &book.broken {
        out.extend(broken_lines(broken, width, theme));
        out.push(Line::default());
    }
    if book.skills.is_empty() {
        out.push(Line::styled("No skills yet.", theme.text));
        out.push(Line::default());
    }
    for skill in &book.skills {
        out.extend(skill_lines(skill, width, theme));
        out.push(Line::default());
    }
    out.extend(wrap_styled(WHERE, width, theme.dim));
    for row in EXAMPLE {
        out.extend(wrap_indented(row, width, theme.dim));
    }
    out
}

fn skill_lines(skill: &Skill, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut origin = vec![skill.source.label().to_string()];
    if !skill.path.is_empty() {
        origin.push(one_line(&skill.path));
    }
    if !skill.tags.is_empty() {
        origin.push(one_line(&skill.tags.join(", ")));
    }
    let mut out = wrap_styled(&one_line(&skill.name), width, theme.accent);
    out.extend(wrap_indented(
        &one_line(&skill.description),
        width,
        theme.text,
    ));
    out.extend(wrap_indented(&origin.join(" · "), width, theme.dim));
    out
}

fn broken_lines(broken: &BrokenSkill, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (shape, style) = style::level(NoticeLevel::Warn, theme);
    let head = format!("{shape} {}", one_line(&broken.path));
    let mut out = wrap_styled(&head, width, style);
    out.extend(wrap_indented(&one_line(&broken.why), width, theme.text));
    out
}

fn wrap_styled(text: &str, width: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    let rows = wrap(text, width).into_iter();
    rows.map(|row| Line::styled(row, style)).collect()
}

fn wrap_indented(text: &str, width: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    let rows = wrap(text, width.saturating_sub(2)).into_iter();
    rows.map(|row| Line::from(vec![Span::raw("  "), Span::styled(row, style)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::skill::SkillSource;
    use pretty_assertions::assert_eq;

    fn text(book: &SkillCatalog, width: usize) -> Vec<String> {
        let lines = lines(book, width, &Theme::default());
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn skills_and_broken_files_are_listed_with_path() {
        let skill = |name: &str, source, path: &str, tags: &[&str]| Skill {
            name: name.into(),
            description: "Reads PDF files and writes them".into(),
            tags: tags.iter().map(|t| (*t).into()).collect(),
            source,
            path: path.into(),
            version: 0,
        };
        let book = SkillCatalog {
            skills: vec![
                skill(
                    "pdf",
                    SkillSource::Project,
                    "skills/pdf/SKILL.md",
                    &["a", "b"],
                ),
                skill("code-review", SkillSource::BuiltIn, "", &[]),
            ],
            commands: Vec::new(),
            broken: vec![BrokenSkill {
                path: "skills/x/SKILL.md".into(),
                why: "line 1: there is no text\u{1b}[2J".into(),
            }],
        };
        let shown = text(&book, 60);
        let at = shown
            .iter()
            .position(|l| l.starts_with("To add a skill"))
            .unwrap();
        assert_eq!(
            shown[..at],
            [
                "▲ skills/x/SKILL.md",
                "  line 1: there is no text␛[2J",
                "",
                "pdf",
                "  Reads PDF files and writes them",
                "  project · skills/pdf/SKILL.md · a, b",
                "",
                "code-review",
                "  Reads PDF files and writes them",
                "  built in",
                "",
            ]
        );
        assert!(
            text(&book, 12)
                .iter()
                .all(|l| crate::ui::text::width(l) <= 12)
        );
    }

    #[test]
    fn empty_list_explains_where_to_put_skills() {
        let shown = text(&SkillCatalog::default(), 80).join(" ");
        assert!(shown.starts_with("No skills yet.  To add a skill, create"));
    }
}
