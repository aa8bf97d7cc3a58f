//! Numbers of bytes, for reading.

use core::fmt;

/// The value in the largest binary unit in which it is at least 1, to two places: `1.25 MiB`. Nothing below 1 KiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size(pub(super) u64);

/// The exact number, and the size behind it: `1310720 bytes (1.25 MiB)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes(pub(super) u64);

impl Size {
    /// Whole units, hundredths of one, and which unit.
    pub(super) const fn parts(self) -> Option<(u128, u128, &'static str)> {
        let (power, unit) = match self.0 {
            0..0x400 => return None,
            0x400..0x10_0000 => (10, "KiB"),
            0x10_0000..0x4000_0000 => (20, "MiB"),
            0x4000_0000..0x100_0000_0000 => (30, "GiB"),
            _ => (40, "TiB"),
        };
        let half = 1_u128 << (power - 1);
        let hundredths = (self.0 as u128 * 100 + half) >> power;
        Some((hundredths / 100, hundredths % 100, unit))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((whole, hundredths, unit)) => write!(f, "{whole}.{hundredths:02} {unit}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)?;
        let size = Size(self.0);
        match size.parts() {
            Some(_) => write!(f, " ({size})"),
            None => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn sizes_are_rounded_and_bytes_are_exact() {
        for (bytes, size, exact) in [
            (0, "", "0 bytes"),
            (1023, "", "1023 bytes"),
            (1024, "1.00 KiB", "1024 bytes (1.00 KiB)"),
            (1_310_720, "1.25 MiB", "1310720 bytes (1.25 MiB)"),
            ((80 << 30) - 1, "80.00 GiB", "85899345919 bytes (80.00 GiB)"),
            (
                u64::MAX,
                "16777216.00 TiB",
                "18446744073709551615 bytes (16777216.00 TiB)",
            ),
        ] {
            assert_eq!(Size(bytes).to_string(), size);
            assert_eq!(Bytes(bytes).to_string(), exact);
        }
    }
}
