//! The flame graph: the tail's time and the body's, side by side, each as wide as its own request.
//!
//! Written here and not by `inferno`, whose licence (CDDL) asks more of whoever gives it on than this
//! project's; the picture needs two panels, too.

use std::fmt::Write as _;

use sojourn_base::units::show_ns;

use super::flame::{Folded, KERNEL, Node, OTHER, QUEUED, SLEEPS, STRUCK, WAITS, WORKS};

const PANEL: f64 = 670.0;
const GAP: f64 = 30.0;
const MARGIN: f64 = 14.0;
const ROW: f64 = 19.0;
const HEAD: f64 = 92.0;
const FOOT: f64 = 40.0;
/// Width of a letter of the frames' font, in the same unit as all else.
const LETTER: f64 = 6.7;
/// Narrower frames are left out.
const LEAST: f64 = 0.5;

/// One of the two groups of requests.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// Which requests.
    pub title: &'a str,
    /// How many.
    pub requests: u64,
    /// Their time by stack.
    pub folded: &'a Folded,
}

/// Kinds of frames: first frame below the thread, colour, what it means.
const KINDS: [(&str, &str, &str); 6] = [
    (WAITS, "#e4572e", "waits for a CPU"),
    (SLEEPS, "#5b8fd6", "sleeps (program)"),
    (STRUCK, "#a44fb5", "interrupted"),
    (QUEUED, "#f0b429", "behind other requests"),
    (WORKS, "#6cae56", "works"),
    (OTHER, "#b8b3a8", "other"),
];
const KERNEL_COLOUR: &str = "#8fb6ea";

/// Share of the longer request from which on a change has its colour: more on this side, less on it.
const CHANGES: [(f64, &str, &str); 3] =
    [(0.1, "#d7301f", "#2b6cb0"), (0.02, "#f4845f", "#74a9d8"), (0.003, "#fbc9b5", "#c3dbf0")];
const SAME: &str = "#e6e2d8";

/// The whole picture; `title` and `answer` are written above it.
pub fn draw(title: &str, answer: &str, tail: Panel<'_>, body: Panel<'_>) -> String {
    picture(title, answer, [tail, body], false)
}

/// Two sides on one scale, coloured by how they differ.
pub fn draw_change(title: &str, answer: &str, first: Panel<'_>, second: Panel<'_>) -> String {
    picture(title, answer, [first, second], true)
}

