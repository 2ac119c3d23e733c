//! Protocol buffers, as far as ONNX files need them.

/// A message in the making. Fields are numbered as in `onnx.proto`.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// A number; also one entry of a repeated field.
    pub fn number(mut self, field: u8, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        // Negative numbers take ten bytes.
        self.varint(value as u64);
        self
    }

    /// Bytes; also one entry of a repeated field.
    pub fn bytes(mut self, field: u8, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, field: u8, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u8, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// A repeated field.
    pub fn messages(self, field: u8, messages: &[Self]) -> Self {
        let next = |whole: Self, message| whole.message(field, message);
        messages.iter().fold(self, next)
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits in a byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
