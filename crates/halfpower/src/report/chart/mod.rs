//! Charts: which cells become which lines on which axes ([`charts()`], [`figures`]), and their drawing as SVG ([`draw`],
//! [`bars()`]).
//!
//! A chart whose lines would have fewer than three points is left out.

mod axis;
mod bars;
mod charts;
mod draw;
mod figures;
mod lines;
mod model;
mod overview;
mod scale;
mod swatch;
mod view;

pub(crate) use axis::{XAxis, YAxis};
pub(super) use bars::bars;
pub(super) use charts::{Charts, charts, over_time};
pub(super) use figures::of_figure;
pub(crate) use model::{Chart, Line, Point, Stroke, without_interval};
pub(super) use overview::overview;
pub(crate) use view::{chart_table, chart_view};