fn picture(title: &str, answer: &str, panels: [Panel<'_>; 2], is_change: bool) -> String {
    let trees = panels.map(|panel| Node::of(panel.folded));
    let depth = trees.iter().map(|tree| tree.depth(least_ns(tree))).max().unwrap_or(0).max(3);
    let width = 2.0 * PANEL + GAP + 2.0 * MARGIN;
    let height = HEAD + depth as f64 * ROW + FOOT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"11\">\n\
         <style>.f rect{{stroke:#fff;stroke-width:.6}}.f:hover rect{{stroke:#000;stroke-width:1.2}}\
         .f text{{pointer-events:none}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    words(&mut svg, (MARGIN, 24.0), "font-size=\"16\" font-weight=\"bold\"", title);
    words(&mut svg, (MARGIN, 44.0), "font-size=\"12\"", &cut(answer, width - 2.0 * MARGIN, 7.3));
    let each = |side: usize| trees[side].ns as f64 / panels[side].requests.max(1) as f64;
    let longest_ns = each(0).max(each(1)).max(1.0);
    for (number, (panel, tree)) in panels.into_iter().zip(&trees).enumerate() {
        let left = MARGIN + number as f64 * (PANEL + GAP);
        let each_ns = each(number);
        let head =
            format!("{}: {} requests, {} each", panel.title, panel.requests, show_ns(each_ns));
        words(&mut svg, (left, 76.0), "font-size=\"13\" font-weight=\"bold\"", &head);
        let base = HEAD + depth as f64 * ROW;
        let requests = panel.requests.max(1) as f64;
        let wide_ns = if is_change { longest_ns * requests } else { tree.ns.max(1) as f64 };
        let against = is_change.then(|| Against {
            per_ns: requests / panels[1 - number].requests.max(1) as f64,
            longest_ns: longest_ns * requests,
        });
        let scale = Scale { each_ns, all_ns: tree.ns.max(1) as f64, wide_ns, base, against };
        frames(&mut svg, (tree, Some(&trees[1 - number])), left, 0, "", &scale);
    }
    if is_change {
        legend_of_change(&mut svg, height - 14.0);
    } else {
        legend(&mut svg, height - 14.0);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Time of the narrowest frame that is drawn, ns.
fn least_ns(tree: &Node) -> u64 {
    (tree.ns as f64 * LEAST / PANEL) as u64
}

struct Scale {
    each_ns: f64,
    all_ns: f64,
    /// Time that is as wide as a panel, ns.
    wide_ns: f64,
    /// Lower edge of the lowest frame.
    base: f64,
    /// The other side, if its changes are what is shown.
    against: Option<Against>,
}

struct Against {
    /// Requests of this side for each of the other.
    per_ns: f64,
    /// The longer mean request, times the requests of this side, ns.
    longest_ns: f64,
}

impl Scale {
    /// How much longer a frame is than on the other side, as a share of the longer request.
    fn change(&self, node: &Node, other: Option<&Node>) -> Option<f64> {
        let against = self.against.as_ref()?;
        let other_ns = other.map_or(0.0, |node| node.ns as f64) * against.per_ns;
        Some((node.ns as f64 - other_ns) / against.longest_ns)
    }
}

/// The children of a node, from left to right, each with its own above it; beside it the node of the other side.
fn frames(
    svg: &mut String,
    (node, other): (&Node, Option<&Node>),
    left: f64,
    level: usize,
    kind: &str,
    scale: &Scale,
) {
    let mut x = left;
    for (name, child) in &node.children {
        let wide = child.ns as f64 / scale.wide_ns * PANEL;
        if wide >= LEAST {
            let kind = if level == 1 { name.as_str() } else { kind };
            let other = other.and_then(|other| other.children.get(name));
            frame(svg, name, (child, other), (x, wide), level, kind, scale);
            frames(svg, (child, other), x, level + 1, kind, scale);
        }
        x += wide;
    }
}

fn frame(
    svg: &mut String,
    name: &str,
    (node, other): (&Node, Option<&Node>),
    (x, wide): (f64, f64),
    level: usize,
    kind: &str,
    scale: &Scale,
) {
    let y = scale.base - (level + 1) as f64 * ROW;
    let shown = name.strip_suffix(KERNEL).unwrap_or(name);
    let share = node.ns as f64 / scale.all_ns;
    let change = scale.change(node, other);
    let mut about =
        format!("{}: {} a request, {:.1} %", shown, show_ns(share * scale.each_ns), share * 100.0);
    if let (Some(change), Some(against)) = (change, &scale.against) {
        let ns = change * against.longest_ns * scale.each_ns / scale.all_ns;
        let word = if ns < 0.0 { "less" } else { "more" };
        let _ = write!(about, ", {} {word} than on the other side", show_ns(ns.abs()));
    }
    let _ = write!(
        svg,
        "<g class=\"f\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" \
         height=\"{ROW}\" rx=\"2\" fill=\"{}\"/>",
        escape(&about),
        change.map_or_else(|| colour(name, level, kind), colour_of_change)
    );
    let text =
        if level == 1 { format!("{shown} {:.0} %", share * 100.0) } else { shown.to_owned() };
    let fits = cut(&text, wide - 6.0, LETTER);
    if fits.chars().count() > 2 {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 3.0,
            y + 13.5,
            escape(&fits)
        );
    }
    svg.push_str("</g>\n");
}

fn colour(name: &str, level: usize, kind: &str) -> &'static str {
    if level == 0 {
        return "#d9d4c7";
    }
    if name.ends_with(KERNEL) {
        return KERNEL_COLOUR;
    }
    KINDS.iter().find(|(of, ..)| *of == kind).map_or("#b8b3a8", |(_, colour, _)| colour)
}

fn colour_of_change(change: f64) -> &'static str {
    let step = CHANGES.iter().find(|(least, ..)| change.abs() >= *least);
    step.map_or(SAME, |(_, more, less)| if change > 0.0 { more } else { less })
}

fn legend_of_change(svg: &mut String, y: f64) {
    let colours = [
        (CHANGES[0].1, "longer on this side by 10 % of a request"),
        (CHANGES[1].1, "2 %"),
        (SAME, "the same"),
        (CHANGES[1].2, "shorter by 2 %"),
        (CHANGES[0].2, "10 %"),
    ];
    swatches(svg, y, colours, "width: time of a request, one scale for both");
}

fn legend(svg: &mut String, y: f64) {
    let kernel = ("", KERNEL_COLOUR, "sleeps (kernel)");
    let kinds = KINDS[..2].iter().chain([&kernel]).chain(&KINDS[2..]);
    let colours = kinds.map(|&(_, colour, about)| (colour, about));
    swatches(svg, y, colours, "width: share of the group's time");
}

/// Colours with their meaning in a line, and what a width is.
fn swatches<'a>(
    svg: &mut String,
    y: f64,
    colours: impl IntoIterator<Item = (&'a str, &'a str)>,
    width: &str,
) {
    let mut x = MARGIN;
    for (colour, about) in colours {
        let _ = write!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"11\" height=\"11\" rx=\"2\" fill=\"{colour}\"/>",
            y - 9.5
        );
        words(svg, (x + 16.0, y), "", about);
        x += 34.0 + about.len() as f64 * LETTER;
    }
    words(svg, (x + 10.0, y), "fill=\"#777\"", width);
}

fn words(svg: &mut String, (x, y): (f64, f64), style: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.0}\" y=\"{y:.0}\" {style}>{}</text>", escape(text));
}

/// As much of a text as fits, with dots where it was cut.
fn cut(text: &str, wide: f64, letter: f64) -> String {
    let most = (wide / letter).max(0.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    if most < 3 {
        return String::new();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn escape(text: &str) -> String {
    let safe = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    safe.replace('"', "&quot;").chars().filter(|c| !c.is_control()).collect()
}
