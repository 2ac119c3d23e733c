//! The core's peak, as a case.

#[path = "../../../../crates/nn/benches/common/multiply_adds.rs"]
mod multiply_adds;

use multiply_adds::MultiplyAdds;

use crate::{Case, Outcome};

pub fn case() -> Outcome<Box<dyn Case>> {
    Ok(Box::new(MultiplyAdds::new()))
}

impl Case for MultiplyAdds {
    fn call(&mut self) -> Outcome<u64> {
        self.run();
        Ok(1)
    }

    fn flops(&self) -> f64 {
        MultiplyAdds::flops(self)
    }
}
