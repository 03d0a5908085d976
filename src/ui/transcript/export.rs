//! Exports a conversation as the text of a Markdown or HTML file. The HTML needs no other file, loads nothing and runs
//! no script. No I/O.

mod page;

use crate::domain::text::escape_control_chars;
use crate::ui::transcript::Transcript;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::fields;
use crate::ui::transcript::run::{ToolCallState, ToolRun};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Markdown,
    Html,
}

impl ExportFormat {
    /// Returns the export format for the file name `path`, by its extension; `None` if no format has this extension.
    pub fn of(path: &str) -> Option<ExportFormat> {
        match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Some(ExportFormat::Markdown),
            "html" | "htm" => Some(ExportFormat::Html),
            _ => None,
        }
    }
}

/// The facts about the conversation that an export shows at the top. An empty field is left out, except `agent`, which
/// is a part of the title and the heading of each answer.
#[derive(Debug, Clone, Default)]
pub struct ExportHead {
    pub agent: String,
    pub project: String,
    pub session: String,
    pub model: String,
    /// The time of the export. In a replay, the time up to which the recording was replayed.
    pub at: String,
    /// The label of `at`, which says whether `at` is the time of the export or of the replay.
    pub at_label: &'static str,
}

struct Entry {
    /// CSS class of the entry in the HTML export.
    class: &'static str,
    /// Who wrote the entry, or a one-line summary of a folded entry; empty for a notice and for an entry that consists
    /// of only one line.
    heading: String,
    /// A remark after the summary of a folded entry; may be empty.
    remark: String,
    /// Whether the content of the entry is hidden until the reader opens it.
    is_folded: bool,
    parts: Vec<Part>,
}

enum Part {
    Markdown(String),
    /// Text without markup.
    Text(String),
    Code {
        language: &'static str,
        text: String,
    },
}

impl Transcript {
    /// Renders the conversation as the text of a Markdown or HTML file; `None` if it is empty.
    pub fn export(&self, head: &ExportHead, format: ExportFormat) -> Option<String> {
        let cells = (0..self.log.len()).map(|at| self.log.cell(at));
        let entries: Vec<Entry> = cells.flat_map(|cell| entries(&cell.kind, head)).collect();
        let dropped = (self.log.len() > 0).then(|| self.log.cell(0).entries)?;
        (!entries.is_empty()).then(|| match format {
            ExportFormat::Markdown => markdown(head, dropped, &entries),
            ExportFormat::Html => page::page(head, dropped, &entries),
        })
    }
}

/// Returns the entries of the export for one cell. An answer with thinking and text has two entries, the thinking
/// first. A cell without content and the header of a call group have none.
fn entries(kind: &CellKind, head: &ExportHead) -> Vec<Entry> {
    let clean = |text: &str| escape_control_chars(text.trim_end());
    let entry = |class, heading: &str, parts| Entry {
        class,
        heading: clean(heading),
        remark: String::new(),
        is_folded: false,
        parts,
    };
    let folded = |class, heading: &str, parts| Entry {
        is_folded: true,
        ..entry(class, heading, parts)
    };
    match kind {
        CellKind::Prompt(text, attached) => {
            let texts = std::iter::once(text).chain(attached.iter().map(|file| &file.label));
            let parts = texts.map(|text| Part::Text(clean(text)));
            vec![entry("user", "You", parts.collect())]
        }
        CellKind::Answer(answer) => {
            let mut out = Vec::new();
            if !answer.thinking.is_blank() {
                let text = clean(answer.thinking.as_str());
                out.push(folded("thinking", "Thinking", vec![Part::Text(text)]));
            }
            if !answer.text.is_blank() {
                let text = Part::Markdown(clean(answer.text.as_str()));
                out.push(entry("answer", &head.agent, vec![text]));
            }
            out
        }
        CellKind::Tool(run) => vec![Entry {
            remark: clean(&run.result()),
            ..folded(
                class_of(run),
                &format!("{} {}", run.tool, run.subject),
                parts_of(run),
            )
        }],
        CellKind::CallGroup(_) => Vec::new(),
        CellKind::Injected(inserted) if inserted.text.is_empty() => {
            vec![entry("entry", "", vec![Part::Text(clean(&inserted.what))])]
        }
        CellKind::Injected(inserted) => {
            let parts = vec![Part::Text(clean(&inserted.text))];
            vec![folded("entry", &inserted.what, parts)]
        }
        CellKind::Notice(..) => vec![entry("notice", "", vec![Part::Text(clean(&kind.text()))])],
    }
}

fn class_of(run: &ToolRun) -> &'static str {
    match run.state {
        ToolCallState::Failed => "tool failed",
        ToolCallState::Running | ToolCallState::Done | ToolCallState::Abandoned => "tool",
    }
}

fn parts_of(run: &ToolRun) -> Vec<Part> {
    let output_fields = fields::text(&run.output_fields);
    let parts = [
        ("", fields::text(&run.input)),
        ("diff", run.diff.clone()),
        ("", output_fields),
        ("", run.output.clone()),
    ];
    let parts = parts
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty());
    let part = |(language, text): (&'static str, String)| Part::Code {
        language,
        text: escape_control_chars(text.trim_end()),
    };
    parts.map(part).collect()
}

/// Returns the lines below the title: the filled fields of `head`, and a note if `dropped` older entries are missing.
fn about(head: &ExportHead, dropped: u64) -> Vec<String> {
    let named = [
        ("Project", &head.project),
        ("Session", &head.session),
        ("Model", &head.model),
        (head.at_label, &head.at),
    ];
    let named = named.iter().filter(|(_, value)| !value.is_empty());
    let named: Vec<String> = named
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let missing = format!(
        "This file leaves out the oldest part of the conversation (entries: {dropped}); the full conversation is in .transcripts/."
    );
    [named.join(" · ")]
        .into_iter()
        .chain((dropped > 0).then_some(missing))
        .filter(|line| !line.is_empty())
        .map(|line| escape_control_chars(&line))
        .collect()
}

