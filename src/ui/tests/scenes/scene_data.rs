//! Data for the scenes in which a pane or popup has more content than fits.

use std::sync::Arc;

use serde_json::{Map, json};

use crate::domain::ids::Name;
use crate::domain::mail::MailKind;
use crate::domain::permission::{PermissionScope, SessionPermission};
use crate::domain::request::{Approver, PendingCall, Request, RequestKind};
use crate::domain::subagent::SubagentKind;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::{TodoItem, TodoList, TodoStatus};
use crate::domain::usage::Usage;
use crate::protocol::event::DeliveryState;
use crate::protocol::{AgentEvent, EventKind, TeamEvent};
use crate::ui::fixture::{NOON, mail_message, name, permission, plan, question};
use crate::ui::tests::background_work::sent;

/// Returns the event of a todo list with the maximum number of items.
pub fn long_todo() -> EventKind {
    let texts = [
        "Read what is there",
        "Split the work so that no two teammates change the same file at the same time, and say so in each task",
        "检查中文标题 and emoji 👍",
        "Merge",
    ];
    let item = |at: usize| TodoItem {
        id: (at + 1).to_string(),
        text: texts[at % texts.len()].into(),
        status: match at {
            0..7 => TodoStatus::Completed,
            7 => TodoStatus::InProgress,
            _ => TodoStatus::Pending,
        },
    };
    AgentEvent::TodoChanged {
        list: TodoList::new((0..20).map(item).collect()).unwrap(),
    }
    .of(Name::lead())
}

pub fn done_todo() -> EventKind {
    let item = |(id, text): (u32, &str)| TodoItem {
        id: id.to_string(),
        text: text.into(),
        status: TodoStatus::Completed,
    };
    let texts = ["Read what is there", "Split the work", "Merge"];
    AgentEvent::TodoChanged {
        list: TodoList::new((1..).zip(texts).map(item).collect()).unwrap(),
    }
    .of(Name::lead())
}

/// Returns every activity that an agent can have, once each.
fn activities() -> Vec<Activity> {
    let all = vec![
        Activity::Thinking,
        Activity::Tool {
            tool: "bash".into(),
            on: "cargo test --workspace --all-features".into(),
        },
        Activity::Compacting,
        Activity::Idle,
        Activity::Queued { place: 3 },
        Activity::Backoff {
            cause: "rate limited".into(),
            until: Timestamp(NOON + 600.0),
            attempt: 2,
            attempts_max: 8,
        },
        Activity::NeedsYou {
            request: RequestKind::Permission,
        },
        Activity::Stuck {
            why: "it ended its turn with its task open".into(),
        },
        Activity::Failed {
            why: "no such model: scripted-dmeo".into(),
        },
        Activity::Gone,
    ];
    for activity in &all {
        // This `match` does not compile until a new activity is added here.
        match activity {
            Activity::Thinking
            | Activity::Tool { .. }
            | Activity::Compacting
            | Activity::Idle
            | Activity::Queued { .. }
            | Activity::Backoff { .. }
            | Activity::NeedsYou { .. }
            | Activity::Stuck { .. }
            | Activity::Failed { .. }
            | Activity::Gone => {}
        }
    }
    all
}

/// Returns the events of a team that is larger than its pane, with every activity.
pub fn large_team() -> Vec<EventKind> {
    let names = [
        "alice",
        "bob",
        "carol",
        "dave",
        "erin",
        "frank",
        "grace",
        "heidi",
        "ivan",
        "judy",
        "a-name-that-is-as-long-as-may-be",
        "mallory",
        "niaj",
        "olivia",
        "peggy",
        "rupert",
        "sybil",
        "trent",
        "victor",
        "walter",
    ];
    let activities = activities();
    let mut team = Team {
        team_name: "parser".into(),
        members: vec![],
        lead_models: std::collections::BTreeMap::new(),
        extra: Map::new(),
    };
    let mut out = Vec::new();
    for (at, who) in names.into_iter().enumerate() {
        let activity = activities[at % activities.len()].clone();
        let mut member = Member::new(name(who), "decoder");
        member.status = match activity {
            Activity::Gone => MemberStatus::Shutdown,
            Activity::Idle => MemberStatus::Idle,
            _ => MemberStatus::Working,
        };
        team.members.push(member);
        let agent = name(who);
        let tokens = 7_u64.pow(u32::try_from(at % 9).unwrap());
        out.push(AgentEvent::ActivityChanged { activity }.of(agent.clone()));
        out.push(
            AgentEvent::UsageChanged {
                total: Usage {
                    input: tokens,
                    output: tokens / 9,
                    ..Usage::default()
                },
                context: tokens.min(199_000),
                window: Some(200_000),
                assumed: false,
                cost: Some(f64::from(u32::try_from(tokens).unwrap()) * 4e-6),
                estimated: false,
                calls: tokens / 4_000 + 1,
            }
            .of(agent),
        );
    }
    out.insert(
        0,
        EventKind::Team(TeamEvent::RosterChanged {
            team: Arc::new(team),
        }),
    );
    out
}

/// Returns messages of every kind, more than fit into the inbox.
pub fn many_messages() -> Vec<EventKind> {
    let words = [
        "Which byte order has the header?",
        "Little.\nThe magic number tells it, see docs/format.md, where the version is described too, with a table of all of them.",
        "请检查块表的长度 👍",
        "ok",
    ];
    let kinds: Vec<MailKind> = serde_json::from_value(json!(MailKind::KNOWN)).unwrap();
    let steps = [
        DeliveryState::ActedOn,
        DeliveryState::Delivered,
        DeliveryState::Sent,
    ];
    let pairs = [
        ("lead", "alice"),
        ("alice", "bob"),
        ("bob", "lead"),
        ("lead", "a-name-that-is-as-long-as-may-be"),
    ];
    let one = |at: usize| {
        let (from, to) = pairs[at % pairs.len()];
        let kind = kinds[at % kinds.len()].clone();
        let mut message = mail_message(&format!("n{at}"), kind, from, to, words[at % words.len()]);
        message.timestamp.0 += 97.0 * f64::from(u32::try_from(at).unwrap());
        EventKind::Team(TeamEvent::MessageMoved {
            message,
            step: steps[at % steps.len()],
        })
    };
    (0..60).map(one).collect()
}

