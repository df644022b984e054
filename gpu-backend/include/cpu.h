// Test only: runs generated kernels on the CPU. The threads of a block are fibers of one thread, switched at barriers and
// shuffles; blocks run one after the other. Included by tilescope.cuh where TILESCOPE_CPU is defined. Unix.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vector>

#define __restrict__ __restrict

namespace ts::cpu {

struct Fiber {
    ucontext_t context;
    jmp_buf state;
    bool started = false, done = false;
    unsigned long barriers = 0, shuffles = 0;
    unsigned word = 0;
};

struct Machine {
    std::vector<Fiber> fibers;
    std::vector<std::vector<char>> stacks;
    std::vector<unsigned char> shared;
    jmp_buf scheduler;
    ucontext_t scheduler_context;
    unsigned current = 0;
    unsigned block[3] = {};
    void (*body)(void*) = nullptr;
    void* argument = nullptr;
};

inline Machine& machine() { static Machine m; return m; }
inline int thread() { return static_cast<int>(machine().current); }
inline unsigned block(int axis) { return machine().block[axis]; }
inline unsigned char* shared_memory() { return machine().shared.data(); }

// To the scheduler, until it comes back to this fiber.
inline void yield() {
    Machine& m = machine();
    Fiber& self = m.fibers[m.current];
    if (_setjmp(self.state) == 0) _longjmp(m.scheduler, 1);
}

inline void barrier() {
    Machine& m = machine();
    const unsigned long mine = ++m.fibers[m.current].barriers;
    while (true) {
        bool all = true;
        for (const Fiber& f : m.fibers) all = all && (f.barriers >= mine || f.done);
        if (all) return;
        yield();
    }
}

// All 32 lanes give a word and take another lane's: one meeting to give, one before the words may change again.
inline unsigned shuffle(unsigned word, int lane) {
    Machine& m = machine();
    const unsigned first = m.current & ~31u;
    Fiber& self = m.fibers[m.current];
    self.word = word;
    unsigned taken = word;
    for (int meeting = 0; meeting < 2; ++meeting) {
        const unsigned long mine = ++self.shuffles;
        while (true) {
            bool all = true;
            for (unsigned i = first; i < first + 32; ++i) all = all && m.fibers[i].shuffles >= mine;
            if (all) break;
            yield();
        }
        if (meeting == 0) taken = m.fibers[first + static_cast<unsigned>(lane)].word;
    }
    return taken;
}

inline void entry() {
    Machine& m = machine();
    m.body(m.argument);
    m.fibers[m.current].done = true;
    _longjmp(m.scheduler, 1);
}

inline void run_block(unsigned threads, void (*body)(void*), void* argument) {
    Machine& m = machine();
    m.body = body;
    m.argument = argument;
    m.fibers.assign(threads, Fiber());
    m.stacks.resize(threads);
    for (auto& stack : m.stacks) stack.resize(128 << 10);
    // Rounds over all fibers; one that waits comes back at once. A round in which nobody gets on is a deadlock.
    volatile unsigned live = threads;
    volatile unsigned long idle = 0;
    while (live > 0) {
        for (volatile unsigned i = 0; i < threads; ++i) {
            Fiber& f = m.fibers[i];
            if (f.done) continue;
            m.current = i;
            const unsigned long before = f.barriers + f.shuffles;
            if (_setjmp(m.scheduler) == 0) {
                if (f.started) _longjmp(f.state, 1);
                f.started = true;
                getcontext(&f.context);
                f.context.uc_stack.ss_sp = m.stacks[i].data();
                f.context.uc_stack.ss_size = m.stacks[i].size();
                f.context.uc_link = nullptr;
                makecontext(&f.context, entry, 0);
                setcontext(&f.context);
            }
            Fiber& after = m.fibers[i];
            if (after.done) --live;
            idle = after.done || after.barriers + after.shuffles != before ? 0 : idle + 1;
            if (idle > 64ul * threads + 64) {
                fprintf(stderr, "threads wait for each other at different barriers\n");
                exit(3);
            }
        }
    }
}

// Runs the grid, blocks in rising order, x fastest.
template <class F> void run(const unsigned (&grid)[3], unsigned threads, size_t shared_bytes, F&& kernel) {
    Machine& m = machine();
    m.shared.assign(shared_bytes + 16, 0xcd);
    auto body = [](void* f) { (*static_cast<F*>(f))(); };
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                m.block[0] = x;
                m.block[1] = y;
                m.block[2] = z;
                run_block(threads, body, &kernel);
            }
}

}  // namespace ts::cpu
