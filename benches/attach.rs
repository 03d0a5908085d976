//! Measures whether a large image or a large paste stalls the dashboard.
//!
//! `cargo bench --bench attach` prints the key echo (the time from a key to its character on the screen) while a
//! mention of a 4 MB image is typed, and from sending the message until the image is attached. It also prints the time
//! from the last byte of a paste of 1 MB to its chip. Times depend on the machine, so the load and the key echo without
//! an image are printed for comparison.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::pty::Screen;
use common::{SIZE, echo, median_and, ms, process, report, repository, settle};

/// Milliseconds per frame.
const FRAME: f64 = 33.4;
/// Pause between two keys. Shorter than a typist's, so that many keys fall into the time in which the image is read.
const TYPING: Duration = Duration::from_millis(15);
const KEYS: usize = 60;
const ROUNDS: usize = 5;
/// Side of the square image in pixels. Its noise cannot be compressed, so the file has three bytes per pixel.
const SIDE: u32 = 1180;
const PASTE_BYTES: usize = 1_000_000;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script.yaml");
    std::fs::write(&file, "rules:\n  - when: .\n    times: 0\n    say: Seen.\n").unwrap();
    let provider = format!("script:{}", file.display());
    println!("{}", process::load());
    large_image(dir.path(), &provider);
    paste_in_a_terminal(dir.path(), &provider);
    println!("{}", process::load());
}

fn large_image(dir: &Path, provider: &str) {
    let root = repository(dir, "image", 4);
    let file = root.join("big.png");
    let mut seed = 1_u32;
    let mut byte = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(seed >> 24).unwrap()
    };
    let noise = image::RgbImage::from_fn(SIDE, SIDE, |_, _| image::Rgb([byte(), byte(), byte()]));
    noise.save(&file).unwrap();
    let bytes = std::fs::metadata(&file).unwrap().len();
    let mut screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("script");
    settle(&screen);
    let mut typed = String::new();
    let mut typed_keys = |screen: &mut Screen, keys: usize| -> Vec<f64> {
        let echoes = (0..keys).map(|n| {
            std::thread::sleep(TYPING);
            echo(screen, &mut typed, n)
        });
        let echoes = echoes.collect();
        screen.send("\u{15}");
        screen.wait("the line is empty", |text| !text.contains(&typed));
        typed.clear();
        echoes
    };
    let quiet = typed_keys(&mut screen, KEYS);
    let (mut mention, mut sent, mut attached) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut text = String::new();
        for character in format!("round {round} @big.png").chars() {
            std::thread::sleep(TYPING);
            text.push(character);
            let began = Instant::now();
            screen.send(&character.to_string());
            // The blank at the end of a line looks like the background.
            screen.wait_for(text.trim_end());
            mention.push(ms(began.elapsed()));
        }
        screen.send(" ");
        let began = Instant::now();
        screen.send("\r");
        let shown = "big.png · ";
        let is_attached = |text: &str| text.matches(shown).count() > round;
        let mut line = String::new();
        let mut n = 0;
        while !is_attached(&screen.text()) {
            std::thread::sleep(TYPING);
            sent.push(echo(&mut screen, &mut line, n));
            n += 1;
        }
        attached.push(ms(began.elapsed()));
        screen.send("\u{15}");
        screen.wait("the answer", |text| text.matches("Seen.").count() > round);
    }
    let worst = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let figures = |all: Vec<f64>| {
        let (keys, worst) = (all.len(), worst(&all));
        let (median, p99) = median_and(99, all);
        (
            format!("median {median:.1} ms, p99 {p99:.1} ms, worst {worst:.1} ms of {keys} keys"),
            worst,
        )
    };
    let (text, _) = figures(quiet);
    println!("key echo without an image: {text}");
    for (what, all) in [
        ("is mentioned", mention),
        ("was sent, until it is attached", sent),
    ] {
        let (text, worst) = figures(all);
        report(
            &format!("key echo while an image of {bytes} bytes {what}"),
            &text,
            "worst within a frame, 33 ms",
            worst <= FRAME,
        );
    }
    let (median, _) = median_and(50, attached);
    println!("time until the image is attached: median {median:.0} ms of {ROUNDS}");
}

fn pasted() -> String {
    "let words = one_line_of_a_log(\"of about eighty characters\", 12345); // and more\n"
        .chars()
        .cycle()
        .take(PASTE_BYTES)
        .collect()
}

/// Measures how long after a paste its chip appears, and how fast the keys after it are echoed.
fn paste_in_a_terminal(dir: &Path, provider: &str) {
    let root = repository(dir, "paste", 4);
    let mut screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("script");
    settle(&screen);
    let text = format!("\u{1b}[200~{}\u{1b}[201~", pasted().replace('\n', "\r"));
    let (mut shown, mut echoes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        screen.send(&text);
        let began = Instant::now();
        screen.wait_for("[pasted ");
        shown.push(ms(began.elapsed()));
        let mut line = String::new();
        for n in 0..10 {
            std::thread::sleep(TYPING);
            let character = char::from(b'A' + n);
            line.push(character);
            let began = Instant::now();
            screen.send(&character.to_string());
            screen.wait_for(&line);
            echoes.push(ms(began.elapsed()));
        }
        // Clears the draft.
        screen.send("\u{3}");
        screen.wait("the line is empty", |text| !text.contains("[pasted "));
    }
    let worst = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let (shown, echo) = (worst(&shown), worst(&echoes));
    report(
        &format!("a paste of {PASTE_BYTES} bytes, from its last byte to its chip"),
        &format!("worst {shown:.1} ms of {ROUNDS}"),
        "within a frame, 33 ms",
        shown <= FRAME,
    );
    report(
        "key echo behind the chip",
        &format!("worst {echo:.1} ms of {} keys", echoes.len()),
        "within a frame, 33 ms",
        echo <= FRAME,
    );
}
