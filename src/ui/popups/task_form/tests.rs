//! The task form: typing, sending, rejected forms and drafts.

use pretty_assertions::assert_eq;

use crate::domain::graph::{NewTask, TaskEdit};
use crate::domain::ids::TaskId;
use crate::protocol::event::UserAction;
use crate::protocol::{BoardEvent, Command, CommandId, CrewEvent, EventKind, TaskCommand};
use crate::ui::Effect;
use crate::ui::fixture::{apply_events, picture, press, top_popup};
use crate::ui::panes::board::tests::user_actions::{at, task_effect};
use crate::ui::popups::task_form;

#[test]
fn task_form_submits_and_shows_errors() {
    let add = |subject: &str, blocked_by: &[u64]| {
        task_effect(TaskCommand::Add {
            new: NewTask {
                subject: subject.into(),
                blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
                ..NewTask::default()
            },
        })
    };
    let edit = |edit: TaskEdit| {
        task_effect(TaskCommand::Edit {
            task: TaskId(4),
            edit,
        })
    };
    let words = |subject: &str| TaskEdit {
        subject: Some(subject.into()),
        ..TaskEdit::default()
    };
    let no_wait = TaskEdit {
        unblock: vec![TaskId(2)],
        ..TaskEdit::default()
    };
    for (keys, expected, is_open) in [
        ("t", vec![], true),
        ("t enter", vec![], true),
        ("t \"Draw\" enter", vec![add("Draw", &[])], false),
        (
            "t \"Draw\" tab tab ctrl+t enter",
            vec![add("Draw", &[4])],
            false,
        ),
        (
            "t \"Draw\" ctrl+t ctrl+t enter",
            vec![add("Draw", &[])],
            false,
        ),
        ("t \"Draw\" ctrl+j enter", vec![add("Draw", &[])], false),
        ("t \"Draw\" esc", vec![], false),
        ("t \"Draw\" esc t enter", vec![add("Draw", &[])], false),
        ("t \"Draw\" ctrl+c t enter", vec![add("Draw", &[])], false),
        (
            "t \"Draw\" ctrl+u \"It\" enter",
            vec![add("It", &[])],
            false,
        ),
        ("t \"Draw\" ctrl+x e", vec![Effect::EditComposer], true),
        ("e enter", vec![], false),
        (
            "e \"s\" enter",
            vec![edit(words("Describe the formats"))],
            false,
        ),
        ("e tab tab ctrl+u enter", vec![edit(no_wait)], false),
        ("e ctrl+t enter", vec![], false),
        // Keys that lead to other parts of the screen do not discard the text of the form.
        ("t \"Draw\" alt+w", vec![], true),
        ("t \"Draw\" ctrl+p", vec![], true),
    ] {
        let mut state = at(160, 45, None, 4);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
        let open = top_popup(&state) == "TaskForm";
        assert_eq!(open, is_open, "{keys}");
    }
    let mut state = at(160, 45, None, 1);
    assert_eq!(press(&mut state, "e"), []);
    assert!(picture(&state).contains("Cannot edit #1: it is completed."));
    let mut state = at(60, 16, None, 1);
    press(&mut state, "e");
    assert!(picture(&state).contains("Cannot edit #1: it is completed."));
}

#[test]
fn rejected_form_reopens_with_reason() {
    let mut state = at(160, 45, None, 4);
    press(&mut state, "t \"Draw\" enter");
    let why = "the disk is full".to_string();
    let refused = |command| EventKind::rejection(CommandId(command), why.clone());
    let edit = TaskCommand::Edit {
        task: TaskId(4),
        edit: TaskEdit::default(),
    };
    for other in [
        Command::Merge { task: TaskId(2) },
        Command::ListModels,
        Command::Task(Box::new(edit)),
    ] {
        let id = state.assign_id(other).id;
        apply_events(&mut state, vec![EventKind::rejection(id, why.clone())]);
        assert!(state.popups.is_empty(), "it is not about the form");
    }
    let of_old = EventKind::Crew(CrewEvent::CommandRejected {
        command: None,
        why: why.clone(),
    });
    apply_events(&mut state, vec![of_old]);
    assert!(state.popups.is_empty(), "it is not about the form");
    apply_events(&mut state, vec![refused(1)]);
    let shown = picture(&state);
    assert!(shown.contains("New task") && shown.contains("Draw") && shown.contains(&why));
    // A form that the board has accepted does not reopen. The rejection of another command does not change forms.
    press(&mut state, "enter");
    let task = TaskId(7);
    let act = UserAction::Added;
    apply_events(
        &mut state,
        vec![
            EventKind::Board(BoardEvent::UserActed { task, act }),
            refused(5),
        ],
    );
    assert!(state.popups.is_empty() && task_form::is_clear(&mut state));
    press(&mut state, "t");
    assert!(!picture(&state).contains("Draw"));
    // Text with several lines that is pasted into a single-line field becomes one line.
    crate::ui::update(&mut state, crate::ui::Msg::Paste("a\nb\n".into()));
    assert!(picture(&state).contains("a b"));
    crate::ui::update(&mut state, crate::ui::Msg::Edited("c\nd\n".into()));
    assert!(picture(&state).contains("c d"));
}

#[test]
fn rejected_form_stays_draft_while_user_is_busy() {
    for keys in ["i", "i \"half\"", "?"] {
        let mut state = at(160, 45, None, 4);
        press(&mut state, "t \"Draw\" enter t \"Paint\" esc");
        press(&mut state, keys);
        let popups = state.popups.len();
        apply_events(
            &mut state,
            vec![EventKind::rejection(CommandId(1), "the disk is full.")],
        );
        assert_eq!(state.popups.len(), popups, "{keys}");
        let said = state.status.take().map(|f| f.text).unwrap_or_default();
        assert_eq!(
            said, "the disk is full. Draft kept; t reopens it.",
            "{keys}"
        );
        // Both drafts are kept.
        press(&mut state, "esc esc 3 t");
        let shown = picture(&state);
        assert!(shown.contains("Draw") && shown.contains("the disk is full"));
        press(&mut state, "enter t");
        assert!(picture(&state).contains("Paint"), "{keys}");
    }
}

#[test]
fn unconfirmed_forms_are_bounded() {
    let mut state = at(160, 45, None, 4);
    for _ in 0..task_form::FORMS_MAX {
        assert_eq!(press(&mut state, "t \"Draw\" enter").len(), 1);
    }
    assert_eq!(press(&mut state, "t \"One more\" enter"), []);
    assert!(picture(&state).contains("the board has not confirmed"));
    let act = UserAction::Added;
    let task = TaskId(7);
    apply_events(
        &mut state,
        vec![EventKind::Board(BoardEvent::UserActed { task, act })],
    );
    assert_eq!(press(&mut state, "enter").len(), 1);
}
