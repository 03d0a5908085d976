//! The "Needs you" panel in a real terminal: questions, shared permission requests, session permissions and comments on
//! decisions.

use std::path::Path;

use serde_json::Value;

use crate::common::pty::Screen;

const ALT_W: &str = "\x1bw";
/// Keys that move the focus to the composer from anywhere.
const COMPOSE: &str = "\x1b1i";

/// Starts crewdeck in a terminal of 160 × 45 with a model that follows the script rules `rules`.
fn start_scripted(home: &Path, rules: &str, more: &[&str]) -> Screen {
    let file = home.join("script.yaml");
    std::fs::write(&file, format!("rules:\n{rules}")).unwrap();
    let provider = format!("script:{}", file.display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    let screen = Screen::start(home, 160, 45, &args);
    screen.wait_for("to lead");
    screen
}

/// Quits the dashboard from any screen. Panics if it fails or does not restore the terminal.
fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Returns the fields `from`, `status`, `decided_by` and `comment` of each request of the project, oldest first.
fn requests(root: &Path) -> Vec<[String; 4]> {
    let files = std::fs::read_dir(root.join(".team/requests")).unwrap();
    let paths = files.map(|e| e.unwrap().path());
    let mut all: Vec<Value> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap())
        .collect();
    let at = |v: &Value| v["created_at"].as_f64().unwrap();
    all.sort_by(|a, b| at(a).total_cmp(&at(b)));
    let field = |v: &Value, name: &str| v[name].as_str().unwrap().to_string();
    let row = |v: &Value| ["from", "status", "decided_by", "comment"].map(|name| field(v, name));
    all.iter().map(row).collect()
}

fn row(from: &str, status: &str, by: &str, comment: &str) -> [String; 4] {
    [from, status, by, comment].map(str::to_string)
}

#[test]
fn number_key_answers_a_question_with_choices() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^ask
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green, blue] } }]
  - when: 'The user answers: green'
    calls: [{ tool: ask_user, input: { question: How green? } }]
  - when: 'The user answers: 2 parts'
    calls: [{ tool: ask_user, input: { question: Really? } }]
  - when: decide yourself
    say: I decide myself.
";
    let mut screen = start_scripted(home.path(), rules, &[]);
    screen.send("ask me\r");
    screen.wait("the question with its choices", |t| {
        t.contains("lead asks you") && t.contains("3  blue")
    });
    screen.send_and_wait_for(ALT_W, "r decline");
    screen.send("2");
    screen.wait("the second card", |t| {
        t.contains("lead asks you") && t.contains("How green?")
    });
    // The card may have the focus already.
    screen.send(ALT_W);
    screen.wait_for("c answer");
    screen.send_and_wait_for("c2 parts", "2 parts");
    screen.send("\r");
    screen.wait("the third card", |t| {
        t.contains("lead asks you") && t.contains("Really?")
    });
    screen.send(ALT_W);
    screen.wait("the card has the focus", |t| {
        t.contains("Really?") && t.contains("r decline")
    });
    screen.send_and_wait_for("r", "I decide myself.");
    assert_eq!(
        requests(home.path()),
        [
            row("lead", "approved", "user", "green"),
            row("lead", "approved", "user", "2 parts"),
            row("lead", "rejected", "user", ""),
        ]
    );
    quit(screen);
}

const CLEANUP_RULES: &str = r"
  - when: ^begin
    calls:
      - { tool: spawn_teammate, input: { name: alice, role: cleaner, prompt: clean up } }
      - { tool: bash, input: { command: 'rm -rf gone; echo lead has cleaned' } }
  - agent: alice
    when: clean up
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo lead has cleaned' } }]
  - agent: alice
    say: Alice is done.
  - when: '(?s)lead has cleaned.*with the comment: mind the gap'
    say: I mind it.
  - when: ^again
    times: 0
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo cleaned again' } }]
  - when: cleaned again
    times: 0
    say: No further question.
  - when: rejected by the user
    times: 0
    say: So it stays.
";

