//! What a tape can do with one or two numbers, and the derivatives of that.

/// An operation on one number or two; those on one ignore the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Minimum,
    Maximum,
    Atan2,
    Negate,
    Square,
    /// A power with a small whole exponent.
    WholePower(i32),
    SquareRoot,
    Absolute,
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    HyperbolicSine,
    HyperbolicCosine,
    HyperbolicTangent,
    Exponential,
    Logarithm,
}

impl Operation {
    /// The result. What is not a number stays that: minima, maxima and powers do not hide it.
    #[inline(always)]
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => power(a, b),
            Self::Minimum => {
                if a < b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Maximum => {
                if a > b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Atan2 => a.atan2(b),
            Self::Negate => -a,
            Self::Square => a * a,
            Self::WholePower(exponent) => a.powi(exponent),
            Self::SquareRoot => a.sqrt(),
            Self::Absolute => a.abs(),
            Self::Sine => a.sin(),
            Self::Cosine => a.cos(),
            Self::Tangent => a.tan(),
            Self::ArcSine => a.asin(),
            Self::ArcCosine => a.acos(),
            Self::ArcTangent => a.atan(),
            Self::HyperbolicSine => a.sinh(),
            Self::HyperbolicCosine => a.cosh(),
            Self::HyperbolicTangent => a.tanh(),
            Self::Exponential => a.exp(),
            Self::Logarithm => a.ln(),
        }
    }

    /// The derivatives with respect to both operands, given the result. Where none exists, one from
    /// the side or zero: a kink must not put NaN into a gradient.
    pub(crate) fn derivatives(self, a: f64, b: f64, result: f64) -> (f64, f64) {
        let first = match self {
            Self::Add => return (1.0, 1.0),
            Self::Subtract => return (1.0, -1.0),
            Self::Multiply => return (b, a),
            Self::Divide => return (1.0 / b, -result / b),
            Self::Power => return power_derivatives(a, b, result),
            Self::Minimum | Self::Maximum => {
                return if result == a { (1.0, 0.0) } else { (0.0, 1.0) };
            }
            Self::Atan2 => {
                let squared = a * a + b * b;
                return if squared > 0.0 {
                    (b / squared, -a / squared)
                } else {
                    (0.0, 0.0)
                };
            }
            Self::Negate => -1.0,
            Self::Square => 2.0 * a,
            Self::WholePower(exponent) => f64::from(exponent) * a.powi(exponent - 1),
            Self::SquareRoot if result > 0.0 => 0.5 / result,
            Self::SquareRoot => 0.0,
            Self::Absolute if a == 0.0 => 0.0,
            Self::Absolute => a.signum(),
            Self::Sine => a.cos(),
            Self::Cosine => -a.sin(),
            Self::Tangent => 1.0 + result * result,
            Self::ArcSine => 1.0 / (1.0 - a * a).sqrt(),
            Self::ArcCosine => -1.0 / (1.0 - a * a).sqrt(),
            Self::ArcTangent => 1.0 / (1.0 + a * a),
            Self::HyperbolicSine => a.cosh(),
            Self::HyperbolicCosine => a.sinh(),
            Self::HyperbolicTangent => 1.0 - result * result,
            Self::Exponential => result,
            Self::Logarithm => 1.0 / a,
        };
        (first, 0.0)
    }
}

/// `powf`, but not 1 for what is not a number to the power 0.
fn power(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.powf(b)
    }
}

fn power_derivatives(a: f64, b: f64, result: f64) -> (f64, f64) {
    let by_base = if b == 0.0 { 0.0 } else { b * a.powf(b - 1.0) };
    let by_exponent = if a > 0.0 { result * a.ln() } else { 0.0 };
    (by_base, by_exponent)
}

#[cfg(test)]
mod tests {
    use super::Operation::*;

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        let all = [
            Add,
            Subtract,
            Multiply,
            Divide,
            Power,
            Minimum,
            Maximum,
            Atan2,
            Negate,
            Square,
            WholePower(3),
            WholePower(-2),
            SquareRoot,
            Absolute,
            Sine,
            Cosine,
            Tangent,
            ArcSine,
            ArcCosine,
            ArcTangent,
            HyperbolicSine,
            HyperbolicCosine,
            HyperbolicTangent,
            Exponential,
            Logarithm,
        ];
        let step = 1e-6;
        for operation in all {
            for (a, b) in [(0.3, 0.7), (0.8, 0.2), (0.55, -0.4)] {
                let (by_a, by_b) = operation.derivatives(a, b, operation.apply(a, b));
                let difference = |da: f64, db: f64| {
                    let (more, less) = (
                        operation.apply(a + da, b + db),
                        operation.apply(a - da, b - db),
                    );
                    (more - less) / (2.0 * step)
                };
                let (expected_a, expected_b) = (difference(step, 0.0), difference(0.0, step));
                assert!(
                    (by_a - expected_a).abs() < 1e-5,
                    "{operation:?} {by_a} {expected_a}"
                );
                assert!(
                    (by_b - expected_b).abs() < 1e-5,
                    "{operation:?} {by_b} {expected_b}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_not_hidden() {
        for operation in [Minimum, Maximum, Power, Add, Atan2] {
            assert!(operation.apply(f64::NAN, 0.0).is_nan(), "{operation:?}");
            assert!(operation.apply(1.0, f64::NAN).is_nan(), "{operation:?}");
        }
    }

    #[test]
    fn kinks_have_finite_derivatives() {
        for operation in [SquareRoot, Absolute, Atan2, Power, Minimum] {
            let (by_a, by_b) = operation.derivatives(0.0, 0.0, operation.apply(0.0, 0.0));
            assert!(by_a.is_finite() && by_b.is_finite(), "{operation:?}");
        }
    }
}
