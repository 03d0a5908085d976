//! A terminal's screen as an SVG picture: each run of words stands at its cell, signs are shapes, equal things are drawn
//! together. Pure: the same screen gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cells::{Glyph, Look, colors, glyph, look};
use super::color::{Palette, Rgb, mixed};
use super::shapes::{HEIGHT, Ink, Shape, WIDTH, Weight, number};

/// Around the screen, in units of the picture.
const MARGIN: f64 = 12.0;
/// The strip with the title.
const BAR: f64 = 32.0;
/// From the top of a cell to the line that words stand on.
const BASELINE: f64 = 14.0;
/// Names that systems have for a font whose characters are all as wide.
const FONTS: &str =
    "ui-monospace,SFMono-Regular,Menlo,\"DejaVu Sans Mono\",\"Liberation Mono\",Consolas,monospace";

/// Writes `screen` as an SVG document with `title` in the strip above it.
pub fn svg(screen: &vt100::Screen, title: &str, palette: &Palette) -> String {
    let (rows, cols) = screen.size();
    let corner = screen
        .cell(0, 0)
        .map_or(palette.ground, |cell| colors(cell, palette).1);
    let mut layers = Layers::default();
    for row in 0..rows.get() {
        layers.row(screen, row, corner, palette);
    }
    if !screen.hide_cursor() {
        let (row, col) = screen.cursor_position();
        layers.cursor = Some((col, row));
    }
    let size = (
        f64::from(cols.get()) * WIDTH + 2.0 * MARGIN,
        f64::from(rows.get()) * HEIGHT + BAR + MARGIN,
    );
    layers.document(title, size, corner, palette)
}

/// Words that stand together.
struct Run {
    col: u16,
    cells: u16,
    text: String,
    look: Look,
}

/// The picture by what lies over what, bottom first.
#[derive(Default)]
struct Layers {
    /// By colour: column, row, columns and rows of each rectangle.
    grounds: BTreeMap<Rgb, Vec<[u16; 4]>>,
    /// By colour: where words are underlined, as column, row and columns.
    underlines: BTreeMap<Rgb, Vec<[u16; 3]>>,
    /// Straight lines, in halves of a cell: by colour, weight and place across, from where to where.
    level: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    upright: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    /// Paths of signs.
    paths: BTreeMap<(Ink, Rgb), String>,
    looks: Vec<Look>,
    words: String,
    cursor: Option<(u16, u16)>,
}

impl Layers {
    fn row(&mut self, screen: &vt100::Screen, row: u16, corner: Rgb, palette: &Palette) {
        let mut run: Option<Run> = None;
        let mut gap = 0;
        for col in 0..screen.size().1.get() {
            let Some(cell) = screen.cell(row, col) else {
                continue;
            };
            let (color, ground) = colors(cell, palette);
            if ground != corner {
                self.ground(ground, col, row);
            }
            if cell.underline() {
                let spans = self.underlines.entry(color).or_default();
                match spans.last_mut() {
                    Some([from, at, wide]) if *at == row && *from + *wide == col => *wide += 1,
                    _ => spans.push([col, row, 1]),
                }
            }
            if cell.is_wide_continuation() {
                continue;
            }
            let look = look(cell, color);
            match glyph(cell) {
                Glyph::Blank => gap += 1,
                Glyph::Letter => {
                    match &mut run {
                        Some(open) if open.look == look && gap <= 1 => {
                            open.text.push_str(&" ".repeat(gap));
                            open.text.push_str(cell.contents());
                            open.cells = col + 1 - open.col;
                        }
                        _ => {
                            self.words(run.take(), row);
                            run = Some(Run {
                                col,
                                cells: 1,
                                text: cell.contents().to_string(),
                                look,
                            });
                        }
                    }
                    gap = 0;
                }
                Glyph::Shape(shape) => {
                    self.words(run.take(), row);
                    self.shape(&shape, col, row, color, ground);
                    gap = 0;
                }
                Glyph::Alone => {
                    self.words(run.take(), row);
                    let cells = if cell.is_wide() { 2.0 } else { 1.0 };
                    let x = number((f64::from(col) + cells / 2.0) * WIDTH);
                    self.word(&x, row, "m", look, "", cell.contents());
                    gap = 0;
                }
            }
        }
        self.words(run.take(), row);
    }