#[test]
fn identical_permission_requests_share_one_decision() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_scripted(home.path(), CLEANUP_RULES, &[]);
    screen.send_and_wait_for("begin\r", "also asked by");
    screen.wait_for("1 needs you");
    screen.send_and_wait_for(ALT_W, "a approve");
    screen.send_and_wait_for("cmind the gap", "mind the gap");
    screen.send_and_wait_for("\r", "a approve with comment");
    screen.send_and_wait_for("a", "I mind it.");
    let mut decided = requests(home.path());
    decided.sort();
    assert_eq!(
        decided,
        [
            row("alice", "approved", "user", "mind the gap"),
            row("lead", "approved", "user", "mind the gap"),
        ]
    );
    quit(screen);
}

#[test]
fn team_permission_applies_until_it_is_revoked() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_scripted(home.path(), CLEANUP_RULES, &[]);
    screen.send_and_wait_for("again\r", "lead asks for permission");
    screen.send_and_wait_for(ALT_W, "A for the team");
    screen.send_and_wait_for("A", "this exact command");
    screen.send_and_wait_for("\r", "No further question.");
    screen.wait_for("user allowed exactly");
    screen.send(COMPOSE);
    screen.send("again, please\r");
    screen.wait("a second answer", |t| {
        t.matches("No further question.").count() == 2
    });
    assert_eq!(
        requests(home.path()),
        [row("lead", "approved", "user", "")],
        "the user was asked once"
    );
    screen.send_and_wait_for("/rules\r", "Allowed until crewdeck ends");
    screen.send_and_wait_for("\r", "user revoked");
    screen.send_and_wait_for("again, once more\r", "lead asks for permission");
    screen.send_and_wait_for(ALT_W, "r reject");
    screen.send_and_wait_for("cNot today.", "Not today.");
    screen.send_and_wait_for("\r", "r reject with comment");
    screen.send_and_wait_for("r", "So it stays.");
    let last = requests(home.path()).pop();
    assert_eq!(last, Some(row("lead", "rejected", "user", "Not today.")));
    quit(screen);
}

#[test]
fn comment_on_a_shutdown_decision_reaches_the_lead() {
    for (key, reply) in [
        ("a", "'alice may shut down. Thank her for all.'"),
        (
            "r",
            "'did not allow alice to shut down. Thank her for all.'",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let rules = format!(
            r"
  - when: ^begin
    calls:
      - {{ tool: spawn_teammate, input: {{ name: alice, role: cleaner, prompt: wait }} }}
      - {{ tool: shutdown_request, input: {{ teammate: alice, reason: All is done. }} }}
  - agent: alice
    times: 0
    say: I am idle.
  - when: {reply}
    say: I heard what you said.
  - when: .
    times: 0
    say: I go on.
"
        );
        let mut screen = start_scripted(home.path(), &rules, &[]);
        screen.send_and_wait_for("begin\r", "lead wants alice to shut down");
        screen.send_and_wait_for(ALT_W, "c comment");
        screen.send_and_wait_for("cThank her for all.", "Thank her for all.");
        screen.send_and_wait_for("\r", "r reject with comment");
        screen.send_and_wait_for(key, "I heard what you said.");
        quit(screen);
    }
}

#[test]
fn request_pending_at_a_crash_is_reported_at_next_start() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^ask
    calls: [{ tool: ask_user, input: { question: Which colour? } }]
";
    let mut screen = start_scripted(home.path(), rules, &[]);
    screen.send_and_wait_for("ask me\r", "lead asks you");
    screen.kill();
    assert_eq!(requests(home.path()), [row("lead", "pending", "", "")]);

    let mut screen = start_scripted(home.path(), rules, &[]);
    screen.send_and_wait_for("\u{1b}", "i to write");
    // The next status message can replace this one at once; the event log keeps both.
    screen.send("@");
    let text = screen.wait_for("before a decision: lead asked you: Which colour?");
    assert!(!text.contains("needs you"), "{text}");
    assert_eq!(
        requests(home.path()),
        [row(
            "lead",
            "withdrawn",
            "lead",
            "the crew that asked has ended"
        )]
    );
    quit(screen);
}

