//! The PTX interpreter: every instruction against what it should give, and everything else refused at the load.

mod support;

use std::ffi::CString;

use support::driver::{Driver, INVALID_PTX};

/// A file of one kernel `k(a, b, c, out)` of one thread: `ra`, `rb` and `rc` hold 64 bits each, `a`, `b`, `c` their low
/// 32, `ha`, `hb`, `hc` 16; what it leaves in `rd` goes to `out`.
fn file(body: &str) -> CString {
    let text = format!(
        ".version 7.8\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 out)\n{{\n\
         .reg .pred p, q, t;\n.reg .b16 ha, hb, hc, hd;\n.reg .b32 a, b, c, d;\n.reg .f32 fa, fb, fc, fd;\n\
         .reg .f64 ga, gb, gc, gd;\n.reg .b64 ra, rb, rc, rd, to;\n\
         ld.param.u64 ra, [pa];\nld.param.u64 rb, [pb];\nld.param.u64 rc, [pc];\nld.param.u64 to, [out];\n\
         cvt.u32.u64 a, ra;\ncvt.u32.u64 b, rb;\ncvt.u32.u64 c, rc;\n\
         cvt.u16.u64 ha, ra;\ncvt.u16.u64 hb, rb;\ncvt.u16.u64 hc, rc;\n\
         mov.b32 fa, a;\nmov.b32 fb, b;\nmov.b32 fc, c;\nmov.b64 ga, ra;\nmov.b64 gb, rb;\nmov.b64 gc, rc;\n\
         setp.ne.u32 t, c, 0;\nmov.u64 rd, 0;\n\
         {body}\nst.global.u64 [to], rd;\nret;\n}}\n"
    );
    CString::new(text).expect("no zero inside")
}

/// What the body leaves, for each triple of values.
fn results(driver: &Driver, body: &str, values: &[[u64; 3]]) -> Vec<u64> {
    let function = driver.kernel(&file(body), c"k");
    let stream = driver.stream();
    let out = driver.allocate(8).unwrap();
    let run = |[a, b, c]: &[u64; 3]| {
        driver
            .launch(function, 1, 1, &[*a, *b, *c, out], stream)
            .unwrap();
        let done = driver.synchronize(stream);
        assert_eq!(done, Ok(()), "{body}: {}", driver.stand_in.first_fault());
        u64::from_le_bytes(driver.stand_in.peek(out, 8).try_into().expect("8 bytes"))
    };
    values.iter().map(run).collect()
}

/// Values near every end of every width.
fn values() -> Vec<[u64; 3]> {
    let ends = [
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        63,
        64,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
    ];
    let more = [
        0x1_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
        0x0123_4567_89ab_cdef,
        0xfedc_ba98_7654_3210,
    ];
    let all: Vec<u64> = ends.into_iter().chain(more).collect();
    let at = |index: usize| all[index % all.len()];
    all.iter()
        .enumerate()
        .flat_map(|(first, a)| {
            (0..all.len()).map(move |second| [*a, at(second), at(first * 7 + second * 3)])
        })
        .collect()
}