    /// A cell's ground; rows that are alike become one rectangle.
    fn ground(&mut self, color: Rgb, col: u16, row: u16) {
        let all = self.grounds.entry(color).or_default();
        match all.last_mut() {
            Some([from, at, wide, _]) if *at == row && *from + *wide == col => *wide += 1,
            _ => all.push([col, row, 1, 1]),
        }
    }

    fn words(&mut self, run: Option<Run>, row: u16) {
        let Some(run) = run else { return };
        let x = number(f64::from(run.col) * WIDTH);
        // The width keeps words in their cells where the font is wider or narrower than the cell.
        let width = match run.cells {
            1 => String::new(),
            cells => format!(" textLength=\"{}\"", number(f64::from(cells) * WIDTH)),
        };
        self.word(&x, row, "", run.look, &width, &run.text);
    }

    fn word(&mut self, x: &str, row: u16, class: &str, look: Look, more: &str, text: &str) {
        let at = self.looks.iter().position(|known| *known == look);
        let at = at.unwrap_or_else(|| {
            self.looks.push(look);
            self.looks.len() - 1
        });
        let y = number(f64::from(row) * HEIGHT + BASELINE);
        let class = format!("{class} w{at}");
        let (class, text) = (class.trim_start(), escaped(text));
        let _ = writeln!(
            self.words,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\"{more}>{text}</text>"
        );
    }

    fn shape(&mut self, shape: &Shape, col: u16, row: u16, color: Rgb, ground: Rgb) {
        match shape {
            Shape::Arms(arms) => {
                let (x, y) = (col * 2 + 1, row * 2 + 1);
                let ways = [(x - 1, x), (x, x + 1), (y - 1, y), (y, y + 1)];
                for (at, (weight, way)) in arms.iter().zip(ways).enumerate() {
                    let Some(weight) = *weight else { continue };
                    let (lines, across) = if at < 2 {
                        (&mut self.level, y)
                    } else {
                        (&mut self.upright, x)
                    };
                    lines.entry((color, weight, across)).or_default().push(way);
                }
            }
            Shape::Parts(parts) => {
                for part in parts {
                    let (ink, color) = match part.ink {
                        Ink::Fill(percent) => (Ink::Fill(100), mixed(color, ground, percent)),
                        ink => (ink, color),
                    };
                    let x = number(f64::from(col) * WIDTH + part.from.0);
                    let y = number(f64::from(row) * HEIGHT + part.from.1);
                    let path = self.paths.entry((ink, color)).or_default();
                    let _ = write!(path, "M{x} {y}{}", part.way);
                }
            }
        }
    }

    /// Straight lines become paths; ends in the middle of a cell reach a little further, so that corners are whole.
    fn lines(&mut self) {
        let level = std::mem::take(&mut self.level);
        let upright = std::mem::take(&mut self.upright);
        let (half_x, half_y) = (WIDTH / 2.0, HEIGHT / 2.0);
        for (lines, is_level) in [(level, true), (upright, false)] {
            for ((color, weight, across), spans) in lines {
                let path = self.paths.entry((Ink::Line(weight), color)).or_default();
                for (from, to) in joined(spans) {
                    let (along, off) = if is_level {
                        (half_x, half_y)
                    } else {
                        (half_y, half_x)
                    };
                    let reach = |end: u16| if end % 2 == 1 { 0.5 } else { 0.0 };
                    let begin = f64::from(from) * along - reach(from);
                    let length = f64::from(to) * along + reach(to) - begin;
                    let (begin, length) = (number(begin), number(length));
                    let across = number(f64::from(across) * off);
                    let _ = if is_level {
                        write!(path, "M{begin} {across}h{length}")
                    } else {
                        write!(path, "M{across} {begin}v{length}")
                    };
                }
            }
        }
    }

