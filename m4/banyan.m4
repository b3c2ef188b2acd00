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

# BANYAN_ARCHIVE(variable, pkg-config module, library names...): the archives of all the names, and
# of what pkg-config says that they need beside (OpenSSL 3.5 on Debian 13: zlib and zstd), or the
# variable stays. The C library's own are not linked statically, and libudev is not linked at all.
AC_DEFUN([BANYAN_ARCHIVE], [
    AC_MSG_CHECKING([for the archives of $3])
    banyan_archives=
    AS_IF([test "x$enable_static_libs" = xno], [banyan_archives=no], [
        for banyan_name in $3; do
            banyan_file=`$CC -print-file-name=lib$banyan_name.a`
            AS_IF([test ! -f "$banyan_file"], [banyan_archives=no])
        done
    ])
    AS_IF([test "x$banyan_archives" != xno], [
        for banyan_word in `$PKG_CONFIG --static --libs-only-l --libs-only-other $2`; do
            AS_CASE([$banyan_word], [-ludev], [],
                [-lc|-ldl|-lm|-lpthread|-lrt], [banyan_archives="$banyan_archives $banyan_word"],
                [-l*], [
                    banyan_name=`echo "x$banyan_word" | $SED 's/^x-l//'`
                    banyan_file=`$CC -print-file-name=lib$banyan_name.a`
                    AS_IF([test -f "$banyan_file"], [banyan_word=$banyan_file])
                    banyan_archives="$banyan_archives $banyan_word"
                ],
                [banyan_archives="$banyan_archives $banyan_word"])
        done
    ])
    AS_IF([test "x$banyan_archives" = xno], [AC_MSG_RESULT([no: dynamic])],
        [AC_MSG_RESULT([yes]); $1_LIBS="$banyan_archives"; banyan_static="$banyan_static $3"])
])
