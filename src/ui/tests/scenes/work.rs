//! The work of agents in the scenes: a conversation with every kind of entry, jobs and diffs.

use serde_json::{Value, json};

use crate::domain::budget::RaisedBudget;
use crate::domain::budget::{UsageBudget, UsageBudgets};
use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, JobId, Name, TaskId};
use crate::domain::job::{Job, JobEnd};
use crate::domain::limits::Limits;
use crate::domain::spending::{Day, PeriodUsage, UsageTotal};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Usage;
use crate::protocol::event::TurnEnd;
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, EventKind};
use crate::ui::fixture::{NOON, name};

/// Returns the events of a finished tool call of `agent`.
fn tool_call_events(
    agent: &Name,
    id: &str,
    tool: &str,
    on: &str,
    outcome: Outcome,
    output: &str,
    diff: &str,
) -> Vec<EventKind> {
    let call = CallId(id.into());
    vec![
        AgentEvent::ToolStarted {
            call: call.clone(),
            tool: tool.into(),
            on: on.into(),
            input: json!({"command": on}),
        }
        .of(agent.clone()),
        AgentEvent::ToolFinished {
            call,
            tool: tool.into(),
            outcome,
            output: output.into(),
            diff: diff.into(),
            took_ms: 1200,
        }
        .of(agent.clone()),
    ]
}

const ANSWER: &str = "## What was found\n\nThe reader handles **three** of four versions; `src/header.rs` has *no* test.\n\n\
    1. Read the header, which is little-endian in every version that was looked at, and in the next one too.\n\
    2. Refuse more than 65536 blocks.\n   - as the table says\n\n\
    | version | blocks | 说明 |\n|---|---:|---|\n| 1 | 16 | 旧 |\n| 2 | 65536 | checksums 👍 |\n\n\
    ```rust\n// The magic number.\nconst MAGIC: u32 = 0x4352; \nfn read(from: &[u8]) -> Result<Header, String> { todo!(\"later\") }\n```\n\n\
    > No one reads version 0.\n\nSee https://example.com/format for more.";

const DIFF: &str = "--- a/src/header.rs\n+++ b/src/header.rs\n@@ -1,4 +1,5 @@\n use std::io;\n-const MAGIC: u16 = 1;\n\
    +const MAGIC: u32 = 0x4352;\n+const BLOCKS_MAX: usize = 65536; // 块\n fn read() {}\n";

/// Returns the events of a conversation of the lead with every kind of entry. It is longer than the screen.
pub fn long_conversation() -> Vec<EventKind> {
    conversation_of(&Name::lead())
}

/// Returns the events of a conversation of the agent `lead` with every kind of entry. It is longer than the screen.
pub fn conversation_of(lead: &Name) -> Vec<EventKind> {
    let said = |text: &str| {
        AgentEvent::AnswerFinished {
            text: text.into(),
            thinking: "The table comes first, I think.".into(),
            thought_ms: 4200,
        }
        .of(lead.clone())
    };
    let prompted = |text: &str| AgentEvent::prompt(text).of(lead.clone());
    let mut out = vec![prompted(
        "Look at the reader first.\nThen tell me what it cannot do.",
    )];
    out.push(AgentEvent::TurnStarted.of(lead.clone()));
    out.extend(tool_call_events(
        lead,
        "k1",
        "read_file",
        "src/header.rs",
        Outcome::Ok,
        "1\n2\n3",
        "",
    ));
    out.extend(tool_call_events(
        lead,
        "k2",
        "edit_file",
        "src/header.rs",
        Outcome::Ok,
        "edited",
        DIFF,
    ));
    out.extend(tool_call_events(
        lead,
        "k3",
        "bash",
        "cargo test --workspace --all-features -- --nocapture header",
        Outcome::Error,
        "error: 1 test failed",
        "",
    ));
    out.push(said(ANSWER));
    out.push(
        AgentEvent::TurnEnded {
            end: TurnEnd::Interrupted,
        }
        .of(lead.clone()),
    );
    out.push(prompted("And the others?"));
    out.push(AgentEvent::TurnStarted.of(lead.clone()));
    out.push(said("I ask them."));
    out.extend(tool_call_events(
        lead,
        "k4",
        "send_message",
        "alice",
        Outcome::Ok,
        "sent",
        "",
    ));
    out.push(
        AgentEvent::TextDelta {
            text: "alice answers that the block table".into(),
        }
        .of(lead.clone()),
    );
    out
}

