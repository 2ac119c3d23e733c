//! Optima that were found before a training was stopped, as bytes.

use std::io;

use super::label::{Label, NoLabel};

/// The unit of work that checkpoints know.
pub(super) const UNIT: &str = "optima";

/// Numbers of x, of y and of constraints.
pub(super) type Sizes = [usize; 3];

pub(super) type Found = Result<Label, NoLabel>;

/// What was found, one x after the other.
pub(super) fn encode(found: &[Found]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for one in found {
        match one {
            Ok(label) => {
                bytes.push(b'y');
                let numbers = label.x.iter().chain(&label.y).chain([&label.objective]);
                let numbers = numbers.chain(&label.multipliers);
                numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
            }
            Err(NoLabel::Unbounded) => bytes.push(b'u'),
            Err(NoLabel::Infeasible) => bytes.push(b'i'),
            Err(NoLabel::Slow) => bytes.push(b's'),
        }
    }
    bytes
}

/// The inverse of [`encode`].
pub(super) fn decode(mut bytes: &[u8], sizes: Sizes) -> io::Result<Vec<Found>> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "not the optima of this problem");
    let [x_dim, dim, rows] = sizes;
    let numbers = x_dim + dim + 1 + rows;
    let mut found = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        found.push(match kind {
            b'u' => Err(NoLabel::Unbounded),
            b'i' => Err(NoLabel::Infeasible),
            b's' => Err(NoLabel::Slow),
            b'y' => {
                let (own, rest) = bytes.split_at_checked(8 * numbers).ok_or_else(bad)?;
                bytes = rest;
                let eight = |chunk: &[u8]| chunk.try_into().map_or(f64::NAN, f64::from_le_bytes);
                let own: Vec<f64> = own.chunks_exact(8).map(eight).collect();
                let (x, own) = own.split_at(x_dim);
                let (y, own) = own.split_at(dim);
                Ok(Label {
                    x: x.to_vec(),
                    y: y.to_vec(),
                    objective: own[0],
                    multipliers: own[1..].to_vec(),
                })
            }
            _ => return Err(bad()),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optima_come_back_and_other_bytes_are_refused() {
        let label = Label {
            x: vec![0.1, 0.2],
            y: vec![1.0 / 3.0],
            objective: -1e-300,
            multipliers: vec![0.0, 7.0, f64::MAX],
        };
        let found = [
            Err(NoLabel::Slow),
            Ok(label.clone()),
            Err(NoLabel::Infeasible),
        ];
        let bytes = encode(&found);
        let again = decode(&bytes, [2, 1, 3]).expect("optima");
        assert_eq!(again[0].as_ref().err(), Some(&NoLabel::Slow));
        let one = again[1].as_ref().expect("an optimum");
        assert_eq!((&one.x, &one.y), (&label.x, &label.y));
        assert_eq!(
            (one.objective, &one.multipliers),
            (-1e-300, &label.multipliers)
        );
        assert_eq!(again[2].as_ref().err(), Some(&NoLabel::Infeasible));
        assert!(decode(&bytes[..9], [2, 1, 3]).is_err());
        assert!(decode(&bytes, [2, 2, 3]).is_err());
    }
}
