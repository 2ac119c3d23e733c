//! Outputs in f32, as hashes that were recorded once: a change of a single bit shows.

use crate::common::{Random, Shape, projector};
use fabproj_core::kernel::{InstructionSet, Kernel};
use fabproj_core::{Activation, Guard, Outcome, RawOutcome};

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn word(&mut self, word: u32) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.word(value.to_bits()));
    }
}

fn hash(fill: impl FnOnce(&mut Hash)) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    fill(&mut hash);
    hash.0
}

/// One weights of each latent set, with other sizes each. Even seeds: without equations.
fn shapes() -> Vec<(Shape, u64)> {
    let hidden = [Activation::Relu, Activation::Tanh, Activation::Silu];
    let sets = crate::common::latent_sets().into_iter().enumerate();
    sets.map(|(index, latent)| {
        let shape = Shape {
            dim: 1 + index % 3,
            x_dim: index % 2,
            latent_dim: 2 + index % 2,
            charts: 1 + index % 3,
            decoders: 1 + (index / 2) % 2,
            anchors: index % 4,
            hidden: hidden[index % 3],
            skip: index % 2 == 0,
            latent,
        };
        (shape, 100 + 2 * index as u64)
    })
    .collect()
}

const ROWS: usize = 300;

fn inputs(shape: &Shape, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut random = Random(seed ^ 0xb175);
    let mut y = random.floats(ROWS * shape.dim, 4.0);
    y[5] = f32::NAN;
    (y, random.floats(ROWS * shape.x_dim, 1.5))
}

fn raw(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.weights(seed));
    let (y, x) = inputs(shape, seed);
    let (n, p) = (shape.dim, shape.x_dim);
    hash(|hash| {
        for row in 0..20 {
            let (y, x) = (
                crate::common::row(&y, row, n),
                crate::common::row(&x, row, p),
            );
            hash.floats(&projector.project(y, x).expect("lengths fit").0);
        }
        let (out, outcomes) = projector.project_rows(&y, &x).expect("lengths fit");
        hash.floats(&out);
        for outcome in outcomes {
            hash.word(match outcome {
                RawOutcome::Inside => 0,
                RawOutcome::Clamped => 1,
                RawOutcome::NotFinite => 2,
            });
        }
    })
}

fn gradients(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.weights(seed));
    let (y, x) = inputs(shape, seed);
    let cotangent = Random(seed).floats(y.len(), 1.0);
    let (d_y, d_x) = projector.vjp(&y, &x, &cotangent).expect("lengths fit");
    hash(|hash| {
        hash.floats(&d_y);
        hash.floats(&d_x);
    })
}

/// All ways through a guard: feasible below a bound in the first coordinate that moves with x.
fn guarded(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.weights(seed));
    let (y, mut x) = inputs(shape, seed);
    if let Some(first) = x.first_mut() {
        *first = f32::NAN;
    }
    hash(|hash| {
        for bound in [2.0, 0.5, -0.5, -6.0] {
            let below = |y: &[f64], x: &[f64]| y[0] + x.iter().sum::<f64>() <= bound;
            let Ok(guard) = Guard::from_fn(projector.clone(), below) else {
                hash.word(99);
                continue;
            };
            for keep in [true, false] {
                let guard = guard.clone().keep_feasible(keep);
                let (out, outcomes) = guard.project_rows(&y, &x).expect("lengths fit");
                hash.floats(&out);
                for outcome in outcomes {
                    hash.word(match outcome {
                        Outcome::Kept => 0,
                        Outcome::Projected => 1,
                        Outcome::Repaired => 2,
                        Outcome::Anchored => 3,
                        Outcome::MaybeEmpty => 4,
                        Outcome::NotFinite => 5,
                    });
                }
            }
        }
    })
}

/// Projections, gradients and guarded projections of each weights, with fused multiply-add.
const RECORDED: [[u64; 3]; 7] = [
    [
        0x1268_efcb_aff3_397a,
        0x4e57_2ce4_9d71_5e8b,
        0xc531_8102_9047_1056,
    ],
    [
        0xbf8c_abdb_06b0_30b9,
        0x5858_2b00_78c8_885e,
        0x09f2_2c5a_52ae_bdf5,
    ],
    [
        0x56d2_e795_be81_ea56,
        0xd5aa_c7a9_5680_a30b,
        0x7119_821d_7713_86b4,
    ],
    [
        0x789f_ab3b_651e_867d,
        0x58d8_54e4_e623_62aa,
        0x96bf_58ce_ea16_2d39,
    ],
    [
        0x309d_68f4_8761_0b76,
        0x0883_0346_29eb_5f7e,
        0xce4d_8080_7f44_a53f,
    ],
    [
        0x1b37_de67_bb61_bea1,
        0x265f_8ffa_7c3a_56eb,
        0xa140_04bd_38cd_a682,
    ],
    [
        0xccbd_e1fa_509c_ee4f,
        0x991e_2b7e_c068_9a56,
        0x436e_feb7_d49e_5873,
    ],
];

#[test]
fn f32_calls_give_the_recorded_bits() {
    if Kernel::detect().instruction_set() == InstructionSet::Portable {
        return;
    }
    let found: Vec<_> = shapes()
        .iter()
        .map(|(shape, seed)| {
            [
                raw(shape, *seed),
                gradients(shape, *seed),
                guarded(shape, *seed),
            ]
        })
        .collect();
    assert_eq!(found, RECORDED, "{found:#x?}");
}
