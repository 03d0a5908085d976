//! Tests of the SVG rendering with small screens.

use std::num::NonZeroU16;

use pretty_assertions::assert_eq;

use super::animation::{Frame, animation};
use super::color::{DARK, Rgb, mix};
use super::shapes::{Shape, Weight, shape};
use super::svg::svg;
use super::unclosed_elements;

/// Returns the screen of a terminal, with its cursor hidden, after it has received `bytes`.
fn screen(cols: u16, rows: u16, bytes: &str) -> vt100::Screen {
    let size = |cells| NonZeroU16::new(cells).unwrap();
    let mut parser = vt100::Parser::new(size(rows), size(cols), 0);
    parser.process(format!("\x1b[?25l{bytes}").as_bytes());
    parser.screen().clone()
}

/// Renders the screen of a terminal that received `bytes`.
fn picture(cols: u16, rows: u16, bytes: &str) -> String {
    svg(&screen(cols, rows, bytes), "title", &DARK)
}

/// Returns the SVG elements of the screen, without the window around it.
fn screen_elements(cols: u16, rows: u16, bytes: &str) -> Vec<String> {
    let picture = picture(cols, rows, bytes);
    let (_, screen) = picture.split_once("translate(12 32)\">\n").unwrap();
    let (screen, _) = screen.split_once("</g>").unwrap();
    screen.lines().map(str::to_string).collect()
}

#[test]
fn text_runs_start_at_their_cells_and_span_one_space() {
    assert_eq!(
        screen_elements(20, 2, "a bc  d\x1b[1me\r\n\x1b[0;3;38;2;1;2;3m <&>"),
        [
            "<text x=\"0\" y=\"14\" class=\"w0\" textLength=\"36\">a bc</text>",
            "<text x=\"54\" y=\"14\" class=\"w0\">d</text>",
            "<text x=\"63\" y=\"14\" class=\"w1\">e</text>",
            "<text x=\"9\" y=\"33\" class=\"w2\" textLength=\"27\">&lt;&amp;&gt;</text>",
        ]
    );
    let picture = picture(20, 2, "a\x1b[1mb\x1b[0;3;38;2;1;2;3mc");
    for style in [
        ".w0{fill:#d3d8df}\n",
        ".w1{fill:#d3d8df;font-weight:700}\n",
        ".w2{fill:#010203;font-style:italic}\n",
    ] {
        assert!(picture.contains(style), "{style} in {picture}");
    }
}

#[test]
fn wide_characters_are_centred_on_their_cells() {
    assert_eq!(
        screen_elements(10, 1, "a日👍b"),
        [
            "<text x=\"0\" y=\"14\" class=\"w0\">a</text>",
            "<text x=\"18\" y=\"14\" class=\"m w0\">日</text>",
            "<text x=\"36\" y=\"14\" class=\"m w0\">👍</text>",
            "<text x=\"45\" y=\"14\" class=\"w0\">b</text>",
        ]
    );
}

#[test]
fn frame_is_one_path_without_gaps() {
    assert_eq!(
        screen_elements(4, 3, "┌──┐\r\n│  │\r\n└──┘"),
        ["<path fill=\"none\" stroke=\"#d3d8df\" \
          d=\"M4 9.5h28M4 47.5h28M4.5 9v39M31.5 9v39\"/>"]
    );
    // The arc ends where the line of the next cell begins.
    assert_eq!(
        screen_elements(2, 1, "╭─"),
        ["<path fill=\"none\" stroke=\"#d3d8df\" d=\"M4.5 19v-5q0-4.5 4.5-4.5M9 9.5h9\"/>"]
    );
}

#[test]
fn backgrounds_are_merged_and_inverse_swaps_colours() {
    let red = DARK.ansi[1];
    assert_eq!(
        screen_elements(4, 3, "\r\n \x1b[41m  \r\n\x1b[m \x1b[41m  "),
        [format!(
            "<path fill=\"{red}\" shape-rendering=\"crispEdges\" d=\"M9 19h18v38h-18z\"/>"
        )]
    );
    let reversed = picture(4, 1, " \x1b[7;31mx");
    assert!(reversed.contains(&format!(".w0{{fill:{}}}", DARK.background)));
    assert!(reversed.contains(&format!("<path fill=\"{red}\" shape")));
    let dim = mix(DARK.foreground, DARK.background, 62);
    assert!(picture(4, 1, "\x1b[2mx").contains(&format!(".w0{{fill:{dim}}}")));
    let under = screen_elements(4, 1, "\x1b[4ma b");
    assert_eq!(
        under[0],
        "<path fill=\"none\" stroke=\"#d3d8df\" d=\"M0 16.5h27\"/>"
    );
}

