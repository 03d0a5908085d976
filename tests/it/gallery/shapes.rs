//! Shapes for symbols: frames, lines, bars and marks are drawn instead of written, so that they join without gaps and do not depend
//! on the reader's font. Pure.

/// Width of a cell, in units of the picture.
pub const WIDTH: f64 = 9.0;
/// Height of a cell, in units of the picture.
pub const HEIGHT: f64 = 19.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Light,
    Heavy,
}

/// How a path is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawMode {
    /// Filled with a mixture of foreground and background. The number is the share of the foreground in percent.
    Fill(u8),
    /// A frame line, which ends at the edge of the cell.
    Line(Weight),
    /// A thin line with round ends.
    Pen,
    /// Round dots, each a path of length zero.
    Dots,
}

/// A part of a symbol. `from` is its start in the cell; `path` consists of relative SVG path commands.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub mode: DrawMode,
    pub from: (f64, f64),
    pub path: String,
}

/// How a symbol is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Straight lines from the centre to the edges: left, right, up, down.
    Arms([Option<Weight>; 4]),
    Parts(Vec<Part>),
}

/// The arms of U+2500 to U+257F, each a digit in the order of [`Shape::Arms`]: 0 none, 1 light, 2 heavy. `----` stands
/// for a character that does not consist of arms.
#[rustfmt::skip]
const ARMS: &str = "\
    1100 2200 0011 0022 ---- ---- ---- ---- ---- ---- ---- ---- 0101 0201 0102 0202 \
    1001 2001 1002 2002 0110 0210 0120 0220 1010 2010 1020 2020 0111 0211 0121 0112 \
    0122 0221 0212 0222 1011 2011 1021 1012 1022 2021 2012 2022 1101 2101 1201 2201 \
    1102 2102 1202 2202 1110 2110 1210 2210 1120 2120 1220 2220 1111 2111 1211 2211 \
    1121 1112 1122 2121 1221 2112 1212 2221 2212 2122 1222 2222 ---- ---- ---- ---- \
    ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- \
    ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- \
    ---- ---- ---- ---- 1000 0010 0100 0001 2000 0020 0200 0002 1200 0012 2100 0021";

const DISK: &str = "a3.9 3.9 0 1 0 7.8 0a3.9 3.9 0 1 0-7.8 0z";
const RING: &str = "a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z";
const RING_AT: (f64, f64) = (1.1, 9.5);

