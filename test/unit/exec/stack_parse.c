/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions out of what gdb 13.1 and eu-stack 0.188 have printed (launch/exec/stack_parse.c); the texts are recorded. */
#include "config.h"

#include "launch/exec/stack_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static char stack[1024];

static const char gdb_text[] =
    "[New LWP 27629]\n"
    "[Thread debugging using libthread_db enabled]\n"
    "Using host libthread_db library \"/lib/x86_64-linux-gnu/libthread_db.so.1\".\n"
    "0x00007f7c640f1df2 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
    "29\t../sysdeps/unix/sysv/linux/pause.c: No such file or directory.\n"
    "#0  0x00007f7c640f1df2 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
    "#1  0x0000562e782f530d in (anonymous namespace)::solver::run<int> (this=..., v=..., depth=...) "
    "at b.cpp:4\n"
    "#2  0x0000562e782f5306 in (anonymous namespace)::solver::run<int> (this=..., v=..., depth=...) "
    "at b.cpp:4\n"
    "#3  0x0000562e782f5306 in (anonymous namespace)::solver::run<int> (this=..., v=..., depth=...) "
    "at b.cpp:4\n"
    "#4  0x0000562e782f521f in exchange_halo (n=...) at b.cpp:5\n"
    "#5  0x0000562e782f52a1 in main () at b.cpp:6\n"
    "[Inferior 1 (process 27625) detached]\n";

static const char gdb_stripped[] =
    "0x00007f81544f1df2 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
    "#0  0x00007f81544f1df2 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
    "#1  0x0000557aa83d2357 in ?? ()\n"
    "#2  0x0000557aa83d215b in ?? ()\n"
    "#3  0x00007f815444524a in __libc_start_call_main (main=..., argc=...) at "
    "../sysdeps/nptl/libc_start_call_main.h:58\n"
    "#4  0x00007f8154445305 in __libc_start_main_impl (main=...) at ../csu/libc-start.c:360\n"
    "#5  0x0000557aa83d2191 in ?? ()\n"
    "[Inferior 1 (process 28000) detached]\n";

static const char elfutils_text[] =
    "PID 27625 - process\n"
    "TID 27625:\n"
    "#0  0x00007f7c640f1df2 pause\n"
    "#1  0x0000562e782f530d void (anonymous namespace)::solver::run<int>(std::vector<int, "
    "std::allocator<int> > const&, int)\n"
    "#2  0x0000562e782f5306 void (anonymous namespace)::solver::run<int>(std::vector<int, "
    "std::allocator<int> > const&, int)\n"
    "#3  0x0000562e782f521f exchange_halo\n"
    "#4  0x0000562e782f52a1 main\n"
    "#5  0x00007f7c6404524a __libc_start_call_main\n"
    "#6  0x00007f7c64045305 __libc_start_main@@GLIBC_2.34\n"
    "#7  0x0000562e782f5101 _start\n";

static const char elfutils_stripped[] = "TID 28000:\n"
                                        "#0  0x00007f81544f1df2 pause\n"
                                        "#1  0x0000557aa83d2357\n"
                                        "#2  0x0000557aa83d215b\n"
                                        "#3  0x00007f815444524a __libc_start_call_main\n"
                                        "#4  0x00007f8154445305 __libc_start_main@@GLIBC_2.34\n"
                                        "#5  0x0000557aa83d2191\n";

static void is_stack(const char *text, const char *expected, const char *name)
{
    (void)stack_parse(text, stack, sizeof(stack));
    is_string(stack, expected, "%s", name);
}

static void test_tools(void)
{
    is_stack(gdb_text,
             "main > exchange_halo > (anonymous namespace)::solver::run<int> > __libc_pause",
             "gdb: the outermost first, a recursion once, without arguments");
    is_stack(gdb_stripped, "?? > __libc_pause", "gdb, without symbols");
    is_stack(elfutils_text,
             "main > exchange_halo > void (anonymous namespace)::solver::run<int> > pause",
             "eu-stack: without what is outside main");
    is_stack(elfutils_stripped, "?? > pause", "eu-stack, without symbols");
    is_stack("#0  solve (n=...) at s.c:5\n#1  main () at s.c:9\n", "main > solve",
             "gdb leaves the address out where a function begins");
    is_stack("#0  0x1 in f::operator() (this=...) at s.c:5\n#1  0x2 in g<(int)1> (x=...)\n",
             "g<(int)1> > f::operator()", "brackets in names of C++");
    is_stack("#0  <signal handler called>\n#1  0x2 in work () from /lib/libw.so\n",
             "work > <signal handler called>", "a handler; a library");
    is_stack("#0  0x01 - 1 work\n#1  0x02 - 1 main", "main > work",
             "eu-stack --activation; no newline at the end");
}

static void test_long(void)
{
    char text[8192], name[201];
    size_t used = 0;

    for (int i = 0; i < 150; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "#%d  0x1 in f%d ()\n", i, i);
    is_int(stack_parse(text, stack, sizeof(stack)), 128, "as many functions as are kept");
    is_string(stack, "f127 > f126 > f125 > f124 > f123 > f122 > ... > f5 > f4 > f3 > f2 > f1 > f0",
              "of many the outermost and the innermost are shown");
    used = 0;
    for (int i = 0; i < 12; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "#%d  0x1 in f%d ()\n", i, i);
    (void)stack_parse(text, stack, sizeof(stack));
    is_string(stack, "f11 > f10 > f9 > f8 > f7 > f6 > f5 > f4 > f3 > f2 > f1 > f0",
              "of few all are");
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    used = 0;
    for (int i = 0; i < 20; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "#%d 0x1 in %d%s ()\n", i, i, name);
    (void)stack_parse(text, stack, sizeof(stack));
    ok(strlen(stack) < sizeof(stack) - 1 && strlen(stack) > 12 * (STACK_PARSE_NAME_BYTES - 1),
       "long names are cut");
}

static void test_none(void)
{
    char complaint[64];

    is_int(stack_parse("ptrace: Operation not permitted.\nNo stack.\n", stack, sizeof(stack)),
           -EPERM, "gdb must not trace it");
    is_int(stack_parse("eu-stack: dwfl_linux_proc_report pid 1: Permission denied\n", stack,
                       sizeof(stack)),
           -EPERM, "nor must eu-stack");
    is_int(stack_parse("ptrace: No such process.\nNo stack.\n", stack, sizeof(stack)), 0,
           "it has ended");
    is_string(stack, "", "then there is no stack");
    is_int(stack_parse("", stack, sizeof(stack)), 0, "nothing was printed");
    is_int(stack_parse("#\n#a\n# 1\n", stack, sizeof(stack)), 0, "these are no frames");
    is_int(stack_parse("#1", stack, sizeof(stack)), 1, "a frame of which only the number is there");
    is_string(stack, "??", "has no name");
    stack_parse_complaint("\n  cannot open it\nmore\n", complaint, sizeof(complaint));
    is_string(complaint, "cannot open it", "its complaint is its first line");
    stack_parse_complaint("123456789", complaint, 5);
    is_string(complaint, "1234", "of which there is as much as fits");
}

int main(void)
{
    test_tools();
    test_long();
    test_none();
    return done_testing();
}
