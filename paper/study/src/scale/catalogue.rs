//! The families of table `scale` by name.

use fabproj::support::near_names;

use super::ScaleMethod;
use super::black_box;
use super::family::Family;
use super::instance::Instance;
use crate::StudyError;

const CASE_30: &str = include_str!("../../../../examples/power-flow/cases/case30.json");
const CASE_57: &str = include_str!("../../../../examples/power-flow/cases/case57.json");
const CASE_118: &str = include_str!("../../../../examples/power-flow/cases/case118.json");

/// A power network, and the part of their nominal value by which loads vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) json: &'static str,
    pub(super) part: f64,
}

/// A family by name: the generator, its sizes, and what is special.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FamilyEntry {
    /// Its name in commands and tables.
    pub name: &'static str,
    /// What it is.
    pub label: &'static str,
    /// What papers report, for the tables.
    pub published: &'static str,
    pub(super) kind: Kind,
    /// Dimension of y, equations, inequalities.
    sizes: [usize; 3],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// DC3's quadratic programs.
    Dc3,
    /// DC3's variant with p · sin y.
    Dc3Sine,
    /// DC3's, where the cost vector p belongs to x.
    Dc3Cost,
    /// Homeomorphic Projection's, with convex quadratic constraints.
    Qcqp,
    /// Homeomorphic Projection's, with cones.
    Socp,
    /// FSNet's nonconvex one: p · sin y, G sin y ≤ h cos x.
    Nonconvex,
    /// FSNet's nonsmooth one: that and 0.1 ‖y‖.
    Nonsmooth,
    /// AC optimal power flow.
    PowerFlow(Case),
    /// A membership test only.
    BlackBox(black_box::Kind),
}

/// All families.
#[rustfmt::skip]
pub const FAMILIES: [FamilyEntry; 20] = [
    problem("qp-100", "QP, 100 variables, 50 equations, 50 inequalities (DC3)", "DC3 10.6 %, HardNet 1.3 %, Homeomorphic 1.6 %, FSNet < 0.2 %", Kind::Dc3, [100, 50, 50]),
    problem("qp-100-sine", "the same with p · sin y (DC3)", "DC3 8.0 %, Πnet 0.2 % in 5.2 ms", Kind::Dc3Sine, [100, 50, 50]),
    problem("qp-100-cost", "QP whose cost vector is part of x", "–", Kind::Dc3Cost, [100, 50, 50]),
    problem("qp-100-rows", "QP with 200 inequalities in 50 free dimensions", "–", Kind::Dc3, [100, 50, 200]),
    problem("qp-200", "QP, 200 variables, 100 equations, 100 inequalities", "Homeomorphic 2.1 %, Πnet about 1 %", Kind::Dc3, [200, 100, 100]),
    problem("qp-1000", "QP, 1000 variables, 500 equations, 500 inequalities", "Homeomorphic 2.1 %, Πnet about 1 %", Kind::Dc3, [1000, 500, 500]),
    problem("qcqp-100", "QCQP, 100/50/50 (Homeomorphic Projection)", "Homeomorphic 3.9 %", Kind::Qcqp, [100, 50, 50]),
    problem("socp-100", "SOCP, 100/50/50, cones of 50 (Homeomorphic Projection)", "Homeomorphic 2.8 %", Kind::Socp, [100, 50, 50]),
    problem("nonconvex-100", "p · sin y with G sin y ≤ h cos x (FSNet)", "FSNet ≈ its solver", Kind::Nonconvex, [100, 50, 50]),
    problem("nonsmooth-100", "the same with + 0.1 ‖y‖ (FSNet)", "FSNet ≈ its solver", Kind::Nonsmooth, [100, 50, 50]),
    network("opf-57-10", "AC optimal power flow, 57 buses, loads ±10 %", "DC3 0.1 to 0.3 %", CASE_57, 0.1),
    network("opf-57-20", "AC optimal power flow, 57 buses, loads ±20 %", "–", CASE_57, 0.2),
    network("opf-57-30", "AC optimal power flow, 57 buses, loads ±30 %", "–", CASE_57, 0.3),
    network("opf-118-10", "AC optimal power flow, 118 buses, loads ±10 %", "Homeomorphic 0.3 % in 47 ms, PYPOWER 949 ms", CASE_118, 0.1),
    network("opf-118-20", "AC optimal power flow, 118 buses, loads ±20 %", "–", CASE_118, 0.2),
    network("opf-118-30", "AC optimal power flow, 118 buses, loads ±30 %", "–", CASE_118, 0.3),
    network("opf-30-10", "AC optimal power flow, 30 buses, branch limits, loads ±10 %", "–", CASE_30, 0.1),
    problem("arm", "membership test only: joint angles of an arm of five links beside a post that moves", "–", Kind::BlackBox(black_box::Kind::Arm), [5, 0, 1]),
    problem("dispatch-levels", "membership test only: five units that are off or above a minimum, and a demand", "–", Kind::BlackBox(black_box::Kind::Levels), [5, 0, 1]),
    problem("stability", "membership test only: the smallest six gains that damp a simulated chain of masses", "–", Kind::BlackBox(black_box::Kind::Stability), [6, 0, 1]),
];

