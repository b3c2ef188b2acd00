dnl SPDX-License-Identifier: BSD-3-Clause

# BANYAN_TRY_FLAGS(variable, flags...): append those that the compiler takes.
AC_DEFUN([BANYAN_TRY_FLAGS], [
    for banyan_flag in $2; do
        AC_MSG_CHECKING([whether $CC takes $banyan_flag])
        banyan_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $banyan_flag"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
            [AC_MSG_RESULT([yes]); $1="$$1 $banyan_flag"], [AC_MSG_RESULT([no])])
        CFLAGS=$banyan_saved_CFLAGS
    done
])

# BANYAN_LIBRARY(prefix, pkg-config module, what it is, Debian package)
AC_DEFUN([BANYAN_LIBRARY], [
    PKG_CHECK_MODULES([$1], [$2], [], [
        AC_MSG_WARN([$3 is missing: install the Debian package $4])
        banyan_missing="$banyan_missing $4"
    ])
])

# BANYAN_ARCHIVE(variable, library names...): the archives of all the names, or the variable stays.
AC_DEFUN([BANYAN_ARCHIVE], [
    AC_MSG_CHECKING([for the archives of $2])
    banyan_archives=
    AS_IF([test "x$enable_static_libs" = xno], [banyan_archives=no], [
        for banyan_name in $2; do
            banyan_file=`$CC -print-file-name=lib$banyan_name.a`
            AS_IF([test -f "$banyan_file"],
                [AS_IF([test "x$banyan_archives" != xno],
                    [banyan_archives="$banyan_archives $banyan_file"])],
                [banyan_archives=no])
        done
    ])
    AS_IF([test "x$banyan_archives" = xno], [AC_MSG_RESULT([no: dynamic])],
        [AC_MSG_RESULT([yes]); $1_LIBS="$banyan_archives"; banyan_static="$banyan_static $2"])
])