/// A [`Part`], in the form in which [`SYMBOLS`] contains it.
type Stroke = (DrawMode, (f64, f64), &'static str);

/// The symbols that are drawn as [`Shape::Parts`], with their parts.
#[rustfmt::skip]
const SYMBOLS: &[(char, &[Stroke])] = &[
    ('╭', &[(DrawMode::Line(Weight::Light), (4.5, 19.0), "v-5q0-4.5 4.5-4.5")]),
    ('╮', &[(DrawMode::Line(Weight::Light), (4.5, 19.0), "v-5q0-4.5-4.5-4.5")]),
    ('╯', &[(DrawMode::Line(Weight::Light), (4.5, 0.0), "v5q0 4.5-4.5 4.5")]),
    ('╰', &[(DrawMode::Line(Weight::Light), (4.5, 0.0), "v5q0 4.5 4.5 4.5")]),
    ('●', &[(DrawMode::Fill(100), (0.6, 9.5), DISK)]),
    ('○', &[(DrawMode::Pen, RING_AT, RING)]),
    ('◐', &[(DrawMode::Pen, RING_AT, RING), (DrawMode::Fill(100), (4.5, 6.1), "a3.4 3.4 0 0 0 0 6.8z")]),
    ('◔', &[(DrawMode::Pen, RING_AT, RING), (DrawMode::Fill(100), (4.5, 6.1), "a3.4 3.4 0 0 1 3.4 3.4h-3.4z")]),
    ('◌', &[(DrawMode::Dots, (8.0, 9.5),
        "h0m-1 2.5h0m-2.5 1h0m-2.5-1h0m-1-2.5h0m1-2.5h0m2.5-1h0m2.5 1h0")]),
    ('◆', &[(DrawMode::Fill(100), (4.5, 5.3), "l4.1 4.2l-4.1 4.2l-4.1-4.2z")]),
    ('◇', &[(DrawMode::Pen, (4.5, 5.8), "l3.6 3.7l-3.6 3.7l-3.6-3.7z")]),
    ('▸', &[(DrawMode::Fill(100), (0.6, 5.8), "l6.8 3.7l-6.8 3.7z")]),
    ('▶', &[(DrawMode::Fill(100), (0.3, 4.7), "l8.4 4.8l-8.4 4.8z")]),
    ('▷', &[(DrawMode::Pen, (1.2, 5.6), "l6.6 3.9l-6.6 3.9z")]),
    ('▲', &[(DrawMode::Fill(100), (4.5, 5.4), "l4.1 7.8h-8.2z")]),
    ('•', &[(DrawMode::Fill(100), (2.6, 9.5), "a1.9 1.9 0 1 0 3.8 0a1.9 1.9 0 1 0-3.8 0z")]),
    ('✓', &[(DrawMode::Pen, (1.3, 10.2), "l2.4 3l4.3-7.6")]),
    ('✗', &[(DrawMode::Pen, (1.7, 6.3), "l5.6 6.4m0-6.4l-5.6 6.4")]),
    ('→', &[(DrawMode::Pen, (0.9, 9.5), "h7.2m-3-3l3 3l-3 3")]),
    ('←', &[(DrawMode::Pen, (8.1, 9.5), "h-7.2m3-3l-3 3l3 3")]),
    ('↑', &[(DrawMode::Pen, (4.5, 14.0), "v-9m-3 3l3-3l3 3")]),
    ('↓', &[(DrawMode::Pen, (4.5, 5.0), "v9m-3-3l3 3l3-3")]),
    ('↳', &[(DrawMode::Pen, (1.5, 5.0), "v5.5h6m-2.4-2.4l2.4 2.4l-2.4 2.4")]),
    ('✉', &[(DrawMode::Pen, (0.7, 6.2), "h7.6v6.8h-7.6zl3.8 3.6l3.8-3.6")]),
    ('☐', &[(DrawMode::Pen, (1.0, 6.0), "h7v7h-7z")]),
    ('☑', &[(DrawMode::Pen, (1.0, 6.0), "h7v7h-7z"), (DrawMode::Pen, (2.6, 9.6), "l1.5 1.8l2.5-3.9")]),
];

/// Returns how a symbol is drawn; `None` if it is written as text.
pub fn shape(symbol: char) -> Option<Shape> {
    if let Some((_, parts)) = SYMBOLS.iter().find(|(known, _)| *known == symbol) {
        let part = |(mode, from, path): &Stroke| Part {
            mode: *mode,
            from: *from,
            path: (*path).to_string(),
        };
        return Some(Shape::Parts(parts.iter().map(part).collect()));
    }
    match u32::from(symbol) {
        0x2500..=0x257f => arms(symbol).or_else(|| dashes(symbol)),
        0x2580..=0x2595 => block_element(symbol),
        at @ 0x2801..=0x28ff => Some(Shape::Parts(braille_dots(at - 0x2800))),
        _ => None,
    }
}

fn arms(symbol: char) -> Option<Shape> {
    let at = usize::try_from(u32::from(symbol) - 0x2500).ok()?;
    let digits = ARMS.split_whitespace().nth(at)?.as_bytes();
    if digits[0] == b'-' {
        return None;
    }
    let weight = |digit: u8| match digit {
        b'1' => Some(Weight::Light),
        b'2' => Some(Weight::Heavy),
        _ => None,
    };
    Some(Shape::Arms([0, 1, 2, 3].map(|n| weight(digits[n]))))
}

/// Returns the shape of a dashed line; each gap takes 40 % of the period. `None` for other symbols.
fn dashes(symbol: char) -> Option<Shape> {
    let (is_horizontal, weight, count) = match symbol {
        '╌' => (true, Weight::Light, 2_u8),
        '╍' => (true, Weight::Heavy, 2),
        '╎' => (false, Weight::Light, 2),
        '╏' => (false, Weight::Heavy, 2),
        '┄' => (true, Weight::Light, 3),
        '┅' => (true, Weight::Heavy, 3),
        '┆' => (false, Weight::Light, 3),
        '┇' => (false, Weight::Heavy, 3),
        '┈' => (true, Weight::Light, 4),
        '┉' => (true, Weight::Heavy, 4),
        '┊' => (false, Weight::Light, 4),
        '┋' => (false, Weight::Heavy, 4),
        _ => return None,
    };
    let length = if is_horizontal { WIDTH } else { HEIGHT };
    let period = length / f64::from(count);
    let dash = number(period * 0.6);
    let gap = number(period - period * 0.6);
    let half = period * 0.2;
    let (from, one, skip) = if is_horizontal {
        (
            (half, HEIGHT / 2.0),
            format!("h{dash}"),
            format!("m{gap} 0"),
        )
    } else {
        ((WIDTH / 2.0, half), format!("v{dash}"), format!("m0 {gap}"))
    };
    let path = vec![one; usize::from(count)].join(&skip);
    let mode = DrawMode::Line(weight);
    Some(Shape::Parts(vec![Part { mode, from, path }]))
}

/// Returns the shape of a block element: a rectangle in eighths of the cell, or a shade of the whole cell.
fn block_element(symbol: char) -> Option<Shape> {
    let at = u8::try_from(u32::from(symbol) - 0x2580).ok()?;
    let (left, top, right, bottom, percent) = match at {
        0 => (0, 0, 8, 4, 100),
        1..=8 => (0, 8 - at, 8, 8, 100),
        9..=15 => (0, 0, 16 - at, 8, 100),
        16 => (4, 0, 8, 8, 100),
        17..=19 => (0, 0, 8, 8, (at - 16) * 25),
        20 => (0, 0, 8, 1, 100),
        21 => (7, 0, 8, 8, 100),
        _ => return None,
    };
    let (across, down) = (
        |eighths: u8| f64::from(eighths) * WIDTH / 8.0,
        |eighths: u8| f64::from(eighths) * HEIGHT / 8.0,
    );
    let (wide, high) = (number(across(right - left)), number(down(bottom - top)));
    let path = format!("h{wide}v{high}h-{wide}z");
    let (mode, from) = (DrawMode::Fill(percent), (across(left), down(top)));
    Some(Shape::Parts(vec![Part { mode, from, path }]))
}

/// Returns the dots of a braille character. Bits 0 to 2 of `bits` are the left column, 3 to 5 the right column, 6 and 7
/// the bottom row.
fn braille_dots(bits: u32) -> Vec<Part> {
    const POSITIONS: [(u8, u8); 8] = [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (0, 3),
        (1, 3),
    ];
    let set_dots = POSITIONS
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1);
    set_dots
        .map(|(_, (column, row))| Part {
            mode: DrawMode::Dots,
            from: (2.5 + f64::from(*column) * 4.0, 3.5 + f64::from(*row) * 4.0),
            path: "h0".into(),
        })
        .collect()
}

/// Formats a number with at most two decimal places and no trailing zeros.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "" => "0".into(),
        text => text.to_string(),
    }
}
