//! Runs a kernel on a shape and compares every byte with the plain copy.

use crate::copies::{BASES, Copy};
use crate::shapes::Shape;
use crate::support::driver::Driver;

/// Threads of a block, as the kernels want them.
const THREADS: u32 = 256;

/// The low `bytes` bytes of each word.
fn bytes_of(words: &[u64], bytes: usize) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| word.to_le_bytes().into_iter().take(bytes))
        .collect()
}

/// Noise that differs from byte to byte and from seed to seed (splitmix64).
fn noise(bytes: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut words = Vec::new();
    for _ in 0..bytes.div_ceil(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        words.extend((word ^ word >> 31).to_le_bytes());
    }
    words.truncate(usize::try_from(bytes).expect("memory of a test"));
    words
}

/// Checks a kernel of the device on one shape with every one of its grids.
///
/// # Errors
///
/// What was wrong: a call that failed, a byte, a report, or a race.
pub fn check(driver: &Driver, kernel: usize, shape: &Shape) -> Result<(), String> {
    shape.grids.iter().try_for_each(|grid| {
        run(driver, kernel, shape, *grid)
            .map_err(|what| format!("{}, grid {grid}: {what}", shape.name))
    })
}

fn run(driver: &Driver, kernel: usize, shape: &Shape, grid: u32) -> Result<(), String> {
    let Shape { copy, list, .. } = shape;
    let source_bytes = noise(copy.source.bytes, 1);
    let poison = noise(copy.destination.bytes, 2);
    let source = memory(driver, &source_bytes)?;
    let destination = memory(driver, &poison)?;
    let table = memory(driver, &bytes_of(&addressed(copy, source, destination), 8))?;
    let pairs = memory(
        driver,
        &bytes_of(
            &list
                .pairs
                .iter()
                .flat_map(|pair| [pair.0.into(), pair.1.into()])
                .collect::<Vec<_>>(),
            4,
        ),
    )?;
    let count = memory(driver, &list.count.to_le_bytes())?;
    let report = memory(driver, &bytes_of(&[u64::MAX, 0], 4))?;
    let [planes, chunks, sources, destinations, capacity] = [
        u32::try_from(copy.table.len()).expect("few planes"),
        copy.chunks,
        copy.source.blocks,
        copy.destination.blocks,
        list.capacity,
    ]
    .map(u64::from);
    let arguments = [
        table,
        planes,
        chunks,
        sources,
        destinations,
        pairs,
        count,
        capacity,
        report,
    ];
    driver
        .launch(kernel, grid, THREADS, &arguments, 0)
        .map_err(|code| format!("the launch answers {code}"))?;
    driver
        .synchronize_all()
        .map_err(|code| format!("{code}: {}", driver.stand_in.first_fault()))?;

    let wanted = list.outcome(copy);
    let mut expected = poison;
    for pair in &wanted.copied {
        copy.plainly(&source_bytes, &mut expected, *pair);
    }
    compare(
        &driver.stand_in.peek(destination, expected.len()),
        &expected,
        "destination",
    )?;
    compare(
        &driver.stand_in.peek(source, source_bytes.len()),
        &source_bytes,
        "source",
    )?;
    let reported = driver.stand_in.peek(report, 8);
    if reported != bytes_of(&wanted.report.map(u64::from), 4) {
        return Err(format!(
            "the report is {reported:?}, wanted {:?}",
            wanted.report
        ));
    }
    if driver.stand_in.races() > 0 {
        return Err(driver.stand_in.first_race());
    }
    for address in [source, destination, table, pairs, count, report] {
        driver
            .free(address)
            .map_err(|code| format!("a free answers {code}"))?;
    }
    Ok(())
}

/// Device memory with these bytes in it; one byte if there is none.
fn memory(driver: &Driver, bytes: &[u8]) -> Result<u64, String> {
    let address = driver
        .allocate(bytes.len().max(1))
        .map_err(|code| format!("an allocation answers {code}"))?;
    driver.stand_in.poke(address, bytes);
    Ok(address)
}

/// The table with addresses where the offsets were.
fn addressed(copy: &Copy, source: u64, destination: u64) -> Vec<u64> {
    let mut table = copy.table.clone();
    for row in &mut table {
        for (index, base) in BASES.into_iter().zip([source, destination]) {
            row[index] = row[index].wrapping_add(base);
        }
    }
    table.concat()
}

fn compare(found: &[u8], expected: &[u8], what: &str) -> Result<(), String> {
    match found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected)
    {
        Some(at) => Err(format!("byte {at} of the {what} is wrong")),
        None => Ok(()),
    }
}
