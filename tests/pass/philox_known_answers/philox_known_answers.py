"""Philox against the known answers that come with Random123 (Salmon et al., SC 2011)."""
import triton
import triton.language as tl


@triton.jit
def expect(got, c0: tl.constexpr, c1: tl.constexpr, c2: tl.constexpr, c3: tl.constexpr):
    tl.device_assert(got[0] == c0, "c0")
    tl.device_assert(got[1] == c1, "c1")
    tl.device_assert(got[2] == c2, "c2")
    tl.device_assert(got[3] == c3, "c3")


@triton.jit
def full(value: tl.constexpr, dtype: tl.constexpr):
    return tl.full([1], value, dtype)


@triton.jit
def philox_known_answers(out_ptr):
    zero = full(0, tl.uint32)
    got = tl.philox_impl(zero, zero, zero, zero, zero, zero)
    expect(got, 0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    expect(tl.philox(0, zero, zero, zero, zero), 0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)

    ones = full(0xFFFFFFFF, tl.uint32)
    got = tl.philox_impl(ones, ones, ones, ones, ones, ones)
    expect(got, 0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    expect(tl.philox(-1, ones, ones, ones, ones), 0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)

    c0, c1 = full(0x243F6A88, tl.uint32), full(0x85A308D3, tl.uint32)
    c2, c3 = full(0x13198A2E, tl.uint32), full(0x03707344, tl.uint32)
    got = tl.philox(0x299F31D0A4093822, c0, c1, c2, c3)
    expect(got, 0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)

    zero64 = full(0, tl.uint64)
    got = tl.philox(0, zero64, zero64, zero64, zero64)
    expect(got, 0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)

    ones64 = full(0xFFFFFFFFFFFFFFFF, tl.uint64)
    got = tl.philox_impl(ones64, ones64, ones64, ones64, ones64, ones64)
    expect(got, 0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0)

    # The offsets of `tl.rand` are the counter's first part, the seed is the key.
    four = tl.randint4x(0, tl.arange(0, 1))
    expect(four, 0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    tl.store(out_ptr + tl.arange(0, 1), tl.randint(0, tl.arange(0, 1)).to(tl.int64))