#[test]
fn lead_decides_a_permission_and_its_comment_is_delivered() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^begin
    calls: [{ tool: spawn_teammate, input: { name: alice, role: cleaner, prompt: clean up } }]
  - agent: alice
    when: clean up
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo cleaned' } }]
  - agent: alice
    when: 'cleaned\n\[Approved by lead with the comment: be quick\]'
    say: Quick as I can.
    calls: [{ tool: send_message, input: { to: user, content: The lead said it. } }]
  - agent: alice
    times: 0
    say: I am idle.
  - when: 'request_id.{0,20}?([0-9a-f]{32})'
    calls: [{ tool: decide_request, input: { request_id: '{{1}}', approve: true, comment: be quick } }]
  - when: .
    times: 0
    say: I go on.
";
    let mut screen = start_scripted(home.path(), rules, &["--tool", "lead"]);
    screen.send_and_wait_for("begin\r", "The lead said it.");
    assert_eq!(
        requests(home.path()),
        [row("alice", "approved", "lead", "be quick")]
    );
    assert!(!screen.text().contains("needs you"));
    quit(screen);
}

#[test]
fn comment_on_a_plan_decision_reaches_the_planner() {
    for (key, status) in [("a", "approved"), ("r", "rejected")] {
        let home = tempfile::tempdir().unwrap();
        let rules = format!(
            r"
  - when: ^begin
    calls: [{{ tool: spawn_teammate, input: {{ name: alice, role: cleaner, prompt: clean up, plan: required }} }}]
  - agent: alice
    when: clean up
    calls: [{{ tool: plan_approval, input: {{ plan: I sweep. }} }}]
  - agent: alice
    when: '^Plan {status} by user: Mind the cat.'
    calls: [{{ tool: send_message, input: {{ to: user, content: I mind the cat. }} }}]
  - when: .
    times: 0
    say: I go on.
"
        );
        let mut screen = start_scripted(home.path(), &rules, &[]);
        screen.send_and_wait_for("begin\r", "alice asks you to approve its plan");
        screen.send_and_wait_for(ALT_W, "c comment");
        screen.send_and_wait_for("cMind the cat.", "Mind the cat.");
        screen.send_and_wait_for("\r", "r reject with comment");
        screen.send_and_wait_for(key, "I mind the cat.");
        assert_eq!(
            requests(home.path()),
            [row("alice", status, "user", "Mind the cat.")]
        );
        quit(screen);
    }
}

#[test]
fn desktop_notification_only_when_terminal_is_unfocused() {
    const DESKTOP: &[u8] = b"\x1b]9;crewdeck: lead asks you\x07";
    const QUESTION: &str = r"
  - when: ^ask
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green] } }]
  - when: .
    times: 0
    say: Fine.
";
    let output_contains =
        |screen: &Screen, part: &[u8]| screen.raw().windows(part.len()).any(|w| w == part);
    for (focus, is_notified) in [("\x1b[O", true), ("\x1b[I", false)] {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".crewdeck")).unwrap();
        let settings = home.path().join(".crewdeck/config.toml");
        std::fs::write(settings, "notify = \"desktop\"\n").unwrap();
        let mut screen = start_scripted(home.path(), QUESTION, &[]);
        assert!(
            output_contains(&screen, b"\x1b[?1004h"),
            "focus reporting is enabled"
        );
        screen.send("ask me\r");
        screen.send(focus);
        // The tool call shows the question a moment before the card exists.
        screen.wait_for("lead asks you");
        screen.send_and_wait_for(ALT_W, "r decline");
        assert_eq!(output_contains(&screen, DESKTOP), is_notified, "{focus:?}");
        screen.send_and_wait_for("1", "Fine.");
        quit(screen);
    }
}

#[test]
fn text_typed_in_the_composer_answers_the_question() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^ask
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green] } }]
  - when: 'The user answers: green'
    calls: [{ tool: ask_user, input: { question: How green? } }]
  - when: .
    times: 0
    say: Moss it is.