/// Returns the events of background jobs: one is running, the others have ended in each possible way.
pub fn jobs() -> Vec<EventKind> {
    let ends = [
        ("cargo test --workspace", None),
        ("npm run build", Some(JobEnd::Exited { code: 1 })),
        ("make 文档", Some(JobEnd::Exited { code: 0 })),
        ("sleep 600", Some(JobEnd::Killed { by: "user".into() })),
        (
            "python3 -m http.server --bind 127.0.0.1 --directory target/doc 8000",
            Some(JobEnd::TimedOut { after_s: 600 }),
        ),
        (
            "serve",
            Some(JobEnd::NotStarted {
                why: "no such file".into(),
            }),
        ),
        ("true", Some(JobEnd::Signalled { signal: 9 })),
    ];
    let job = |(at, (command, end)): (usize, (&str, Option<JobEnd>))| {
        EventKind::Crew(CrewEvent::JobChanged {
            job: Job {
                id: JobId(format!("j{}", at + 1)),
                agent: if at % 2 == 0 {
                    Name::lead()
                } else {
                    name("alice")
                },
                command: command.into(),
                began: Timestamp(NOON - 90.0),
                ended: end.map(|end| (Timestamp(NOON - 3.0), end)),
                tail: String::new(),
            },
        })
    };
    let mut out: Vec<EventKind> = ends.into_iter().enumerate().map(job).collect();
    out.push(EventKind::Crew(CrewEvent::JobOutput {
        job: JobId("j1".into()),
        chunk: "running 250 tests\ntest parser::中文 ... ok\n".into(),
    }));
    out
}

/// Returns the event with the diff of a task's branch.
pub fn diff() -> EventKind {
    EventKind::Board(BoardEvent::DiffShown {
        task: TaskId(1),
        stat: " src/header.rs | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)".into(),
        text: DIFF.into(),
        untracked: vec!["notes.txt".into()],
    })
}

/// Returns the events of five tasks that the lead creates, one of which is rejected, and of messages.
pub fn written_tasks() -> Vec<EventKind> {
    let lead = Name::lead();
    let mut out = vec![AgentEvent::prompt("Split the work.").of(lead.clone())];
    let mut call = |tool: &str, on: &str, input: Value, outcome: Outcome, output: String| {
        let id = CallId(format!("w{}", out.len()));
        out.push(
            AgentEvent::ToolStarted {
                call: id.clone(),
                tool: tool.into(),
                on: on.into(),
                input,
            }
            .of(Name::lead()),
        );
        out.push(
            AgentEvent::ToolFinished {
                call: id,
                tool: tool.into(),
                outcome,
                output,
                diff: String::new(),
                took_ms: 12,
            }
            .of(Name::lead()),
        );
    };
    let subjects = [
        "Read the header",
        "Read the blocks, whatever their size and their order is in the file",
        "Write the header",
        "写块",
        "Test it all",
    ];
    for (id, subject) in (1..).zip(subjects) {
        let description = "The format is in docs/format.md; what it does not say is asked.\nEach function gets a test that can fail.";
        let input = json!({"subject": subject, "description": description, "blocked_by": [1, 2], "tags": ["rust"]});
        if id == 4 {
            let error = "Error: task #9 does not exist".to_string();
            call("task_create", subject, input, Outcome::Error, error);
            continue;
        }
        let record = json!({
            "id": id, "subject": subject, "description": description, "status": "pending", "blockedBy": [1, 2], "blocks": [], "owner": "",
            "worktree": "", "tags": ["rust"], "created_at": NOON - 60.0, "updated_at": NOON - 60.0, "attempts": 0
        });
        let output = serde_json::to_string_pretty(&record).unwrap();
        call("task_create", subject, input, Outcome::Ok, output);
    }
    for to in ["alice", "bob"] {
        let on = format!("to {to}: Which way?");
        let input = json!({"to": to, "content": "Which way?"});
        let output = format!("Sent message to {to}");
        call("send_message", &on, input, Outcome::Ok, output);
    }
    out
}

