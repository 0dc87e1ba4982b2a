//! Plots as SVG, in one style: on a white ground, so that they read the same on a dark page; in colours
//! that readers with any colour vision tell apart (Okabe and Ito 2008, <https://jfly.uni-koeln.de/color/>).

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Result, significant};

const SIZE: (u32, u32) = (900, 420);
const LEGEND_WIDTH: u32 = 220;
/// More decades have a label every second one only, and so on.
const MOST_DECADES: f64 = 9.0;
const FONT: &str = "system-ui, sans-serif";
const TEXT: RGBColor = RGBColor(31, 35, 40);
const GRID: RGBColor = RGBColor(222, 226, 230);
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(184, 172, 40),
];

/// One axis of a plot.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    label: &'static str,
    is_log: bool,
    range: Option<(f64, f64)>,
    format: fn(f64) -> String,
}

impl Axis {
    pub fn linear(label: &'static str) -> Self {
        Axis {
            label,
            is_log: false,
            range: None,
            format: |value| significant(value, 3),
        }
    }

    /// In powers of ten. Values of 0 and below are drawn at the lower end.
    pub fn log(label: &'static str) -> Self {
        Axis {
            is_log: true,
            format: power_of_ten,
            ..Axis::linear(label)
        }
    }

    /// From one value to another instead of as far as the data reach.
    pub fn range(self, from: f64, to: f64) -> Self {
        Axis {
            range: Some((from, to)),
            ..self
        }
    }

    /// How the values are written.
    pub fn format(self, format: fn(f64) -> String) -> Self {
        Axis { format, ..self }
    }

    /// Where a value lies on the drawn, linear axis.
    fn place(&self, value: f64, lowest: f64) -> f64 {
        if self.is_log { value.max(lowest).log10() } else { value }
    }

    /// The values with a label, the ends included.
    fn ticks(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let (low, high) = self.range.unwrap_or_else(|| self.extent(values));
        if self.is_log {
            let decades = high.log10() - low.log10();
            let step = (decades / MOST_DECADES).ceil().max(1.0);
            let powers = multiples(low.log10(), high.log10(), step);
            return powers.into_iter().map(|power| 10_f64.powf(power)).collect();
        }
        multiples(low, high, round_step((high - low) / 6.0))
    }

    /// The least and the greatest value that can be drawn.
    fn extent(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let drawn: Vec<f64> = values.filter(|&value| !self.is_log || value > 0.0).collect();
        let low = drawn.iter().copied().reduce(f64::min).unwrap_or(1.0);
        let high = drawn.iter().copied().reduce(f64::max).unwrap_or(1.0);
        // An axis of no length could not be drawn.
        (low, if low < high { high } else { low + low.abs().max(1.0) })
    }
}

/// The multiples of `step` that reach over `low` and `high`, with a tolerance for what arithmetic adds to a round one.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step + 1e-9).floor() as i32;
    let last = (high / step - 1e-9).ceil() as i32;
    (first..=last).map(|index| f64::from(index) * step).collect()
}

/// The next of 1, 2, 5, 10, … times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step);
    factor.unwrap_or(10.0) * power
}

fn power_of_ten(value: f64) -> String {
    if (0.001..=1000.0).contains(&value) {
        return significant(value, 1);
    }
    let superscript = |digit: char| match digit {
        '-' => '⁻',
        _ => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - '0' as usize],
    };
    let power: String = format!("{:.0}", value.log10()).chars().map(superscript).collect();
    format!("10{power}")
}

/// A named line, or the bars of one colour.
#[derive(Debug, Clone)]
pub struct Series<T> {
    pub name: String,
    pub values: Vec<T>,
}

/// Lines over a common x.
#[derive(Debug, Clone)]
pub struct LinePlot {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series<(f64, f64)>>,
}

impl LinePlot {
    /// The plot as an SVG file.
    ///
    /// # Errors
    /// Of the drawing library.
    pub fn to_svg(&self) -> Result<String> {
        let points = || self.series.iter().flat_map(|series| series.values.iter());
        let x_ticks = self.x.ticks(points().map(|point| point.0));
        let y_ticks = self.y.ticks(points().map(|point| point.1));
        let (lowest_x, lowest_y) = (x_ticks[0], y_ticks[0]);
        let x = PlacedAxis::new(self.x, &x_ticks, lowest_x);
        let y = PlacedAxis::new(self.y, &y_ticks, lowest_y);
        draw(self.title, &legend_of(&self.series), x, y, |chart| {
            for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
                let places = series.values.iter();
                let places = places.map(|&(x, y)| (self.x.place(x, lowest_x), self.y.place(y, lowest_y)));
                chart.draw_series(LineSeries::new(places, colour.stroke_width(2)))?;
            }
            Ok(())
        })
    }
}

/// Groups of bars side by side, one of each series.
#[derive(Debug, Clone)]
pub struct BarPlot {
    pub title: &'static str,
    pub groups: Vec<String>,
    pub y: Axis,
    pub series: Vec<Series<f64>>,
}