";
    let mut screen = start_scripted(home.path(), rules, &[]);
    screen.send("ask me\r");
    screen.wait("the question with its choices above the composer", |t| {
        t.contains(" answer to lead ") && t.contains("  Which colour?") && t.contains("  2  green")
    });
    screen.send("2\r");
    screen.wait("the second question", |t| {
        t.contains(" answer to lead ") && t.contains("  How green?")
    });
    // With the lead's name it is a message, and the question stays open.
    screen.send_and_wait_for(
        "@lead one moment\r",
        "Sent to lead as a message. Its question is still open",
    );
    screen.send_and_wait_for("like moss\r", "Moss it is.");
    screen.wait_for("› one moment");
    assert_eq!(
        requests(home.path()),
        [
            row("lead", "approved", "user", "green"),
            row("lead", "approved", "user", "like moss"),
        ]
    );
    quit(screen);
}

#[test]
fn focus_returns_after_the_second_of_two_requests() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^clean
    calls:
      - { tool: bash, input: { command: rm -rf first; sleep 6 } }
      - { tool: bash, input: { command: rm -rf second } }
  - when: .
    times: 0
    say: So the second stays.
";
    let mut screen = start_scripted(home.path(), rules, &[]);
    screen.send_and_wait_for("clean\r", "$ rm -rf first");
    screen.send_and_wait_for(ALT_W, "a approve");
    // The approved command works for some seconds before the next card appears.
    screen.send("a");
    // The card shows its buttons while "Needs you" has the focus.
    screen.wait("the second card with its buttons", |t| {
        let has_line = |part| t.lines().any(|l| l.contains(part));
        has_line("$ rm -rf second") && has_line("r reject")
    });
    // A card that has just appeared ignores keys.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send_and_wait_for("r", "So the second stays.");
    // The focus stays there until the user leaves it.
    screen.wait_for("No other request is open. Esc goes back.");
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send_and_wait_for("\x1b", "│ Say what you want done");
    let decided = |status| row("lead", status, "user", "");
    assert_eq!(
        requests(home.path()),
        [decided("approved"), decided("rejected")]
    );
    quit(screen);
}

/// Returns a script in which the lead asks for permission to run `command`.
fn script_for_command(command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        "  - when: ^begin\n    calls: [{{ tool: bash, input: {{ command: {command} }} }}]\n  - when: .\n    times: 0\n    say: It is gone.\n"
    )
}

#[test]
fn permission_needs_its_end_in_view_before_approval() {
    let home = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..120).map(|n| format!("echo line {n}")).collect();
    let command = format!("{}\nrm -rf gone", lines.join("\n"));
    let mut screen = start_scripted(home.path(), &script_for_command(&command), &[]);
    screen.send("begin\r");
    screen.wait("the dangerous part on top", |t| {
        t.contains("it runs: rm -rf gone") && t.contains("echo line 0")
    });
    screen.send_and_wait_for(ALT_W, "before approving");
    screen.send_and_wait_for("a", "Part of the request was hidden");
    assert_eq!(requests(home.path())[0][1], "pending");
    screen.send("A");
    screen.wait("no question about the scope of the permission", |t| {
        t.contains("Part of the request was hidden") && t.contains("a approve")
    });
    screen.send_and_wait_for("\x1b[F", "echo line 119");
    screen.send_and_wait_for("a", "It is gone.");
    assert_eq!(requests(home.path())[0][1], "approved");
    quit(screen);
}

#[test]
fn filler_in_a_permission_is_folded_and_marked() {
    let home = tempfile::tempdir().unwrap();
    let command = format!(
        "echo hello{}\n# {}\nrm -rf gone",
        "\n".repeat(300),
        "x".repeat(3000)
    );
    let mut screen = start_scripted(home.path(), &script_for_command(&command), &[]);
    screen.send("begin\r");
    screen.wait("the fold marks, with the end in view", |t| {
        t.contains("it runs: rm -rf gone")
            && t.contains("300 blank lines")
            && t.contains("more characters of a comment")
    });
    screen.send_and_wait_for(ALT_W, "a approve");
    screen.send_and_wait_for("a", "characters of the command's comments are hidden");
    assert_eq!(requests(home.path())[0][1], "pending");
    // A double press counts as one key; a later press is the answer.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while requests(home.path())[0][1] == "pending" {
        assert!(std::time::Instant::now() < until, "{}", screen.text());
        screen.send("a");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    screen.wait_for("It is gone.");
    quit(screen);
}
