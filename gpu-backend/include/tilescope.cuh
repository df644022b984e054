// What generated kernels call: element types, arithmetic as the tile IR defines it, accesses, shuffles, reductions.
//
// All PTX of the backend is in this file, each instruction behind a named function with its CPU version beside it, so
// that the same generated code runs on a GPU and, for tests, on the CPU (TILESCOPE_CPU, with cpu.h). Functions of the op
// table have the names that its column of CUDA expressions uses. Needs no other header on a GPU.
#pragma once

#ifdef TILESCOPE_CPU
#include "cpu.h"
#define TS_FN inline
#define TS_COLD inline
#define TS_KERNEL(threads) static void
#define TS_SHARED(name) unsigned char* const name = ts::cpu::shared_memory()
#else
#define TS_FN __device__ __forceinline__
#define TS_COLD __device__ __noinline__
#define TS_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define TS_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

namespace ts {

// ---- Element types. Integers carry no sign in the IR; here they are signed, and operations say which they mean.

using i1 = bool;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct f8e4m3 { u8 bits; };
struct f8e5m2 { u8 bits; };

template <class T> struct unsigned_of { using type = T; };
template <> struct unsigned_of<i8> { using type = u8; };
template <> struct unsigned_of<i16> { using type = u16; };
template <> struct unsigned_of<i32> { using type = u32; };
template <> struct unsigned_of<i64> { using type = u64; };
template <> struct unsigned_of<i1> { using type = u8; };
template <class T> using unsigned_t = typename unsigned_of<T>::type;

template <class T> struct is_bool { static constexpr bool value = false; };
template <> struct is_bool<i1> { static constexpr bool value = true; };
template <class T> constexpr int width = is_bool<T>::value ? 1 : 8 * int(sizeof(T));

// The low bits of an unsigned number as a T.
template <class T, class U> TS_FN T wrap(U x) {
    if constexpr (is_bool<T>::value) return (x & 1) != 0;
    else return static_cast<T>(static_cast<unsigned_t<T>>(x));
}
template <class T> TS_FN unsigned_t<T> as_unsigned(T x) { return static_cast<unsigned_t<T>>(x); }
// A truth value is -1 as a signed number of one bit.
template <class T> TS_FN i64 as_signed(T x) {
    if constexpr (is_bool<T>::value) return x ? -1 : 0;
    else return static_cast<i64>(x);
}

template <class To, class From> TS_FN To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "bit casts keep the width");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// ---- Position in the launch.

#ifdef TILESCOPE_CPU
TS_FN int thread() { return cpu::thread(); }
TS_FN i32 program_id(int axis) { return static_cast<i32>(cpu::block(axis)); }
TS_FN void barrier() { cpu::barrier(); }
TS_FN void fence() {}
#else
TS_FN int thread() { return threadIdx.x; }
TS_FN i32 program_id(int axis) { return axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z; }
TS_FN void barrier() { __syncthreads(); }
TS_FN void fence() { __threadfence(); }
#endif

// ---- Conversions between floats.

