//! The animated picture of the demo: what is shown, which keys are pressed, and the state of the screen for each frame.

use super::animation::{Frame, animation};
use super::color::DARK;
use super::scenes::{
    ALT_3, ALT_4, ALT_W, COLORS, close_popup, file, has_all, press, quit, start_demo, task_counts,
    title, use_dark_theme,
};
use crate::common::pty::Screen;

#[derive(Default)]
struct Film {
    frames: Vec<Frame>,
    /// Index of the frame that readers without animations see.
    still: usize,
}

impl Film {
    /// Waits for a screen that satisfies `wanted`, and records it with a caption. The animation shows it for `millis`
    /// milliseconds.
    fn take(&mut self, screen: &Screen, millis: u32, caption: &str, wanted: impl Fn(&str) -> bool) {
        let shown = screen.wait_frame(caption, wanted, Clone::clone);
        self.frames.push(Frame {
            screen: shown,
            caption: caption.to_string(),
            millis,
        });
    }
}

/// Records the demo at normal speed, with the keys that a user presses, and writes the animation.
pub fn animated_demo() {
    let home = tempfile::tempdir().unwrap();
    use_dark_theme(home.path());
    let mut screen = start_demo(home.path(), (146, 42), "1", &[COLORS]);
    let mut film = Film::default();
    take_plan(&mut film, &screen);
    take_approval(&mut film, &mut screen);
    take_work(&mut film, &mut screen);
    take_end(&mut film, &mut screen);
    quit(screen);
    let picture = animation(&film.frames, film.still, &title("demo"), &DARK);
    std::fs::write(file("demo"), picture).unwrap();
}

/// Records how the lead plans and spawns the team.
fn take_plan(film: &mut Film, screen: &Screen) {
    let caption = "crewdeck --demo: you ask for a program, and the lead reads the repository";
    film.take(screen, 2500, caption, has_all(&["read_file tally.sh"]));
    let caption = "The lead splits the work";
    film.take(
        screen,
        3000,
        caption,
        has_all(&["there is a report to show"]),
    );
    let caption = "Eight tasks on the board, with their dependencies";
    film.take(screen, 2500, caption, |text| {
        task_counts(text).is_some_and(|(_, all)| all == 8)
    });
    let caption = "Three teammates claim ready tasks, each in its own git worktree";
    film.take(screen, 2500, caption, |text| {
        text.contains("Bob will ask") && text.contains("wait for that") && text.contains(" working")
    });
}

/// Records how the user approves a plan.
fn take_approval(film: &mut Film, screen: &mut Screen) {
    let card = "bob asks you to approve its plan";
    film.take(
        screen,
        2000,
        "A plan needs you",
        has_all(&["bob asks you to approve its plan"]),
    );
    screen.send(ALT_W);
    film.still = film.frames.len();
    let caption = "Alt+w: read the plan; bob only reads files until you approve it";
    film.take(
        screen,
        4000,
        caption,
        has_all(&["bob asks you to approve its plan", "a approve"]),
    );
    screen.send("a");
    let caption = "a: approved, and bob starts";
    film.take(screen, 2000, caption, |text| {
        !text.contains(card) && text.contains("Approved bob's plan")
    });
}

/// Records how the teammates work.
fn take_work(film: &mut Film, screen: &mut Screen) {
    let caption = "Teammates send each other messages";
    film.take(screen, 3000, caption, has_all(&["carol → bob"]));
    let caption = "What they find out becomes a task: #9";
    film.take(screen, 2500, caption, |text| {
        task_counts(text).is_some_and(|(_, all)| all >= 9)
    });
    press(screen, ALT_4, "nudge");
    screen.send("gj\r");
    let caption = "Alt+4, then Enter: watch a teammate, live";
    film.take(screen, 3500, caption, |text| {
        text.contains("This is bob") && text.contains("write_file")
    });
    close_popup(screen, "This is bob");
    // The tips of the tour are those for the composer.
    press(screen, "i", "leave input");
    for (done, caption) in [
        (5, "Each completed task makes others ready"),
        (7, "Idle teammates claim them by themselves"),
    ] {
        film.take(screen, 2000, caption, |text| {
            task_counts(text).is_some_and(|(d, _)| d >= done)
        });
    }
}

/// Records how the lead merges and the user makes a second decision.
fn take_end(film: &mut Film, screen: &mut Screen) {
    let caption = "All tasks are done: the lead merges their branches";
    film.take(
        screen,
        2500,
        caption,
        has_all(&["9/9 done", "each after what"]),
    );
    let caption = "A merge conflict becomes task #10, and a teammate claims it";
    film.take(screen, 3000, caption, |text| {
        text.contains("9/10 done") && text.contains("in progress")
    });
    let caption = "The conflict is resolved, and everything is in main";
    film.take(
        screen,
        2500,
        caption,
        has_all(&["10/10 done", "ask to shut her down."]),
    );
    let card = "lead wants carol to shut down";
    screen.wait_for(card);
    screen.send(ALT_W);
    let caption = "Alt+w: a shutdown needs you too";
    film.take(
        screen,
        2500,
        caption,
        has_all(&["lead wants carol to shut down", "a approve"]),
    );
    screen.send("a");
    screen.wait("the end", |text| {
        text.contains("That was the demo") && !text.contains("working")
    });
    press(screen, ALT_3, "╭ 3 Board");
    press(screen, "gjjj\r", "Task #5");
    close_popup(screen, "History");
    screen.send("D");
    let caption = "Alt+3, then D: what a task changed";
    film.take(screen, 3000, caption, has_all(&["lines.test.sh"]));
    close_popup(screen, "lines.test.sh");
    let caption = "That was the demo: cargo run --release -- --demo";
    film.take(screen, 4000, caption, has_all(&["That was the demo"]));
}
