//! A disk that fills up while the crew works: each file has its old or its new content, the error is shown, and work
//! continues when there is room again.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::limited_resources::{
    CommandResult, RUN_ARGS, SmallDisk, conversation, crewdeck_through, files, run_to_end, start,
    subjects, wait_for_end, write_script,
};
use crate::common::pty::Screen;
use crate::common::wait::wait_until;
use crate::resources::environment::wait_for_crew;
use crewdeck::domain::chat::Message;

/// Returns 10 kB of text, which is more than a block of the file system.
fn long_text() -> String {
    "word ".repeat(2000)
}

/// Returns script rules by which the lead fills the disk, goes on working, and frees the space.
fn full_disk_rules() -> String {
    let long = long_text();
    format!(
        "
  - when: ^go$
    say: Before.
    calls:
      - {{ tool: task_create, input: {{ subject: before }} }}
      - {{ tool: write_file, input: {{ path: kept.txt, content: old }} }}
      - {{ tool: bash, input: {{ command: ln -s kept.txt link; cat /dev/zero > fill }} }}
  - say: Full. {long}
    calls:
      - {{ tool: task_create, input: {{ subject: during }} }}
      - {{ tool: write_file, input: {{ path: kept.txt, content: new }} }}
      - {{ tool: write_file, input: {{ path: link, content: new }} }}
      - {{ tool: claim_task, input: {{ task_id: 1 }} }}
      - {{ tool: send_message, input: {{ to: user, content: hello }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: worker }} }}
  - say: Still full.
    calls: [{{ tool: bash, input: {{ command: cat kept.txt link; rm fill }} }}]
  - say: Room.
    calls:
      - {{ tool: task_create, input: {{ subject: after }} }}
      - {{ tool: send_message, input: {{ to: user, content: hello }} }}
  - say: Done.
    times: 0
"
    )
}

#[test]
fn full_disk_tears_no_file_and_work_continues_with_room() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    write_script(&disk.outside_path, &full_disk_rules());
    let run = run_to_end(disk.crewdeck(RUN_ARGS)).ok();
    assert!(
        run.out.ends_with("Still full.\nRoom.\nDone.\n"),
        "{}",
        run.out
    );
    for tool in [
        "task_create",
        "claim_task",
        "send_message",
        "spawn_teammate",
        "write_file",
    ] {
        let failed = format!("lead · {tool} failed: Error: ");
        let lines: Vec<&str> = run.err.lines().filter(|l| l.starts_with(&failed)).collect();
        assert!(!lines.is_empty(), "{tool}: {}", run.err);
        let says = |l: &&str| l.contains("the disk is full: free some space");
        assert!(lines.iter().all(says), "{lines:?}");
    }
    run.only_line_with(&[
        "crewdeck: The conversation cannot be saved",
        "the disk is full",
    ]);
    run.only_line_with(&["Saving the conversation works again."]);
    run.only_line_with(&["warning: The journal cannot be written", "the disk is full"]);
    run.only_line_with(&["The journal is being written again"]);

    assert_eq!(subjects(&disk.outside_path), ["before", "after"]);
    assert_eq!(
        fs::read_to_string(disk.outside_path.join("kept.txt")).unwrap(),
        "old"
    );
    let mail = fs::read_to_string(disk.outside_path.join(".team/inbox/user.jsonl")).unwrap();
    assert_eq!(mail.matches("hello").count(), 1, "{mail}");
    // The saved conversation is complete and has no duplicates.
    let messages = conversation(&disk.outside_path, "lead", 0);
    let texts: Vec<String> = messages.iter().map(Message::text).collect();
    for expected in ["Before.", "Still full.", "Room.", "Done."] {
        assert_eq!(
            texts.iter().filter(|s| *s == expected).count(),
            1,
            "{expected}"
        );
    }
    assert_eq!(texts.iter().filter(|s| s.starts_with("Full.")).count(), 1);
    assert_no_temporary_files(&disk.outside_path);
}

fn assert_no_temporary_files(root: &Path) {
    for folder in [
        ".tasks",
        ".team",
        ".team/inbox",
        ".team/requests",
        ".transcripts",
        ".",
    ] {
        for path in files(&root.join(folder)) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.contains("tmp"), "{folder}/{name}");
        }
    }
}

