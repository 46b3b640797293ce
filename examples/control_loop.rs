//! Draws the control loop, as an SVG that is legible on light and dark pages.
//!
//! Shape says what a thing is: drums hold state that is written to, the stack is one immutable revision over older ones,
//! plates are borrowed candidates, the hexagonal prism turns a slice into an index, the arrow carries work on, instruments
//! measure, and what is dashed is optional or outside of the library. Colour says which module owns it.
//!
//! ```console
//! $ cargo run --example control_loop [PATH]
//! ```

use std::fmt::{Display, Write as _};
use std::path::PathBuf;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/plots/control_loop.svg");

/// The modules, each with its colour on light and on dark paper.
const OWNERS: [(&str, &str, &str); 6] = [
    ("core", "#2f5fd0", "#8fb2ff"),
    ("discovery", "#1f7a3d", "#6fd08c"),
    ("health", "#c2255c", "#ff8fb1"),
    ("tower", "#b85c00", "#ffb454"),
    ("tokio", "#0b7c8c", "#5fd4e4"),
    ("observe", "#7048c8", "#bd9cff"),
];

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(COMMITTED), PathBuf::from);
    std::fs::write(&path, drawing())?;
    println!("wrote {}", path.display());
    Ok(())
}

fn drawing() -> String {
    let mut sheet = Sheet::new();
    stages(&mut sheet);
    membership(&mut sheet);
    selection(&mut sheet);
    dispatch(&mut sheet);
    feedback(&mut sheet);
    legend(&mut sheet);
    sheet.finish()
}

fn stages(sheet: &mut Sheet) {
    for (name, y, from, to) in [
        ("discovery", 58, 36, 146),
        ("membership", 58, 170, 466),
        ("eligibility", 58, 490, 664),
        ("selection", 58, 688, 836),
        ("dispatch", 58, 860, 1084),
        ("feedback", 438, 36, 330),
    ] {
        sheet.path("rule", format_args!("M{from},{} H{to}", y + 10));
        sheet.text("stage", from, y, name);
    }
}

fn membership(sheet: &mut Sheet) {
    for (y, source) in [(178, "DNS"), (228, "watch"), (278, "file")] {
        sheet.outside(85, y, 74);
        sheet.text("inside", 85, y + 5, source);
    }
    sheet.label(85, 340, "sources", "yours");
    sheet.arrow("flow", &[(128, 228), (170, 228)]);
    sheet.drum(226, 228, "discovery");
    sheet.label(226, 340, "Directory", "one writer");
    sheet.arrow("flow", &[(279, 228), (328, 228)]);
    for (row, tone) in [(3, "faint"), (2, "faint"), (1, "side")] {
        sheet.slab(394, 190 + 26 * row, 8, &format!("discovery {tone}"));
    }
    sheet.slab(394, 190, 8, "discovery front");
    sheet.label(394, 340, "Snapshot", "immutable revisions");
    sheet.arrow("flow", &[(461, 228), (508, 228)]);
}

fn selection(sheet: &mut Sheet) {
    let plates = [
        ("core front", "0"),
        ("health faint", "circuit"),
        ("core front", "2"),
        ("discovery faint", "draining"),
        ("core front", "4"),
    ];
    for (y, (class, text)) in (160..).step_by(34).zip(plates) {
        sheet.slab(575, y, 4, class);
        sheet.text(if text.len() == 1 { "inside" } else { "reason" }, 575, y + 5, text);
    }
    sheet.label(575, 340, "View", "borrowed candidates");
    sheet.arrow("flow", &[(642, 228), (704, 228)]);
    sheet.text("code", 672, 216, "&amp;[C]");
    sheet.prism(760, 228, "core");
    sheet.label(760, 340, "Policy", "a slice to an index");
    sheet.arrow("flow", &[(815, 228), (868, 228)]);
    sheet.text("code", 841, 216, "4");
}