    fn document(
        mut self,
        title: &str,
        (width, height): (f64, f64),
        corner: Rgb,
        palette: &Palette,
    ) -> String {
        self.lines();
        let title = escaped(title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n<style>\n\
             text{{font:15px {FONTS}}}\n.m{{text-anchor:middle}}\n"
        );
        for (at, look) in self.looks.iter().enumerate() {
            let bold = if look.is_bold { ";font-weight:700" } else { "" };
            let italic = if look.is_italic {
                ";font-style:italic"
            } else {
                ""
            };
            let _ = writeln!(out, ".w{at}{{fill:{}{bold}{italic}}}", look.color);
        }
        let ink = over(corner, palette);
        let bar = mixed(ink, corner, 8);
        let _ = write!(
            out,
            "</style>\n<clipPath id=\"f\"><rect width=\"{width}\" height=\"{height}\" rx=\"9\"/></clipPath>\n\
             <g clip-path=\"url(#f)\"><rect width=\"{width}\" height=\"{height}\" fill=\"{corner}\"/>\
             <rect width=\"{width}\" height=\"24\" fill=\"{bar}\"/></g>\n\
             <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8.5\" fill=\"none\" stroke=\"#808080\" \
             stroke-opacity=\".5\"/>\n\
             <text x=\"50%\" y=\"17\" class=\"m\" style=\"font-size:13px;fill:{}\">{title}</text>\n\
             <g transform=\"translate({} {})\">\n",
            number(width - 1.0),
            number(height - 1.0),
            mixed(ink, corner, 60),
            number(MARGIN),
            number(BAR),
        );
        self.grounds(&mut out);
        for ((ink, color), path) in &self.paths {
            let looks = match ink {
                Ink::Fill(_) => format!("fill=\"{color}\""),
                Ink::Line(Weight::Light) => format!("fill=\"none\" stroke=\"{color}\""),
                Ink::Line(Weight::Heavy) => {
                    format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2.4\"")
                }
                Ink::Dots => format!(
                    "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.7\" stroke-linecap=\"round\""
                ),
                Ink::Pen => format!(
                    "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\" stroke-linecap=\"round\" \
                     stroke-linejoin=\"round\""
                ),
            };
            let _ = writeln!(out, "<path {looks} d=\"{path}\"/>");
        }
        out.push_str(&self.words);
        if let Some((col, row)) = self.cursor {
            let (x, y) = (f64::from(col) * WIDTH + 0.5, f64::from(row) * HEIGHT);
            let (x, y, words) = (number(x), number(y), mixed(ink, corner, 80));
            let _ = writeln!(
                out,
                "<path stroke=\"{words}\" stroke-width=\"2\" d=\"M{x} {y}v{HEIGHT}\"/>"
            );
        }
        out.push_str("</g>\n</svg>\n");
        out
    }

    fn grounds(&self, out: &mut String) {
        for (color, all) in &self.grounds {
            let mut path = String::new();
            for [col, row, wide, high] in stacked(all) {
                let (x, y) = (f64::from(col) * WIDTH, f64::from(row) * HEIGHT);
                let (wide, high) = (f64::from(wide) * WIDTH, f64::from(high) * HEIGHT);
                let _ = write!(
                    path,
                    "M{} {}h{}v{}h-{}z",
                    number(x),
                    number(y),
                    number(wide),
                    number(high),
                    number(wide)
                );
            }
            let _ = writeln!(
                out,
                "<path fill=\"{color}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>"
            );
        }
        for (color, all) in &self.underlines {
            let mut path = String::new();
            for [col, row, wide] in all {
                let y = f64::from(*row) * HEIGHT + BASELINE + 2.5;
                let (x, wide) = (f64::from(*col) * WIDTH, f64::from(*wide) * WIDTH);
                let _ = write!(path, "M{} {}h{}", number(x), number(y), number(wide));
            }
            let _ = writeln!(out, "<path fill=\"none\" stroke=\"{color}\" d=\"{path}\"/>");
        }
    }
}

/// What can be seen on a window's ground.
fn over(ground: Rgb, palette: &Palette) -> Rgb {
    let sum = u16::from(ground.0) + u16::from(ground.1) + u16::from(ground.2);
    if sum > 3 * 128 {
        palette.ground
    } else {
        palette.words
    }
}

/// Spans that touch or overlap become one.
fn joined(mut spans: Vec<(u16, u16)>) -> Vec<(u16, u16)> {
    spans.sort_unstable();
    let mut out: Vec<(u16, u16)> = Vec::new();
    for (from, to) in spans {
        match out.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Rectangles of one row that lie under ones as wide become one.
fn stacked(all: &[[u16; 4]]) -> Vec<[u16; 4]> {
    let mut out: Vec<[u16; 4]> = Vec::new();
    for &[col, row, wide, high] in all {
        let above = out
            .iter_mut()
            .rfind(|r| r[0] == col && r[2] == wide && r[1] + r[3] == row);
        match above {
            Some(found) => found[3] += high,
            None => out.push([col, row, wide, high]),
        }
    }
    out
}

/// Text as XML takes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
