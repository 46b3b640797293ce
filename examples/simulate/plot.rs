//! Pictures, as SVG.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

/// Lines over a common axis.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    /// Whether equal distances are equal ratios.
    pub(crate) logarithmic: bool,
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
}

const SIZE: (u32, u32) = (860, 480);

type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

impl Chart {
    /// Draws into a file of this name.
    pub(crate) fn draw(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        fs::create_dir_all(folder)?;
        let path = folder.join(self.name).with_extension("svg");
        let canvas = SVGBackend::new(&path, SIZE).into_drawing_area();
        canvas.fill(&WHITE)?;
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let bounds = |of: fn(&(f64, f64)) -> f64| {
            let values = points().map(of);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)))
        };
        let ((left, right), (low, high)) = (bounds(|point| point.0), bounds(|point| point.1));
        // Room for the names of the lines.
        let right = right + (right - left) * 0.3;
        if self.logarithmic {
            let low = low.max(high / 1e6).max(f64::MIN_POSITIVE);
            self.draw_on(&canvas, left..right, (low * 0.8..high * 1.25).log_scale())?;
        } else {
            self.draw_on(&canvas, left..right, 0.0..high.max(f64::MIN_POSITIVE) * 1.05)?;
        }
        canvas.present()?;
        println!("drew {}", path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&path).display());
        Ok(())
    }

    fn draw_on<Y>(&self, canvas: &Canvas<'_>, x: std::ops::Range<f64>, y: Y) -> Result<(), Box<dyn Error>>
    where
        Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(canvas)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d::<std::ops::Range<f64>, Y>(x, y)?;
        chart.configure_mesh().x_desc(self.x).y_desc(self.y).light_line_style(WHITE).draw()?;
        for (number, (name, points)) in self.lines.iter().enumerate() {
            let color = Palette99::pick(number).to_rgba();
            let drawn = chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
            drawn
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.2))
            .draw()?;
        Ok(())
    }
}