/// An instruction that leaves 64 bits, and what they should be.
type Case = (&'static str, fn(u64, u64, u64) -> u64);

fn check(cases: &[Case]) {
    let driver = Driver::new(1);
    let values = values();
    for (body, expected) in cases {
        let found = results(&driver, body, &values);
        for (values, found) in values.iter().zip(found) {
            let [a, b, c] = *values;
            assert_eq!(found, expected(a, b, c), "{body} of {a:#x}, {b:#x}, {c:#x}");
        }
    }
    driver.stand_in.assert_clean();
}

/// The low bits as a signed number.
const fn s32(value: u64) -> i32 {
    value as u32 as i32
}

const fn u32_of(value: i32) -> u64 {
    value as u32 as u64
}

fn wide(value: u64) -> u128 {
    u128::from(value)
}

fn signed_wide(value: u64) -> i128 {
    i128::from(value as i64)
}

#[test]
fn sums_products_and_quotients() {
    check(&[
        ("add.u64 rd, ra, rb;", |a, b, _| a.wrapping_add(b)),
        ("sub.s64 rd, ra, rb;", |a, b, _| a.wrapping_sub(b)),
        ("add.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).wrapping_add(b as u32))
        }),
        ("sub.u16 hd, ha, hb; cvt.u64.u16 rd, hd;", |a, b, _| {
            u64::from((a as u16).wrapping_sub(b as u16))
        }),
        ("mul.lo.u64 rd, ra, rb;", |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u64 rd, ra, rb;", |a, b, _| {
            ((wide(a) * wide(b)) >> 64) as u64
        }),
        ("mul.hi.s64 rd, ra, rb;", |a, b, _| {
            ((signed_wide(a) * signed_wide(b)) >> 64) as u64
        }),
        ("mul.lo.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u32_of(s32(a).wrapping_mul(s32(b)))
        }),
        ("mul.hi.u32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            (u64::from(a as u32) * u64::from(b as u32)) >> 32
        }),
        ("mul.hi.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from(((i64::from(s32(a)) * i64::from(s32(b))) >> 32) as u32)
        }),
        ("mul.wide.u32 rd, a, b;", |a, b, _| {
            u64::from(a as u32) * u64::from(b as u32)
        }),
        ("mul.wide.s32 rd, a, b;", |a, b, _| {
            (i64::from(s32(a)) * i64::from(s32(b))) as u64
        }),
        ("mul.wide.u16 d, ha, hb; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from(a as u16) * u64::from(b as u16)
        }),
        ("mul.wide.s16 d, ha, hb; cvt.u64.u32 rd, d;", |a, b, _| {
            u32_of(i32::from(a as i16) * i32::from(b as i16))
        }),
        ("mad.lo.u64 rd, ra, rb, rc;", |a, b, c| {
            a.wrapping_mul(b).wrapping_add(c)
        }),
        ("mad.lo.s32 d, a, b, c; cvt.u64.u32 rd, d;", |a, b, c| {
            u32_of(s32(a).wrapping_mul(s32(b)).wrapping_add(s32(c)))
        }),
        ("mad.wide.u32 rd, a, b, rc;", |a, b, c| {
            (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
        }),
        ("mad.wide.s32 rd, a, b, rc;", |a, b, c| {
            ((i64::from(s32(a)) * i64::from(s32(b))) as u64).wrapping_add(c)
        }),
        ("mad.hi.u64 rd, ra, rb, rc;", |a, b, c| {
            (((wide(a) * wide(b)) >> 64) as u64).wrapping_add(c)
        }),
        ("div.u64 rd, ra, rb;", |a, b, _| {
            a.checked_div(b).unwrap_or(u64::MAX)
        }),
        ("rem.u64 rd, ra, rb;", |a, b, _| {
            a.checked_rem(b).unwrap_or(a)
        }),
        ("div.u32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX))
        }),
        ("rem.u32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32))
        }),
        ("div.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u32_of(if s32(b) == 0 {
                -1
            } else {
                s32(a).wrapping_div(s32(b))
            })
        }),
        ("rem.s64 rd, ra, rb;", |a, b, _| {
            if b == 0 {
                a
            } else {
                (a as i64).wrapping_rem(b as i64) as u64
            }
        }),
        ("neg.s32 d, a; cvt.u64.u32 rd, d;", |a, _, _| {
            u32_of(s32(a).wrapping_neg())
        }),
        ("abs.s64 rd, ra;", |a, _, _| {
            (a as i64).wrapping_abs() as u64
        }),
        ("min.u64 rd, ra, rb;", |a, b, _| a.min(b)),
        ("max.s64 rd, ra, rb;", |a, b, _| {
            (a as i64).max(b as i64) as u64
        }),
        ("min.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u32_of(s32(a).min(s32(b)))
        }),
        ("max.u32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).max(b as u32))
        }),
    ]);
}