/// Returns the event with a diff of several files, each changed in another way. The diff is longer than the screen.
pub fn diff_of_files() -> EventKind {
    let lines: Vec<String> = (1..=30).map(|n| format!("+line {n} of it\n")).collect();
    let lines = lines.concat();
    let text = format!(
        "diff --git a/src/header.rs b/src/header.rs\nindex 1..2 100644\n{DIFF}\
         @@ -40,2 +41,2 @@ fn blocks(input: &[u8]) -> Option<Blocks>\n     let len = input.len();\n-\tlen\n+\tlen.min(BLOCKS_MAX) // a line that is so long that it is continued in the next row of every screen but the widest\n\
         diff --git a/README.md b/docs/format.md\nsimilarity index 90%\nrename from README.md\nrename to docs/format.md\nindex 3..4 100644\n\
         --- a/README.md\n+++ b/docs/format.md\n@@ -1 +1 @@\n-# Notes\n+# The format \x1b[31m块\n\\ No newline at end of file\n\
         diff --git a/check.sh b/check.sh\nold mode 100644\nnew mode 100755\n\
         diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0..5\nBinary files /dev/null and b/logo.png differ\n\
         diff --git a/src/old.rs b/src/old.rs\ndeleted file mode 100644\nindex 6..0\n--- a/src/old.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-fn old() {{}}\n-\n\
         diff --git a/src/blocks.rs b/src/blocks.rs\nnew file mode 100644\nindex 0..7\n--- /dev/null\n+++ b/src/blocks.rs\n@@ -0,0 +1,30 @@\n{lines}\n[… 81234 bytes cut here …]\n"
    );
    EventKind::Board(BoardEvent::DiffShown {
        task: TaskId(1),
        stat: " src/header.rs | 3 ++-\n 8 files changed, 1240 insertions(+), 4 deletions(-)".into(),
        text,
        untracked: vec![],
    })
}

/// Returns events that report estimated costs and the use of daily and monthly budgets.
pub fn estimated_spending() -> Vec<EventKind> {
    let used = |agent: &str, cost, estimated| {
        let total = Usage {
            input: 40_000,
            ..Usage::default()
        };
        AgentEvent::UsageChanged {
            total,
            context: 1000,
            window: Some(200_000),
            assumed: false,
            cost: Some(cost),
            estimated,
            calls: 9,
        }
        .of(name(agent))
    };
    let period = |cost| UsageTotal {
        tokens: 12_400,
        cost,
        estimated: true,
    };
    vec![
        used("lead", 1.25, true),
        used("alice", 0.12, false),
        EventKind::Crew(CrewEvent::LimitsChanged(Limits {
            budgets: UsageBudgets {
                team_cost: Some(5.0),
                day_cost: Some(5.0),
                month_tokens: Some(100_000),
                month_cost: Some(50.0),
                ..UsageBudgets::default()
            },
            periods: Some(PeriodUsage {
                date: Day("2026-11-29".into()),
                day: period(4.25),
                month: period(21.5),
            }),
            ..Limits::default()
        })),
    ]
}

/// Returns the events of token usage with cached tokens, and of budgets, one of them raised.
pub fn spending() -> Vec<EventKind> {
    let used = |agent: Name, input: u64, calls: u64, cost: Option<f64>| {
        AgentEvent::UsageChanged {
            total: Usage {
                input,
                output: input / 3,
                cache_read: input * 9,
                cache_write: input / 2,
            },
            context: 1000,
            window: Some(200_000),
            assumed: false,
            cost,
            estimated: false,
            calls,
        }
        .of(agent)
    };
    let subagent = |n| Name::subagent(&Name::lead(), n);
    let mut out = vec![
        used(Name::lead(), 61_000, 12, Some(1.8)),
        used(subagent(1), 9_000, 3, Some(0.2)),
        used(subagent(2), 4_000, 2, Some(0.1)),
        used(name("carol"), 800, 1, None),
        EventKind::Crew(CrewEvent::LimitsChanged(Limits {
            calls: 4,
            budgets: UsageBudgets {
                team_tokens: Some(2_000_000),
                agent_tokens: Some(900_000),
                team_cost: Some(5.0),
                ..UsageBudgets::default()
            },
            periods: None,
            raised: vec![RaisedBudget {
                budget: UsageBudget::TeamCost,
                whose: None,
                allowed: 10.0,
            }],
        })),
    ];
    // Each event reports one more call, so that its usage counts for the task of the agent.
    out.extend((1..=3_u32).map(|n| {
        let many = u64::from(n);
        used(
            name("alice"),
            20_000 + many * 5_000,
            5 + many,
            Some(0.7 + f64::from(n) / 10.0),
        )
    }));
    out
}
