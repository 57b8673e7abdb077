# SPDX-License-Identifier: GPL-2.0-or-later

# PMM_SLURM: which Slurm this is for. --with-slurm=PREFIX names it, else
# slurm.pc does, else it is the system's. Sets SLURM_CPPFLAGS, SLURM_LIBS,
# slurm_release, slurm_libdir and slurm_plugindir where they are known, and SRUN.
AC_DEFUN([PMM_SLURM],[
  slurm_release=no slurm_libdir= slurm_plugindir= slurm_prefix=
  AS_IF([test "$with_slurm" != no],[
    PMM_SLURM_FIND
    PMM_SLURM_CHECK
  ])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AC_PATH_PROG([SRUN],[srun],[/usr/bin/srun],
    [${slurm_prefix:+$slurm_prefix/bin$PATH_SEPARATOR}$PATH])
])

AC_DEFUN([PMM_SLURM_FIND],[
  AS_CASE([$with_slurm],
    [yes],[PKG_CHECK_EXISTS([slurm],[
        slurm_prefix=`$PKG_CONFIG --variable=prefix slurm`
        slurm_libdir=`$PKG_CONFIG --variable=libdir slurm`
        slurm_plugindir=`$PKG_CONFIG --variable=plugindir slurm`
        SLURM_CPPFLAGS="-I`$PKG_CONFIG --variable=includedir slurm`"])],
    [slurm_prefix=$with_slurm
      PMM_LIBDIR([slurm_libdir],[$slurm_prefix],[libslurm.so],[--with-slurm])
      SLURM_CPPFLAGS="-I$slurm_prefix/include"])
  PMM_LIBS([SLURM_LIBS],[$slurm_libdir],[slurm])
])

# PMM_PLUGINDIR: sets plugindir to where this Slurm has its plugins. The system's
# may be called slurm-wlm, and is not ours to write to where the prefix is not
# the system's.
AC_DEFUN([PMM_PLUGINDIR],[
  plugindir='${libdir}/slurm'
  AS_CASE([$slurm_libdir],[PMM_SYSTEM_LIBDIRS],[
      pmm_system=/usr/lib/`$CC -print-multiarch 2>/dev/null`
      for dir in "$slurm_plugindir" "$pmm_system/slurm-wlm" \
                 "$pmm_system/slurm" /usr/lib64/slurm; do
        AS_IF([test "$prefix" = /usr && test -e "$dir/mpi_pmi2.so"],
          [plugindir=$dir; break])
      done],
    [plugindir=${slurm_plugindir:-$slurm_libdir/slurm}])
])

# The headers, the library, and that they are of the same release: a -I alone
# links another release's library in silence.
AC_DEFUN([PMM_SLURM_CHECK],[
  save_CPPFLAGS=$CPPFLAGS save_LIBS=$LIBS
  CPPFLAGS="$SLURM_CPPFLAGS -I$srcdir $CPPFLAGS"
  LIBS="$SLURM_LIBS $LIBS"
  AC_CHECK_HEADERS([slurm/spank.h slurm/slurm.h slurm/slurmdb.h],[],
    [AC_MSG_ERROR([Slurm's headers are missing, needed for the SPANK plugin: install libslurm-dev (Debian) or slurm-devel (EL), or say --with-slurm=PREFIX or --without-slurm])])
  AC_COMPUTE_INT([slurm_year],
    [SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER)],[[#include <slurm/slurm.h>]],
    [slurm_year=0])
  AC_COMPUTE_INT([slurm_month],
    [SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER)],[[#include <slurm/slurm.h>]],
    [slurm_month=0])
  slurm_release=`printf %02d.%02d "$slurm_year" "$slurm_month"`
  AS_IF([test "$slurm_year$slurm_month" -lt 225],[AC_MSG_ERROR(
    [Slurm's headers are of $slurm_release; slurm-pmm needs 22.05 or later])])
  AC_MSG_CHECKING([whether libslurm is of Slurm $slurm_release])
  AC_RUN_IFELSE([AC_LANG_PROGRAM(
    [[#include <stdio.h>
      #include "util/slurmapi.h"]],
    [[FILE *fp = fopen ("conftest.slurm", "w");
      long found = slurm_api_version () >> 16;
      fprintf (fp, "%ld, not %ld", found, slurmapi_interface ());
      return fclose (fp) || found != slurmapi_interface ();]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AS_IF([test -s conftest.slurm],[AC_MSG_ERROR(
       [Slurm's headers are of $slurm_release, its library is of another release (libslurm.so.`cat conftest.slurm`): name the prefix of both by --with-slurm=PREFIX])])
     AC_MSG_ERROR([libslurm is missing, or cannot be loaded: install libslurm-dev (Debian) or slurm-devel (EL), or say --with-slurm=PREFIX or --without-slurm])],
    [AC_LINK_IFELSE([AC_LANG_CALL([],[slurm_api_version])],
      [AC_MSG_RESULT([not known: cross-compiling])],
      [AC_MSG_ERROR([libslurm is missing for $host: say --without-slurm])])])
  CPPFLAGS=$save_CPPFLAGS LIBS=$save_LIBS
  AC_DEFINE([HAVE_SLURM],[1],[Define to speak with slurmctld.])
])
