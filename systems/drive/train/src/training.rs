//! Gradient descent by Adam
//!
//! D. P. Kingma and J. Ba, *Adam: a method for stochastic optimization*, ICLR 2015, algorithm 1, with a step that shrinks to
//! nothing. The loss is the mean squared error of the outputs in their scales; each counts where it can be told.

use crate::drive::Sample;
use bulkhead_drive_model::estimate::SCALES;
use bulkhead_drive_model::network::{HIDDEN, INPUTS, Network, OUTPUTS, Values, WEIGHTS};
use bulkhead_drive_model::noise::Noise;

/// Times that each sample is learnt from.
const EPOCHS: usize = 40;
const BATCH: usize = 32;
/// First step.
const STEP: f32 = 4e-3;
/// Decay of the moments, and what keeps the division sound: the paper's.
const DECAY: [f32; 2] = [0.9, 0.999];
const SMALL: f32 = 1e-8;
const SEED: u64 = 2;
/// Weight of an error of the slope beside one of the headway, each in its scale: a slope is smaller.
const IMPORTANCE: [f32; OUTPUTS] = [2.0, 1.0];

/// A sample as the network sees it.
struct Lesson {
    inputs: [f32; INPUTS],
    targets: [Option<f32>; OUTPUTS],
}

impl Lesson {
    fn of(sample: &Sample) -> Self {
        let [grade, headway] = SCALES;
        Self {
            inputs: sample.senses.inputs(),
            targets: [
                sample.grade.map(|rise| (rise / grade) as f32),
                sample.headway_m.map(|metres| (metres / headway) as f32),
            ],
        }
    }
}

/// Trains a network on samples.
#[must_use]
pub fn train(samples: &[Sample]) -> Network {
    let lessons: Vec<_> = samples.iter().map(Lesson::of).collect();
    let mut noise = Noise::new(SEED);
    let mut network = beginning(&mut noise);
    let mut adam = Adam::new();
    let mut order: Vec<usize> = (0..lessons.len()).collect();
    let batches = lessons.len().div_ceil(BATCH);
    for epoch in 0..EPOCHS {
        shuffle(&mut order, &mut noise);
        for (number, batch) in order.chunks(BATCH).enumerate() {
            let mut gradient = [0.0; WEIGHTS];
            for lesson in batch.iter().map(|index| &lessons[*index]) {
                descend(&network, lesson, &mut gradient);
            }
            let done = (epoch * batches + number) as f32 / (EPOCHS * batches) as f32;
            adam.step(&mut network, &gradient, STEP * (1.0 - done));
        }
    }
    network
}

/// Small weights, the smaller the more inputs a neuron has (X. Glorot and Y. Bengio, AISTATS 2010).
fn beginning(noise: &mut Noise) -> Network {
    let mut weights = Vec::with_capacity(WEIGHTS);
    for [from, to] in [
        [INPUTS, HIDDEN[0]],
        [HIDDEN[0], HIDDEN[1]],
        [HIDDEN[1], OUTPUTS],
    ] {
        let most = (6.0 / (from + to) as f64).sqrt();
        for place in 0..(from + 1) * to {
            let is_bias = place % (from + 1) == 0;
            let weight = noise.between(-most, most);
            weights.push(if is_bias { 0.0 } else { weight as f32 });
        }
    }
    Network(core::array::from_fn(|index| weights[index]))
}

fn shuffle(order: &mut [usize], noise: &mut Noise) {
    for last in (1..order.len()).rev() {
        order.swap(last, (noise.part() * (last + 1) as f64) as usize);
    }
}

/// Adds the gradient of a lesson.
fn descend(network: &Network, lesson: &Lesson, gradient: &mut [f32; WEIGHTS]) {
    let Values {
        first,
        second,
        outputs,
    } = network.evaluate(&lesson.inputs);
    let error: [f32; OUTPUTS] = core::array::from_fn(|output| {
        let targets = lesson.targets[output];
        targets.map_or(0.0, |target| {
            IMPORTANCE[output] * (outputs[output] - target)
        })
    });
    let (first_weights, rest) = network.0.split_at(HIDDEN[0] * (INPUTS + 1));
    let (second_weights, output_weights) = rest.split_at(HIDDEN[1] * (HIDDEN[0] + 1));
    let (first_gradient, rest) = gradient.split_at_mut(first_weights.len());
    let (second_gradient, output_gradient) = rest.split_at_mut(second_weights.len());
    let second_error = back(output_weights, output_gradient, &error, &second);
    let second_error = propagate(&second_error, &second);
    let first_error = back(second_weights, second_gradient, &second_error, &first);
    let first_error = propagate(&first_error, &first);
    back::<INPUTS, { HIDDEN[0] }>(first_weights, first_gradient, &first_error, &lesson.inputs);
}

/// Adds what a layer's weights contribute to the errors of its neurons; the errors of its inputs.
fn back<const FROM: usize, const TO: usize>(
    weights: &[f32],
    gradient: &mut [f32],
    errors: &[f32; TO],
    inputs: &[f32; FROM],
) -> [f32; FROM] {
    let mut before = [0.0; FROM];
    let neurons = weights
        .chunks_exact(FROM + 1)
        .zip(gradient.chunks_exact_mut(FROM + 1));
    for ((weights, gradient), error) in neurons.zip(errors) {
        gradient[0] += error;
        for (place, input) in gradient[1..].iter_mut().zip(inputs) {
            *place += error * input;
        }
        for (place, weight) in before.iter_mut().zip(&weights[1..]) {
            *place += error * weight;
        }
    }
    before
}

/// Propagates errors through the activation y = x/(1 + |x|), with derivative (1 − |y|)².
fn propagate<const N: usize>(errors: &[f32; N], values: &[f32; N]) -> [f32; N] {
    core::array::from_fn(|neuron| {
        let slope = 1.0 - values[neuron].abs();
        errors[neuron] * slope * slope
    })
}

/// The moments of the gradient.
struct Adam {
    first: [f32; WEIGHTS],
    second: [f32; WEIGHTS],
    /// Product of the decays so far.
    decayed: [f32; 2],
}

impl Adam {
    const fn new() -> Self {
        Self {
            first: [0.0; WEIGHTS],
            second: [0.0; WEIGHTS],
            decayed: [1.0; 2],
        }
    }

    fn step(&mut self, network: &mut Network, gradient: &[f32; WEIGHTS], step: f32) {
        for (decayed, decay) in self.decayed.iter_mut().zip(DECAY) {
            *decayed *= decay;
        }
        let whole = self.decayed.map(|decayed| 1.0 - decayed);
        let moments = self.first.iter_mut().zip(&mut self.second);
        let weights = network.0.iter_mut().zip(gradient);
        for ((first, second), (weight, gradient)) in moments.zip(weights) {
            *first = DECAY[0] * *first + (1.0 - DECAY[0]) * gradient;
            *second = DECAY[1] * *second + (1.0 - DECAY[1]) * gradient * gradient;
            *weight -= step * (*first / whole[0]) / ((*second / whole[1]).sqrt() + SMALL);
        }
    }
}