fn dispatch(sheet: &mut Sheet) {
    sheet.arrow("tower dashed", &[(896, 182), (896, 130), (760, 130), (760, 160)]);
    sheet.text("note", 828, 120, "retry, hedge");
    sheet.arrow("flow", &[(944, 118), (944, 182)]);
    sheet.text("note", 944, 108, "request");
    sheet.bolt(920, 228, "tower");
    sheet.label(926, 340, "Balancer", "ready, admit, call");
    for y in [160, 228] {
        sheet.path("flow line faded", format_args!("M980,228 L1018,{y}"));
    }
    sheet.path("flow line", "M980,228 L1012,284");
    sheet.head("flow", (1019, 297), (4, 7));
    for y in [160, 228, 296] {
        sheet.outside(1055, y, 58);
        sheet.path("quiet", format_args!("M1036,{} h26 m6,0 h4", y + 1));
    }
    sheet.label(1055, 340, "servers", "yours");
}

fn feedback(sheet: &mut Sheet) {
    sheet.path("flow line", "M1055,372 V672 H575");
    sheet.text("note", 812, 694, "one outcome for each attempt");
    for x in [575, 700, 835, 985] {
        sheet.arrow("flow", &[(x, 672), (x, 622)]);
    }
    sheet.instrument(985, 520, "observe dashed", (20, -10));
    sheet.label(985, 590, "Recorder", "counts");
    sheet.instrument(835, 520, "core", (11, -19));
    sheet.label(835, 590, "LoadTracker", "latency, in flight");
    sheet.arrow("core", &[(835, 478), (835, 424), (760, 424), (760, 372)]);
    sheet.text("note", 798, 415, "load");
    sheet.instrument(700, 520, "health", (-18, -13));
    sheet.label(700, 590, "Ejector", "outliers");
    sheet.arrow("health", &[(700, 478), (700, 424), (612, 424), (612, 372)]);
    sheet.drum(575, 516, "health");
    sheet.label(575, 590, "PassiveHealth", "circuits");
    sheet.arrow("health", &[(575, 456), (575, 372)]);
    sheet.instrument(400, 520, "health", (0, -22));
    sheet.label(400, 590, "ActiveHealth", "verdicts of probes");
    sheet.arrow("health", &[(400, 478), (400, 424), (538, 424), (538, 372)]);
    sheet.text("note", 469, 415, "exclusions");
    sheet.instrument(226, 520, "tokio dashed", (14, -17));
    sheet.label(226, 590, "ActiveHealthRunner", "probes, timeouts");
    sheet.arrow("tokio dashed", &[(268, 520), (356, 520)]);
}

fn legend(sheet: &mut Sheet) {
    sheet.path("rule", "M36,728 H1084");
    for (x, (owner, ..)) in (36..).step_by(118).zip(OWNERS) {
        sheet.path(&format!("{owner} front"), format_args!("M{x},755 h20 v14 h-20 Z"));
        sheet.text("key", x + 28, 767, owner);
    }
    sheet.path("quiet dashed", "M744,755 h20 v14 h-20 Z");
    sheet.text("key", 772, 767, "optional, or outside of poise");
}

/// A drawing under way: shapes by their centre, and text.
struct Sheet(String);

