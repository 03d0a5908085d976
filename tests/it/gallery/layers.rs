//! Turns a terminal screen into pieces of a picture, in layers: text runs at their cells, symbols as shapes, equal parts merged.
//! Pure: the same screen gives the same pieces.

use std::collections::BTreeMap;

use super::cells::{Glyph, TextStyle, colors, glyph, text_style};
use super::color::{Palette, Rgb, mix};
use super::shapes::{DrawMode, HEIGHT, Shape, WIDTH, Weight, number};

/// Distance from the top of a cell to the text baseline, in picture units.
const BASELINE: f64 = 14.0;

/// A part of the picture of a screen. Pieces are sorted by their layer, so that a higher layer covers a lower one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    pub layer: Layer,
    /// The attributes of a path. Empty if `content` is a complete element.
    pub attributes: String,
    /// SVG path commands that begin with an absolute `M`, or a complete element.
    pub content: String,
}

/// The layers of a picture, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Background,
    Underline,
    Drawing(DrawMode),
    Text,
    Cursor,
}

/// Returns the background colour of the top left cell, which becomes the background of the picture.
pub fn corner_color(screen: &vt100::Screen, palette: &Palette) -> Rgb {
    screen
        .cell(0, 0)
        .map_or(palette.background, |cell| colors(cell, palette).1)
}

/// Returns the pieces of `screen` in the order in which they are drawn. Text refers to `styles` by index; styles that
/// are missing there are added.
pub fn pieces(
    screen: &vt100::Screen,
    palette: &Palette,
    styles: &mut Vec<TextStyle>,
) -> Vec<Piece> {
    let (rows, _) = screen.size();
    let corner = corner_color(screen, palette);
    let mut layers = Layers {
        styles: std::mem::take(styles),
        ..Layers::default()
    };
    for row in 0..rows.get() {
        layers.add_row(screen, row, corner, palette);
    }
    if !screen.hide_cursor() {
        let (row, col) = screen.cursor_position();
        let (x, y) = (f64::from(col) * WIDTH + 0.5, f64::from(row) * HEIGHT);
        let color = mix(contrast_color(corner, palette), corner, 80);
        let attributes = format!("stroke=\"{color}\" stroke-width=\"2\"");
        let path = format!("M{} {}v{HEIGHT}", number(x), number(y));
        layers.add(Layer::Cursor, attributes, path);
    }
    layers.add_backgrounds();
    layers.merge_lines();
    // The order of equal keys stays.
    let key = |piece: &Piece| (piece.layer, piece.attributes.clone());
    layers.pieces.sort_by_cached_key(key);
    *styles = layers.styles;
    layers.pieces
}

/// Text in adjacent cells that have the same style.
struct TextRun {
    col: u16,
    cells: u16,
    text: String,
    style: TextStyle,
}

/// What is collected cell by cell before it becomes pieces.
#[derive(Default)]
struct Layers {
    /// The rectangles of each colour: column, row, width and height, in cells.
    backgrounds: BTreeMap<Rgb, Vec<[u16; 4]>>,
    /// The underlines of each colour: column, row and width, in cells.
    underlines: BTreeMap<Rgb, Vec<[u16; 3]>>,
    /// Start and end of each straight line. The key is its colour, its weight and its position across the line;
    /// positions are in half cells.
    horizontal: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    vertical: BTreeMap<(Rgb, Weight, u16), Vec<(u16, u16)>>,
    styles: Vec<TextStyle>,
    pieces: Vec<Piece>,
}

