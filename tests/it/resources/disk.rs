//! A disk that is full while the crew works: what is on it is as before or as after, the error is shown, and
//! the work goes on when there is room.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::narrow::{
    RUN, Ran, SmallDisk, conversation, crewdeck_by, end_of, files, ran, script, start as begin,
    subjects, wait_until,
};
use crate::common::pty::Screen;
use crate::resources::surroundings::stands;
use crewdeck::domain::chat::Message;

/// Long enough to fill more than a page of the log.
fn long() -> String {
    "word ".repeat(2000)
}

/// The lead fills the disk, works on the full one, and makes room.
fn fills_and_makes_room() -> String {
    let long = long();
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
fn on_a_full_disk_nothing_is_half_written_and_with_room_the_work_goes_on() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    script(&disk.seen, &fills_and_makes_room());
    let run = ran(disk.crewdeck(RUN)).ok();
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
    run.line(&[
        "crewdeck: The conversation cannot be saved",
        "the disk is full",
    ]);
    run.line(&["The conversation is saved again."]);
    run.line(&["warning: The journal cannot be written", "the disk is full"]);
    run.line(&["The journal is being written again"]);

    assert_eq!(subjects(&disk.seen), ["before", "after"]);
    assert_eq!(
        fs::read_to_string(disk.seen.join("kept.txt")).unwrap(),
        "old"
    );
    let letters = fs::read_to_string(disk.seen.join(".team/inbox/user.jsonl")).unwrap();
    assert_eq!(letters.matches("hello").count(), 1, "{letters}");
    // The whole conversation: nothing is lost and nothing stands there twice.
    let messages = conversation(&disk.seen, "lead", 0);
    let said: Vec<String> = messages.iter().map(Message::words).collect();
    for words in ["Before.", "Still full.", "Room.", "Done."] {
        assert_eq!(said.iter().filter(|s| *s == words).count(), 1, "{words}");
    }
    assert_eq!(said.iter().filter(|s| s.starts_with("Full.")).count(), 1);
    no_temporary_files(&disk.seen);
}

fn no_temporary_files(root: &Path) {
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
fn a_letter_that_comes_on_a_full_disk_is_acted_on_once() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    let long = long();
    script(
        &disk.seen,
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
    let run = begin(disk.crewdeck(RUN));
    wait_until("it waits", || disk.seen.join("waits").exists());
    ran(disk.crewdeck(&["mail", "send", "lead", "the secret"])).ok();
    disk.fill();
    // A name takes no room on this kind of disk.
    fs::File::create(disk.seen.join("full")).unwrap();
    let run = end_of(run).ok();
    run.line(&[
        "crewdeck: The conversation cannot be saved",
        "the disk is full",
    ]);
    assert_eq!(run.out.matches("I have read it").count(), 1, "{}", run.out);
    let messages = conversation(&disk.seen, "lead", 0);
    let holds = |m: &&Message| m.words().contains("the secret");
    assert_eq!(messages.iter().filter(holds).count(), 1);
    let left = ran(disk.crewdeck(&["mail", "list", "lead", "--json"])).ok();
    assert_eq!(left.out.trim(), "[]");
}

#[test]
fn a_teammate_that_can_not_claim_waits_for_room_and_goes_on_by_itself() {
    let Some(disk) = SmallDisk::new(1024) else {
        return;
    };
    script(
        &disk.seen,
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
        disk.seen.join(".crewdeck/config.toml"),
        "idle_timeout_s = 0\n",
    )
    .unwrap();
    let mut screen = dashboard(&disk);
    screen.wait_for("crewdeck");
    screen.send("go");
    screen.wait_for("│ go ");
    screen.send("\r");
    screen.wait_for("Bob is here.");
    // A short message may go before anybody sees it; the conversation of the teammate keeps it.
    screen.send("\x1b");
    screen.wait_for("? help");
    screen.send("4g\r");
    screen.wait_for(" to bob ");
    // As another program would write it: the file is there already when the disk fills up.
    ran(disk.crewdeck(&["task", "add", "later", "--tag", "nobody"])).ok();
    let path = disk.seen.join(".tasks/task_1.json");
    let text = fs::read_to_string(&path).unwrap();
    disk.fill();
    let text = text.replace("\"nobody\"", "");
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    fs::write(&path, text).unwrap();
    screen.wait("why it waits", |t| {
        // The left pane alone, as one line.
        let left = t
            .lines()
            .map(|l| l.split('│').nth(1).unwrap_or_default().trim());
        let left = left.collect::<Vec<_>>().join(" ");
        left.contains("cannot be claimed; retrying")
            && left.contains("the disk is full: free some space")
    });
    let before = cpu(screen.pid());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let used = cpu(screen.pid()) - before;
    assert!(
        used < 50,
        "{used} ticks of a hundredth second: it does not wait"
    );
    disk.make_room();
    wait_until("the task is completed", || {
        fs::read_to_string(&path).is_ok_and(|text| text.contains("completed"))
    });
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?}");
}