#[test]
fn bits_and_shifts() {
    check(&[
        ("and.b64 rd, ra, rb;", |a, b, _| a & b),
        ("or.b32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from(a as u32 | b as u32)
        }),
        ("xor.b16 hd, ha, hb; cvt.u64.u16 rd, hd;", |a, b, _| {
            u64::from(a as u16 ^ b as u16)
        }),
        ("not.b32 d, a; cvt.u64.u32 rd, d;", |a, _, _| {
            u64::from(!(a as u32))
        }),
        ("shl.b64 rd, ra, b;", |a, b, _| {
            a.checked_shl(b as u32).unwrap_or(0)
        }),
        ("shl.b32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).checked_shl(b as u32).unwrap_or(0))
        }),
        ("shr.u64 rd, ra, b;", |a, b, _| {
            a.checked_shr(b as u32).unwrap_or(0)
        }),
        ("shr.b32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u64::from((a as u32).checked_shr(b as u32).unwrap_or(0))
        }),
        ("shr.s64 rd, ra, b;", |a, b, _| {
            ((a as i64) >> (b as u32).min(63)) as u64
        }),
        ("shr.s32 d, a, b; cvt.u64.u32 rd, d;", |a, b, _| {
            u32_of(s32(a) >> (b as u32).min(31))
        }),
        ("shr.s16 hd, ha, b; cvt.u64.u16 rd, hd;", |a, b, _| {
            u64::from(((a as i16) >> (b as u32).min(15)) as u16)
        }),
        (
            "shf.l.wrap.b32 d, a, b, c; cvt.u64.u32 rd, d;",
            |a, b, c| {
                let both = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
                (both << (c & 31)) >> 32
            },
        ),
        (
            "shf.r.clamp.b32 d, a, b, c; cvt.u64.u32 rd, d;",
            |a, b, c| {
                let both = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
                (both >> (c & 0xffff_ffff).min(32)) & 0xffff_ffff
            },
        ),
        ("prmt.b32 d, a, b, 0x7410; cvt.u64.u32 rd, d;", |a, b, _| {
            (a & 0xffff) | (b & 0xff) << 16 | (b & 0xff00_0000)
        }),
        ("prmt.b32 d, a, b, 0x888f; cvt.u64.u32 rd, d;", |a, b, _| {
            let sign = |byte: u64| if byte & 0x80 == 0 { 0 } else { 0xff };
            sign(b >> 24) | sign(a) << 8 | sign(a) << 16 | sign(a) << 24
        }),
        ("bfe.u32 d, a, 4, 8; cvt.u64.u32 rd, d;", |a, _, _| {
            (a >> 4) & 0xff
        }),
        ("bfe.s64 rd, ra, 60, 8;", |a, _, _| {
            ((a as i64) >> 60) as u64
        }),
        ("popc.b64 d, ra; cvt.u64.u32 rd, d;", |a, _, _| {
            u64::from(a.count_ones())
        }),
        ("clz.b32 d, a; cvt.u64.u32 rd, d;", |a, _, _| {
            u64::from((a as u32).leading_zeros())
        }),
        ("brev.b64 rd, ra;", |a, _, _| a.reverse_bits()),
        ("mov.b64 rd, {a, b};", |a, b, _| (a & 0xffff_ffff) | b << 32),
        ("mov.b64 {d, a}, ra; cvt.u64.u32 rd, a;", |a, _, _| a >> 32),
        ("mov.b64 rd, {ha, hb, hc, ha};", |a, b, c| {
            (a & 0xffff) | (b & 0xffff) << 16 | (c & 0xffff) << 32 | (a & 0xffff) << 48
        }),
    ]);
}

