//! Tests of the setup page: its content for each fact, and its rendering.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::model_setup::no_model;
use crate::model::{ErrorKind, ModelError};
use crate::ui::UiState;
use crate::ui::fixture::{blank, cells, picture, press, started_screen};
use crate::ui::theme::Theme;

fn server_refusal(fault: ErrorKind, message: &str, hint: &str) -> ModelUnavailable {
    ModelUnavailable::from_refusal(&ModelError::new(fault, message, hint))
}

fn wrong_key() -> ModelUnavailable {
    server_refusal(
        ErrorKind::Auth,
        "the API key was refused (401): invalid x-api-key [authentication_error]",
        "Check ANTHROPIC_API_KEY: export the right key, then start crewdeck again.",
    )
}

fn unreachable() -> ModelUnavailable {
    server_refusal(
        ErrorKind::Unreachable,
        "nothing answers at http://127.0.0.1:9000 (Connection refused)",
        "Is the server running? --base-url names another address.",
    )
}

fn not_listed() -> ModelUnavailable {
    ModelUnavailable::not_listed("big-9", &["big-1".into(), "small-2".into()])
}

fn actions(page: &OnboardingPage) -> Vec<Action> {
    page.offers.iter().map(|o| o.action).collect()
}

#[test]
fn missing_model_gives_a_page_with_its_fixes() {
    use Action::{CheckAgain, Close, Models, StartDemo};
    let usual = vec![CheckAgain, StartDemo, Close];
    let cases = [
        (
            no_model(),
            "No model is configured: there is no API key and no local server.",
            usual.clone(),
        ),
        (
            wrong_key(),
            "The API key was refused (401): invalid x-api-key [authentication_error].",
            usual.clone(),
        ),
        (
            unreachable(),
            "Nothing answers at http://127.0.0.1:9000 (Connection refused).",
            usual.clone(),
        ),
        (
            not_listed(),
            "The model 'big-9' is not among the 2 models of the server.",
            vec![Models, CheckAgain, StartDemo, Close],
        ),
    ];
    for (missing, what, offers) in cases {
        let page = with_crew(&missing);
        assert_eq!(
            (page.severity, page.cause.as_str()),
            (PageSeverity::Trouble, what)
        );
        assert_eq!(actions(&page), offers, "{what}");
        assert_eq!(page.steps, missing.steps);
        let says_all = matches!(missing.problem, ModelProblem::NotConfigured);
        assert_eq!(page.consequence.is_empty(), says_all, "{what}");
        // If the crew did not start, the page does not offer the list of the server's models.
        let page = without_crew(&missing);
        assert_eq!(page.severity, PageSeverity::Missing);
        assert_eq!(actions(&page), usual, "{what}");
    }
}

#[test]
fn missing_git_gives_a_page_with_safe_offers_only() {
    let empty = "git init && git commit --allow-empty -m \"Start\"";
    let cases = [
        (
            GitStatus::NoRepository(FirstCommit::Files(0)),
            Some((empty, "git init + empty first commit")),
        ),
        (
            GitStatus::NoRepository(FirstCommit::Files(1)),
            Some((INIT_AND_COMMIT, "first commit of the one file")),
        ),
        (
            GitStatus::NoRepository(FirstCommit::Files(12)),
            Some((INIT_AND_COMMIT, "of the 12 files here")),
        ),
        (
            GitStatus::NoCommits(FirstCommit::Files(0)),
            Some(("git commit --allow-empty", "create empty first commit")),
        ),
        (
            GitStatus::NoCommits(FirstCommit::Files(3)),
            Some((FIRST_COMMIT, "create first commit of the 3 files")),
        ),
        (
            GitStatus::NoCommits(FirstCommit::ChooseFiles("there are many files here")),
            Some(("there are many files here", "")),
        ),
        (
            GitStatus::NoRepository(FirstCommit::NotAllowed("This is your home directory")),
            Some(("home directory", "")),
        ),
        (
            GitStatus::NoGit("git was not found: install it".into()),
            Some(("Install git", "")),
        ),
        (GitStatus::Ready, None),
    ];
    for (facts, expected) in cases {
        let page = git_page(&facts);
        let Some((step, offer)) = expected else {
            assert_eq!(page, None);
            continue;
        };
        let page = page.unwrap();
        assert_eq!(page.severity, PageSeverity::Advice);
        assert!(page.steps[0].contains(step), "{page:?}");
        match (offer, &page.offers[..]) {
            ("", []) => {}
            (words, [offer]) if !words.is_empty() => {
                assert_eq!(offer.action, Action::CreateRepository);
                assert!(offer.words.contains(words), "{page:?}");
            }
            _ => panic!("{page:?}"),
        }
    }
}

