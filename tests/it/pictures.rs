//! Pictures of attached images in a real terminal: half blocks, the kitty graphics protocol, or the label only.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pretty_assertions::assert_eq;

use crate::common::project::Project;
use crate::common::pty::Screen;

const SCRIPT: &str = "rules:\n  - when: .\n    times: 0\n    say: A chart.\n";
const LABEL: &str = "+ shot.png · 40x20 image";
const TRUE_COLOR: &[(&str, &str)] = &[("COLORTERM", "truecolor")];
const KITTY: &[(&str, &str)] = &[("TERM", "xterm-kitty")];

/// Creates a project with an image of 40 × 20 pixels: red on the left, blue on the right.
fn project() -> Project {
    let project = Project::new();
    project.write("script.yaml", SCRIPT);
    picture().save(project.file("shot.png")).unwrap();
    project
}

fn picture() -> image::RgbaImage {
    image::RgbaImage::from_fn(40, 20, |x, _| {
        image::Rgba(if x < 20 {
            [250, 0, 0, 255]
        } else {
            [0, 0, 250, 255]
        })
    })
}

fn open(project: &Project, args: &[&str], environment: &[(&str, &str)]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut all = vec!["--provider", &provider];
    all.extend(args);
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let screen = Screen::start_program(program, project.path(), 120, 35, &all, environment);
    screen.wait_for("scripted");
    screen
}

/// Opens a dashboard and sends a prompt with the image.
fn open_and_send(project: &Project, environment: &[(&str, &str)]) -> Screen {
    let mut screen = open(project, &[], environment);
    screen.send("what is in @shot.png \r");
    screen.wait_for(LABEL);
    screen.wait_for("A chart.");
    screen
}

/// Quits crewdeck, checks that it exits cleanly, and returns everything that it wrote to the terminal.
fn quit(mut screen: Screen) -> String {
    screen.send("\x03\x03\x03");
    screen.wait("the end", |text| !text.contains("Lead"));
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    raw
}

fn contains(raw: &[u8], part: &str) -> bool {
    raw.windows(part.len())
        .any(|found| found == part.as_bytes())
}

/// Waits until the screen shows the picture as half blocks.
fn wait_for_blocks(screen: &Screen) -> String {
    screen.wait("the picture", |text| {
        text.lines()
            .filter(|line| line.contains(&"▀".repeat(40)))
            .count()
            == 10
    })
}

/// Returns the control data and the payload of each sequence of the graphics protocol.
fn graphics(raw: &str) -> Vec<(String, String)> {
    let parts = raw.split("\u{1b}_G").skip(1);
    let parts = parts.map(|part| part.split("\u{1b}\\").next().unwrap());
    let pair = |part: &str| match part.split_once(';') {
        Some((control, data)) => (control.to_string(), data.to_string()),
        None => (part.to_string(), String::new()),
    };
    parts.map(pair).collect()
}

#[test]
fn half_blocks_show_the_image_and_survive_resume() {
    let project = project();
    let screen = open_and_send(&project, TRUE_COLOR);
    wait_for_blocks(&screen);
    assert!(contains(&screen.raw(), "250;0;0"), "red pixels");
    assert!(contains(&screen.raw(), "0;0;250"), "blue pixels");
    let raw = quit(screen);
    assert_eq!(graphics(&raw), []);
    // A resumed session finds the picture through the journal.
    let screen = open(&project, &["--resume"], TRUE_COLOR);
    wait_for_blocks(&screen);
    quit(screen);
}

#[test]
fn viewer_and_replay_show_the_image() {
    let project = project();
    let crew = open_and_send(&project, TRUE_COLOR);
    wait_for_blocks(&crew);
    let viewer = open(&project, &[], TRUE_COLOR);
    wait_for_blocks(&viewer);
    quit(viewer);
    quit(crew);
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let args = ["replay", "--speed", "1000"];
    let start = || Screen::start_program(program, project.path(), 120, 35, &args, TRUE_COLOR);
    let screen = start();
    wait_for_blocks(&screen);
    quit(screen);
    std::fs::remove_dir_all(project.file(".transcripts/attachments")).unwrap();
    let screen = start();
    screen.wait_for("image · not shown: the file is gone");
    quit(screen);
}

