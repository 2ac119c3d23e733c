//! What is compared with what, and how much faster we must be.

/// What our case is compared with.
pub enum Against {
    /// A case of the Python worker, and how many times faster we must be.
    Peer {
        case: &'static str,
        what: &'static str,
        times: Option<f64>,
    },
    /// The multiply-add peak of this core, and the share of it that we must reach.
    Peak { share: f64 },
    /// The longest time that one call may take.
    Limit { seconds: f64 },
}

/// One of our cases and all that it is compared with, measured in turns.
pub struct Group {
    pub name: &'static str,
    pub what: &'static str,
    pub against: &'static [Against],
}

pub const fn peer(case: &'static str, what: &'static str, times: Option<f64>) -> Against {
    Against::Peer { case, what, times }
}

/// Our case that runs nothing but independent multiply-adds.
pub const PEAK: &str = "peak";

/// Every comparison.
pub const GROUPS: &[Group] = &[
    Group {
        name: "point",
        what: "one projection",
        against: &[
            peer("point-eager", "PyTorch, eager", Some(80.0)),
            peer("point-onnx", "ONNX Runtime", Some(9.0)),
            peer("point-released", "released style: array to array", None),
        ],
    },
    Group {
        name: "small-point",
        what: "one projection, small networks (32 wide, 3 deep)",
        against: &[Against::Limit { seconds: 0.4e-6 }],
    },
    Group {
        name: "batch",
        what: "65,536 projections",
        against: &[
            peer("batch-onnx", "ONNX Runtime", Some(1.8)),
            peer("batch-eager", "PyTorch, eager", None),
            Against::Peak { share: 0.75 },
        ],
    },
    Group {
        name: "answer",
        what: "solver network and projection for one quadratic problem",
        against: &[
            peer("answer-released", "released style: arrays to array", None),
            peer("answer-eager", "PyTorch, eager", None),
        ],
    },
    Group {
        name: "phase-one",
        what: "step of phase 1, batch 256",
        against: &[
            peer(
                "phase-one-best",
                "best PyTorch: compiled, fused Adam",
                Some(2.8),
            ),
            peer(
                "phase-one-released",
                "released style: DataLoader, eager",
                Some(8.0),
            ),
            Against::Peak { share: 0.75 },
        ],
    },
    Group {
        name: "phase-two",
        what: "step of phase 2, batch 256",
        against: &[
            peer(
                "phase-two-vectorised",
                "vectorised PyTorch: pushed tangents, fused Adam",
                Some(3.0),
            ),
            peer("phase-two-compiled", "the same, compiled", Some(3.0)),
            peer(
                "phase-two-released",
                "released style: a Jacobian per row",
                Some(25.0),
            ),
        ],
    },
];