#[test]
fn window_uses_the_screen_background() {
    let light = picture(4, 2, "\x1b[48;2;250;250;250m\x1b[2J\x1b[38;2;1;1;1mx");
    assert!(light.contains("<rect width=\"60\" height=\"82\" fill=\"#fafafa\"/>"));
    // The title is visible on a light background.
    assert!(light.contains(&format!(
        "fill:{}",
        mix(DARK.background, Rgb(250, 250, 250), 60)
    )));
    assert!(!light.contains("crispEdges"), "{light}");
    assert_eq!(
        light,
        picture(4, 2, "\x1b[48;2;250;250;250m\x1b[2J\x1b[38;2;1;1;1mx")
    );
}

#[test]
fn cursor_is_drawn_at_its_position() {
    let shown = screen_elements(4, 2, "ab\x1b[?25h");
    assert_eq!(
        shown[1],
        "<path stroke=\"#acb1b8\" stroke-width=\"2\" d=\"M18.5 0v19\"/>"
    );
}

#[test]
fn indexed_colours_match_xterm() {
    let of = |index| DARK.rgb(vt100::Color::Idx(index), DARK.foreground);
    assert_eq!(
        [of(2), of(16), of(75), of(231), of(232), of(255)],
        [
            DARK.ansi[2],
            Rgb(0, 0, 0),
            Rgb(0x5f, 0xaf, 0xff),
            Rgb(255, 255, 255),
            Rgb(8, 8, 8),
            Rgb(238, 238, 238),
        ]
    );
}

#[test]
fn all_symbols_of_crewdeck_are_drawn_as_shapes() {
    let symbols = "─━│┃┄┏┓└┗┛├┤┬┴┼╍╭╮╯╰▁▂▃▄▅▆▇█▎▏▲▶▷▸◆◇○◌●◐◔⠋⠙⠦⠧⠴⠸⠹⠼✓✗→←↑↓↳•✉☐☑";
    let missing: String = symbols
        .chars()
        .filter(|symbol| shape(*symbol).is_none())
        .collect();
    assert_eq!(missing, "");
    // Double and diagonal lines are not supported.
    let lines = ('\u{2500}'..='\u{257f}').filter(|symbol| shape(*symbol).is_none());
    assert_eq!(lines.count(), 29 + 3);
    let (none, light, heavy) = (None, Some(Weight::Light), Some(Weight::Heavy));
    for (symbol, arms) in [
        ('├', [none, light, light, light]),
        ('┷', [heavy, heavy, light, none]),
        ('╼', [light, heavy, none, none]),
    ] {
        assert_eq!(shape(symbol), Some(Shape::Arms(arms)), "{symbol}");
    }
}

/// Renders an animation of three frames that takes four seconds. The second frame is shown where animations are off.
fn three_frames() -> String {
    let frames = [
        ("1  <same>", 1000),
        ("2  <same>", 1000),
        ("3  <same>", 2000),
    ];
    let frames = frames.map(|(bytes, millis)| Frame {
        screen: screen(10, 1, bytes),
        caption: format!("a & {bytes}"),
        millis,
    });
    animation(&frames, 1, "title", &DARK)
}

#[test]
fn animation_shows_each_frame_for_its_time() {
    let picture = three_frames();
    assert_eq!(unclosed_elements(&picture), Vec::<String>::new());
    assert_eq!(picture.matches("a &amp; ").count(), 3);
    assert!(
        picture.contains("animation:4s step-end infinite"),
        "{picture}"
    );
    for (class, rule) in [
        ("k0", "0.00%{visibility:visible}25.00%{visibility:hidden}"),
        (
            "k1",
            "25.00%{visibility:visible}0.00%,50.00%{visibility:hidden}",
        ),
        ("k2", "50.00%{visibility:visible}0.00%{visibility:hidden}"),
    ] {
        let rule = format!(".{class}{{animation-name:{class}}}@keyframes {class}{{{rule}}}");
        assert!(picture.contains(&rule), "{rule} in {picture}");
    }
    assert!(picture.contains("@media (prefers-reduced-motion:reduce){.a,.p{animation:none}}"));
}

#[test]
fn animation_writes_what_frames_share_once() {
    let picture = three_frames();
    let screen = picture.split_once("translate(12 32)\">\n").unwrap().1;
    let number = |x, text| format!("<text x=\"{x}\" y=\"14\" class=\"w0\">{text}</text>\n");
    let shared = "<text x=\"27\" y=\"14\" class=\"w0\" textLength=\"54\">&lt;same&gt;</text>\n";
    let mut expected = String::new();
    for (class, text) in [("a k0", "1"), ("a k1 s", "2"), ("a k2", "3")] {
        expected += &format!("<g class=\"{class}\">\n{}</g>\n", number(0, text));
    }
    assert_eq!(screen, format!("{expected}{shared}</g>\n</svg>\n"));
}