impl BarPlot {
    /// The plot as an SVG file.
    ///
    /// # Errors
    /// Of the drawing library.
    pub fn to_svg(&self) -> Result<String> {
        let values = self.series.iter().flat_map(|series| series.values.iter().copied());
        let ground = if self.y.is_log { None } else { Some(0.0) };
        let y_ticks = self.y.ticks(values.chain(ground));
        let lowest = y_ticks[0];
        let groups = self.groups.len();
        let x = PlacedAxis {
            label: "",
            from: 0.0,
            to: groups as f64,
            ticks: (0..groups).map(|group| group as f64 + 0.5).collect(),
            labels: self.groups.clone(),
        };
        let y = PlacedAxis::new(self.y, &y_ticks, lowest);
        let width = 0.8 / self.series.len() as f64;
        draw(self.title, &legend_of(&self.series), x, y, |chart| {
            for (index, (series, colour)) in self.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
                let bars = series.values.iter().enumerate().map(|(group, &value)| {
                    let left = group as f64 + 0.1 + index as f64 * width;
                    let corners = [
                        (left, self.y.place(lowest, lowest)),
                        (left + width * 0.92, self.y.place(value, lowest)),
                    ];
                    Rectangle::new(corners, colour.filled())
                });
                chart.draw_series(bars)?;
            }
            Ok(())
        })
    }
}

fn legend_of<T>(series: &[Series<T>]) -> Vec<String> {
    series.iter().map(|series| series.name.clone()).collect()
}

/// An axis with its ticks where they are drawn.
struct PlacedAxis {
    label: &'static str,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
    labels: Vec<String>,
}

impl PlacedAxis {
    fn new(axis: Axis, values: &[f64], lowest: f64) -> Self {
        let ticks: Vec<f64> = values.iter().map(|&value| axis.place(value, lowest)).collect();
        PlacedAxis {
            label: axis.label,
            from: ticks[0],
            to: ticks[ticks.len() - 1],
            labels: values.iter().map(|&value| (axis.format)(value)).collect(),
            ticks,
        }
    }
}

impl Ranged for PlacedAxis {
    type ValueType = f64;
    type FormatOption = NoDefaultFormatting;

    fn map(&self, place: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (place - self.from) / (self.to - self.from);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for PlacedAxis {
    fn format_ext(&self, place: &f64) -> String {
        let label = self.ticks.iter().zip(&self.labels).find(|(tick, _)| *tick == place);
        label.map_or_else(String::new, |(_, label)| label.clone())
    }
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<PlacedAxis, PlacedAxis>>;

/// Draws everything but the data: title, axes, legend.
fn draw(
    title: &str,
    legend: &[String],
    x: PlacedAxis,
    y: PlacedAxis,
    data: impl FnOnce(&mut Chart<'_, '_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (x_label, y_label) = (x.label, y.label);
        let (plot, side) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        let mut chart = ChartBuilder::on(&plot)
            .caption(title, (FONT, 19).into_font().color(&TEXT))
            .margin(12)
            .x_label_area_size(50)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(TEXT)
            .label_style((FONT, 16).into_font().color(&TEXT))
            .x_desc(x_label)
            .y_desc(y_label)
            .draw()?;
        data(&mut chart)?;
        draw_legend(&side, legend)?;
        root.present()?;
    }
    Ok(svg)
}

fn draw_legend(area: &DrawingArea<SVGBackend<'_>, Shift>, names: &[String]) -> Result<()> {
    let anchor = Pos::new(HPos::Left, VPos::Center);
    let style = (FONT, 16).into_font().color(&TEXT).pos(anchor);
    for (row, (name, colour)) in (0..).zip(names.iter().zip(COLOURS.iter().cycle())) {
        let top = 50 + 22 * row;
        area.draw(&Rectangle::new([(0, top - 2), (18, top + 2)], colour.filled()))?;
        area.draw(&Text::new(name.clone(), (26, top), style.clone()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_over_the_data() {
        let values = || [0.3, 37.0].into_iter();
        assert_eq!(Axis::linear("").ticks(values()), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(Axis::log("").ticks(values()), [0.1, 1.0, 10.0, 100.0]);
        assert_eq!(power_of_ten(1e-6), "10⁻⁶");
        assert_eq!(power_of_ten(0.1), "0.1");
    }

    #[test]
    fn a_plot_is_the_same_text_each_time() {
        let plot = LinePlot {
            title: "A line",
            x: Axis::linear("x"),
            y: Axis::log("y"),
            series: vec![Series {
                name: "one".into(),
                values: vec![(0.0, 0.0), (1.0, 10.0), (2.0, 1000.0)],
            }],
        };
        let svg = plot.to_svg().expect("a plot");
        assert!(svg.starts_with("<svg") && svg.contains("A line") && svg.contains("one"));
        assert_eq!(svg, plot.to_svg().expect("a plot"));
    }
}