#[test]
fn kitty_gets_the_image_and_loses_it_at_the_end() {
    let project = project();
    let screen = open_and_send(&project, KITTY);
    screen.wait_raw("the placeholders", |raw| {
        contains(raw, "\u{10EEEE}\u{305}\u{305}")
    });
    let raw = quit(screen);
    let all = graphics(&raw);
    let (control, data) = &all[0];
    let id = control.split(',').find_map(|key| key.strip_prefix("i="));
    let id: u32 = id.unwrap().parse().unwrap();
    assert_eq!(*control, format!("a=T,U=1,i={id},c=5,r=2,f=100,q=2,m=0"));
    let sent = image::load_from_memory(&STANDARD.decode(data).unwrap()).unwrap();
    assert_eq!(sent.to_rgba8(), picture());
    let [_, red, green, blue] = id.to_be_bytes();
    let color = format!("38;2;{red};{green};{blue}");
    assert!(raw.contains(&color), "{color}");
    let removal = (format!("a=d,d=I,i={id},q=2"), String::new());
    assert_eq!(all[1..], [removal]);
    // A terminal keeps the images of the alternate screen apart, so they must be removed before that is left.
    let [removed, left] = ["a=d,d=I", "\u{1b}[?1049l"].map(|part| raw.rfind(part).unwrap());
    assert!(removed < left);
}

#[test]
fn kitty_gets_the_image_again_after_another_program() {
    let project = project();
    let environment = [KITTY[0], ("EDITOR", "true")];
    let mut screen = open_and_send(&project, &environment);
    let transmitted = |raw: &[u8]| String::from_utf8_lossy(raw).matches("a=T").count();
    screen.wait_raw("the image", |raw| transmitted(raw) == 1);
    // This opens the draft in the editor, which ends at once.
    screen.send("\x07");
    screen.wait_raw("the image again", |raw| transmitted(raw) == 2);
    let raw = quit(screen);
    let controls: Vec<String> = graphics(&raw).into_iter().map(|(c, _)| c).collect();
    let kinds: Vec<&str> = controls.iter().map(|c| &c[..3]).collect();
    assert_eq!(kinds, ["a=T", "a=d", "a=T", "a=d"], "{controls:?}");
}

#[test]
fn only_the_label_is_shown_without_colours_or_by_setting() {
    let project = project();
    for environment in [
        &[("NO_COLOR", "1"), ("TERM", "xterm-kitty")][..],
        &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")],
        &[],
    ] {
        let screen = open_and_send(&project, environment);
        let raw = quit(screen);
        assert!(
            !raw.contains('▀') && graphics(&raw).is_empty(),
            "{environment:?}"
        );
    }
    project.write(".config/crewdeck/config.toml", "images = \"off\"\n");
    let raw = quit(open_and_send(&project, TRUE_COLOR));
    assert!(!raw.contains('▀'));
    project.write(".config/crewdeck/config.toml", "images = \"blocks\"\n");
    let both = [("TERM", "xterm-kitty"), ("COLORTERM", "truecolor")];
    let screen = open_and_send(&project, &both);
    wait_for_blocks(&screen);
    assert_eq!(graphics(&quit(screen)), []);
}

#[test]
fn damaged_image_has_a_reason() {
    let project = project();
    let screen = open_and_send(&project, TRUE_COLOR);
    wait_for_blocks(&screen);
    quit(screen);
    let folder = project.file(".transcripts/attachments");
    for entry in std::fs::read_dir(folder).unwrap() {
        std::fs::write(entry.unwrap().path(), b"\x89PNG\r\n\x1a\nno image").unwrap();
    }
    let screen = open(&project, &["--resume"], TRUE_COLOR);
    let text = screen.wait_for("image · not shown: the image is damaged or empty");
    assert!(!text.contains('▀'), "{text}");
    quit(screen);
}