const fn problem(
    name: &'static str,
    label: &'static str,
    published: &'static str,
    kind: Kind,
    sizes: [usize; 3],
) -> FamilyEntry {
    FamilyEntry {
        name,
        label,
        published,
        kind,
        sizes,
    }
}

const fn network(
    name: &'static str,
    label: &'static str,
    published: &'static str,
    json: &'static str,
    part: f64,
) -> FamilyEntry {
    let kind = Kind::PowerFlow(Case { json, part });
    problem(name, label, published, kind, [0; 3])
}

impl FamilyEntry {
    /// The family with this name.
    ///
    /// # Errors
    /// [`StudyError::Unknown`], with the names most like it.
    pub fn find(name: &str) -> Result<&'static Self, StudyError> {
        let found = FAMILIES.iter().find(|family| family.name == name);
        found.ok_or_else(|| StudyError::Unknown {
            what: "family",
            name: name.to_owned(),
            near: near_names(name, FAMILIES.map(|family| family.name)),
        })
    }

    /// Whether it is a power network.
    pub(super) fn is_network(&self) -> bool {
        matches!(self.kind, Kind::PowerFlow(_))
    }

    /// Whether it has matrices.
    #[cfg(test)]
    pub(super) fn is_white_box(&self) -> bool {
        !self.is_network() && !self.is_black_box()
    }

    /// Whether it is a set with a membership test only.
    pub(super) fn is_black_box(&self) -> bool {
        matches!(self.kind, Kind::BlackBox(_))
    }

    /// Whether a step of a peer's network takes long: through cones, each a matrix of its own, through a power
    /// flow, or in a thousand dimensions.
    pub(super) fn is_slow(&self) -> bool {
        self.kind == Kind::Socp || self.is_network() || self.sizes[0] >= 1_000
    }

    /// Optima to learn from, where they take long; 0 for the default.
    pub(super) fn labels(&self) -> usize {
        if self.sizes[0] >= 1_000 { 700 } else { 0 }
    }

    /// Tested x at most.
    pub(super) fn most_problems(&self) -> usize {
        match self.kind {
            Kind::Socp | Kind::PowerFlow(_) => 200,
            _ if self.sizes[0] >= 1_000 => 40,
            _ => usize::MAX,
        }
    }

    /// Instance 0 is the paper's own; others come from the same generator with later seeds. Of a power network,
    /// the arm and the chain of masses, instances are trainings with other x.
    ///
    /// # Panics
    /// If a case file in the tree cannot be read.
    pub fn instance(&self, number: u64) -> Instance {
        self.instance_of(self.sizes, number)
    }

    /// An instance of other sizes: dimension of y, equations, inequalities. Networks have their own.
    ///
    /// # Panics
    /// If a case file in the tree cannot be read.
    pub fn instance_of(&self, sizes: [usize; 3], number: u64) -> Instance {
        let seed = number as u32;
        let family = match self.kind {
            Kind::Dc3 | Kind::Dc3Sine | Kind::Dc3Cost => {
                Family::dc3(sizes, self.kind, 17_u32.wrapping_add(seed))
            }
            Kind::Qcqp => Family::qcqp(sizes, 2023_u32.wrapping_add(seed)),
            Kind::Socp => Family::socp(sizes, 2023_u32.wrapping_add(seed)),
            Kind::Nonconvex | Kind::Nonsmooth => {
                Family::fsnet(sizes, self.kind, 2025_u32.wrapping_add(seed))
            }
            Kind::PowerFlow(case) => return Instance::network(self.name, case, number),
            Kind::BlackBox(kind) => return kind.instance(self.name, number),
        };
        Instance::of_family(self.name, family)
    }

    /// Whether the method can solve the family at all.
    pub(super) fn suits(&self, method: ScaleMethod) -> bool {
        let convex = matches!(
            self.kind,
            Kind::Dc3 | Kind::Dc3Cost | Kind::Qcqp | Kind::Socp
        );
        let (network, black_box) = (self.is_network(), self.is_black_box());
        match method {
            ScaleMethod::Solver => true,
            ScaleMethod::Dc3 | ScaleMethod::FsNet => !black_box,
            ScaleMethod::Clarabel => convex,
            ScaleMethod::Admm => matches!(self.kind, Kind::Dc3 | Kind::Dc3Cost),
            ScaleMethod::RayNet => !network && !black_box,
            ScaleMethod::Homeomorphic => !network && !black_box && self.sizes[0] < 1_000,
            ScaleMethod::Lookup
            | ScaleMethod::Restarts
            | ScaleMethod::LongRestarts
            | ScaleMethod::PlainNet => black_box,
        }
    }
}