/// Returns every page, each with the name of its snapshot.
fn pages() -> Vec<(&'static str, OnboardingPage)> {
    let ground = |facts| super::git_page(&facts).unwrap();
    vec![
        ("no_model", without_crew(&no_model())),
        ("wrong_key", without_crew(&wrong_key())),
        ("unreachable", without_crew(&unreachable())),
        ("not_listed", with_crew(&not_listed())),
        (
            "outside_git",
            ground(GitStatus::NoRepository(FirstCommit::Files(12))),
        ),
        (
            "no_commit",
            ground(GitStatus::NoCommits(FirstCommit::Files(0))),
        ),
        ("making", first_commit_page()),
    ]
}

fn show_page(page: OnboardingPage, width: u16, height: u16) -> UiState {
    let mut state = match page.severity {
        PageSeverity::Missing => blank(width, height),
        PageSeverity::Trouble | PageSeverity::Advice => started_screen(width, height),
    };
    state.show_onboarding(page);
    state
}

#[test]
fn each_page_at_three_sizes() {
    for (name, page) in pages() {
        for (width, height) in [(160, 45), (100, 30), (70, 20)] {
            let state = show_page(page.clone(), width, height);
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), picture(&state));
            let cells = cells(&state, &Theme::default());
            let styles = format!("{name}_{width}x{height}_style");
            insta::assert_debug_snapshot!(styles, cells);
        }
    }
}

/// Returns the text of the screen without frames, with single blanks between the words.
fn words(state: &UiState) -> String {
    let picture = picture(state);
    let words = picture.split(|c: char| c.is_whitespace() || "\"│".contains(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[test]
fn page_without_a_model_says_each_thing_once_and_whole() {
    for (width, height) in [(60, 16), (70, 20), (160, 45)] {
        let state = show_page(without_crew(&no_model()), width, height);
        let shown = words(&state);
        let page = state.onboarding_page().unwrap();
        for text in page.steps.iter().chain([&page.cause]) {
            assert_eq!(shown.matches(text).count(), 1, "{text}: {shown}");
        }
        for offer in &page.offers {
            assert_eq!(shown.matches(&offer.words).count(), 1, "{shown}");
        }
        assert!(!shown.contains("check again"), "{shown}");
    }
    // On a wide screen, each step is in one line.
    let state = show_page(without_crew(&no_model()), 160, 45);
    let picture = picture(&state);
    for step in &state.onboarding_page().unwrap().steps {
        assert!(picture.contains(step.as_str()), "{step}: {picture}");
    }
}

#[test]
fn omitted_steps_are_counted() {
    let mut page = without_crew(&no_model());
    page.steps = (1..=9).map(|n| format!("Step {n}.")).collect();
    let state = show_page(page, 60, 16);
    let picture = picture(&state);
    let shown = (1..=9).filter(|n| picture.contains(&format!("Step {n}.")));
    let omitted = 9 - shown.count();
    assert!(omitted > 0, "{picture}");
    let note = format!("… {omitted} more: make the window larger");
    assert!(picture.contains(&note), "{picture}");
}

#[test]
fn smallest_screen_keeps_the_heading_and_the_offers() {
    for (name, page) in pages() {
        let mut state = show_page(page, 60, 16);
        press(&mut state, "esc");
        let picture = picture(&state);
        let page = state.onboarding_page().unwrap();
        let head: String = page.cause.split(' ').take(5).collect::<Vec<_>>().join(" ");
        assert!(picture.contains(&head), "{name}\n{picture}");
        for offer in &page.offers {
            let words: String = offer.words.split(' ').take(4).collect::<Vec<_>>().join(" ");
            assert!(picture.contains(&words), "{name}: {words}\n{picture}");
        }
    }
}
