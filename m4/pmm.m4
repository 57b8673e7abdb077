# SPDX-License-Identifier: GPL-2.0-or-later

# PMM_PKG(VARIABLE, MODULES, DEBIAN PACKAGES, PURPOSE, [SWITCH])
# Need a library by pkg-config; say in one sentence what to install.
AC_DEFUN([PMM_PKG],[
  PKG_CHECK_MODULES([$1],[$2],[],[AC_MSG_ERROR(
    m4_ifval([$5],
      [[$2 is missing, needed for $4: install $3, or configure $5]],
      [[$2 is missing, needed for $4: install $3]]))])
])

# Where the loader looks by itself, or as Debian's PMIx, has links to what is there.
m4_define([PMM_SYSTEM_LIBDIRS],
  [''|/lib|/lib64|/usr/lib|/usr/lib64|/usr/lib/*-linux-gnu|/usr/lib/*-linux-gnu/pmix2/lib])

# PMM_LIBDIR(VARIABLE, PREFIX, FILE, OPTION): where below PREFIX libraries are,
# FILE among them.
AC_DEFUN([PMM_LIBDIR],[
  $1=
  AS_CASE([$2],[/*],[],[AC_MSG_ERROR([$4=PREFIX takes an absolute path])])
  for dir in "$2"/lib64 "$2"/lib "$2"/lib/*-linux-gnu; do
    AS_IF([test -e "$dir/$3"],[$1=$dir; break])
  done
  AS_IF([test -z "$$1"],
    [AC_MSG_ERROR([there is no $3 below $2, which $4 names])])
])

# PMM_LIBS(VARIABLE, DIRECTORY, LIBRARY): how to link it, with an rpath where it
# needs one.
AC_DEFUN([PMM_LIBS],[
  AS_CASE([$2],[PMM_SYSTEM_LIBDIRS],[$1=-l$3],
    [$1="-L$2 -Wl,-rpath,$2 -l$3"])
])

# PMM_PMIX: the PMIx that --with-pmix=PREFIX names, else pkg-config's.
AC_DEFUN([PMM_PMIX],[
  pmix_path=$PKG_CONFIG_PATH pmix_libs=$PMIX_LIBS
  AS_IF([test "$with_pmix" != yes],[
    PMM_LIBDIR([pmix_libdir],[$with_pmix],[pkgconfig/pmix.pc],[--with-pmix])
    PKG_CONFIG_PATH=$pmix_libdir/pkgconfig:$PKG_CONFIG_PATH
  ])
  export PKG_CONFIG_PATH
  PMM_PKG([PMIX],[pmix >= 3],[libpmix-dev],
    [coordinating pmm-probe as a job step],[--without-pmix])
  AS_IF([test -z "$pmix_libs"],[
    pmix_libdir=`$PKG_CONFIG --variable=libdir pmix`
    PMM_LIBS([PMIX_LIBS],[$pmix_libdir],[pmix])
  ])
  PKG_CONFIG_PATH=$pmix_path
  AC_DEFINE([HAVE_PMIX],[1],[Define to coordinate by PMIx.])
])

# PMM_SCOTCH: libscotch 7, which has no pkg-config file. Its functions for errors
# are ours (compare/map/gmap.c).
AC_DEFUN([PMM_SCOTCH],[
  AS_IF([test "$with_scotch" != no],[
    scotch=no
    AC_CHECK_HEADERS([scotch/scotch.h scotch.h],[scotch=yes; break],[],
      [[#include <stdio.h>
#include <stdint.h>
]])
    AS_IF([test $scotch = yes],[AC_CHECK_LIB([scotch],[SCOTCH_contextBindGraph],[:],
      [scotch=no],[-lscotcherr])])
    AS_IF([test "$with_scotch$scotch" = yesno],[AC_MSG_ERROR(
      [libscotch is missing, needed for pmm-compare map: install libscotch-dev, or configure --without-scotch])])
    with_scotch=$scotch
  ])
  SCOTCH_LIBS=
  AS_IF([test "$with_scotch" = yes],[
    SCOTCH_LIBS=-lscotch
    AC_DEFINE([HAVE_SCOTCH],[1],[Define to place ranks by Scotch.])
  ])
  AC_SUBST([SCOTCH_LIBS])
])

# PMM_C11: the whole tree is C11 with the system's extensions.
AC_DEFUN([PMM_C11],[
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],
    [[int c11[__STDC_VERSION__ >= 201112L ? 1 : -1]; (void)c11;]])],[],
    [AC_MSG_ERROR([a C11 compiler is missing: install gcc])])
])

# PMM_64_BITS: counts of links times rounds, and __int128, need them.
AC_DEFUN([PMM_64_BITS],[
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],
    [[int big[sizeof (void *) >= 8 ? 1 : -1]; (void)big;]])],[],
    [AC_MSG_ERROR([slurm-pmm needs a 64-bit machine, and $CC compiles for another])])
])

# PMM_WARNINGS: what the compiler accepts of our warnings, in WARN_CFLAGS.
AC_DEFUN([PMM_WARNINGS],[
  WARN_CFLAGS=
  for flag in -Wall -Wextra -Wno-missing-field-initializers \
              -Wformat-security -Wmissing-prototypes -Wstrict-prototypes -Wvla; do
    save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $flag"
    AC_MSG_CHECKING([whether $CC takes $flag])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],[])],
      [AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $flag"],
      [AC_MSG_RESULT([no])])
    CFLAGS=$save_CFLAGS
  done
  AC_SUBST([WARN_CFLAGS])
])

# PMM_EXPAND(VARIABLE, VALUE): a directory as the man pages name it, without
# ${prefix} and the like in it.
AC_DEFUN([PMM_EXPAND],[
  pmm_prefix=$prefix pmm_exec_prefix=$exec_prefix
  AS_IF([test "$prefix" = NONE],[prefix=$ac_default_prefix])
  AS_IF([test "$exec_prefix" = NONE],[exec_prefix=$prefix])
  $1="$2"
  while case $$1 in *'${'*) ;; *) false ;; esac; do
    eval "$1=\"$$1\""
  done
  prefix=$pmm_prefix exec_prefix=$pmm_exec_prefix
  AC_SUBST([$1])
])

# configure removes core dumps of its tests by `rm -f core`, which complains
# loudly in a tree that has a folder of that name. Take the word out.
m4_define([PMM_KEEP_CORE],
  [m4_define([$1],
    m4_bpatsubst(m4_dquote(m4_defn([$1])), [\(rm -f.*\) core ], [\1 ]))])
PMM_KEEP_CORE([_AC_INIT_PREPARE])
PMM_KEEP_CORE([_AC_COMPILE_IFELSE])
PMM_KEEP_CORE([_AC_LINK_IFELSE])
PMM_KEEP_CORE([_AC_RUN_IFELSE])
PMM_KEEP_CORE([_AM_PROG_CC_C_O])