#[test]
fn message_received_on_a_full_disk_is_processed_once() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    let long = long_text();
    write_script(
        &disk.outside_path,
        &format!(
            "
  - when: ^go$
    calls:
      - {{ tool: bash, input: {{ command: \"touch waits; until [ -e full ]; do sleep 0.05; done\" }} }}
  - when: the secret
    say: I have read it. {long}
    calls: [{{ tool: task_list, input: {{}} }}]
  - say: And make room.
    calls: [{{ tool: bash, input: {{ command: rm fill }} }}]
  - say: Done.
    times: 0
"
        ),
    );
    let run = start(disk.crewdeck(RUN_ARGS));
    wait_until("the command waits", || {
        disk.outside_path.join("waits").exists()
    });
    run_to_end(disk.crewdeck(&["mail", "send", "lead", "the secret"])).ok();
    disk.fill();
    // An empty file needs no space on tmpfs.
    fs::File::create(disk.outside_path.join("full")).unwrap();
    let run = wait_for_end(run).ok();
    run.only_line_with(&[
        "crewdeck: The conversation cannot be saved",
        "the disk is full",
    ]);
    assert_eq!(run.out.matches("I have read it").count(), 1, "{}", run.out);
    let messages = conversation(&disk.outside_path, "lead", 0);
    let has_message = |m: &&Message| m.text().contains("the secret");
    assert_eq!(messages.iter().filter(has_message).count(), 1);
    let unread = run_to_end(disk.crewdeck(&["mail", "list", "lead", "--json"])).ok();
    assert_eq!(unread.out.trim(), "[]");
}

#[test]
fn teammate_retries_a_failed_claim_until_the_disk_has_room() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    write_script(
        &disk.outside_path,
        "
  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: worker } }]
  - agent: lead
    say: Bob is here.
    times: 0
  - agent: bob
    when: task_id|#1
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - agent: bob
    say: It is done.
    times: 0
",
    );
    fs::write(
        disk.outside_path.join(".crewdeck/config.toml"),
        "idle_timeout_s = 0\n",
    )
    .unwrap();
    let mut screen = start_dashboard(&disk);
    screen.wait_for("crewdeck");
    screen.send("go");
    screen.wait_for("│ go ");
    screen.send("\r");
    screen.wait_for("Bob is here.");
    // A status message can disappear before it is read; the teammate's conversation keeps the notice.
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("4g\r");
    screen.wait_for(" to bob ");
    // Makes the task claimable as another program would: in place, because the full disk has no room for a new file.
    run_to_end(disk.crewdeck(&["task", "add", "later", "--tag", "unmatched"])).ok();
    let path = disk.outside_path.join(".tasks/task_1.json");
    let text = fs::read_to_string(&path).unwrap();
    disk.fill();
    let text = text.replace("\"unmatched\"", "");
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    fs::write(&path, text).unwrap();
    screen.wait("the reason why bob waits", |t| {
        // Only the left pane, joined to one line.
        let left = t
            .lines()
            .map(|l| l.split('│').nth(1).unwrap_or_default().trim());
        let left = left.collect::<Vec<_>>().join(" ");
        left.contains("cannot be claimed; retrying")
            && left.contains("the disk is full: free some space")
    });
    let before = cpu_ticks(screen.pid());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let used = cpu_ticks(screen.pid()) - before;
    assert!(
        used < 50,
        "{used} CPU ticks of 10 ms: the retry loop does not wait"
    );
    disk.make_room();
    wait_until("the task is completed", || {
        fs::read_to_string(&path).is_ok_and(|text| text.contains("completed"))
    });
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?}");
}

/// Types a prompt and sends it. Enter is sent separately, because text and Enter in one piece count as pasted.
fn type_prompt(screen: &mut Screen, text: &str) {
    screen.send(text);
    screen.wait_for(&format!("│ {text} "));
    screen.send("\r");
}

/// Returns the user and system CPU time that a process has used, in clock ticks.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn start_dashboard(disk: &SmallDisk) -> Screen {
    let arguments = [
        &disk.enter_command[1..],
        &[
            env!("CARGO_BIN_EXE_crewdeck").to_string(),
            "--provider".into(),
            "script:script.yaml".into(),
            "--tool".into(),
            "auto".into(),
        ],
    ]
    .concat();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Screen::start_program(
        Path::new(&disk.enter_command[0]),
        Path::new("/"),
        160,
        45,
        &arguments,
        &[("HOME", &disk.dir.to_string_lossy())],
    )
}

