//! Writes several screens as one animated SVG document: CSS shows one after another, and a piece that several screens share is
//! written once. It has no scripts, so it also plays inside an `img` element. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::color::Palette;
use super::layers::{Layer, Piece, pieces};
use super::shapes::number;
use super::svg::{Window, begin_screen, write_pieces};

pub struct Frame {
    pub screen: vt100::Screen,
    /// The text in the title bar.
    pub caption: String,
    /// How long the screen is shown, in milliseconds.
    pub millis: u32,
}

/// A set of frames, usually those in which a piece is visible: bit n stands for frame n.
type Mask = u64;

/// Renders `frames` as an endless animation. A reader whose settings turn animations off sees the frame with the index
/// `still`.
pub fn animation(frames: &[Frame], still: usize, title: &str, palette: &Palette) -> String {
    assert!(still < frames.len() && frames.len() < 64, "{still}");
    let mut styles = Vec::new();
    let mut visible: BTreeMap<Piece, Mask> = BTreeMap::new();
    for (at, frame) in frames.iter().enumerate() {
        for piece in pieces(&frame.screen, palette, &mut styles) {
            *visible.entry(piece).or_default() |= 1 << at;
        }
    }
    let mut groups: BTreeMap<(Layer, Mask), Vec<Piece>> = BTreeMap::new();
    for (piece, mask) in visible {
        groups.entry((piece.layer, mask)).or_default().push(piece);
    }
    let everywhere: Mask = (1 << frames.len()) - 1;
    let captions = (0..frames.len()).map(|at| 1 << at);
    let mut masks: Vec<Mask> = groups.keys().map(|(_, mask)| *mask).collect();
    masks.extend(captions);
    masks.retain(|mask| *mask != everywhere);
    masks.sort_unstable();
    masks.dedup();
    let classes = |mask: Mask| {
        let at = masks.iter().position(|known| *known == mask)?;
        let is_still = mask & 1 << still != 0;
        Some(format!("a k{at}{}", if is_still { " s" } else { "" }))
    };

    let window = Window::of(&frames[0].screen, palette);
    let mut out = window.head(title, &styles, &style_sheet(frames, &masks));
    window.write_frame(&mut out);
    let bar = (number(window.width), styles[0].color);
    let _ = writeln!(
        out,
        "<rect class=\"p\" y=\"23\" width=\"{}\" height=\"2\" fill=\"{}\" fill-opacity=\".6\"/>",
        bar.0, bar.1
    );
    for (at, frame) in frames.iter().enumerate() {
        let classes = classes(1 << at).unwrap_or_default();
        window.write_caption(&mut out, &classes, &frame.caption);
    }
    begin_screen(&mut out);
    for ((_, mask), pieces) in &groups {
        match classes(*mask) {
            Some(classes) => {
                let _ = writeln!(out, "<g class=\"{classes}\">");
                write_pieces(&mut out, pieces);
                out.push_str("</g>\n");
            }
            None => write_pieces(&mut out, pieces),
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Returns the CSS rules that show and hide pieces and move the progress bar. The class `k0` belongs to the first of
/// `masks`, `k1` to the second, and so on.
fn style_sheet(frames: &[Frame], masks: &[Mask]) -> String {
    let total: u32 = frames.iter().map(|frame| frame.millis).sum();
    let length = number(f64::from(total) / 1000.0);
    let mut starts = Vec::new();
    let mut passed = 0;
    for frame in frames {
        let percent = f64::from(passed) * 100.0 / f64::from(total);
        starts.push(format!("{percent:.2}%"));
        passed += frame.millis;
    }
    // `step-end`: a value stays until the next key frame.
    let mut out = format!(
        ".a{{visibility:hidden;animation:{length}s step-end infinite}}\n.s{{visibility:visible}}\n\
         .p{{transform:scaleX(0);animation:p {length}s step-end infinite}}\n@keyframes p{{"
    );
    for (at, start) in starts.iter().enumerate() {
        let share = f64::from(u32::try_from(at + 1).unwrap())
            / f64::from(u32::try_from(frames.len()).unwrap());
        let _ = write!(out, "{start}{{transform:scaleX({share:.3})}}");
    }
    out.push_str("}\n");
    for (at, mask) in masks.iter().enumerate() {
        let is_visible = |frame: usize| mask & 1 << frame != 0;
        let changes = |to: bool| -> String {
            let begins = |frame: usize| frame == 0 || is_visible(frame - 1) != to;
            let all = (0..frames.len()).filter(|frame| is_visible(*frame) == to && begins(*frame));
            all.map(|frame| starts[frame].as_str())
                .collect::<Vec<_>>()
                .join(",")
        };
        let _ = writeln!(
            out,
            ".k{at}{{animation-name:k{at}}}@keyframes k{at}{{{}{{visibility:visible}}{}{{visibility:hidden}}}}",
            changes(true),
            changes(false)
        );
    }
    out.push_str("@media (prefers-reduced-motion:reduce){.a,.p{animation:none}}\n");
    out
}
