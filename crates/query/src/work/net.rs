//! img-dnn's shape: a fully connected network looks at an image and says which class it is.
//!
//! `TailBench`'s img-dnn recognises handwriting. Here weights and images are drawn from the seed, so
//! that nothing has to be fetched or trained: arithmetic and memory traffic of a forward pass are
//! those of a network that has learned, and which class comes out means nothing. Layers are 784,
//! three of `hidden`, 10; weights are uniform in ±√(6 / (inputs + outputs)).
//!
//! Source: Glorot and Bengio, AISTATS 2010, equation 16, for the weights.

use std::fmt::Write as _;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Desk, Work, WorkKind};
use crate::args::Settings;
use crate::numbers::{stream, unit};

pub(super) const KIND: WorkKind = WorkKind {
    kind: Kind {
        name: "img-dnn",
        about: "a forward pass of a fully connected network, 784 to 10",
        usage: "img-dnn",
        params: &[Param {
            name: "hidden",
            unit: "",
            about: "width of each of the three hidden layers",
            default: "1152",
            range: "1..16384",
        }],
        needs: &[],
        source: "PAPERS P4: TailBench's img-dnn",
    },
    build,
};

const PIXELS: usize = 784;
const CLASSES: usize = 10;
const HIDDEN_MAX: usize = 16_384;
/// Sums that go on beside each other, so that the compiler may use the width of the machine. The
/// order of additions is fixed by it, and with it every bit of the answer.
const LANES: usize = 16;
/// Streams of the seed: layers have those below.
const IMAGES: u64 = 1 << 32;

#[derive(Debug)]
struct Net {
    layers: Vec<Layer>,
    /// Of the images.
    seed: u64,
}

#[derive(Debug)]
struct Layer {
    inputs: usize,
    /// A row for each output.
    weights: Vec<f32>,
}

fn build(settings: &Settings) -> Result<Box<dyn Work>, Fault> {
    let hidden = settings.hidden as usize;
    if hidden == 0 || hidden > HIDDEN_MAX {
        let what = format!("hidden layers of {hidden} are not possible");
        return Err(Fault::usage(what, "hidden", format!("give 1 to {HIDDEN_MAX}")));
    }
    let widths = [PIXELS, hidden, hidden, hidden, CLASSES];
    let layers = widths
        .windows(2)
        .enumerate()
        .map(|(nth, pair)| Layer::draw(pair[0], pair[1], stream(settings.seed, nth as u64)))
        .collect();
    Ok(Box::new(Net { layers, seed: stream(settings.seed, IMAGES) }))
}

impl Layer {
    fn draw(inputs: usize, outputs: usize, seed: u64) -> Self {
        let reach = (6.0 / (inputs + outputs) as f64).sqrt();
        let weight = |nth| (reach * (2.0 * unit(seed, nth) - 1.0)) as f32;
        Self { inputs, weights: (0..(inputs * outputs) as u64).map(weight).collect() }
    }

    /// Weighted sums of `input`, one for each output.
    fn forward(&self, input: &[f32], output: &mut Vec<f32>) {
        output.clear();
        output.extend(self.weights.chunks_exact(self.inputs).map(|row| dot(row, input)));
    }
}

fn dot(row: &[f32], input: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (rows, inputs) = (row.chunks_exact(LANES), input.chunks_exact(LANES));
    let rest: f32 = rows.remainder().iter().zip(inputs.remainder()).map(|(w, x)| w * x).sum();
    for (w, x) in rows.zip(inputs) {
        for lane in 0..LANES {
            sums[lane] += w[lane] * x[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

impl Work for Net {
    fn desk(&self) -> Box<dyn Desk + '_> {
        Box::new(Pass { net: self, input: Vec::new(), output: Vec::new() })
    }
}

/// One forward pass after the other, in memory of its own.
struct Pass<'a> {
    net: &'a Net,
    input: Vec<f32>,
    output: Vec<f32>,
}

impl Desk for Pass<'_> {
    fn answer(&mut self, query: u64, reply: &mut String) {
        let first = query * PIXELS as u64;
        self.input.clear();
        self.input.extend((0..PIXELS as u64).map(|at| unit(self.net.seed, first + at) as f32));
        let last = self.net.layers.len() - 1;
        for (nth, layer) in self.net.layers.iter().enumerate() {
            layer.forward(&self.input, &mut self.output);
            if nth < last {
                self.output.iter_mut().for_each(|value| *value = value.max(0.0));
                std::mem::swap(&mut self.input, &mut self.output);
            }
        }
        let class = (1..CLASSES)
            .fold(0, |best, at| if self.output[at] > self.output[best] { at } else { best });
        let _ = write!(reply, "query {query:>10} class {class}\nlogits");
        for value in &self.output {
            let _ = write!(reply, "{value:>10.4}");
        }
        reply.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_in_lanes_is_the_sum() {
        for n in [1, 15, 16, 17, 100] {
            let row: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let ones = vec![1.0f32; n];
            assert_eq!(dot(&row, &ones), (n * (n - 1) / 2) as f32);
        }
    }

    #[test]
    fn the_class_is_that_of_the_largest_logit() {
        let work = build(&Settings { hidden: 24, ..Settings::default() }).unwrap();
        let mut desk = work.desk();
        let mut classes = std::collections::BTreeSet::new();
        for query in 0..50 {
            let mut reply = String::new();
            desk.answer(query, &mut reply);
            let (head, logits) = reply.split_once("\nlogits").unwrap();
            let class: usize = head.rsplit(' ').next().unwrap().parse().unwrap();
            let values: Vec<f64> =
                logits.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert_eq!(values.len(), CLASSES);
            assert!(values.iter().all(|value| *value <= values[class]), "{reply}");
            classes.insert(class);
        }
        assert!(classes.len() > 1, "it looks at the image");
    }

    #[test]
    fn widths_that_cannot_be_are_refused() {
        for hidden in [0, 20_000] {
            let fault = build(&Settings { hidden, ..Settings::default() }).err().unwrap();
            assert_eq!(fault.at, "hidden");
        }
    }
}
