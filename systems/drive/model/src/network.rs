//! A small network of neurons: two hidden layers, trained on the host, evaluated anywhere
//!
//! Single precision, sums in the order of the inputs, `x / (1 + |x|)` as activation: each operation is correctly rounded
//! by IEEE 754, nothing is fused, so the same weights give the same bits on every machine. An evaluation takes the same path whatever the
//! inputs: [`MULTIPLICATIONS`] multiplications and [`DIVISIONS`] divisions.

/// Inputs.
pub const INPUTS: usize = 8;
/// Neurons of the hidden layers.
pub const HIDDEN: [usize; 2] = [20, 14];
/// Outputs.
pub const OUTPUTS: usize = 2;

const LAYERS: [[usize; 2]; 3] = [
    [INPUTS, HIDDEN[0]],
    [HIDDEN[0], HIDDEN[1]],
    [HIDDEN[1], OUTPUTS],
];

const fn count(biases: usize) -> usize {
    let mut sum = 0;
    let mut layer = 0;
    while layer < LAYERS.len() {
        let [from, to] = LAYERS[layer];
        sum += (from + biases) * to;
        layer += 1;
    }
    sum
}

/// Multiplications of an evaluation.
pub const MULTIPLICATIONS: usize = count(0);
/// Divisions of an evaluation.
pub const DIVISIONS: usize = HIDDEN[0] + HIDDEN[1];
/// Weights and biases.
pub const WEIGHTS: usize = count(1);

/// Weights: layer by layer, neuron by neuron, the bias before the weights of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Network(pub [f32; WEIGHTS]);

/// Values of all neurons.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// Of the first hidden layer.
    pub first: [f32; HIDDEN[0]],
    /// Of the second.
    pub second: [f32; HIDDEN[1]],
    /// Of the outputs, which are linear.
    pub outputs: [f32; OUTPUTS],
}

/// A layer: sums of the weighted inputs.
fn sums<const FROM: usize, const TO: usize>(weights: &[f32], inputs: &[f32; FROM]) -> [f32; TO] {
    let mut neurons = weights.chunks_exact(FROM + 1);
    core::array::from_fn(|_| match neurons.next() {
        Some([bias, weights @ ..]) => {
            let products = weights.iter().zip(inputs);
            products.fold(*bias, |sum, (weight, input)| sum + weight * input)
        }
        _ => 0.0,
    })
}

/// The activation.
#[must_use]
pub fn activation(sum: f32) -> f32 {
    sum / (1.0 + sum.abs())
}

impl Network {
    /// From little-endian single-precision numbers.
    #[must_use]
    pub const fn from_bytes(bytes: &[u8; 4 * WEIGHTS]) -> Self {
        let mut weights = [0.0; WEIGHTS];
        let mut index = 0;
        while index < WEIGHTS {
            let at = 4 * index;
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            weights[index] = f32::from_bits(u32::from_le_bytes(word));
            index += 1;
        }
        Self(weights)
    }

    /// Returns the outputs for inputs of magnitude about 1.
    #[must_use]
    pub fn evaluate(&self, inputs: &[f32; INPUTS]) -> Values {
        let (first, rest) = self.0.split_at(HIDDEN[0] * (INPUTS + 1));
        let (second, outputs) = rest.split_at(HIDDEN[1] * (HIDDEN[0] + 1));
        let first = sums::<INPUTS, { HIDDEN[0] }>(first, inputs).map(activation);
        let second = sums::<{ HIDDEN[0] }, { HIDDEN[1] }>(second, &first).map(activation);
        Values {
            outputs: sums(outputs, &second),
            first,
            second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_is_what_the_formula_says() {
        let mut network = Network([0.0; WEIGHTS]);
        // One way through: input 2 to the first neurons, and on to the second output.
        network.0[3] = 2.0;
        let second = HIDDEN[0] * (INPUTS + 1);
        network.0[second..second + 2].copy_from_slice(&[0.25, 1.0]);
        let output = second + HIDDEN[1] * (HIDDEN[0] + 1) + HIDDEN[1] + 1;
        network.0[output..output + 2].copy_from_slice(&[-1.0, 4.0]);
        let mut inputs = [9.0; INPUTS];
        inputs[2] = 1.5;
        let hidden = activation(0.25 + activation(2.0 * 1.5));
        assert!((network.evaluate(&inputs).outputs[1] - (4.0 * hidden - 1.0)).abs() < 1e-6);
        assert!(network.evaluate(&inputs).outputs[0] == 0.0);
    }

    #[test]
    fn weights_survive_as_bytes() {
        let network = Network(core::array::from_fn(|index| index as f32 / 7.0 - 3.0));
        let mut bytes = [0; 4 * WEIGHTS];
        for (place, weight) in bytes.chunks_exact_mut(4).zip(&network.0) {
            place.copy_from_slice(&weight.to_le_bytes());
        }
        assert_eq!(Network::from_bytes(&bytes), network);
    }
}
