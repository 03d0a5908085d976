//! Tests of the commands that the user types with `!`.

use pretty_assertions::assert_eq;

use super::*;
use crate::crew::registry::AgentHandle;
use crate::crew::test_support::{TestCrew, bob, silent_agent_model};
use crate::domain::chat::Block;
use crate::protocol::CrewEvent;
use crate::protocol::event::EventKind;
use crate::store::{DROPPED_MARK, PromptQueue};
use crate::tools::policy::PlanGate;

fn shell(crew: &TestCrew) -> Arc<UserShell> {
    let board = crew.board();
    let worktrees = crew.worktrees(&board);
    Arc::new(UserShell::new(
        crew.context.clone(),
        crew.registry.clone(),
        board,
        worktrees,
        None,
    ))
}

/// Waits until a command of the user has ended. Returns its outcome and output.
async fn wait_for_command(crew: &mut TestCrew) -> (Outcome, String) {
    loop {
        let event = crew.events.next().await.unwrap();
        if let EventKind::Agent {
            event: AgentEvent::UserCommandEnded {
                outcome, output, ..
            },
            ..
        } = event.kind
        {
            return (outcome, output);
        }
    }
}

#[tokio::test]
async fn command_and_output_are_shown_and_kept_for_the_agent() {
    let mut crew = TestCrew::new();
    let (lead, _inbox) = crew.agent(&Name::lead());
    let shell = shell(&crew);
    shell
        .run(&Name::lead(), "echo hello; exit 3".into())
        .await
        .unwrap();
    let expected = (Outcome::Error, "hello\n[exit code 3]".to_string());
    assert_eq!(wait_for_command(&mut crew).await, expected);
    let blocks = lead.mailbox.take_texts();
    let [Block::Text { text }] = blocks.as_slice() else {
        panic!("{blocks:?}");
    };
    assert!(
        text.contains("$ echo hello; exit 3\nhello\n[exit code 3]"),
        "{text}"
    );
    assert_eq!(lead.mailbox.take_texts(), []);
    shell.run(&Name::lead(), "true".into()).await.unwrap();
    assert_eq!(
        wait_for_command(&mut crew).await,
        (Outcome::Ok, "(no output)".into())
    );
    let refused = shell.run(&bob(), "true".into()).await;
    assert_eq!(refused, Err("bob is not running.".into()));
}

/// Simulates a crash: the session does not end in order, and a queue that is opened after it reads only what is on
/// disk.
#[tokio::test]
async fn waiting_commands_survive_the_session_and_are_bounded() {
    let mut crew = TestCrew::new();
    let lead = Name::lead();
    let queue = || {
        let redactor = crew.context.event_sender.redactor();
        PromptQueue::of_commands(crew.dir.path(), &crew.context.session, &lead, redactor)
    };
    let after_restart = || {
        let queue = queue();
        queue.load(&[]).unwrap();
        queue.take()
    };
    let mailbox = AgentMailbox::new(PlanGate::Open, Some(Arc::new(queue())));
    let (handle, _inbox) = AgentHandle::new(
        Arc::new(mailbox),
        silent_agent_model(),
        Vec::new(),
        Arc::default(),
    );
    crew.registry.add(lead.clone(), handle.clone());
    let shell = shell(&crew);
    shell.run(&lead, "echo hello".into()).await.unwrap();
    let [entry] = after_restart().try_into().unwrap();
    assert!(entry.text.contains("$ echo hello\nhello"), "{entry:?}");
    // Beyond the limit, the oldest command is dropped, and the user and the agent learn of it.
    for number in 1..=NOTES_MAX {
        let command = format!("echo number {number}");
        shell.run(&lead, command).await.unwrap();
    }
    let texts: Vec<String> = after_restart().into_iter().map(|e| e.text).collect();
    assert_eq!(texts.len(), NOTES_MAX);
    assert!(texts[0].starts_with(DROPPED_MARK), "{}", texts[0]);
    assert!(texts[0].contains("echo number 1\n"), "{}", texts[0]);
    let notice = loop {
        let event = crew.events.next().await.unwrap();
        if let EventKind::Crew(CrewEvent::Notice { text, .. }) = event.kind {
            break text;
        }
    };
    assert!(
        notice.contains("More than 20 commands wait for lead"),
        "{notice}"
    );
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let mut crew = TestCrew::new();
    let (_lead, _inbox) = crew.agent(&Name::lead());
    let shell = shell(&crew);
    let command = "echo begin; head -c 200000 /dev/zero | tr '\\0' x; echo; echo end";
    shell.run(&Name::lead(), command.into()).await.unwrap();
    let (outcome, output) = wait_for_command(&mut crew).await;
    assert_eq!(outcome, Outcome::Ok);
    assert!(output.len() < OUTPUT_MAX + 200, "{}", output.len());
    assert!(output.starts_with("begin\nx") && output.ends_with("x\nend"));
}

#[tokio::test]
async fn running_command_can_be_interrupted() {
    let mut crew = TestCrew::new();
    let (_lead, _inbox) = crew.agent(&Name::lead());
    let shell = shell(&crew);
    assert!(!shell.interrupt(&Name::lead()));
    let own = shell.clone();
    let running = tokio::spawn(async move { own.run(&Name::lead(), "sleep 600".into()).await });
    while !shell.interrupt(&Name::lead()) {
        tokio::task::yield_now().await;
    }
    let second = shell.run(&Name::lead(), "true".into()).await;
    // The second command is refused unless the first one has already ended.
    if let Err(why) = second {
        assert!(why.contains("still running"), "{why}");
    }
    running.await.unwrap().unwrap();
    assert!(
        wait_for_command(&mut crew)
            .await
            .1
            .ends_with("[interrupted]")
    );
}
