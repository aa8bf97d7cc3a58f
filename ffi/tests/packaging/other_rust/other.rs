//! Another Rust library in the same program: with std, its own allocator and its own panics, which unwind.

/// The sum of what two threads count, in memory from this library's allocator.
#[unsafe(no_mangle)]
pub extern "C" fn other_sum() -> u64 {
    let threads: Vec<_> = (1..=2u64)
        .map(|i| std::thread::spawn(move || vec![i; 100].iter().sum::<u64>()))
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
}

/// 1 if a panic unwinds to here and is caught.
#[unsafe(no_mangle)]
pub extern "C" fn other_catches_a_panic() -> i32 {
    i32::from(std::panic::catch_unwind(|| panic!("this panic is part of the test")).is_err())
}