#[test]
fn comparisons_and_predicates() {
    check(&[
        ("setp.lt.u64 p, ra, rb; selp.u64 rd, 5, 6, p;", |a, b, _| {
            if a < b { 5 } else { 6 }
        }),
        (
            "setp.lt.s64 p, ra, rb; selp.b64 rd, ra, rb, p;",
            |a, b, _| (a as i64).min(b as i64) as u64,
        ),
        ("setp.ge.u32 p, a, b; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(a as u32 >= b as u32)
        }),
        ("setp.gt.s32 p, a, b; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(s32(a) > s32(b))
        }),
        ("setp.le.s16 p, ha, hb; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(a as i16 <= b as i16)
        }),
        ("setp.eq.b32 p, a, b; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(a as u32 == b as u32)
        }),
        ("setp.ne.s64 p, ra, rb; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(a != b)
        }),
        ("setp.hi.u32 p, a, b; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(a as u32 > b as u32)
        }),
        (
            "setp.lt.u32 p|q, a, b; selp.u64 rd, 1, 0, p; @q add.u64 rd, rd, 2;",
            |a, b, _| if (a as u32) < b as u32 { 1 } else { 2 },
        ),
        (
            "setp.lt.and.u32 p, a, b, t; selp.u64 rd, 1, 0, p;",
            |a, b, c| u64::from((a as u32) < b as u32 && c as u32 != 0),
        ),
        (
            "setp.lt.or.u32 p, a, b, !t; selp.u64 rd, 1, 0, p;",
            |a, b, c| u64::from((a as u32) < b as u32 || c as u32 == 0),
        ),
        (
            "setp.lt.u32 p, a, b; xor.pred q, p, t; not.pred q, q; selp.u64 rd, 1, 0, q;",
            |a, b, c| u64::from(((a as u32) < b as u32) == (c as u32 != 0)),
        ),
        (
            "@t bra $one; add.u64 rd, rd, 7; $one: @!t add.u64 rd, rd, 1;",
            |_, _, c| if c as u32 != 0 { 0 } else { 8 },
        ),
        // A loop, a guard on a return, and names of their own in braces.
        (
            "mov.u32 d, 0; $again: add.u32 d, d, 1; add.u64 rd, rd, ra; setp.lt.u32 p, d, 5; @p bra $again;",
            |a, _, _| a.wrapping_mul(5),
        ),
        (
            "{ .reg .b64 ra; mov.u64 ra, 3; { .reg .b64 rx; mov.u64 rx, ra; add.u64 rd, rx, 1; } } add.u64 rd, rd, ra;",
            |a, _, _| a.wrapping_add(4),
        ),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("cvt.u64.u32 rd, a;", |a, _, _| a & 0xffff_ffff),
        ("cvt.s64.s32 rd, a;", |a, _, _| i64::from(s32(a)) as u64),
        ("cvt.s32.s8 d, ra; cvt.u64.u32 rd, d;", |a, _, _| {
            u32_of(i32::from(a as i8))
        }),
        ("cvt.u32.u8 d, ra; cvt.u64.u32 rd, d;", |a, _, _| a & 0xff),
        ("cvt.s8.s32 d, a; cvt.u64.u32 rd, d;", |a, _, _| {
            u32_of(i32::from(a as i8))
        }),
        ("cvt.u16.u32 hd, a; cvt.s64.s16 rd, hd;", |a, _, _| {
            i64::from(a as i16) as u64
        }),
        (
            "cvt.rn.f32.u32 fd, a; mov.b32 d, fd; cvt.u64.u32 rd, d;",
            |a, _, _| u64::from((a as u32 as f32).to_bits()),
        ),
        ("cvt.rn.f64.s64 gd, ra; mov.b64 rd, gd;", |a, _, _| {
            (a as i64 as f64).to_bits()
        }),
        (
            "cvt.rn.f64.s32 gd, a; cvt.rzi.s64.f64 rd, gd;",
            |a, _, _| i64::from(s32(a)) as u64,
        ),
        (
            "cvt.rn.f32.s32 fd, a; cvt.f64.f32 gd, fd; mov.b64 rd, gd;",
            |a, _, _| f64::from(s32(a) as f32).to_bits(),
        ),
        (
            "cvt.rn.f64.u64 gd, ra; cvt.rn.f32.f64 fd, gd; mov.b32 d, fd; cvt.u64.u32 rd, d;",
            |a, _, _| u64::from((a as f64 as f32).to_bits()),
        ),
        (
            "cvt.rn.f32.s32 fa, a; cvt.rn.f32.s32 fb, b; fma.rn.f32 fd, fa, fb, fa; mov.b32 d, fd; cvt.u64.u32 rd, d;",
            |a, b, _| {
                let (a, b) = (s32(a) as f32, s32(b) as f32);
                u64::from(a.mul_add(b, a).to_bits())
            },
        ),
        (
            "cvt.rn.f64.s32 ga, a; cvt.rn.f64.s32 gb, b; sub.f64 gd, ga, gb; mov.b64 rd, gd;",
            |a, b, _| (f64::from(s32(a)) - f64::from(s32(b))).to_bits(),
        ),
        ("setp.lt.f32 p, fa, fb; selp.u64 rd, 1, 0, p;", |a, b, _| {
            u64::from(f32::from_bits(a as u32) < f32::from_bits(b as u32))
        }),
        (
            "mov.f32 fd, 0f3F800000; mov.b32 d, fd; cvt.u64.u32 rd, d;",
            |_, _, _| 0x3f80_0000,
        ),
        (
            "mov.f64 gd, 0dBFF0000000000000; mov.b64 rd, gd;",
            |_, _, _| 0xbff0_0000_0000_0000,
        ),
        ("mov.u32 d, -1; cvt.u64.u32 rd, d;", |_, _, _| 0xffff_ffff),
        ("mov.u64 rd, 0xFFFFFFFFFFFFFFFF;", |_, _, _| u64::MAX),
    ]);
}