/// Returns a permission request of the agent `who` for `command`, with scopes for the whole team, created `after` seconds
/// after the usual one.
pub fn permission_request(id: &str, who: &str, command: &str, after: f64) -> Request {
    let mut request = permission(id);
    request.from = name(who);
    request.target = name(who);
    request.created_at.0 += after;
    request.workdir = format!(".worktrees/{who}");
    request.body = format!("bash\n$ {command}\n\nit connects to other machines");
    request.call = Some(PendingCall {
        tool: "bash".into(),
        input: command.into(),
        why: "it connects to other machines".into(),
        scopes: vec![
            PermissionScope::Exact {
                command: command.into(),
            },
            PermissionScope::Begins {
                words: "git push".into(),
            },
        ],
    });
    request
}

/// Returns the events in which several agents request permission for the same long command.
pub fn same_asked_by(names: &[&str]) -> Vec<EventKind> {
    let ask = |(at, who): (u32, &&str)| {
        permission_request(
            &format!("s{at}"),
            who,
            &long_command(),
            f64::from(at) - 60.0,
        )
    };
    let requests = (0..).zip(names).map(ask);
    requests
        .map(|request| EventKind::Team(TeamEvent::RequestChanged { request }))
        .collect()
}

/// Returns the event of a plan that the lead can also decide.
pub fn the_leads() -> Vec<EventKind> {
    let mut request = plan("r8", "1. Read the header.\n2. Write the tests.");
    request.approver = Approver::Lead;
    vec![EventKind::Team(TeamEvent::RequestChanged { request })]
}

/// Returns the event of a plan that is written in Markdown.
pub fn written_plan() -> Vec<EventKind> {
    let body = "## Plan\n\nThe **lexer** comes first, `parse.rs` after it:\n\n1. Read the *header*, which is two bytes \
        and says how many blocks there are.\n2. Write the tests:\n   - one for each `Kind`\n   - one that **fails**\n\n\
        ```rust\nfn header(bytes: &[u8]) -> Header {\n    todo!()\n}\n```\n\n| step | file |\n|---|---|\n\
        | 1 | `lexer.rs` |\n";
    let request = plan("r9", body);
    vec![EventKind::Team(TeamEvent::RequestChanged { request })]
}

/// Returns the events of a small team whose agents have long names.
pub fn long_names() -> Vec<EventKind> {
    let mut team = Team {
        team_name: "parser".into(),
        members: vec![],
        lead_models: std::collections::BTreeMap::new(),
        extra: Map::new(),
    };
    for (who, role) in [
        ("frontend-developer", "screens"),
        ("documentation-writer", "words"),
        ("bob", "reviewer"),
    ] {
        team.members.push(Member::new(name(who), role));
    }
    let team = Arc::new(team);
    vec![EventKind::Team(TeamEvent::RosterChanged { team })]
}

/// Returns the events of two running subagents of the lead.
pub fn subagents() -> Vec<EventKind> {
    let name = |n| Name::subagent(&Name::lead(), n);
    let mut out = sent(&name(1), "u1", SubagentKind::Explore, "find the tests");
    out.extend(sent(
        &name(2),
        "u2",
        SubagentKind::General,
        "count the lines of all files",
    ));
    out
}

pub fn long_command() -> String {
    let tags: Vec<String> = (1..40).map(|n| format!("git tag v{n}")).collect();
    format!("git push origin main && {}", tags.join(" && "))
}

/// Returns the events of more requests than fit into their pane. The first one is higher than the screen.
pub fn many_requests() -> Vec<EventKind> {
    let steps: Vec<String> = (1..60)
        .map(|n| format!("{n}. Read block {n} and write what it holds."))
        .collect();
    let mut requests = vec![
        plan("r1", &steps.join("\n")),
        permission_request("r2", "alice", &long_command(), 5.0),
        question("r3", &["Version 1", "Version 2"]),
    ];
    requests.extend((4..9).map(|n| {
        permission_request(
            &format!("r{n}"),
            "carol",
            &format!("make part-{n}"),
            f64::from(n),
        )
    }));
    let events = requests.into_iter();
    events
        .map(|request| EventKind::Team(TeamEvent::RequestChanged { request }))
        .collect()
}

/// Returns a question whose choices need more rows than there are.
pub fn long_question() -> Request {
    question(
        "q1",
        &[
            "Version 1, which every reader knows",
            "Version 2, with checksums",
            "Version 2 without checksums, which is faster to write and a little harder to debug when a disk goes bad",
            "Both, by an option",
            "四号格式 👍",
            "None of these",
        ],
    )
}

/// Returns the event with two session permissions: for all commands that begin with certain words, and for one exact
/// command.
pub fn rules() -> EventKind {
    let rule = |number, scope| SessionPermission {
        number,
        scope,
        by: Name::user(),
        asked_by: name("alice"),
        since: Timestamp(1.0),
    };
    let words = "git push".into();
    let command = "kill 4711".into();
    EventKind::Team(TeamEvent::PermissionsChanged {
        rules: vec![
            rule(1, PermissionScope::Begins { words }),
            rule(4, PermissionScope::Exact { command }),
        ],
    })
}