fn markdown(head: &ExportHead, dropped: u64, entries: &[Entry]) -> String {
    let mut out = format!("# Conversation with {}\n", head.agent);
    for line in about(head, dropped) {
        out.push_str(&format!("\n{line}\n"));
    }
    for entry in entries {
        let heading = escape(&entry.heading);
        match (entry.is_folded, entry.remark.as_str()) {
            (true, "") => out.push_str(&format!("\n<details><summary>{heading}</summary>\n")),
            (true, remark) => {
                let remark = escape(remark);
                out.push_str(&format!(
                    "\n<details><summary>{heading} · {remark}</summary>\n"
                ));
            }
            (false, _) if heading.is_empty() => {}
            (false, _) => out.push_str(&format!("\n## {heading}\n")),
        }
        for part in &entry.parts {
            out.push('\n');
            match part {
                Part::Markdown(text) => out.push_str(text),
                Part::Text(text) => {
                    let lines: Vec<String> = text.lines().map(|l| format!("> {l}")).collect();
                    out.push_str(&lines.join("\n"));
                }
                Part::Code { language, text } => {
                    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
                    out.push_str(&format!("{fence}{language}\n{text}\n{fence}"));
                }
            }
            out.push('\n');
        }
        if entry.is_folded {
            out.push_str("\n</details>\n");
        }
    }
    out
}

fn longest_run(text: &str, c: char) -> usize {
    let runs = text.split(|other| other != c).map(str::len);
    runs.max().unwrap_or(0)
}

/// Escapes the characters of a text that have a meaning in HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::domain::chat::Outcome;
    use crate::domain::ids::CallId;
    use crate::protocol::AgentEvent;

    fn conversation(prompt: &str, answer: &str, output: &str) -> Transcript {
        let mut out = Transcript::default();
        let call = CallId("c1".into());
        for event in [
            AgentEvent::prompt(prompt),
            AgentEvent::ToolStarted {
                call: call.clone(),
                tool: "bash".into(),
                on: "cat a.html".into(),
                input: json!({"command": "cat a.html"}),
            },
            AgentEvent::ToolFinished {
                call,
                tool: "bash".into(),
                outcome: Outcome::Ok,
                output: output.into(),
                diff: String::new(),
                took_ms: 1,
            },
            AgentEvent::AnswerFinished {
                text: answer.into(),
                thinking: "let me see".into(),
                thought_ms: 0,
            },
        ] {
            out.apply(&event);
        }
        out
    }

    fn head() -> ExportHead {
        ExportHead {
            agent: "lead".into(),
            session: "0190aaaa".into(),
            ..ExportHead::default()
        }
    }

    #[test]
    fn markdown_has_each_entry_and_fences_that_hold() {
        let said = conversation("Fix it\nnow", "**Done.**", "````\n# no heading");
        let text = said.export(&head(), ExportFormat::Markdown).unwrap();
        let expected = "# Conversation with lead\n\nSession: 0190aaaa\n\n## You\n\n> Fix it\n> now\n\n\
            <details><summary>bash cat a.html · 2 lines</summary>\n\n```\n$ cat a.html\n```\n\n\
            `````\n````\n# no heading\n`````\n\n</details>\n\n\
            <details><summary>Thinking</summary>\n\n> let me see\n\n</details>\n\n## lead\n\n**Done.**\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn html_runs_and_loads_nothing_of_the_conversation() {
        let evil = "see <script>alert(1)</script> ![x](https://e.example/x.png) [a](javascript:alert(1)) \
            [b](java&Tab;script:alert(1)) [c](JAVASCRIPT:x) [d](data:text/html,x) [ok](https://ok.example) \
            [![badge](https://e.example/b.png)](https://in.example) ![see [there](https://alt.example)](https://out.example)\n\n<img src=x onerror=alert(1)>";
        let said = conversation("<b>\"you\"</b>", evil, "</code><script>x</script>");
        let text = said.export(&head(), ExportFormat::Html).unwrap();
        let body = text.split_once("<body>").unwrap().1;
        for part in ["<script", "<img"] {
            assert!(!body.contains(part), "{part} in {body}");
        }
        let links = body.split("href=\"").skip(1);
        let links: Vec<&str> = links.filter_map(|l| Some(l.split_once('"')?.0)).collect();
        let safe = [
            "https://e.example/x.png",
            "",
            "",
            "",
            "",
            "https://ok.example",
            "https://in.example",
            "https://out.example",
        ];
        assert_eq!(links, safe, "{body}");
        for part in [
            "&lt;b&gt;&quot;you&quot;&lt;/b&gt;",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "&lt;img src=x onerror=alert(1)&gt;",
            "&lt;/code&gt;",
        ] {
            assert!(body.contains(part), "{part} not in {body}");
        }
        assert!(text.contains("default-src 'none'"));
    }

    #[test]
    fn empty_conversation_has_no_export_and_format_follows_the_name() {
        assert_eq!(
            Transcript::default().export(&head(), ExportFormat::Html),
            None
        );
        let cases = [
            ("a.md", Some(ExportFormat::Markdown)),
            ("a.b/c.HTML", Some(ExportFormat::Html)),
            ("a.txt", None),
            ("md", None),
        ];
        for (path, expected) in cases {
            assert_eq!(ExportFormat::of(path), expected, "{path}");
        }
    }
}
