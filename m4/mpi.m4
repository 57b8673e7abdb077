# SPDX-License-Identifier: GPL-2.0-or-later

# PMM_MPI(VARIABLE, NAME, MODULE, DEBIAN PACKAGE): whether to build
# pmm-probe-mpi for this MPI: --with-mpi names it, or asks for those that are
# found. HAVE_VARIABLE is a conditional; MPI_FOUND lists the names.
AC_DEFUN([PMM_MPI],[
  have_mpi=no
  AS_CASE([,$with_mpi,],
    [*,$2,*],
      [PMM_PKG([$1],[$3],[$4],[measuring over MPI],[--without-mpi])
       have_mpi=yes],
    [,check,|,yes,],
      [PKG_CHECK_MODULES([$1],[$3],[have_mpi=yes],[have_mpi=no])])
  AS_IF([test $have_mpi = yes],[MPI_FOUND="$MPI_FOUND${MPI_FOUND:+,}$2"])
  AM_CONDITIONAL([HAVE_$1],[test $have_mpi = yes])
])

# PMM_MPI_DONE: there is what --with-mpi asked for. MPI_FIRST is the MPI that
# has the plain name.
AC_DEFUN([PMM_MPI_DONE],[
  AS_CASE([$with_mpi],
    [no|check|"$MPI_FOUND"],[],
    [yes],[AS_IF([test -z "$MPI_FOUND"],[AC_MSG_ERROR(
      [no MPI is found: install libopenmpi-dev or libmpich-dev, or configure --without-mpi])])],
    [AC_MSG_ERROR([--with-mpi takes openmpi, mpich or openmpi,mpich])])
  with_mpi=${MPI_FOUND:-no}
  AC_SUBST([MPI_FIRST],[${MPI_FOUND%%,*}])
  AM_CONDITIONAL([HAVE_MPI],[test -n "$MPI_FOUND"])
])
