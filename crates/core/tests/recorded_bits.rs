//! Outputs in f32, as hashes that were recorded once: a change of a single bit shows.

mod common;

use common::{Random, Shape, projector};
use fabproj_core::kernel::{InstructionSet, Kernel};
use fabproj_core::{Activation, Gradient, Guard, Status};

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

/// One model of each latent set, with other sizes each. Even seeds: without equations.
fn shapes() -> Vec<(Shape, u64)> {
    let hidden = [Activation::Relu, Activation::Tanh, Activation::Silu];
    let sets = common::latent_sets().into_iter().enumerate();
    sets.map(|(index, latent)| {
        let shape = Shape {
            dim: 1 + index % 3,
            parameter_dim: index % 2,
            latent_dim: 2 + index % 2,
            charts: 1 + index % 3,
            decoders: 1 + (index / 2) % 2,
            anchors: index % 4,
            hidden: hidden[index % 3],
            skip: index % 2 == 0,
            latent,
            ..Shape::plain()
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
    (y, random.floats(ROWS * shape.parameter_dim, 1.5))
}

fn raw(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.model(seed));
    let (y, x) = inputs(shape, seed);
    let (n, p) = (shape.dim, shape.parameter_dim);
    let mut workspace = projector.workspace();
    hash(|hash| {
        for row in 0..20 {
            let mut out = vec![0.0; n];
            let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
            projector
                .project(y, x, &mut out, &mut workspace)
                .expect("lengths fit");
            hash.floats(&out);
        }
        let mut out = vec![0.0; y.len()];
        let mut statuses = vec![Status::Inside; ROWS];
        projector
            .project_batch(&y, &x, &mut out, &mut statuses, &mut workspace)
            .expect("lengths fit");
        hash.floats(&out);
        for status in statuses {
            hash.word(match status {
                Status::Inside => 0,
                Status::Projected => 1,
                _ => 2,
            });
        }
    })
}

fn gradients(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.model(seed));
    let (y, x) = inputs(shape, seed);
    let cotangent = Random(seed).floats(y.len(), 1.0);
    let (mut out, mut dy, mut dx) = (vec![0.0; y.len()], vec![0.0; y.len()], vec![0.0; x.len()]);
    let gradient = Gradient {
        y: &mut dy,
        x: &mut dx,
    };
    projector
        .vjp_batch(
            &y,
            &x,
            &cotangent,
            &mut out,
            gradient,
            &mut projector.workspace(),
        )
        .expect("lengths fit");
    hash(|hash| {
        hash.floats(&dy);
        hash.floats(&dx);
    })
}

/// All ways through a guard: feasible below a bound in the first coordinate that moves with x.
fn guarded(shape: &Shape, seed: u64) -> u64 {
    let projector = projector(&shape.model(seed));
    let (y, mut x) = inputs(shape, seed);
    if let Some(first) = x.first_mut() {
        *first = f32::NAN;
    }
    hash(|hash| {
        for bound in [2.0, 0.5, -0.5, -6.0] {
            let below = |y: &[f64], x: &[f64]| y[0] + x.iter().sum::<f64>() <= bound;
            let Ok(guard) = Guard::new(&projector, below) else {
                hash.word(99);
                continue;
            };
            for keep in [true, false] {
                let guard = guard.clone().keep_feasible(keep);
                let mut out = vec![0.0; y.len()];
                let mut statuses = vec![Status::Inside; ROWS];
                guard
                    .project_batch(&y, &x, &mut out, &mut statuses, &mut guard.workspace())
                    .expect("lengths fit");
                hash.floats(&out);
                for status in statuses {
                    hash.word(match status {
                        Status::Kept => 0,
                        Status::Inside | Status::Projected => 1,
                        Status::Repaired => 2,
                        Status::Anchored => 3,
                        Status::MaybeEmpty => 4,
                        _ => 5,
                    });
                }
            }
        }
    })
}

/// Projections, gradients and guarded projections of each model, with fused multiply-add.
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