impl Layers {
    fn add_row(&mut self, screen: &vt100::Screen, row: u16, corner: Rgb, palette: &Palette) {
        let mut run: Option<TextRun> = None;
        let mut gap = 0;
        for col in 0..screen.size().1.get() {
            let Some(cell) = screen.cell(row, col) else {
                continue;
            };
            let (color, background) = colors(cell, palette);
            if background != corner {
                self.add_background(background, col, row);
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
            let style = text_style(cell, color);
            match glyph(cell) {
                Glyph::Blank => gap += 1,
                Glyph::Text => {
                    match &mut run {
                        Some(open) if open.style == style && gap <= 1 => {
                            open.text.push_str(&" ".repeat(gap));
                            open.text.push_str(cell.contents());
                            open.cells = col + 1 - open.col;
                        }
                        _ => {
                            self.write_run(run.take(), row);
                            run = Some(TextRun {
                                col,
                                cells: 1,
                                text: cell.contents().to_string(),
                                style,
                            });
                        }
                    }
                    gap = 0;
                }
                Glyph::Shape(shape) => {
                    self.write_run(run.take(), row);
                    self.add_shape(&shape, col, row, color, background);
                    gap = 0;
                }
                Glyph::Centred => {
                    self.write_run(run.take(), row);
                    let cells = if cell.is_wide() { 2.0 } else { 1.0 };
                    let x = number((f64::from(col) + cells / 2.0) * WIDTH);
                    self.write_text(&x, row, "m", style, "", cell.contents());
                    gap = 0;
                }
            }
        }
        self.write_run(run.take(), row);
    }

    /// Adds the background of a cell. If the rectangle to the left has the same colour, it is extended instead.
    fn add_background(&mut self, color: Rgb, col: u16, row: u16) {
        let all = self.backgrounds.entry(color).or_default();
        match all.last_mut() {
            Some([from, at, wide, _]) if *at == row && *from + *wide == col => *wide += 1,
            _ => all.push([col, row, 1, 1]),
        }
    }

    fn write_run(&mut self, run: Option<TextRun>, row: u16) {
        let Some(run) = run else { return };
        let x = number(f64::from(run.col) * WIDTH);
        // `textLength` keeps the text in its cells if the font is wider or narrower.
        let width = match run.cells {
            1 => String::new(),
            cells => format!(" textLength=\"{}\"", number(f64::from(cells) * WIDTH)),
        };
        self.write_text(&x, row, "", run.style, &width, &run.text);
    }

    fn write_text(
        &mut self,
        x: &str,
        row: u16,
        class: &str,
        style: TextStyle,
        more: &str,
        text: &str,
    ) {
        let at = self.styles.iter().position(|known| *known == style);
        let at = at.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let y = number(f64::from(row) * HEIGHT + BASELINE);
        let class = format!("{class} w{at}");
        let (class, text) = (class.trim_start(), escape_xml(text));
        let element = format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\"{more}>{text}</text>");
        self.add(Layer::Text, String::new(), element);
    }

    fn add(&mut self, layer: Layer, attributes: String, content: String) {
        self.pieces.push(Piece {
            layer,
            attributes,
            content,
        });
    }