/// Types a prompt as a person does: what comes in one piece counts as pasted.
fn prompt(screen: &mut Screen, words: &str) {
    screen.send(words);
    screen.wait_for(&format!("│ {words} "));
    screen.send("\r");
}

/// The processor time that a process has used, in ticks.
fn cpu(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn dashboard(disk: &SmallDisk) -> Screen {
    let words = [
        &disk.inside[1..],
        &[
            env!("CARGO_BIN_EXE_crewdeck").to_string(),
            "--provider".into(),
            "script:script.yaml".into(),
            "--tool".into(),
            "auto".into(),
        ],
    ]
    .concat();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Screen::start_program(
        Path::new(&disk.inside[0]),
        Path::new("/"),
        160,
        45,
        &words,
        &[("HOME", &disk.dir.to_string_lossy())],
    )
}

/// All words of the lead's conversation on disk.
fn said(disk: &SmallDisk) -> Vec<String> {
    let messages = conversation(&disk.seen, "lead", 0);
    let words = messages.iter().map(Message::words);
    words.filter(|w| !w.is_empty()).collect()
}

#[test]
fn a_dashboard_on_a_full_disk_shows_it_and_takes_prompts_again_with_room() {
    let Some(disk) = SmallDisk::new(512) else {
        return;
    };
    script(
        &disk.seen,
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
    let mut screen = dashboard(&disk);
    stands(&screen);
    disk.fill();
    prompt(&mut screen, "first");
    screen.wait_for("That did not work.");
    let text = screen.text().replace('\n', " ");
    assert!(text.contains("the disk is full"), "{text}");
    disk.make_room();
    prompt(&mut screen, "second");
    screen.wait_for("That did.");
    assert_eq!(subjects(&disk.seen), ["two"]);
    // Words are on screen before they are on disk.
    let until = Instant::now() + Duration::from_secs(40);
    while said(&disk).len() < 4 && Instant::now() < until {
        std::thread::yield_now();
    }
    let said = said(&disk);
    assert_eq!(said, ["first", "That did not work.", "second", "That did."]);
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?}");
}

#[test]
fn a_crew_that_starts_on_a_full_disk_says_so() {
    let Some(disk) = SmallDisk::new(512) else {
        return;
    };
    script(&disk.seen, "  - say: Done.\n    times: 0\n");
    disk.fill();
    // The folders of a new crew take no room on this kind of disk, what is in them does.
    let run = ran(disk.crewdeck(RUN));
    assert!(
        run.err.contains("the disk is full: free some space"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("panicked"), "{}", run.err);
    disk.make_room();
    let run = ran(disk.crewdeck(RUN)).ok();
    assert_eq!(run.out, "Done.\n");
}

/// Runs with files of at most 8 KiB (ulimit -f counts blocks of 512 bytes in sh, of 1024 in bash).
fn short_files(dir: &Path) -> Ran {
    let mut command = crewdeck_by(
        &["bash", "-c", "ulimit -f 8 && exec \"$@\"", "bash"],
        dir,
        RUN,
    );
    command.stdin(Stdio::null());
    ran(command)
}

#[test]
fn where_files_may_not_grow_the_conversation_is_whole_on_screen_and_no_line_is_glued() {
    let dir = tempfile::tempdir().unwrap();
    let long = long();
    script(
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
    let run = short_files(dir.path()).ok();
    assert!(run.out.ends_with("Next.\nDone.\n"), "{}", run.out);
    let failed = run.line(&["lead · task_create failed"]);
    assert!(failed.contains("ulimit -f"), "{failed}");
    run.line(&["crewdeck: The conversation cannot be saved", "ulimit -f"]);
    assert_eq!(subjects(dir.path()), ["before", "after"]);
    no_temporary_files(dir.path());
    // The log ends in a torn line; whoever goes on with it loses no more than what had no room.
    conversation(dir.path(), "lead", 1);
    script(dir.path(), "  - say: Again.\n    times: 0\n");
    let mut again = RUN.to_vec();
    again.push("--resume");
    let run = ran(crate::common::narrow::crewdeck(dir.path(), &again)).ok();
    assert!(
        run.err.contains("could not be read: see .transcripts/"),
        "{}",
        run.err
    );
    let messages = conversation(dir.path(), "lead", 0);
    assert_eq!(messages.last().unwrap().words(), "Again.");
}
