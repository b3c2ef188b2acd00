/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls for a child that still shares its parent's memory (CLONE_VM without CLONE_VFORK).
 * Such a child runs beside its parent, with the parent's thread-local storage: it must not touch
 * errno, which libc's wrappers do, nor allocate.  These calls return the negative errno instead.
 *
 * Where no form is written for the machine, or with sanitizers (which watch stacks), the child gets
 * a copy of the memory, as fork gives it; the code is otherwise the same.
 */
#ifndef LAUNCH_EXEC_RAW_SYSCALL_H
#define LAUNCH_EXEC_RAW_SYSCALL_H

#include <errno.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void raw_clone_function(void *argument);

#if defined(__x86_64__) && !defined(BANYAN_SANITIZED)

#define RAW_CLONE_SHARES_MEMORY 1

static inline long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* In the child calls function(argument) on the new stack; it must not return. */
static inline long raw_clone(struct clone_args *args, raw_clone_function *function, void *argument)
{
    register raw_clone_function *r8 __asm__("r8") = function;
    register void *r9 __asm__("r9") = argument;
    long result;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r9, %%rdi\n\t"
                     "call *%%r8\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__) && !defined(BANYAN_SANITIZED)

#define RAW_CLONE_SHARES_MEMORY 1

static inline long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

static inline long raw_clone(struct clone_args *args, raw_clone_function *function, void *argument)
{
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)args;
    register long x1 __asm__("x1") = (long)sizeof(*args);
    register raw_clone_function *x10 __asm__("x10") = function;
    register void *x11 __asm__("x11") = argument;

    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x11\n\t"
                     "blr x10\n\t"
                     "brk 0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x10), "r"(x11)
                     : "memory");
    return x0;
}

#else

#define RAW_CLONE_SHARES_MEMORY 0

static inline long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    long result = syscall(number, a, b, c, d, e);

    return result < 0 ? -errno : result;
}

static inline long raw_clone(struct clone_args *args, raw_clone_function *function, void *argument)
{
    long result = syscall(SYS_clone3, args, sizeof(*args));

    if (result == 0)
        function(argument);
    return result < 0 ? -errno : result;
}

#endif
#endif