    fn add_path(&mut self, mode: DrawMode, color: Rgb, path: String) {
        let attributes = match mode {
            DrawMode::Fill(_) => format!("fill=\"{color}\""),
            DrawMode::Line(Weight::Light) => format!("fill=\"none\" stroke=\"{color}\""),
            DrawMode::Line(Weight::Heavy) => {
                format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2.4\"")
            }
            DrawMode::Dots => format!(
                "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.7\" stroke-linecap=\"round\""
            ),
            DrawMode::Pen => format!(
                "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\" stroke-linecap=\"round\" \
                 stroke-linejoin=\"round\""
            ),
        };
        self.add(Layer::Drawing(mode), attributes, path);
    }

    fn add_shape(&mut self, shape: &Shape, col: u16, row: u16, color: Rgb, background: Rgb) {
        match shape {
            Shape::Arms(arms) => {
                let (x, y) = (col * 2 + 1, row * 2 + 1);
                let spans = [(x - 1, x), (x, x + 1), (y - 1, y), (y, y + 1)];
                for (at, (weight, span)) in arms.iter().zip(spans).enumerate() {
                    let Some(weight) = *weight else { continue };
                    let (lines, across) = if at < 2 {
                        (&mut self.horizontal, y)
                    } else {
                        (&mut self.vertical, x)
                    };
                    lines.entry((color, weight, across)).or_default().push(span);
                }
            }
            Shape::Parts(parts) => {
                for part in parts {
                    let (mode, color) = match part.mode {
                        DrawMode::Fill(percent) => {
                            (DrawMode::Fill(100), mix(color, background, percent))
                        }
                        mode => (mode, color),
                    };
                    let x = number(f64::from(col) * WIDTH + part.from.0);
                    let y = number(f64::from(row) * HEIGHT + part.from.1);
                    self.add_path(mode, color, format!("M{x} {y}{}", part.path));
                }
            }
        }
    }

    /// Turns the straight lines into paths. An end in the middle of a cell is extended by 0.5 units, so that corners
    /// have no gaps.
    fn merge_lines(&mut self) {
        let horizontal = std::mem::take(&mut self.horizontal);
        let vertical = std::mem::take(&mut self.vertical);
        let (half_x, half_y) = (WIDTH / 2.0, HEIGHT / 2.0);
        for (lines, is_horizontal) in [(horizontal, true), (vertical, false)] {
            for ((color, weight, across), spans) in lines {
                for (from, to) in merge_spans(spans) {
                    let (along, off) = if is_horizontal {
                        (half_x, half_y)
                    } else {
                        (half_y, half_x)
                    };
                    let reach = |end: u16| if end % 2 == 1 { 0.5 } else { 0.0 };
                    let begin = f64::from(from) * along - reach(from);
                    let length = f64::from(to) * along + reach(to) - begin;
                    let (begin, length) = (number(begin), number(length));
                    let across = number(f64::from(across) * off);
                    let path = if is_horizontal {
                        format!("M{begin} {across}h{length}")
                    } else {
                        format!("M{across} {begin}v{length}")
                    };
                    self.add_path(DrawMode::Line(weight), color, path);
                }
            }
        }
    }

    fn add_backgrounds(&mut self) {
        for (color, all) in std::mem::take(&mut self.backgrounds) {
            for [col, row, wide, high] in merge_rectangles(&all) {
                let (x, y) = (f64::from(col) * WIDTH, f64::from(row) * HEIGHT);
                let (wide, high) = (f64::from(wide) * WIDTH, f64::from(high) * HEIGHT);
                let (x, y, wide, high) = (number(x), number(y), number(wide), number(high));
                let attributes = format!("fill=\"{color}\" shape-rendering=\"crispEdges\"");
                let path = format!("M{x} {y}h{wide}v{high}h-{wide}z");
                self.add(Layer::Background, attributes, path);
            }
        }
        for (color, all) in std::mem::take(&mut self.underlines) {
            for [col, row, wide] in all {
                let y = number(f64::from(row) * HEIGHT + BASELINE + 2.5);
                let (x, wide) = (f64::from(col) * WIDTH, f64::from(wide) * WIDTH);
                let attributes = format!("fill=\"none\" stroke=\"{color}\"");
                let path = format!("M{} {y}h{}", number(x), number(wide));
                self.add(Layer::Underline, attributes, path);
            }
        }
    }
}

/// Returns the colour of the palette, foreground or background, that is visible on `background`.
pub fn contrast_color(background: Rgb, palette: &Palette) -> Rgb {
    let sum = u16::from(background.0) + u16::from(background.1) + u16::from(background.2);
    if sum > 3 * 128 {
        palette.background
    } else {
        palette.foreground
    }
}

/// Merges spans that touch or overlap.
fn merge_spans(mut spans: Vec<(u16, u16)>) -> Vec<(u16, u16)> {
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

/// Merges one-row rectangles with the rectangle directly above if that has the same column and width.
fn merge_rectangles(all: &[[u16; 4]]) -> Vec<[u16; 4]> {
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

pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