#ifdef TILESCOPE_CPU
TS_FN f32 widen(f16 x) {
    const u32 sign = u32(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 0x3ff;
    if (exponent == 31) return bits_as<f32>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) return bits_as<f32>(bits_as<u32>(f32(fraction) * 0x1p-24f) | sign);
    return bits_as<f32>(sign | (exponent + 112) << 23 | fraction << 13);
}
TS_FN f16 narrow_f16(f32 x) {
    const u32 bits = bits_as<u32>(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return {0x7fff};
    if (magnitude >= 0x47800000) return {u16(sign | 0x7c00)};
    if (magnitude < 0x38800000) {
        // Subnormal: the hardware's own rounding, by adding a number whose last place is that of the result.
        const f32 shifted = bits_as<f32>(magnitude) + 0x1p-1f;
        return {u16(sign | (bits_as<u32>(shifted) - 0x3f000000u))};
    }
    return {u16(sign | (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13)};
}
TS_FN bf16 narrow_bf16(f32 x) {
    const u32 bits = bits_as<u32>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
    return {u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
#else
TS_FN f32 widen(f16 x) { f32 y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
TS_FN f16 narrow_f16(f32 x) { f16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
TS_FN bf16 narrow_bf16(f32 x) { bf16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
#endif
TS_FN f32 widen(bf16 x) { return bits_as<f32>(u32(x.bits) << 16); }
TS_FN f32 widen(f32 x) { return x; }
TS_FN f64 widen(f64 x) { return x; }

// An 8-bit float of M fraction bits and exponent bias B. Conversions to it saturate, as the hardware's do.
template <int M, int B> TS_FN f32 widen8(u8 code) {
    const u32 exponent = (code & 0x7f) >> M, fraction = code & ((1 << M) - 1);
    const f32 value = exponent == 0 ? f32(fraction) * bits_as<f32>(u32(127 + 1 - B - M) << 23)
                                    : bits_as<f32>((exponent + 127 - B) << 23 | fraction << (23 - M));
    return code & 0x80 ? -value : value;
}
template <int M, int B> TS_FN u8 narrow8(f32 x, u32 largest) {
    const u32 bits = bits_as<u32>(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7f;
    u32 code;
    if (magnitude < u32(128 - B) << 23) {
        // Subnormal: a sum whose last place is that of the result rounds it.
        const u32 anchor = u32(127 + 1 - B - M + 23) << 23;
        code = bits_as<u32>(bits_as<f32>(magnitude) + bits_as<f32>(anchor)) - anchor;
    } else {
        const u32 shift = 23 - M;
        code = (magnitude + ((1u << (shift - 1)) - 1) + (magnitude >> shift & 1)) >> shift;
        code -= u32(127 - B) << M;
    }
    return u8(sign | (code < largest ? code : largest));
}
TS_FN f32 widen(f8e4m3 x) { return (x.bits & 0x7f) == 0x7f ? bits_as<f32>(0x7fffffffu) : widen8<3, 7>(x.bits); }
TS_FN f32 widen(f8e5m2 x) {
    const u32 magnitude = x.bits & 0x7f;
    if (magnitude > 0x7c) return bits_as<f32>(0x7fffffffu);
    if (magnitude == 0x7c) return bits_as<f32>(u32(x.bits & 0x80) << 24 | 0x7f800000u);
    return widen8<2, 15>(x.bits);
}

// Any float to any float, to nearest even.
template <class T> struct narrow_to;
template <> struct narrow_to<f64> { static TS_FN f64 of(f32 x) { return x; } };
template <> struct narrow_to<f32> { static TS_FN f32 of(f32 x) { return x; } };
template <> struct narrow_to<f16> { static TS_FN f16 of(f32 x) { return narrow_f16(x); } };
template <> struct narrow_to<bf16> { static TS_FN bf16 of(f32 x) { return narrow_bf16(x); } };
template <> struct narrow_to<f8e4m3> { static TS_FN f8e4m3 of(f32 x) { return {narrow8<3, 7>(x, 0x7e)}; } };
template <> struct narrow_to<f8e5m2> { static TS_FN f8e5m2 of(f32 x) { return {narrow8<2, 15>(x, 0x7b)}; } };
// To f32 with the last bit set where something was cut: what is rounded after that is rounded once.
TS_FN f32 odd(f64 x) {
    const f32 near = f32(x);
    if (f64(near) == x || !(near == near) || bits_as<u32>(near) << 1 == 0xff000000u) return near;
    const u32 bits = bits_as<u32>(near);
    const bool away = (x < 0 ? f64(near) < x : f64(near) > x);
    return bits_as<f32>((away ? bits - 1 : bits) | 1);
}
template <class To, class From> TS_FN To float_cast(From x) { return narrow_to<To>::of(widen(x)); }
template <> TS_FN f64 float_cast<f64, f64>(f64 x) { return x; }
template <> TS_FN f32 float_cast<f32, f64>(f64 x) { return f32(x); }
template <> TS_FN f16 float_cast<f16, f64>(f64 x) { return narrow_f16(odd(x)); }
template <> TS_FN bf16 float_cast<bf16, f64>(f64 x) { return narrow_bf16(odd(x)); }

// Toward zero: what rounding to nearest took too far is taken one step back.
template <class To, class From> TS_FN To float_cast_rtz(From x) {
    const To near = float_cast<To>(x);
    const auto exact = widen(x);
    const auto back = widen(near);
    const bool finite = back == back && exact == exact;
    const bool away = exact < 0 ? back < exact : back > exact;
    if (!finite || !away || (exact - exact != 0)) return near;
    To less = near;
    unsigned_t<i8>* last = reinterpret_cast<u8*>(&less);
    (void)last;
    if constexpr (sizeof(To) == 1) { u8 b = bits_as<u8>(less); less = bits_as<To>(u8(b - 1)); }
    else if constexpr (sizeof(To) == 2) { u16 b = bits_as<u16>(less); less = bits_as<To>(u16(b - 1)); }
    else if constexpr (sizeof(To) == 4) { u32 b = bits_as<u32>(less); less = bits_as<To>(b - 1); }
    return less;
}

// ---- Integers and floats.

template <class To, class From> TS_FN To int_cast(From x) { return wrap<To>(as_signed(x)); }
template <class To, class From> TS_FN To int_cast_unsigned(From x) { return wrap<To>(u64(as_unsigned(x))); }

template <class F> TS_FN F from_integer_f32(f32 x) { return narrow_to<F>::of(x); }
// An integer as f64: where that does not hold it, the last bits become one that says whether they were all zero, so that what
// is rounded after that is rounded once. (Of a negative number it is the odd one of the two neighbours.)
template <class N> TS_FN f64 jammed(N n) {
    const bool fits = n >> 53 == 0 || n >> 53 == N(-1);
    return f64(fits ? n : n >> 11 << 11 | N((n & 2047) != 0) << 11);
}
template <class To, class From> TS_FN To from_signed(From x) {
    const i64 n = as_signed(x);
    if constexpr (sizeof(To) == 8) return f64(n);
    else if constexpr (sizeof(To) == 4) return f32(n);
    else if constexpr (sizeof(From) <= 2) return narrow_to<To>::of(f32(n));
    else return narrow_to<To>::of(odd(jammed(n)));
}
template <class To, class From> TS_FN To from_unsigned(From x) {
    const u64 n = as_unsigned(x);
    if constexpr (sizeof(To) == 8) return f64(n);
    else if constexpr (sizeof(To) == 4) return f32(n);
    else return narrow_to<To>::of(odd(jammed(n)));
}

// Float to integer as the hardware does it: toward zero, saturating, NaN is 0 (of 64 bits: the top bit alone).
// 8 bits are taken from a saturated 16-bit number.
#ifdef TILESCOPE_CPU
template <class To, class F> TS_FN To saturate(F x, F low, F high, To least, To most, To nan) {
    if (x != x) return nan;
    return x <= low ? least : x >= high ? most : To(x);
}
template <class F> TS_FN i64 to_s64(F x) { return saturate<i64>(x, F(-0x1p63), F(0x1p63), i64(1ull << 63), i64(~0ull >> 1), i64(1ull << 63)); }
template <class F> TS_FN u64 to_u64(F x) { return saturate<u64>(x, F(0), F(0x1p64), 0, ~0ull, 1ull << 63); }
TS_FN i32 to_s32(f32 x) { return saturate<i32>(x, -0x1p31f, 0x1p31f, i32(1u << 31), 0x7fffffff, 0); }
TS_FN i32 to_s32(f64 x) { return saturate<i32>(x, -0x1p31, 0x1p31 - 1, i32(1u << 31), 0x7fffffff, i32(1u << 31)); }
TS_FN u32 to_u32(f32 x) { return saturate<u32>(x, 0.f, 0x1p32f, 0, ~0u, 0); }
TS_FN u32 to_u32(f64 x) { return saturate<u32>(x, 0., 0x1p32 - 1, 0, ~0u, 1u << 31); }
TS_FN i16 to_s16(f32 x) { return saturate<i16>(x, -32768.f, 32767.f, -32768, 32767, 0); }
TS_FN i16 to_s16(f64 x) { return saturate<i16>(x, -32768., 32767., -32768, 32767, -32768); }
TS_FN u16 to_u16(f32 x) { return saturate<u16>(x, 0.f, 65535.f, 0, 65535, 0); }
TS_FN u16 to_u16(f64 x) { return saturate<u16>(x, 0., 65535., 0, 65535, 32768); }
#else
TS_FN i64 to_s64(f32 x) { i64 y; asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(y) : "f"(x)); return y; }
TS_FN i64 to_s64(f64 x) { i64 y; asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(y) : "d"(x)); return y; }
TS_FN u64 to_u64(f32 x) { u64 y; asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(y) : "f"(x)); return y; }
TS_FN u64 to_u64(f64 x) { u64 y; asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(y) : "d"(x)); return y; }
TS_FN i32 to_s32(f32 x) { i32 y; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(y) : "f"(x)); return y; }
TS_FN i32 to_s32(f64 x) { i32 y; asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(y) : "d"(x)); return y; }
TS_FN u32 to_u32(f32 x) { u32 y; asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(y) : "f"(x)); return y; }
TS_FN u32 to_u32(f64 x) { u32 y; asm("cvt.rzi.u32.f64 %0, %1;" : "=r"(y) : "d"(x)); return y; }
// Not by `cvt.rzi.s16`: ptxas 13.0 takes its result for one that fills 32 bits, also after it has put it into the lower half of a
// register whose upper half is something else (the kernel `halves_of_registers`: an H200 stored 0x3f800000 for 0).
template <class F> TS_FN i16 to_s16(F x) {
    const i32 y = to_s32(x);
    return i16(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
}
TS_FN u16 to_u16(f32 x) {
    const u32 y = to_u32(x);
    return u16(y > 65535 ? 65535 : y);
}
TS_FN u16 to_u16(f64 x) {
    const u32 y = to_u32(x);
    return x != x ? 32768 : u16(y > 65535 ? 65535 : y);
}
#endif
template <class To, class From> TS_FN To to_signed(From from) {
    const auto x = widen(from);
    if constexpr (is_bool<To>::value) return wrap<To>(u32(to_s16(x)));
    else if constexpr (sizeof(To) == 1) return i8(to_s16(x));
    else if constexpr (sizeof(To) == 2) return to_s16(x);
    else if constexpr (sizeof(To) == 4) return to_s32(x);
    else return to_s64(x);
}
template <class To, class From> TS_FN To to_unsigned(From from) {
    const auto x = widen(from);
    if constexpr (is_bool<To>::value) return wrap<To>(u32(to_u16(x)));
    else if constexpr (sizeof(To) == 1) return i8(u8(to_u16(x)));
    else if constexpr (sizeof(To) == 2) return i16(to_u16(x));
    else if constexpr (sizeof(To) == 4) return i32(to_u32(x));
    else return i64(to_u64(x));
}

// ---- Integer arithmetic: wraps around; sizes without a sign.

template <class T> TS_FN T add(T a, T b) { return wrap<T>(as_unsigned(a) + as_unsigned(b)); }
template <class T> TS_FN T sub(T a, T b) { return wrap<T>(as_unsigned(a) - as_unsigned(b)); }
template <class T> TS_FN T mul(T a, T b) { return wrap<T>(u64(as_unsigned(a)) * u64(as_unsigned(b))); }
template <> TS_FN i32 mul<i32>(i32 a, i32 b) { return i32(u32(a) * u32(b)); }
#ifdef TILESCOPE_CPU
TS_FN i64 mulhi_unsigned(i64 a, i64 b) { return i64((unsigned __int128)(u64(a)) * u64(b) >> 64); }
TS_FN i32 mulhi_unsigned(i32 a, i32 b) { return i32(u64(u32(a)) * u32(b) >> 32); }
#else
TS_FN i64 mulhi_unsigned(i64 a, i64 b) { return i64(__umul64hi(u64(a), u64(b))); }
TS_FN i32 mulhi_unsigned(i32 a, i32 b) { return i32(__umulhi(u32(a), u32(b))); }
#endif
TS_FN i16 mulhi_unsigned(i16 a, i16 b) { return i16(u32(u16(a)) * u16(b) >> 16); }
TS_FN i8 mulhi_unsigned(i8 a, i8 b) { return i8(u32(u8(a)) * u8(b) >> 8); }

// Division truncates; by zero gives all ones (quotient and remainder), the least by -1 wraps. Never traps.
template <class T> TS_FN T div_unsigned(T a, T b) {
    return b == T(0) ? wrap<T>(~u64(0)) : wrap<T>(as_unsigned(a) / as_unsigned(b));
}
template <class T> TS_FN T rem_unsigned(T a, T b) {
    return b == T(0) ? wrap<T>(~u64(0)) : wrap<T>(as_unsigned(a) % as_unsigned(b));
}
template <class T> TS_FN T div_signed(T a, T b) {
    if (b == T(0)) return wrap<T>(~u64(0));
    if (as_signed(b) == -1) return wrap<T>(u64(0) - u64(as_signed(a)));
    return T(a / b);
}
template <class T> TS_FN T rem_signed(T a, T b) {
    if (b == T(0)) return wrap<T>(~u64(0));
    if (as_signed(b) == -1) return T(0);
    return T(a % b);
}
template <class T> TS_FN T ceil_div_signed(T a, T b) {
    const T q = div_signed(a, b), r = b == T(0) ? T(0) : rem_signed(a, b);
    return r != T(0) && (as_signed(r) < 0) == (as_signed(b) < 0) ? add(q, T(1)) : q;
}
template <class T> TS_FN T floor_div_signed(T a, T b) {
    const T q = div_signed(a, b), r = b == T(0) ? T(0) : rem_signed(a, b);
    return r != T(0) && (as_signed(r) < 0) != (as_signed(b) < 0) ? sub(q, T(1)) : q;
}
template <class T> TS_FN T ceil_div_unsigned(T a, T b) {
    const T q = div_unsigned(a, b), r = b == T(0) ? T(0) : rem_unsigned(a, b);
    return r != T(0) ? add(q, T(1)) : q;
}

// Shifts by the width or more (or by less than nothing) leave nothing but the sign.
template <class T> TS_FN T shl(T a, T b) {
    const u64 n = as_unsigned(b);
    return n >= u64(width<T>) ? T(0) : wrap<T>(u64(as_unsigned(a)) << n);
}
template <class T> TS_FN T shr_unsigned(T a, T b) {
    const u64 n = as_unsigned(b);
    return n >= u64(width<T>) ? T(0) : wrap<T>(u64(as_unsigned(a)) >> n);
}
template <class T> TS_FN T shr_signed(T a, T b) {
    const u64 n = as_unsigned(b);
    return wrap<T>(u64(as_signed(a) >> (n >= u64(width<T>) ? width<T> - 1 : int(n))));
}
template <class T> TS_FN T min_signed(T a, T b) { return as_signed(a) < as_signed(b) ? a : b; }
template <class T> TS_FN T max_signed(T a, T b) { return as_signed(a) > as_signed(b) ? a : b; }
template <> TS_FN i32 min_signed<i32>(i32 a, i32 b) { return a < b ? a : b; }
template <> TS_FN i32 max_signed<i32>(i32 a, i32 b) { return a > b ? a : b; }
template <class T> TS_FN T min_unsigned(T a, T b) { return as_unsigned(a) < as_unsigned(b) ? a : b; }
template <class T> TS_FN T max_unsigned(T a, T b) { return as_unsigned(a) > as_unsigned(b) ? a : b; }
template <class T> TS_FN T abs_signed(T a) { return as_signed(a) < 0 ? sub(T(0), a) : a; }
template <class T> TS_FN T count_ones(T a) {
    int n = 0;
    for (u64 bits = as_unsigned(a); bits != 0; bits &= bits - 1) ++n;
    return wrap<T>(u64(n));
}
template <class T> TS_FN T leading_zeros(T a) {
    int n = width<T>;
    for (u64 bits = as_unsigned(a); bits != 0; bits >>= 1) --n;
    return wrap<T>(u64(n));
}
template <class T> TS_FN T trailing_zeros(T a) {
    u64 bits = as_unsigned(a);
    int n = bits == 0 ? width<T> : 0;
    for (; bits != 0 && (bits & 1) == 0; bits >>= 1) ++n;
    return wrap<T>(u64(n));
}

// ---- Float arithmetic. f16 and bf16 go through f32, which rounds + - * / and sqrt as their own arithmetic would.

TS_FN f16 operator+(f16 a, f16 b) { return narrow_f16(widen(a) + widen(b)); }
TS_FN f16 operator-(f16 a, f16 b) { return narrow_f16(widen(a) - widen(b)); }
TS_FN f16 operator*(f16 a, f16 b) { return narrow_f16(widen(a) * widen(b)); }
TS_FN f16 operator-(f16 a) { return {u16(a.bits ^ 0x8000)}; }
TS_FN bf16 operator+(bf16 a, bf16 b) { return narrow_bf16(widen(a) + widen(b)); }
TS_FN bf16 operator-(bf16 a, bf16 b) { return narrow_bf16(widen(a) - widen(b)); }
TS_FN bf16 operator*(bf16 a, bf16 b) { return narrow_bf16(widen(a) * widen(b)); }
TS_FN bf16 operator-(bf16 a) { return {u16(a.bits ^ 0x8000)}; }

#ifdef TILESCOPE_CPU
TS_FN f32 ex2_approx(f32 x) { return exp2f(x); }
TS_FN f32 ex2_approx_ftz(f32 x) { return exp2f(x); }
TS_FN f32 div_full(f32 a, f32 b) { return a / b; }
TS_FN f32 sqrt_approx_ftz(f32 x) { return sqrtf(x); }
TS_FN f32 rsqrt_approx_ftz(f32 x) { return 1.f / sqrtf(x); }
TS_FN f64 rsqrt_f64(f64 x) { return 1. / ::sqrt(x); }
TS_FN f32 div_rn(f32 a, f32 b) { return a / b; }
TS_FN f32 sqrt_rn(f32 a) { return sqrtf(a); }
TS_FN f32 minnum(f32 a, f32 b) { return a != a ? b : b != b ? a : a == b ? bits_as<f32>(bits_as<u32>(a) | bits_as<u32>(b)) : a < b ? a : b; }
TS_FN f32 maxnum(f32 a, f32 b) { return a != a ? b : b != b ? a : a == b ? bits_as<f32>(bits_as<u32>(a) & bits_as<u32>(b)) : a > b ? a : b; }
TS_FN f32 minimum(f32 a, f32 b) { return a != a || b != b ? bits_as<f32>(0x7fffffffu) : minnum(a, b); }
TS_FN f32 maximum(f32 a, f32 b) { return a != a || b != b ? bits_as<f32>(0x7fffffffu) : maxnum(a, b); }
#else
TS_FN f32 ex2_approx(f32 x) { f32 y; asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TS_FN f32 ex2_approx_ftz(f32 x) { f32 y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TS_FN f32 div_full(f32 a, f32 b) { f32 y; asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
TS_FN f32 sqrt_approx_ftz(f32 x) { f32 y; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TS_FN f32 rsqrt_approx_ftz(f32 x) { f32 y; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TS_FN f64 rsqrt_f64(f64 x) { return ::rsqrt(x); }
TS_FN f32 div_rn(f32 a, f32 b) { return __fdiv_rn(a, b); }
TS_FN f32 sqrt_rn(f32 a) { return __fsqrt_rn(a); }
TS_FN f32 minnum(f32 a, f32 b) { return fminf(a, b); }
TS_FN f32 maxnum(f32 a, f32 b) { return fmaxf(a, b); }
TS_FN f32 minimum(f32 a, f32 b) { f32 y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
TS_FN f32 maximum(f32 a, f32 b) { f32 y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
#endif
TS_FN f64 div_rn(f64 a, f64 b) { return a / b; }
TS_FN f64 sqrt_rn(f64 a) { return ::sqrt(a); }
TS_FN f64 minnum(f64 a, f64 b) { return a != a ? b : b != b ? a : a == b ? bits_as<f64>(bits_as<u64>(a) | bits_as<u64>(b)) : a < b ? a : b; }
TS_FN f64 maxnum(f64 a, f64 b) { return a != a ? b : b != b ? a : a == b ? bits_as<f64>(bits_as<u64>(a) & bits_as<u64>(b)) : a > b ? a : b; }
TS_FN f64 minimum(f64 a, f64 b) { return a != a || b != b ? bits_as<f64>(0x7fffffffffffffffull) : minnum(a, b); }
TS_FN f64 maximum(f64 a, f64 b) { return a != a || b != b ? bits_as<f64>(0x7fffffffffffffffull) : maxnum(a, b); }

TS_FN f32 div(f32 a, f32 b) { return div_full(a, b); }
TS_FN f64 div(f64 a, f64 b) { return a / b; }
TS_FN f16 div(f16 a, f16 b) { return narrow_f16(div_full(widen(a), widen(b))); }
TS_FN bf16 div(bf16 a, bf16 b) { return narrow_bf16(div_full(widen(a), widen(b))); }
TS_FN f32 rem(f32 a, f32 b) { return fmodf(a, b); }
TS_FN f64 rem(f64 a, f64 b) { return ::fmod(a, b); }
TS_FN f32 fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
TS_FN f64 fma(f64 a, f64 b, f64 c) { return ::fma(a, b, c); }
// In f64 with the last bit set where the sum was cut: a summand far below the other decides a tie. The product is exact.
TS_FN f64 fma_odd(f64 a, f64 b, f64 c) {
    const f64 product = a * b;
    const f64 sum = product + c;
    const f64 part = sum - product;
    const f64 error = (product - (sum - part)) + (c - part);
    const u64 bits = bits_as<u64>(sum);
    if (!(error < 0 || error > 0) || (bits & 1)) return sum;
    return bits_as<f64>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
TS_FN f16 fma(f16 a, f16 b, f16 c) { return narrow_f16(odd(fma_odd(widen(a), widen(b), widen(c)))); }
TS_FN bf16 fma(bf16 a, bf16 b, bf16 c) { return narrow_bf16(odd(fma_odd(widen(a), widen(b), widen(c)))); }
TS_FN f32 abs(f32 a) { return bits_as<f32>(bits_as<u32>(a) & 0x7fffffffu); }
TS_FN f64 abs(f64 a) { return bits_as<f64>(bits_as<u64>(a) & ~(1ull << 63)); }
TS_FN f32 copysign(f32 a, f32 b) { return bits_as<f32>((bits_as<u32>(a) & 0x7fffffffu) | (bits_as<u32>(b) & 0x80000000u)); }
TS_FN f64 copysign(f64 a, f64 b) { return bits_as<f64>((bits_as<u64>(a) & ~(1ull << 63)) | (bits_as<u64>(b) & (1ull << 63))); }
TS_FN f32 exp(f32 x) { return ex2_approx(x * 1.4426950408889634f); }
TS_FN f64 exp(f64 x) { return ::exp(x); }
TS_FN f32 exp2(f32 x) { return ex2_approx_ftz(x); }
TS_FN f64 exp2(f64 x) { return ::exp2(x); }
TS_FN f32 sqrt(f32 x) { return sqrt_approx_ftz(x); }
TS_FN f64 sqrt(f64 x) { return ::sqrt(x); }
TS_FN f32 rsqrt(f32 x) { return rsqrt_approx_ftz(x); }
TS_FN f64 rsqrt(f64 x) { return rsqrt_f64(x); }
TS_FN f32 round(f32 x) { return roundf(x); }
TS_FN f64 round(f64 x) { return ::round(x); }
TS_FN f32 round_even(f32 x) { return rintf(x); }
TS_FN f64 round_even(f64 x) { return ::rint(x); }
#define TS_MATH1(name) \
    TS_FN f32 name(f32 x) { return name##f(x); } \
    TS_FN f64 name(f64 x) { return ::name(x); }
TS_MATH1(expm1) TS_MATH1(log) TS_MATH1(log2) TS_MATH1(log10) TS_MATH1(log1p) TS_MATH1(sin) TS_MATH1(cos) TS_MATH1(tan)
TS_MATH1(tanh) TS_MATH1(atan) TS_MATH1(erf) TS_MATH1(trunc)
#undef TS_MATH1
// Of a subnormal f32 as of zero: Triton writes cvt.rmi.ftz and cvt.rpi.ftz.
TS_FN f32 flushed(f32 x) { return abs(x) < 1.17549435e-38f ? copysign(0.f, x) : x; }
TS_FN f32 floor(f32 x) { return floorf(flushed(x)); }
TS_FN f64 floor(f64 x) { return ::floor(x); }
TS_FN f32 ceil(f32 x) { return ceilf(flushed(x)); }
TS_FN f64 ceil(f64 x) { return ::ceil(x); }
TS_FN f32 atan2(f32 a, f32 b) { return atan2f(a, b); }
TS_FN f64 atan2(f64 a, f64 b) { return ::atan2(a, b); }
TS_FN f32 pow(f32 a, f32 b) { return powf(a, b); }
TS_FN f64 pow(f64 a, f64 b) { return ::pow(a, b); }

// The same for f16 and bf16.
#define TS_HALF1(name) \
    TS_FN f16 name(f16 x) { return narrow_f16(name(widen(x))); } \
    TS_FN bf16 name(bf16 x) { return narrow_bf16(name(widen(x))); }
#define TS_HALF2(name) \
    TS_FN f16 name(f16 a, f16 b) { return narrow_f16(name(widen(a), widen(b))); } \
    TS_FN bf16 name(bf16 a, bf16 b) { return narrow_bf16(name(widen(a), widen(b))); }
TS_HALF1(abs) TS_HALF1(exp) TS_HALF1(exp2) TS_HALF1(expm1) TS_HALF1(log) TS_HALF1(log2) TS_HALF1(log10) TS_HALF1(log1p)
TS_HALF1(sqrt) TS_HALF1(sqrt_rn) TS_HALF1(rsqrt) TS_HALF1(sin) TS_HALF1(cos) TS_HALF1(tan) TS_HALF1(tanh) TS_HALF1(atan)
TS_HALF1(erf) TS_HALF1(floor) TS_HALF1(ceil) TS_HALF1(trunc) TS_HALF1(round) TS_HALF1(round_even)
TS_HALF2(div_rn) TS_HALF2(rem) TS_HALF2(minnum) TS_HALF2(maxnum) TS_HALF2(minimum) TS_HALF2(maximum) TS_HALF2(copysign)
TS_HALF2(atan2) TS_HALF2(pow)
#undef TS_HALF1
#undef TS_HALF2

// Float comparisons: two letters of the predicate (eq, gt, ge, lt, le, ne), ordered or unordered.
template <class T> TS_FN bool is_nan(T x) { const auto y = widen(x); return y != y; }
template <class T> TS_FN bool unordered(T a, T b) { return is_nan(a) || is_nan(b); }

// A clamp between two bounds: NaN is dropped for the lower bound, or kept.
template <class T> TS_FN T clamp(T x, T low, T high) { return minnum(maxnum(x, low), high); }
template <class T> TS_FN T clamp_nan(T x, T low, T high) { return is_nan(x) ? x : minimum(maximum(x, low), high); }

// TF32: the last 13 bits of the fraction are cut, as the tensor cores do.
TS_FN f32 cut_tf32(f32 x) { return is_nan(x) ? x : bits_as<f32>(bits_as<u32>(x) & 0xffffe000u); }

// ---- Accesses. N neighbouring elements at once where the emitter proved alignment and contiguity.

template <int BYTES> struct chunk;
template <> struct chunk<1> { using type = u8; };
template <> struct chunk<2> { using type = u16; };
template <> struct chunk<4> { using type = u32; };
#ifdef TILESCOPE_CPU
template <> struct chunk<8> { struct type { u32 x, y; }; };
template <> struct chunk<16> { struct type { u32 x, y, z, w; }; };
#else
template <> struct chunk<8> { using type = uint2; };
template <> struct chunk<16> { using type = uint4; };
#endif

// Reads N elements; leaves them as they are where the mask is false.
template <int N, class T> TS_FN void load(T* to, const T* from, bool mask = true) {
    using C = typename chunk<N * sizeof(T)>::type;
    if (mask) {
        const C bits = *reinterpret_cast<const C*>(from);
        memcpy(to, &bits, sizeof(C));
    }
}
template <int N, class T> TS_FN void store(T* to, const T* from, bool mask = true) {
    using C = typename chunk<N * sizeof(T)>::type;
    if (mask) {
        C bits;
        memcpy(&bits, from, sizeof(C));
        *reinterpret_cast<C*>(to) = bits;
    }
}
// A mask per element: at once where all are true, else one by one.
template <int N, class T> TS_FN void load_each(T* to, const T* from, const bool (&mask)[N]) {
    bool all = true;
    #pragma unroll
    for (int i = 0; i < N; ++i) all = all && mask[i];
    if (all) load<N>(to, from);
    else {
        #pragma unroll
        for (int i = 0; i < N; ++i) load<1>(to + i, from + i, mask[i]);
    }
}
template <int N, class T> TS_FN void store_each(T* to, const T* from, const bool (&mask)[N]) {
    bool all = true;
    #pragma unroll
    for (int i = 0; i < N; ++i) all = all && mask[i];
    if (all) store<N>(to, from);
    else {
        #pragma unroll
        for (int i = 0; i < N; ++i) store<1>(to + i, from + i, mask[i]);
    }
}
// Words as large as an element.
template <int BYTES> struct word_of;
template <> struct word_of<1> { using type = u8; };
template <> struct word_of<2> { using type = u16; };
template <> struct word_of<4> { using type = u32; };
template <> struct word_of<8> { using type = u64; };
// Volatile, one element: read from memory each time.
template <class T> TS_FN void load_volatile(T* to, const T* from, bool mask) {
    using C = typename word_of<sizeof(T)>::type;
    if (mask) {
        const C bits = *reinterpret_cast<const volatile C*>(from);
        memcpy(to, &bits, sizeof(C));
    }
}

// ---- Between threads.

#ifdef TILESCOPE_CPU
TS_FN u32 shuffle_word(u32 word, int lane) { return cpu::shuffle(word, lane); }
#else
TS_FN u32 shuffle_word(u32 word, int lane) { return __shfl_sync(~0u, word, lane); }
#endif
// The value of another lane of the warp; all lanes take part.
template <class T> TS_FN T shuffle(const T& value, int lane) {
    constexpr int words = (sizeof(T) + 3) / 4;
    u32 raw[words] = {};
    memcpy(raw, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < words; ++i) raw[i] = shuffle_word(raw[i], lane);
    T result;
    memcpy(&result, raw, sizeof(T));
    return result;
}
TS_FN int lane() { return thread() & 31; }
TS_FN int warp() { return thread() >> 5; }

// Combines over the lanes whose numbers differ in the bits of MASK; all of them get the result. The lower lane's
// value comes first, so that lanes agree also where the region is not commutative.
template <int MASK, class T, class F> TS_FN T reduce_lanes(T value, const F& combine) {
    #pragma unroll
    for (int bit = 1; bit < 32; bit *= 2) {
        if (MASK & bit) {
            const T other = shuffle(value, lane() ^ bit);
            value = (lane() & bit) == 0 ? combine(value, other) : combine(other, value);
        }
    }
    return value;
}
template <int MASK, class T, class F> TS_FN T reduce_lanes_commutative(T value, const F& combine) {
    #pragma unroll
    for (int bit = 1; bit < 32; bit *= 2) {
        if (MASK & bit) value = combine(value, shuffle(value, lane() ^ bit));
    }
    return value;
}
// Combines over the warps whose numbers differ in the bits of WARPS, through shared memory of N * (32 or 1) * (number of
// warps) elements; LANES are the bits of the lane over which the values are already equal.
template <int WARPS, int LANES, int COUNT, int N, class T, class F>
TS_FN void reduce_warps(T (&values)[N], unsigned char* shared, const F& combine) {
    T* const slots = reinterpret_cast<T*>(shared);
    constexpr bool one = LANES == 31;
    const int column = one ? 0 : lane();
    if ((lane() & LANES) == 0) {
        #pragma unroll
        for (int i = 0; i < N; ++i) slots[(i * (one ? 1 : 32) + column) * COUNT + warp()] = values[i];
    }
    barrier();
    const int from = one ? 0 : lane() & ~LANES;
    #pragma unroll
    for (int i = 0; i < N; ++i) {
        const T* const row = slots + (i * (one ? 1 : 32) + from) * COUNT + (warp() & ~WARPS);
        T sum = row[0];
        #pragma unroll
        for (int other = 1; other < COUNT; ++other) {
            if ((other & ~WARPS) == 0) sum = combine(sum, row[other]);
        }
        values[i] = sum;
    }
}

// Running combination along an axis that lies, from its lowest bits up, in V registers, LANES lanes (from bit LANE_SHIFT), WARPS
// warps (from bit WARP_SHIFT) and J registers; K rows of it per thread: x[(k * J + j) * V + v]. Reversed, the caller has
// mirrored the registers. `shared` holds K * J * COLUMNS * COUNT items (COUNT warps in all); unused where WARPS is 1.
template <int K, int J, int V, int LANE_SHIFT, int LANES, int WARP_SHIFT, int WARPS, int COUNT, int COLUMNS, bool REVERSE,
          class E, class F>
TS_FN void scan(E (&x)[K * J * V], unsigned char* shared, const F& combine) {
    const int along = lane() >> LANE_SHIFT & (LANES - 1), place = REVERSE ? LANES - 1 - along : along;
    const int across = warp() >> WARP_SHIFT & (WARPS - 1), rank = REVERSE ? WARPS - 1 - across : across;
    constexpr int step_sign = REVERSE ? 1 : -1;
    E total[K * J], before[K * J];
    #pragma unroll
    for (int i = 0; i < K * J; ++i) {
        #pragma unroll
        for (int v = 1; v < V; ++v) x[i * V + v] = combine(x[i * V + v - 1], x[i * V + v]);
        E sum = x[i * V + V - 1];
        #pragma unroll
        for (int step = 1; step < LANES; step *= 2) {
            const E other = shuffle(sum, (lane() + step_sign * (step << LANE_SHIFT)) & 31);
            if (place >= step) sum = combine(other, sum);
        }
        before[i] = sum;
        total[i] = sum;
        if (LANES > 1) {
            before[i] = shuffle(sum, (lane() + step_sign * (1 << LANE_SHIFT)) & 31);
            const int last = ((LANES - 1) << LANE_SHIFT);
            total[i] = shuffle(sum, REVERSE ? lane() & ~last : lane() | last);
        }
    }
    E* const slots = reinterpret_cast<E*>(shared);
    const int column = COLUMNS == 1 ? 0 : lane();
    if (WARPS > 1) {
        if (COLUMNS > 1 || lane() == 0) {
            #pragma unroll
            for (int i = 0; i < K * J; ++i) slots[(i * COLUMNS + column) * COUNT + warp()] = total[i];
        }
        barrier();
    }
    #pragma unroll
    for (int k = 0; k < K; ++k) {
        E run = x[0];
        #pragma unroll
        for (int j = 0; j < J; ++j) {
            const int i = k * J + j;
            E prefix = run;
            #pragma unroll
            for (int w = 0; w < WARPS; ++w) {
                if (w == rank) prefix = run;
                const int physical = REVERSE ? WARPS - 1 - w : w;
                const E next = WARPS == 1 ? total[i]
                    : slots[(i * COLUMNS + column) * COUNT + ((warp() & ~((WARPS - 1) << WARP_SHIFT)) | physical << WARP_SHIFT)];
                run = j == 0 && w == 0 ? next : combine(run, next);
            }
            const bool outer = j > 0 || rank > 0, inner = place > 0;
            if (inner) prefix = outer ? combine(prefix, before[i]) : before[i];
            if (inner || outer) {
                #pragma unroll
                for (int v = 0; v < V; ++v) x[i * V + v] = combine(prefix, x[i * V + v]);
            }
        }
    }
}

// Where element i of a tile lies in shared memory: rows are one word apart, so that columns hit all banks.
template <class T, int ROW> TS_FN int padded(int i) {
    constexpr int pad = sizeof(T) >= 8 ? 0 : 4 / int(sizeof(T));
    return i + i / ROW * pad;
}
template <class T> TS_FN T* at(unsigned char* shared) { return reinterpret_cast<T*>(shared); }

// ---- Atomics. `order`: bit 0 acquire, bit 1 release.

enum Order { RELAXED = 0, ACQUIRE = 1, RELEASE = 2, ACQUIRE_RELEASE = 3 };

#ifdef TILESCOPE_CPU
template <class T> TS_FN T compare_swap_bits(T* at, T expected, T desired) {
    const T old = *at;
    if (old == expected) *at = desired;
    return old;
}
#else
TS_FN u32 compare_swap_bits(u32* at, u32 expected, u32 desired) { return atomicCAS(at, expected, desired); }
TS_FN u64 compare_swap_bits(u64* at, u64 expected, u64 desired) { return atomicCAS(at, expected, desired); }
TS_FN u16 compare_swap_bits(u16* at, u16 expected, u16 desired) { return atomicCAS(at, expected, desired); }
#endif
// Any read-modify-write by compare and swap.
template <class T, class F> TS_FN T atomic_update(T* at, const F& next) {
    using W = typename word_of<sizeof(T)>::type;
    W* const word = reinterpret_cast<W*>(at);
    W seen = *reinterpret_cast<volatile W*>(word);
    while (true) {
        const W old = compare_swap_bits(word, seen, bits_as<W>(next(bits_as<T>(seen))));
        if (old == seen) return bits_as<T>(old);
        seen = old;
    }
}
#ifdef TILESCOPE_CPU
#define TS_ATOMIC(name, native, type, expression) \
    TS_FN type name(type* at, type value) { return atomic_update(at, [&](type old) { return expression; }); }
#else
#define TS_ATOMIC(name, native, type, expression) \
    TS_FN type name(type* at, type value) { return static_cast<type>(native); }
#endif
TS_ATOMIC(rmw_add, atomicAdd(at, value), i32, add(old, value))
TS_ATOMIC(rmw_add, atomicAdd(reinterpret_cast<u64*>(at), u64(value)), i64, add(old, value))
TS_ATOMIC(rmw_fadd, atomicAdd(at, value), f32, old + value)
TS_ATOMIC(rmw_fadd, atomicAdd(at, value), f64, old + value)
TS_ATOMIC(rmw_max, atomicMax(at, value), i32, max_signed(old, value))
TS_ATOMIC(rmw_max, atomicMax(at, value), i64, max_signed(old, value))
TS_ATOMIC(rmw_min, atomicMin(at, value), i32, min_signed(old, value))
TS_ATOMIC(rmw_min, atomicMin(at, value), i64, min_signed(old, value))
TS_ATOMIC(rmw_umax, atomicMax(reinterpret_cast<u32*>(at), u32(value)), i32, max_unsigned(old, value))
TS_ATOMIC(rmw_umax, atomicMax(reinterpret_cast<u64*>(at), u64(value)), i64, max_unsigned(old, value))
TS_ATOMIC(rmw_umin, atomicMin(reinterpret_cast<u32*>(at), u32(value)), i32, min_unsigned(old, value))
TS_ATOMIC(rmw_umin, atomicMin(reinterpret_cast<u64*>(at), u64(value)), i64, min_unsigned(old, value))
TS_ATOMIC(rmw_and, atomicAnd(at, value), i32, old & value)
TS_ATOMIC(rmw_and, atomicAnd(reinterpret_cast<u64*>(at), u64(value)), i64, old & value)
TS_ATOMIC(rmw_or, atomicOr(at, value), i32, old | value)
TS_ATOMIC(rmw_or, atomicOr(reinterpret_cast<u64*>(at), u64(value)), i64, old | value)
TS_ATOMIC(rmw_xor, atomicXor(at, value), i32, old ^ value)
TS_ATOMIC(rmw_xor, atomicXor(reinterpret_cast<u64*>(at), u64(value)), i64, old ^ value)
#undef TS_ATOMIC
TS_FN f16 rmw_fadd(f16* at, f16 value) { return atomic_update(at, [&](f16 old) { return old + value; }); }
TS_FN bf16 rmw_fadd(bf16* at, bf16 value) { return atomic_update(at, [&](bf16 old) { return old + value; }); }
template <class T> TS_FN T rmw_exch(T* at, T value) { return atomic_update(at, [&](T) { return value; }); }

template <class T> TS_FN T compare_swap(T* at, T expected, T desired) {
    using W = typename word_of<sizeof(T)>::type;
    return bits_as<T>(compare_swap_bits(reinterpret_cast<W*>(at), bits_as<W>(expected), bits_as<W>(desired)));
}
template <class T> TS_FN T atomic_read(const T* at) { T value; load_volatile(&value, at, true); return value; }
template <class T> TS_FN void atomic_write(T* at, T value) {
    using W = typename word_of<sizeof(T)>::type;
    *reinterpret_cast<volatile W*>(at) = bits_as<W>(value);
}
// Waits until memory holds a value, for so many nanoseconds at most (less than 0: for ever); whether it did.
#ifdef TILESCOPE_CPU
// Programs run one after the other: what is not there yet does not come.
TS_FN u64 nanoseconds() { return 0; }
TS_FN void breathe() { fprintf(stderr, "a program waits for one that comes later\n"); exit(4); }
#else
TS_FN u64 nanoseconds() { u64 now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); return now; }
TS_FN void breathe() { __nanosleep(100); }
#endif
template <class T> TS_FN bool poll(const T* at, T expected, i64 limit) {
    using W = typename word_of<sizeof(T)>::type;
    const u64 start = limit < 0 ? 0 : nanoseconds();
    while (true) {
        if (bits_as<W>(atomic_read(at)) == bits_as<W>(expected)) return true;
        if (limit >= 0 && nanoseconds() - start >= u64(limit)) return false;
        breathe();
    }
}

#ifdef TILESCOPE_PRINTS
// ---- Prints: lines in a buffer that the host reads. Its first word is how much is asked for, its second how much there is.

#ifdef TILESCOPE_CPU
TS_FN u64 take(u64* from, u64 bytes) { const u64 old = *from; *from += bytes; return old; }
#else
TS_FN u64 take(u64* from, u64 bytes) { return atomicAdd(from, bytes); }
#endif
// Place for a line of so many bytes, for all threads; null when the buffer is full. `shared` holds an address.
TS_FN unsigned char* print_line(u64* prints, u64 program, u64 number, u32 place, u32 bytes, unsigned char* shared) {
    unsigned char** const slot = reinterpret_cast<unsigned char**>(shared);
    if (thread() == 0) {
        const u64 all = 24 + bytes, from = take(prints, all);
        u64* const line = prints + 2 + from / 8;
        const bool fits = from + all <= prints[1];
        if (fits) {
            line[0] = program;
            line[1] = number;
            line[2] = u64(bytes) << 32 | place;
        }
        *slot = fits ? reinterpret_cast<unsigned char*>(line + 3) : nullptr;
    }
    barrier();
    return *slot;
}
#endif

#ifdef TILESCOPE_DUMPS
// ---- Dumps: what operations of one program gave, one line for each execution. The buffer's first word is how much is asked for, its
// second how much there is, its third the program. All threads of a program go the same way, so each knows where the next line begins.
struct Dump { u64* buffer; bool on; u64 next; };

// Place for a line of so many bytes; null when the buffer is full.
TS_FN unsigned char* dump_line(Dump& dump, u32 place, u32 bytes) {
    u64* const line = dump.buffer + 3 + dump.next / 8;
    dump.next += 8 + bytes;
    if (thread() == 0) dump.buffer[0] = dump.next;
    if (dump.next > dump.buffer[1]) return nullptr;
    if (thread() == 0) *line = u64(bytes) << 32 | place;
    return reinterpret_cast<unsigned char*>(line + 1);
}
#endif

#ifdef TILESCOPE_CHECKED
// ---- Checks. In a checked build every access asks first; the first fault of each kind and place comes back in a table.
// What goes wrong does not happen: a faulty load gives 0, a faulty store nothing.

// A tensor of the launch: its storage, and which bytes of it are the view's. Filled in by the host.
struct Tensor {
    u64 base, length;
    i64 low, high, elem;
    u32 writable, whole, solid, dims;
    i64 stride[8], size[8];
};
// A kind of fault in one place: the first, by program, then by steps, then by lane, and how many there were.
struct Fault {
    u32 lock, lane;
    u64 program, sequence, count, severe, address;
    i64 first, second;
    u32 used, unused;
};
struct Checks {
    const Tensor* tensors;
    u32 count;
    Fault* faults;
    u64 program, sequence;
};
enum AccessKind { LOAD = 0, STORE = 1, ATOMIC = 2, ATOMIC_LOAD = 3 };
// Slots of an access: kinds of faults, in the order in which they are looked for.
enum FaultKind { WILD_POINTER = 0, OUT_OF_BOUNDS = 1, MISALIGNED = 2, STORE_TO_INPUT = 3, OUTSIDE_VIEW = 4 };

#ifdef TILESCOPE_CPU
TS_FN void count_up(u64* at) { *at += 1; }
TS_FN void lower_to(u64* at, u64 value) { if (value < *at) *at = value; }
template <class F> TS_FN void locked(u32*, const F& inside) { inside(); }
#else
TS_FN void count_up(u64* at) { atomicAdd(at, u64(1)); }
TS_FN void lower_to(u64* at, u64 value) { atomicMin(at, value); }
// The lock is given back inside the turn in which it was got: threads of one warp wait for each other otherwise.
template <class F> TS_FN void locked(u32* lock, const F& inside) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0u, 1u) == 0u) {
            __threadfence();
            inside();
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
}
#endif
TS_COLD void note(const Checks& checks, u32 slot, u32 lane, u64 address = 0, i64 first = 0, i64 second = 0, u32 used = 0) {
    Fault* const fault = checks.faults + slot;
    count_up(&fault->count);
    // Later programs need not wait for the lock.
    if (*static_cast<volatile u64*>(&fault->program) < checks.program) return;
    locked(&fault->lock, [&] {
        volatile Fault* const seen = fault;
        const bool earlier = checks.program != seen->program ? checks.program < seen->program
            : checks.sequence != seen->sequence             ? checks.sequence < seen->sequence
                                                            : lane < seen->lane;
        if (!earlier) return;
        seen->program = checks.program;
        seen->sequence = checks.sequence;
        seen->lane = lane;
        seen->address = address;
        seen->first = first;
        seen->second = second;
        seen->used = used;
    });
}
// Whether bytes of a storage belong to a tensor's view: strides nest, so an element is found by division.
TS_COLD bool in_view(const Tensor& tensor, i64 offset, i64 length) {
    while (true) {
        if (offset < tensor.low || offset > tensor.high - length) return false;
        if (tensor.solid) return true;
        i64 rest = offset - tensor.low, room = tensor.elem;
        for (u32 d = 0; d < tensor.dims; ++d) {
            const i64 stride = tensor.stride[d], size = tensor.size[d];
            const i64 index = rest / stride < size - 1 ? rest / stride : size - 1;
            rest -= index * stride;
            // Only the innermost dimension, if its elements touch, lets a run go on to the next index.
            room = stride == tensor.elem ? (size - index) * tensor.elem : tensor.elem;
        }
        if (rest >= tensor.elem) return false;
        if (length <= room - rest) return true;
        offset += room - rest;
        length -= room - rest;
    }
}
// The tensor (plus one) that an address belongs to: a view that contains it, else storage around it, else 0.
TS_COLD u32 owner(const Checks& checks, u64 address) {
    u32 around = 0;
    for (u32 i = 0; i < checks.count; ++i) {
        const Tensor& tensor = checks.tensors[i];
        const u64 offset = address - tensor.base;
        if (offset >= tensor.length) continue;
        if (tensor.whole || in_view(tensor, i64(offset), 1)) return i + 1;
        if (around == 0) around = i + 1;
    }
    return around;
}
// Whether an access may happen. `tensor` is the one (plus one) that the pointer derives from; UNKNOWN where the code does not
// say, then it is the one at the address. `mine` is true in one of the threads that hold the lane.
constexpr u32 UNKNOWN = ~0u;
template <int KIND, class T> TS_FN bool allowed(const Checks& checks, u32 slot, u32 tensor, const T* pointer, u32 lane, bool mine) {
    const u64 address = reinterpret_cast<u64>(pointer), bytes = sizeof(T);
    u32 step = 1;
    if (tensor == UNKNOWN) {
        tensor = owner(checks, address);
        slot += tensor;
        step = checks.count + 1;
    }
    if (tensor == 0 || address == 0) {
        if (mine) note(checks, slot + WILD_POINTER * step, lane, address);
        return false;
    }
    const Tensor& target = checks.tensors[tensor - 1];
    const u64 offset = address - target.base;
    if (offset > target.length || bytes > target.length - offset) {
        if (mine) note(checks, slot + OUT_OF_BOUNDS * step, lane, address);
        return false;
    }
    if ((address & (bytes - 1)) != 0) {
        if (mine) note(checks, slot + MISALIGNED * step, lane, address);
        return false;
    }
    constexpr bool writes = KIND == STORE || KIND == ATOMIC;
    if (writes && !target.writable) {
        if (mine) note(checks, slot + STORE_TO_INPUT * step, lane, address);
        return false;
    }
    if (target.whole || in_view(target, i64(offset), i64(bytes))) return true;
    if (mine) {
        note(checks, slot + OUTSIDE_VIEW * step, lane, address);
        const u32 hit = KIND == LOAD ? owner(checks, address) : 0;
        const bool severe = KIND != LOAD
            || (hit != 0 && hit != tensor && in_view(checks.tensors[hit - 1], i64(address - checks.tensors[hit - 1].base), 1));
        if (severe) lower_to(&checks.faults[slot + OUTSIDE_VIEW * step].severe, checks.program);
    }
    return !writes;
}

// Lanes that an integer division left undefined: 0, or where they were born (slot plus one, 0 or -1 for the divisor, lane).
template <class T> TS_FN i64 undefined_by(u32 slot, T dividend, T divisor, bool has_sign, u32 lane) {
    const bool zero = as_unsigned(divisor) == 0;
    const bool least = has_sign && as_signed(divisor) == -1 && as_unsigned(dividend) == unsigned_t<T>(u64(1) << (width<T> - 1));
    return zero || least ? i64(u64(slot + 1) << 33 | u64(least) << 32 | lane) : 0;
}
template <class T> TS_FN bool all_zeros(T x) { return as_unsigned(x) == 0; }
template <class T> TS_FN bool all_ones(T x) { return as_unsigned(x) == as_unsigned(wrap<T>(~u64(0))); }
TS_FN void use(const Checks& checks, i64 birth, i64 dividend, u32 used) {
    if (birth != 0) note(checks, u32(u64(birth) >> 33) - 1, u32(birth), 0, dividend, (birth >> 32 & 1) != 0 ? -1 : 0, used);
}
#endif

}  // namespace ts