/// Returns the text of each message in the lead's conversation on the disk.
fn lead_texts(disk: &SmallDisk) -> Vec<String> {
    let messages = conversation(&disk.outside_path, "lead", 0);
    let words = messages.iter().map(Message::text);
    words.filter(|w| !w.is_empty()).collect()
}

#[test]
fn dashboard_reports_a_full_disk_and_recovers() {
    let Some(disk) = SmallDisk::new(512) else {
        return;
    };
    write_script(
        &disk.outside_path,
        "
  - when: ^first$
    calls: [{ tool: task_create, input: { subject: one } }]
  - when: the disk is full
    say: That did not work.
  - when: ^second$
    calls: [{ tool: task_create, input: { subject: two } }]
  - say: That did.
    times: 0
",
    );
    let mut screen = start_dashboard(&disk);
    wait_for_crew(&screen);
    disk.fill();
    type_prompt(&mut screen, "first");
    screen.wait_for("That did not work.");
    let text = screen.text().replace('\n', " ");
    assert!(text.contains("the disk is full"), "{text}");
    disk.make_room();
    type_prompt(&mut screen, "second");
    screen.wait_for("That did.");
    assert_eq!(subjects(&disk.outside_path), ["two"]);
    // Texts appear on screen before they are on disk.
    wait_until("four texts on disk", || lead_texts(&disk).len() >= 4);
    let texts = lead_texts(&disk);
    assert_eq!(
        texts,
        ["first", "That did not work.", "second", "That did."]
    );
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?}");
}

#[test]
fn crew_started_on_a_full_disk_reports_it() {
    let Some(disk) = SmallDisk::new(512) else {
        return;
    };
    write_script(&disk.outside_path, "  - say: Done.\n    times: 0\n");
    disk.fill();
    // On tmpfs the folders of a new crew need no space, but their files do.
    let run = run_to_end(disk.crewdeck(RUN_ARGS));
    assert!(
        run.err.contains("the disk is full: free some space"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("panicked"), "{}", run.err);
    disk.make_room();
    let run = run_to_end(disk.crewdeck(RUN_ARGS)).ok();
    assert_eq!(run.out, "Done.\n");
}

/// Runs crewdeck with a limit of 8 KiB for each file. The shell is bash because its `ulimit -f` counts blocks of 1024
/// bytes; that of sh counts 512.
fn run_with_file_size_limit(dir: &Path) -> CommandResult {
    let mut command = crewdeck_through(
        &["bash", "-c", "ulimit -f 8 && exec \"$@\"", "bash"],
        dir,
        RUN_ARGS,
    );
    command.stdin(Stdio::null());
    run_to_end(command)
}

#[test]
fn file_size_limit_loses_no_output_and_joins_no_lines() {
    let dir = tempfile::tempdir().unwrap();
    let long = long_text();
    write_script(
        dir.path(),
        &format!(
            "
  - when: ^go$
    calls: [{{ tool: task_create, input: {{ subject: before }} }}]
  - say: Long. {long}
    calls: [{{ tool: task_create, input: {{ subject: large, description: {long} }} }}]
  - say: Next.
    calls: [{{ tool: task_create, input: {{ subject: after }} }}]
  - say: Done.
    times: 0
"
        ),
    );
    let run = run_with_file_size_limit(dir.path()).ok();
    assert!(run.out.ends_with("Next.\nDone.\n"), "{}", run.out);
    let failed = run.only_line_with(&["lead · task_create failed"]);
    assert!(failed.contains("ulimit -f"), "{failed}");
    run.only_line_with(&["crewdeck: The conversation cannot be saved", "ulimit -f"]);
    assert_eq!(subjects(dir.path()), ["before", "after"]);
    assert_no_temporary_files(dir.path());
    // The log ends in a torn line; a resumed session loses only what had no room.
    conversation(dir.path(), "lead", 1);
    write_script(dir.path(), "  - say: Again.\n    times: 0\n");
    let mut again = RUN_ARGS.to_vec();
    again.push("--resume");
    let run = run_to_end(crate::common::limited_resources::crewdeck(
        dir.path(),
        &again,
    ))
    .ok();
    assert!(
        run.err.contains("could not be read: see .transcripts/"),
        "{}",
        run.err
    );
    let messages = conversation(dir.path(), "lead", 0);
    assert_eq!(messages.last().unwrap().text(), "Again.");
}