impl Sheet {
    fn new() -> Self {
        let mut sheet = Self(String::from(concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1120 796" role="img" aria-labelledby="title">"#,
            "\n<title id=\"title\">The control loop: discovery, membership, eligibility, selection, dispatch, feedback",
            "</title>\n<style>\n"
        )));
        sheet.palette("#ffffff", "#d0d7de", "#1f2328", "#57606a", |(_, light, _)| light);
        sheet.0.push_str("@media (prefers-color-scheme: dark) {\n");
        sheet.palette("#12161c", "#363d47", "#e9edf2", "#a3adb9", |(_, _, dark)| dark);
        sheet.0.push_str(concat!(
            "}\n",
            "path, ellipse, circle { stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round }\n",
            "text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; stroke: none }\n",
            ".name, .note, .caption, .inside, .reason, .code { text-anchor: middle }\n",
            ".name { font-size: 16.5px; font-weight: 600 }\n",
            ".caption, .note, .key, .inside { font-size: 14.5px }\n",
            ".reason { font-size: 14px; font-style: italic }\n",
            ".stage { font-size: 15px; font-weight: 600; letter-spacing: 1.5px; text-transform: uppercase }\n",
            ".code { font-family: ui-monospace, 'SF Mono', 'DejaVu Sans Mono', monospace; font-size: 14.5px }\n",
            ".faint { fill-opacity: .1; stroke-opacity: .55 }\n",
            ".front { fill-opacity: .3 }\n",
            ".side { fill-opacity: .18 }\n",
            ".top { fill-opacity: .08 }\n",
            ".dashed { stroke-dasharray: 5 4 }\n",
            ".line, .rule, .quiet { fill: none }\n",
            ".head { stroke: none; fill-opacity: 1 }\n",
            ".faded { stroke-opacity: .35 }\n",
            "</style>\n",
            "<path class=\"paper edge\" d=\"M16,1 H1104 A15,15 0 0 1 1119,16 V780 A15,15 0 0 1 1104,795 H16 ",
            "A15,15 0 0 1 1,780 V16 A15,15 0 0 1 16,1 Z\"/>\n",
        ));
        sheet
    }

    /// Says what colour everything is on one paper.
    fn palette(
        &mut self,
        paper: &str,
        edge: &str,
        ink: &str,
        quiet: &str,
        shade: impl Fn((&'static str, &'static str, &'static str)) -> &'static str,
    ) {
        self.line(format_args!(".paper {{ fill: {paper}; stroke: none }}"));
        self.line(format_args!(".edge, .rule {{ stroke: {edge} }}"));
        self.line(format_args!("text {{ fill: {ink} }}"));
        self.line(format_args!(".caption, .stage, .reason, .note {{ fill: {quiet} }}"));
        self.line(format_args!(".flow {{ stroke: {quiet}; fill: {quiet} }}"));
        self.line(format_args!(".quiet {{ stroke: {quiet} }}"));
        for owner in OWNERS {
            let (name, colour) = (owner.0, shade(owner));
            self.line(format_args!(".{name} {{ stroke: {colour}; fill: {colour} }}"));
        }
    }

    fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("strings take what is written");
    }

    fn path(&mut self, class: &str, data: impl Display) {
        self.line(format_args!(r#"<path class="{class}" d="{data}"/>"#));
    }

    /// Fills an area, over paper, so that nothing behind it shines through.
    fn face(&mut self, class: &str, data: impl Display) {
        self.path("paper", &data);
        self.path(class, data);
    }

    fn text(&mut self, class: &str, x: i32, y: i32, text: &str) {
        self.line(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#));
    }

    fn label(&mut self, x: i32, y: i32, name: &str, caption: &str) {
        self.text("name", x, y, name);
        self.text("caption", x, y + 20, caption);
    }

    /// Draws a line of horizontal and vertical parts, with a head at its end.
    fn arrow(&mut self, class: &str, points: &[(i32, i32)]) {
        let [.., before, end] = *points else { return };
        let along = ((end.0 - before.0).signum(), (end.1 - before.1).signum());
        let stop = (end.0 - 6 * along.0, end.1 - 6 * along.1);
        let mut data = String::from("M");
        for (x, y) in points[..points.len() - 1].iter().chain([&stop]) {
            write!(data, "{x},{y} ").expect("strings take what is written");
        }
        self.path(&format!("{class} line"), data.trim_end());
        self.head(class.split(' ').next().unwrap_or(class), end, along);
    }

    /// Draws the head of an arrow whose tip is at `tip`.
    fn head(&mut self, class: &str, tip: (i32, i32), along: (i32, i32)) {
        let length = f64::from(along.0 * along.0 + along.1 * along.1).sqrt();
        let (dx, dy) = (f64::from(along.0) / length, f64::from(along.1) / length);
        let at = |back: f64, aside: f64| {
            let (x, y) =
                (f64::from(tip.0) - back * dx - aside * dy, f64::from(tip.1) - back * dy + aside * dx);
            format!("{x:.1},{y:.1}")
        };
        let data = format!("M{} L{} L{} Z", at(0.0, 0.0), at(11.0, 5.5), at(11.0, -5.5));
        self.path(&format!("{class} head"), data);
    }

    fn drum(&mut self, x: i32, y: i32, owner: &str) {
        let (left, right, top, bottom) = (x - 46, x + 46, y - 38, y + 34);
        let body = format!(
            "M{left},{top} V{bottom} A46,14 0 0 0 {right},{bottom} V{top} A46,14 0 0 1 {left},{top} Z"
        );
        self.face(&format!("{owner} front"), body);
        let lid = format!("M{left},{top} A46,14 0 0 1 {right},{top} A46,14 0 0 1 {left},{top} Z");
        self.face(&format!("{owner} top"), lid);
        for y in [top + 24, top + 48] {
            self.path(&format!("{owner} line faded"), format_args!("M{left},{y} A46,14 0 0 0 {right},{y}"));
        }
    }

    fn slab(&mut self, x: i32, y: i32, thick: i32, class: &str) {
        let (left, near, right, far) = (x - 62, x + 38, x + 62, x - 38);
        let (front, back) = (y + 11, y - 11);
        self.face(
            class,
            format_args!(
                "M{left},{front} H{near} L{right},{back} v{thick} L{near},{} H{left} Z",
                front + thick
            ),
        );
        self.face(class, format_args!("M{left},{front} H{near} L{right},{back} H{far} Z"));
    }

    fn prism(&mut self, x: i32, y: i32, owner: &str) {
        let (top, height) = (y - 38, 76);
        let lid = format!("M{},{top} l26,-18 h48 l26,18 l-26,18 h-48 Z", x - 50);
        for (class, from, to) in
            [("side", (-50, 0), (26, 18)), ("front", (-24, 18), (48, 0)), ("side", (24, 18), (26, -18))]
        {
            let (x, y) = (x + from.0, top + from.1);
            self.face(
                &format!("{owner} {class}"),
                format_args!("M{x},{y} l{},{} v{height} l{},{} Z", to.0, to.1, -to.0, -to.1),
            );
        }
        self.face(&format!("{owner} top"), lid);
    }

    fn bolt(&mut self, x: i32, y: i32, owner: &str) {
        let (left, top) = (x - 46, y - 30);
        self.face(&format!("{owner} front"), format_args!("M{left},{top} h64 l30,30 l-30,30 h-64 Z"));
        self.face(&format!("{owner} top"), format_args!("M{left},{top} l12,-12 h64 l-12,12 Z"));
        self.face(&format!("{owner} side"), format_args!("M{},{top} l12,-12 l30,30 l-12,12 Z", left + 64));
    }

    fn instrument(&mut self, x: i32, y: i32, class: &str, needle: (i32, i32)) {
        let owner = class.split(' ').next().unwrap_or(class);
        let dial = format!("M{},{y} a36,36 0 1 1 72,0 a36,36 0 1 1 -72,0 Z", x - 36);
        self.face(&format!("{class} side"), dial);
        for (dx, dy) in [(-25, 14), (-28, -6), (-17, -23), (0, -29), (17, -23), (28, -6), (25, 14)] {
            self.path(
                &format!("{owner} line"),
                format_args!("M{},{} l{},{}", x + dx, y + dy, -dx / 6, -dy / 6),
            );
        }
        self.path(&format!("{owner} line"), format_args!("M{x},{y} l{},{}", needle.0, needle.1));
        self.path(&format!("{owner} head"), format_args!("M{},{y} a4,4 0 1 1 8,0 a4,4 0 1 1 -8,0 Z", x - 4));
    }

    fn outside(&mut self, x: i32, y: i32, width: i32) {
        self.path("quiet dashed", format_args!("M{},{} h{width} v36 h-{width} Z", x - width / 2, y - 18));
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMITTED, drawing};

    #[test]
    fn the_committed_drawing_is_the_one_that_is_drawn() {
        let committed = std::fs::read_to_string(COMMITTED).expect("it is committed");
        assert!(committed == drawing(), "run `cargo run --example control_loop`");
    }
}