/// Instructions, and what they make of three values.
type MemoryCase = (String, fn(u64, u64, u64) -> u64);

#[test]
fn memory_of_every_space_and_width() {
    let shared = ".shared .align 16 .b8 s[64];";
    let local = ".local .align 16 .b8 l[64];";
    let driver = Driver::new(1);
    let values = values();
    let cases: &[MemoryCase] = &[
        (format!("{shared} st.shared.u64 [s+8], ra; ld.shared.u32 d, [s+12]; cvt.u64.u32 rd, d;"), |a, _, _| a >> 32),
        (format!("{shared} st.shared.v4.u32 [s], {{a, b, c, a}}; ld.shared.v2.u64 {{ra, rb}}, [s]; xor.b64 rd, ra, rb;"), |a, b, c| {
            let pair = |low: u64, high: u64| (low & 0xffff_ffff) | high << 32;
            pair(a, b) ^ pair(c, a)
        }),
        (format!("{shared} mov.u64 rb, s; st.shared.u16 [rb+4], ra; ld.shared.s16 d, [s+4]; cvt.u64.u32 rd, d;"), |a, _, _| {
            u32_of(i32::from(a as i16))
        }),
        (format!("{shared} mov.u64 rb, s; cvta.shared.u64 rb, rb; st.u64 [rb], ra; ld.shared.u64 rd, [s];"), |a, _, _| a),
        (format!("{shared} mov.u64 rb, s; cvta.shared.u64 rb, rb; cvta.to.shared.u64 rb, rb; st.shared.u8 [rb+1], 7; ld.shared.u8 hd, [s+1]; cvt.u64.u16 rd, hd;"), |_, _, _| 7),
        (format!("{local} mov.u64 rb, l; cvta.local.u64 rc, rb; st.local.u64 [rb+16], ra; ld.u8 d, [rc+17]; cvt.u64.u32 rd, d;"), |a, _, _| (a >> 8) & 0xff),
        ("cvta.to.global.u64 rb, to; st.global.cg.v2.u32 [rb], {a, c}; ld.global.L1::no_allocate.v2.u32 {d, b}, [rb]; mov.b64 rd, {b, d};".into(), |a, _, c| {
            (c & 0xffff_ffff) | a << 32
        }),
        ("st.volatile.global.s8 [to+3], ra; ld.relaxed.gpu.global.s8 d, [to+3]; cvt.s64.s32 rd, d;".into(), |a, _, _| i64::from(a as i8) as u64),
        ("st.u64 [to], ra; atom.global.add.u64 rc, [to], rb; ld.global.nc.u64 rd, [to]; sub.u64 rd, rd, rc;".into(), |_, b, _| b),
        ("st.u64 [to], ra; atom.global.min.s32 d, [to], b; ld.global.u32 d, [to]; cvt.u64.u32 rd, d;".into(), |a, b, _| u32_of(s32(a).min(s32(b)))),
        ("st.u64 [to], ra; red.relaxed.gpu.global.max.u64 [to], rb; ld.global.u64 rd, [to];".into(), |a, b, _| a.max(b)),
        ("st.u64 [to], ra; atom.global.cas.b64 rc, [to], rb, 9; ld.global.u64 rd, [to]; xor.b64 rd, rd, rc;".into(), |a, b, _| if a == b { a ^ 9 } else { 0 }),
        ("st.u64 [to], ra; atom.exch.b32 d, [to+4], b; ld.global.u64 rd, [to];".into(), |a, b, _| (a & 0xffff_ffff) | b << 32),
        ("st.u64 [to], ra; atom.global.inc.u32 d, [to], b; ld.global.u32 d, [to]; cvt.u64.u32 rd, d;".into(), |a, b, _| {
            if a as u32 >= b as u32 { 0 } else { u64::from(a as u32 + 1) }
        }),
        ("ld.param.u32 d, [pb+4]; cvt.u64.u32 rd, d;".into(), |_, b, _| b >> 32),
        ("mov.u32 d, %ntid.x; mov.u32 a, %nctaid.z; mad.lo.u32 d, d, 10, a; add.u32 d, d, %tid.y; cvt.u64.u32 rd, d;".into(), |_, _, _| 11),
        ("membar.gl; fence.acq_rel.gpu; bar.sync 3; mov.u64 rd, ra;".into(), |a, _, _| a),
    ];
    for (body, expected) in cases {
        for (values, found) in values.iter().zip(results(&driver, body, &values)) {
            let [a, b, c] = *values;
            assert_eq!(found, expected(a, b, c), "{body} of {a:#x}, {b:#x}, {c:#x}");
        }
    }
    driver.stand_in.assert_clean();
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    let driver = Driver::new(1);
    let bodies = [
        ("vote.sync.any.pred p, q, -1;", "vote"),
        ("shfl.sync.down.b32 d, a, b, c, -1;", "shfl"),
        ("add.u128 rd, ra, rb;", "add"),
        ("add.u64 rd, ra;", "add"),
        ("add.u64 rd, ra, b;", "b is no value"),
        ("add.u32 d, a, rb;", "64 bits"),
        ("add.u64 d, ra, rb;", "d"),
        ("add.u64 rd, ra, %nothing;", "%nothing"),
        ("add.sat.s32 d, a, b;", "add"),
        ("mul.u32 d, a, b;", "mul"),
        ("mul.wide.u64 rd, ra, rb;", "mul"),
        ("setp.lt.b32 p, a, b;", "setp"),
        ("setp.lt.u32 d, a, b;", "d"),
        ("selp.u32 d, a, b, c;", "c"),
        ("ld.global.v4.u64 {ra, rb, rc, rd}, [to];", "ld"),
        ("ld.global.v2.u32 {a, b, c, d}, [to];", "ld"),
        ("ld.global.u64 d, [to];", "d"),
        ("ld.global.L1::nothing.u32 d, [to];", "ld"),
        ("ld.global.u32.v2 {a, b}, [to];", "ld"),
        ("st.param.u32 [pa], a;", "st"),
        ("st.global.u32 [to], p;", "p"),
        ("ld.global.u32 d, to;", "address"),
        ("atom.global.add.s64 rd, [to], ra;", "atom"),
        ("atom.global.cas.u32 d, [to], a, b;", "atom"),
        ("cvt.u64.u32.sat rd, a;", "cvt"),
        ("cvt.f32.s32 fd, a;", "cvt"),
        ("bra $nowhere;", "$nowhere"),
        ("call nothing;", "call"),
        ("bar.sync 16;", "bar"),
        ("@a add.u64 rd, ra, rb;", "a"),
        ("$one: add.u64 rd, ra, rb; $one: ret;", "$one"),
        (".reg .b64 rd;", "rd"),
        (".reg .b8 x;", "8 bits"),
        (".pragma \"something\";", "pragma"),
        (".section .debug { }", ".section"),
        (".shared .align 3 .b8 x[3];", "alignment"),
        ("add.u64 rd, ra, rb", "';'"),
        ("{ add.u64 rd, ra, rb;", "'}'"),
        ("add.u64 rd, ra, #;", "character"),
    ];
    for (body, text) in bodies {
        assert_eq!(driver.load(&file(body)), Err(INVALID_PTX), "{body}");
        let log = driver.stand_in.module_log();
        assert!(
            log.contains(text) && log.starts_with("line "),
            "{body}: {log}"
        );
    }
    assert!(driver.load(&file("add.u64 rd, ra, rb;")).is_ok());

    let head = ".version 7.8\n.target sm_70\n.address_size 64\n";
    let files = [
        ("", "line 0"),
        (".target sm_70\n", ".version"),
        (".version 7.8\n.target sm_90a\n", "sm_90a"),
        (
            ".version 7.8\n.address_size 64\n.visible .entry k() { ret; }",
            ".visible",
        ),
    ];
    for (text, log) in files {
        assert_eq!(
            driver.load(&CString::new(text).expect("no zero")),
            Err(INVALID_PTX),
            "{text}"
        );
        assert!(
            driver.stand_in.module_log().contains(log),
            "{}",
            driver.stand_in.module_log()
        );
    }
    for text in [
        ".visible .func f() { ret; }",
        ".visible .entry k() .nothing { ret; }",
        ".const .u32 x = 1;",
        ".visible .entry k(.reg .u32 a) { ret; }",
    ] {
        assert_eq!(
            driver.load(&CString::new(format!("{head}{text}")).expect("no zero")),
            Err(INVALID_PTX),
            "{text}"
        );
    }
    assert_eq!(
        driver.load(c".version 9.5\n.target sm_70\n.address_size 64\n"),
        Err(222),
        "newer than the driver"
    );
    assert_eq!(driver.load(c"\x7fELF"), Err(200), "machine code");
}
